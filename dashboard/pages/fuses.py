"""The fuses: policies in words and in a form, what each would do now, and the ledger of what they did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import drafts, ledger, policies, policy_form, states, words
from dashboard.components.drafts import Draft
from dashboard.components.policies import Shown
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine.backtest import backtest, fuse_of, total
from engine.builder import Answer, Failed, Ready
from engine.declaring import run_named
from engine.fuses import MAX_POLICIES, Policy
from engine.keys import Role
from engine.queries import DEFAULT_WINDOW
from engine.questions import Questions
from engine.runs import ALL_TIME, SECOND_NS, Cohort
from engine.store import MAX_NUMBER, Lines, Recorded, Tally
from engine.triage import Triage, triage

ONLY_ADMINS = "Changing policies takes an admin key."
"""What is said to those who may only look."""
EVERY_S = 10.0
"""How often the page asks again."""
TRIED = 12
"""Agents on whose runs a policy is tried that is for all."""
NAMED = 3
"""Of these, those that links lead to."""


def layout(service: Service, look: Look) -> Page:
    """The form of one policy, if that is asked for; else all of them, or one, and the ledger."""
    every = service.store.policies(service.tenant)
    if look.edit is not None:
        return _edit(service, look, every)
    tallies = service.store.tally(service.tenant, service.now_ns())
    chosen = [policy for policy in every if look.policy in ("", policy.name)]
    if look.policy and not chosen and not any(each.policy == look.policy for each in tallies):
        return _nobody(look.policy)
    now = _asked_now(service, chosen)
    shown = Shown(_by_policy(tallies), now, _agents(service), look.policy, service.caller().may(Role.ADMIN))
    names, lines = {*(each.name for each in every), *(one.policy for one in tallies)}, _lines(service, look)
    now_ns = service.now_ns()
    body = html.Div(
        [
            _head(look, every, shown.may_change),
            *_unbuilt(now),
            _policies(chosen, shown, tallies),
            ledger.section(look, sorted(names), lines, now_ns),
        ],
        className="fuses-page",
    )
    fired = [(flight.run.run_id, flight.found is None, flight.fired) for flight in now.runs]
    stamp = _stamp(every, tallies, lines, fired, now_ns // (60 * SECOND_NS))
    return Page("Fuses", body, bool(_awaited(service, now.unbuilt)), stamp, refresh_s=EVERY_S)


def register(app: Dash, service: Service) -> None:
    """Its forms ask by themselves."""


def _asked_now(service: Service, policies: Sequence[Policy]) -> Triage:
    """What policies would do to the runs in flight, by the maps that are built."""
    whose = {policy.agent for policy in policies}
    if not whose:
        return Triage()
    agent = whose.pop() if len(whose) == 1 else None
    return triage(service.store, service.tenant, policies, service.now_ns(), service.known, agent)


def _awaited(service: Service, agents: Iterable[str]) -> list[str]:
    """Of agents whose map is missing, those whose map will be there in a moment."""
    answers = {agent: service.maps.get(Cohort(service.tenant, agent)) for agent in sorted(agents)}
    return [agent for agent, answer in answers.items() if not isinstance(answer, Failed)]


def _by_policy(tallies: Sequence[Tally]) -> dict[str, list[Tally]]:
    found: dict[str, list[Tally]] = {}
    for each in tallies:
        found.setdefault(each.policy, []).append(each)
    return found


def _agents(service: Service) -> frozenset[str]:
    return frozenset(each.agent for each in service.store.agents(service.tenant, ALL_TIME, service.now_ns()))


def _stamp(*parts: object) -> str:
    return blake2b(repr(parts).encode(errors="replace"), digest_size=12).hexdigest()


def _head(look: Look, every: Sequence[Policy], may_change: bool) -> Component:
    new = dcc.Link("New policy", href=urls.fuses_url(edit=""), className="button")
    named = (
        [html.Span(f"policy {look.policy}", className="dim clip", title=look.policy)] if look.policy else []
    )
    back = [dcc.Link("All policies", href=urls.fuses_url())] if look.policy else []
    parts = [html.H1("Fuses"), *named, *back]
    tried = dcc.Link("Backtest", href=urls.BACKTEST, className="button")
    parts.append(html.Div([tried, *([new] if may_change else [])], className="switches"))
    said = policies.modes(every)
    return html.Div([html.Div(parts, className="page-head"), html.P(said, className="headline")])


def _unbuilt(now: Triage) -> list[Component]:
    """Of which runs in flight nothing can be said."""
    blind = words.count(sum(flight.found is None for flight in now.runs), "run")
    said = []
    if now.unbuilt:
        said.append(
            f"Of {blind} in flight nothing can be said yet: the map of {_names(now.unbuilt)} is not built."
        )
    if now.more:
        said.append(
            f"Only the {len(now.runs):,} most recently active of the runs in flight were asked about."
        )
    return [states.notice(text) for text in said]


def _names(agents: Sequence[str]) -> str:
    more = len(agents) - 3
    rest = f" and {words.count(more, 'other agent')}" if more > 0 else ""
    return ", ".join(words.quoted(agent) for agent in agents[:3]) + rest


def _policies(chosen: Sequence[Policy], shown: Shown, tallies: Sequence[Tally]) -> Component:
    named = {policy.name for policy in chosen}
    lost = [each for each in tallies if each.policy not in named and shown.chosen in ("", each.policy)]
    parts: list[Any] = [html.H2("Policies")]
    if chosen:
        parts.append(html.Ol([policies.policy(each, shown) for each in chosen], className="policies"))
    elif not shown.chosen:
        parts += _first(shown.may_change)
    if lost:
        items = [policies.gone(each) for each in lost]
        parts += [html.H3("Set no more"), html.Ol(items, className="policies")]
    if not shown.may_change:
        parts.append(html.P(ONLY_ADMINS, className="dim"))
    return html.Section(parts, className="card")


def _first(may_change: bool) -> list[Component]:
    said = (
        "A policy says how bad the odds of a run may be. An agent that asks before a call "
        "(POST /api/v1/check) is told to stop, or warned, where earlier runs that went its way fared worse. "
        "Begin in shadow: what would have been stopped is written down here, with how it ended after all."
    )
    link = [html.P(dcc.Link("Write the first policy", href=urls.fuses_url(edit="")))] if may_change else []
    return [html.P(said), *link]


def _lines(service: Service, look: Look) -> list[Recorded] | None:
    """The lines of the ledger that are asked for and one more; None where no run is called so."""
    run_id = run_named(service.store, service.tenant, look.run) if look.run else None
    if look.run and run_id is None:
        return None
    before, wanted = look.after or MAX_NUMBER, Lines(look.policy or None, run_id)
    return service.store.firings(service.tenant, service.now_ns(), before, ledger.SHOWN + 1, wanted)


def _edit(service: Service, look: Look, every: Sequence[Policy]) -> Page:
    """The form, with what was typed if something was, and what that would do."""
    name = look.edit or ""
    title, back = name or "New policy", dcc.Link("All policies", href=urls.fuses_url())
    if not service.caller().may(Role.ADMIN):
        said = states.message("Not with this key", ONLY_ADMINS, back)
        return Page(title, said, stamp="reader")
    there = next((policy for policy in every if policy.name == name), None)
    draft = drafts.unwrite(look.draft) if look.draft else drafts.opened(there, name)
    found = drafts.read(draft)
    wrong = drafts.complaints(found, draft, name, every) if look.draft else {}
    again = draft._replace(seen=drafts.stamp(there))
    form = policy_form.form(again, name if there else "", wrong, sorted(_agents(service)))
    tried, waiting = [], False
    if not isinstance(found, dict) and not wrong:
        shown, waiting = _tried(service, found, found == there)
        tried = [shown]
    head = html.Div([html.H1(title, className="clip", title=title), back], className="page-head")
    notices = [states.notice(text) for text in _changed(name, draft, there, len(every))]
    body = html.Div([head, *notices, policy_form.card(form, wrong), *tried], className="fuses-page")
    return Page(title, body, waiting and bool(look.draft), _stamp(body))


def _tried(service: Service, policy: Policy, is_set: bool) -> tuple[Component, bool]:
    """What a policy would do and would have done, as far as that is built; and whether some comes yet."""
    now, agents = _asked_now(service, [policy]), _replayed(service, policy)
    answers = {agent: service.maps.questions(Cohort(service.tenant, agent)) for agent in agents}
    over = [each.value for each in answers.values() if isinstance(each, Ready)]
    (fuse, odds), coming = fuse_of(policy), [each for each, how in answers.items() if not _is_done(how)]
    waiting = sorted({*coming, *_awaited(service, now.unbuilt)})
    building = [html.P(f"The runs of {_names(waiting)} are being read: press Try to count them too.")]
    links = [
        dcc.Link(words.quoted(each), href=policies.backtest_url(policy, each)) for each in agents[:NAMED]
    ]
    more = [html.P(["At every odds: ", *_parted(links)])]
    parts = [
        html.H2("What it does" if is_set else "What it would do"),
        html.P(policies.in_words(policy)),
        html.P(policies.replay_in_words(policy, total(backtest(each, fuse, [odds]) for each in over))),
        *(more if links else []),
        html.P(policies.now_in_words(policy, now)),
        *(building if waiting else []),
        *([] if is_set else [html.P("Nothing is saved yet.", className="dim")]),
    ]
    return html.Section(parts, className="card", role="status"), bool(waiting)


def _is_done(how: Answer[Questions]) -> bool:
    return isinstance(how, Ready | Failed)


def _parted(links: Sequence[Component]) -> list[Any]:
    """Links with commas between them."""
    return [part for link in links for part in (", ", link)][1:]


def _replayed(service: Service, policy: Policy) -> list[str]:
    """Agents whose runs a policy is tried on: those with most runs that are over."""
    known = service.store.agents(service.tenant, DEFAULT_WINDOW, service.now_ns())
    its = [each for each in known if each.completed and policy.agent in (None, each.agent)]
    return [each.agent for each in sorted(its, key=lambda each: -each.completed)[:TRIED]]


def _changed(name: str, draft: Draft, there: Policy | None, count: int) -> list[str]:
    """What has changed since the form was opened, and whether there is room for one more."""
    if there is None and count >= MAX_POLICIES:
        return [f"There are {count} policies, and there may be no more: remove one first."]
    if there is None and draft.seen:
        return [f"The policy {words.quoted(name)} was removed meanwhile; saving sets it again."]
    if there is None:
        return [f"No policy is called “{words.quoted(name)}”: this makes one."] if name else []
    if draft.seen in ("", drafts.stamp(there)):
        return []
    return [
        f"The policy was changed meanwhile. Now it says: {policies.in_words(there)} Saving replaces that."
    ]


def _nobody(name: str) -> Page:
    said = f"No policy is called “{words.quoted(name)}”, and none of this name has fired."
    return Page(
        "No such policy",
        states.message("No such policy", said, dcc.Link("All policies", href=urls.FUSES)),
        stamp="none",
    )
