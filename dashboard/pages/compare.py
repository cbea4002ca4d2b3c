"""Two runs of one ticket side by side: pick a ticket, pick two of its runs, see where they part and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import comparison, lanes, parting, payloads, states, tickets, verdict, words
from dashboard.components.access import data
from dashboard.components.tickets import Shown
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.builder import Answer, Failed, Ready
from engine.comparing import Pair, load_pair
from engine.decisions.diff import Diagnosis
from engine.decisions.markdown import markdown
from engine.errors import UnknownRunError
from engine.maps import BehaviourMap
from engine.runs import Cohort, Run
from engine.store import RunRow

SHOWN = 50
"""Runs listed of a ticket: the latest."""
TICKETS = 100
"""Tickets listed."""


def layout(service: Service, look: Look) -> Page:
    """The comparison of two runs, or what is left to choose."""
    if look.a and look.b:
        return _pair(service, look)
    if look.ticket or look.a:
        return _ticket(service, look)
    return _tickets(service, look)


def register(app: Dash, service: Service) -> None:
    """This page has no callbacks of its own."""


def _tickets(service: Service, look: Look) -> Page:
    now_ns = service.now_ns()
    rows = service.store.tickets(service.tenant, now_ns, look.q, TICKETS + 1)
    head = html.Div([html.H1("Compare two runs of a ticket"), tickets.find(look)], className="page-head")
    if not rows:
        said = (
            f"No ticket has “{words.quoted(look.q)}” in its name." if look.q else "No run names a ticket yet."
        )
        shown: list[Component] = [html.P(said)]
    else:
        rest = [html.P("There are more: find one by a part of its name.", className="dim")]
        shown = [tickets.tickets(rows[:TICKETS], now_ns), *(rest if len(rows) > TICKETS else [])]
    by_id = html.Section([html.H2("Or two runs by their ids"), tickets.by_id(look)], className="card")
    body = html.Div([head, html.Section(shown, className="card scroll"), by_id])
    return Page("Compare", body, stamp=str(len(rows)))


def _ticket(service: Service, look: Look) -> Page:
    """The runs of a ticket; a run that is chosen already tells its ticket."""
    chosen = _named(service, look.a)
    if look.a and chosen is None:
        return _unknown(service, look, look.a)
    if chosen is not None:
        look = look._replace(a=chosen.run_id, ticket=look.ticket or chosen.ticket or "")
    if not look.ticket:
        said = f"The run {words.quoted(look.a)} names no ticket. Say here what it is to be compared with."
        return _way_out("Which other run?", said, look)
    now_ns = service.now_ns()
    rows = service.store.runs_of_ticket(service.tenant, look.ticket, now_ns, SHOWN + 1)
    if not rows:
        return _way_out("No such ticket", f"No run is of the ticket “{words.quoted(look.ticket)}”.", look)
    return _runs(service, look, rows, now_ns)


def _runs(service: Service, look: Look, rows: Sequence[RunRow], now_ns: int) -> Page:
    found = rows[:SHOWN]
    agents = list(dict.fromkeys(row.agent for row in found))
    windows = {each: queries.telling_window(service.store, service.tenant, each, now_ns) for each in agents}
    answers = {each: service.maps.get(Cohort(service.tenant, each, windows[each])) for each in agents}
    waiting = [each for each in agents if not isinstance(answers[each], (Ready, Failed))]
    verdicts = {row.run_id: _verdict(service, row, answers[row.agent], now_ns) for row in found}
    decided = service.store.deciding(service.tenant, verdicts)
    table = tickets.runs(found, Shown(verdicts, decided, windows), look, now_ns)
    count = f"{'the latest ' if len(rows) > SHOWN else ''}{words.count(len(found), 'run')}"
    head = [html.H1(f"Ticket {look.ticket}", className="clip"), html.Span(count, className="dim"), _back()]
    alone = "Only one run is of this ticket so far: there is nothing to put beside it."
    body = [
        html.Div(head, className="page-head"),
        *([states.notice(alone)] if len(found) == 1 else tickets.contrast_link(found, look.ticket)),
        html.Section(table, className="card scroll"),
        html.Section([html.H2("Or two runs by their ids"), tickets.by_id(look)], className="card"),
    ]
    stamp = f"{len(rows)} waiting for {waiting}"
    return Page(look.ticket, html.Div(body), bool(waiting), stamp, agents[0] if len(agents) == 1 else "")


def _verdict(service: Service, row: RunRow, answer: Answer[BehaviourMap], now_ns: int) -> str:
    """What other runs say of one, as soon as the map is there."""
    if not isinstance(answer, Ready):
        return "–" if isinstance(answer, Failed) else "…"
    run = service.store.run(service.tenant, row.run_id)
    return verdict.NAMES[queries.judge_run(answer.value, run, now_ns).verdict.verdict].lower()


def _pair(service: Service, look: Look) -> Page:
    one, other = _named(service, look.a), _named(service, look.b)
    if one is None or other is None:
        return _unknown(service, look, look.b if one else look.a)
    look = look._replace(ticket=look.ticket or one.ticket or other.ticket or "")
    if one.run_id == other.run_id:
        said = f"A and B are both {words.quoted(one.run_id)}. Choose another run to put beside it."
        return _way_out("The same run twice", said, look._replace(a=one.run_id, b=""))
    pair, now_ns = load_pair(service.store, service.tenant, one.run_id, other.run_id), service.now_ns()
    called, (forks, waiting) = payloads.mismatch(pair.diff), _forks(service, one, other)
    is_about_calls = pair.diff.diagnosis is Diagnosis.ARGUMENTS
    body = [
        _head(pair, look.ticket),
        *comparison.notices(pair, now_ns),
        comparison.banner(pair.diff),
        *forks,
        *(called if is_about_calls else []),
        lanes.lanes(pair, now_ns),
        *([] if is_about_calls else called),
        html.Div([comparison.questions(pair.diff), *comparison.audit(pair)], className="columns"),
    ]
    agent = one.agent if one.agent == other.agent else ""
    title = f"{one.run_id} and {other.run_id}"
    stamp = f"{title} waiting" if waiting else title
    return Page(title, html.Div(body, className="compare"), waiting, stamp, agent)


def _forks(service: Service, one: Run, other: Run) -> tuple[list[Component], bool]:
    """The forks of the map by which two runs of an agent part, if any; whether the map is still to come."""
    if one.agent != other.agent:
        return [], False
    tenant, now_ns = service.tenant, service.now_ns()
    window = queries.telling_window(service.store, tenant, one.agent, now_ns)
    answer = service.maps.get(Cohort(tenant, one.agent, window))
    if not isinstance(answer, Ready):
        return [], not isinstance(answer, Failed)
    return parting.parting(answer.value, one.run_id, other.run_id), False


def _named(service: Service, text: str) -> Run | None:
    try:
        return queries.named_run(service.store, service.tenant, text, service.now_ns())
    except UnknownRunError:
        return None


def _head(pair: Pair, ticket: str) -> Component:
    """The ticket, and what can be done with the pair."""
    a, b = pair.run_a.run_id, pair.run_b.run_id
    copied = markdown(pair.diff, pair.a, pair.b)
    actions: list[Component] = [
        dcc.Link("Swap", href=urls.compare_url(b, a, ticket), className="button"),
        html.Button("Copy as Markdown", type="button", className="button", **data(copy=copied)),
        html.Button("Print", type="button", className="button", **data(does="print")),
    ]
    about: list[Component] = [_back()]
    if ticket:
        others = dcc.Link("All its runs", href=urls.compare_url(ticket=ticket))
        about = [html.Span(f"ticket {ticket}", className="dim clip", title=ticket), others]
    tally = html.Span(lanes.tally(pair.diff), className="dim")
    parts = [html.H1("Two runs side by side"), *about, tally, html.Div(actions, className="switches actions")]
    return html.Div(parts, className="page-head")


def _back() -> Component:
    return dcc.Link("All tickets", href=urls.COMPARE)


def _way_out(heading: str, said: Any, look: Look, *more: Component) -> Page:
    """Why there is no comparison, and how to come to one."""
    links = [dcc.Link("All runs of this ticket", href=urls.compare_url(look.a, ticket=look.ticket))]
    ways = [*(links if look.ticket else []), _back()]
    parts = [
        html.H1(heading),
        html.P(said),
        *more,
        tickets.by_id(look),
        html.Ul([html.Li(way) for way in ways], className="facts"),
    ]
    return Page(heading, html.Section(parts, className="card state"), stamp=heading)


def _unknown(service: Service, look: Look, text: str) -> Page:
    near = queries.near(service.store, service.tenant, text, service.now_ns())
    alike = [each.run.run_id for each in near.runs]
    named = look.a if text == look.b else look.b
    links = [
        html.Li(dcc.Link(run_id, href=_instead(look, text, run_id))) for run_id in alike if run_id != named
    ]
    like = [html.P("Names like it:"), html.Ul(links, className="found")] if links else []
    said = ["No run is called ", html.Code(words.quoted(text)), "."]
    return _way_out("No such run", said, look, *like)


def _instead(look: Look, text: str, run_id: str) -> str:
    a, b = (run_id if each == text else each for each in (look.a, look.b))
    return urls.compare_url(a, b, look.ticket)
