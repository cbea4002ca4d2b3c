"""Policies in words: what each asks for, what came of it, and what it would do at this moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dash import dcc
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, html, words
from dashboard.components.access import aria
from dashboard.components.drafts import percent_of, stamp
from dashboard.urls import Look
from engine.backtest import Total, fuse_of
from engine.fuses import Policy
from engine.statistics import wilson_one
from engine.store import Tally
from engine.triage import InFlight, Triage

NAMED = 3
"""Runs named that a fuse would fire in now."""
VERBS = {
    ("stop", "enforce"): "Stops",
    ("warn", "enforce"): "Warns",
    ("stop", "shadow"): "Would stop",
    ("warn", "shadow"): "Would warn",
}
FALSE = {"stop": "false stop", "warn": "false warning"}
"""What a firing is called in a run that succeeded, as somebody said."""


class Shown(NamedTuple):
    """What a list of policies shows beside them.

    Attributes
    ----------
    tallies : mapping
        By policy: how the runs ended that its fuse fired in, a line for each action and mode it had.
    now : Triage
        The runs in flight, and which fuses would fire in each.
    agents : collection of str
        Agents that have runs.
    chosen : str
        The policy that alone is looked at, "" for none.
    may_change : bool
        Whether whoever looks may change them.
    """

    tallies: Mapping[str, Sequence[Tally]]
    now: Triage
    agents: frozenset[str]
    chosen: str = ""
    may_change: bool = False


def in_words(policy: Policy) -> str:
    """What a policy asks for, in one sentence.

    >>> in_words(Policy(name="low", agent="desk", min_success_odds=0.25, action="stop", mode="shadow"))
    "Would stop runs of desk that have taken 3 steps, where at least 30 earlier runs went the same way and \
even the upper bound of their success rate's 95% interval is below 25%."
    """
    whose = f"runs of {words.quoted(policy.agent)}" if policy.agent else "runs of every agent"
    support = words.count(policy.foresight_min_support, "earlier run")
    after = policy.foresight_after_steps
    taken = f" that have taken {words.count(after, 'step')}" if after else ""
    return (
        f"{VERBS[policy.action, policy.mode]} {whose}{taken}, where at least {support} went the same way and "
        "even the upper bound of their success rate's 95% interval is below "
        f"{percent_of(policy.min_success_odds)}%."
    )


def modes(policies: Sequence[Policy]) -> str:
    """How many policies there are, and whether anything is stopped.

    >>> modes([Policy(name="low", min_success_odds=0.5, action="stop", mode="shadow")])
    '1 policy, in shadow: every call is allowed, and what it would have said is written down.'
    """
    many = words.count(len(policies), "policy", "policies")
    enforced = sum(policy.mode == "enforce" for policy in policies)
    if not policies:
        return "No policy is set: every call is allowed, and nothing is written down."
    if not enforced:
        which, who = ("in shadow", "it") if len(policies) == 1 else ("all in shadow", "they")
        return f"{many}, {which}: every call is allowed, and what {who} would have said is written down."
    if enforced == len(policies):
        which = "enforced" if enforced == 1 else "all enforced"
        return f"{many}, {which}: agents that ask before a call are told."
    return f"{many}: {enforced:,} enforced, {len(policies) - enforced:,} in shadow."


def outcome_in_words(tally: Tally) -> str:
    """How the runs ended that fuses of a policy fired in; what is inferred stands apart.

    >>> outcome_in_words(Tally("low", "stop", "shadow", 11, 1, 7, 0, 0, 1, 0, 2))
    'Would have stopped 11 runs. By what was said of 8 of them, 1 succeeded after all: 12.5% false stops \
(2.2–47.1%). How 1 more ended is only inferred (1 failed), and not counted. 2 are not over, or no longer \
stored.'
    """
    parts = [f"{_fired(tally)} {words.count(tally.runs, 'run')}."]
    said = tally.successes + tally.failures + tally.abandoned
    if said:
        share, bounds = tally.successes / said, words.interval(*wilson_one(tally.successes, said))
        after_all = f"{tally.successes:,} succeeded after all" if tally.successes else "none succeeded"
        kind = f"{FALSE[tally.action]}s"
        parts.append(
            f"By what was said of {said:,} of them, {after_all}: {words.percent(share)} {kind} ({bounds})."
        )
    parts += _inferred(tally)
    if tally.unknown:
        are = "is" if tally.unknown == 1 else "are"
        parts.append(f"{tally.unknown:,} {are} not over, or no longer stored.")
    return " ".join(parts)


def _fired(tally: Tally) -> str:
    if tally.mode == "shadow":
        return "Would have stopped" if tally.action == "stop" else "Would have warned"
    return "Said stop to" if tally.action == "stop" else "Warned"


def _inferred(tally: Tally) -> list[str]:
    ended = (
        (tally.inferred_successes, "succeeded"),
        (tally.inferred_failures, "failed"),
        (tally.inferred_abandoned, "abandoned"),
    )
    each = ", ".join(f"{count:,} {how}" for count, how in ended if count)
    number = sum(count for count, _ in ended)
    return [f"How {number:,} more ended is only inferred ({each}), and not counted."] if number else []


def firing_in(policy: Policy, now: Triage) -> list[InFlight]:
    """The runs in flight that a policy's fuse would fire in, lowest estimate first."""
    return [flight for flight in now.runs if any(each.policy.name == policy.name for each in flight.fired)]


def now_in_words(policy: Policy, now: Triage) -> str:
    """In how many of its runs in flight a policy's fuse would fire.

    >>> now_in_words(Policy(name="low", min_success_odds=0.5, action="stop"), Triage())
    'No run is in flight.'
    """
    its = [flight for flight in now.runs if policy.agent in (None, flight.run.agent)]
    asked, firing = sum(flight.found is not None for flight in its), len(firing_in(policy, now))
    if not asked:
        return "No run in flight can be asked about yet." if its else "No run is in flight."
    verb = {"stop": "be stopped", "warn": "be warned"}[policy.action]
    return f"{firing or 'None'} of {words.count(asked, 'run')} in flight would {verb}."


def replay_in_words(policy: Policy, found: Total) -> str:
    """What a policy would have done to runs that are over.

    >>> policy = Policy(name="low", min_success_odds=0.5, action="stop")
    >>> replay_in_words(policy, Total(180, 98, 50, 5))
    'Of the 180 runs of the last 30 days that are over, asked about before every call and judged by all \
others, it would have stopped 50. 5 of these succeeded: 10.0% false stops (4.3–21.4%). Of the 82 that did \
not succeed it would have stopped 45.'
    """
    if not found.runs:
        return (
            "No run of the last 30 days that is over can be asked about: there is none, or none is read yet."
        )
    verb, kind = {"stop": "stopped", "warn": "warned"}[policy.action], f"{FALSE[policy.action]}s"
    over = words.count(found.runs, "run")
    asked = (
        f"Of the {over} of the last 30 days that are over, asked about before every call and judged by all "
        "others,"
    )
    if not found.stopped:
        return f"{asked} it would have {verb} none."
    share, bounds = found.wrongly / found.stopped, words.interval(*wilson_one(found.wrongly, found.stopped))
    ended, caught = found.runs - found.successes, found.stopped - found.wrongly
    return (
        f"{asked} it would have {verb} {found.stopped:,}. {found.wrongly:,} of these succeeded: "
        f"{words.percent(share)} {kind} ({bounds}). Of the {ended:,} that did not succeed "
        f"it would have {verb} {caught:,}."
    )


def policy(each: Policy, shown: Shown) -> Component:
    """One policy: its words, its ledger, its runs in flight, and what can be done with it."""
    look = urls.fuses_url(policy=each.name)
    head = [
        html.H3(html.Link(each.name, href=look, className="clip", title=each.name)),
        badge(each.action, each.mode),
        *([_actions(each, shown)] if shown.may_change else []),
    ]
    lines = [_asks(each), _ledger(each, shown), _now(each, shown.now)]
    waits = each.agent is not None and each.agent not in shown.agents
    if waits:
        lines.append(
            html.P("No agent of this name has runs yet: the policy waits for one.", className="notice")
        )
    return html.Li(
        [html.Div(head, className="policy-head"), *lines], className="policy", id=f"policy-{each.name}"
    )


def _asks(each: Policy) -> Component:
    """What it asks for, and where that is tried on runs that are over."""
    link = html.Link("Try it on runs that are over", href=backtest_url(each))
    return html.P([in_words(each), " ", link])


def backtest_url(each: Policy, agent: str = "") -> str:
    """Where a policy is tried on the runs of its agent that are over; of one for all, on those of an agent.

    >>> backtest_url(Policy(name="low", min_success_odds=0.5, action="stop"), "desk")
    '/backtest?agent=desk&policy=low&odds=50'
    """
    fuse, odds = fuse_of(each)
    look = Look(agent=each.agent or agent, policy=each.name, odds=odds, fuse=fuse)
    return urls.backtest_url(look)


def badge(action: str, mode: str) -> Component:
    """Action and mode as a small word; what is in shadow is outlined only."""
    text, look = badge_of(action, mode)
    return html.Span(text, className=look)


def badge_of(action: str, mode: str) -> tuple[str, str]:
    """The text of that word, and its classes.

    >>> badge_of("stop", "enforce"), badge_of("warn", "shadow")
    (('stop', 'badge badge-fork'), ('warn, in shadow', 'badge badge-cut maybe'))
    """
    text, shadow = (action, "") if mode == "enforce" else (f"{action}, in shadow", " maybe")
    return text, f"badge {'badge-fork' if action == 'stop' else 'badge-cut'}{shadow}"


def _ledger(each: Policy, shown: Shown) -> Component:
    tallies = shown.tallies.get(each.name, ())
    if not tallies:
        return html.P("It has not fired yet.", className="soft")
    said = " ".join(outcome_in_words(tally) for tally in tallies)
    link: list[Any] = (
        [] if shown.chosen else [" ", html.Link("Its firings", href=urls.fuses_url(policy=each.name))]
    )
    return html.P([said, *link], className="soft")


def _now(each: Policy, now: Triage) -> Component:
    said, firing = now_in_words(each, now), firing_in(each, now)
    if not firing:
        return html.P(said, className="dim")
    links: list[Any] = [evidence.run_link(flight.run.run_id, Look()) for flight in firing[:NAMED]]
    if len(firing) > NAMED:
        rest = f"and {len(firing) - NAMED:,} more"
        links.append(html.Link(rest, href=urls.live_url(each.agent or "")))
    return html.P(
        [html.Span(said), *[part for link in links for part in (" ", link)]], className="now-firing"
    )


def _actions(each: Policy, shown: Shown) -> Component:
    other = "shadow" if each.mode == "enforce" else "enforce"
    label, yes = ("Put in shadow", "put it in shadow") if other == "shadow" else ("Enforce", "enforce it")
    return html.Div(
        [
            html.Link("Edit", href=urls.fuses_url(edit=each.name), className="button small"),
            _asked(
                label,
                _about_mode(each, shown),
                f"Yes, {yes}",
                each,
                urls.SET_MODE,
                shown,
                mode=other,
                seen=stamp(each),
            ),
            _asked("Remove", _about_removal(each), "Yes, remove it", each, urls.REMOVE_POLICY, shown),
        ],
        className="policy-actions",
    )


def _about_mode(each: Policy, shown: Shown) -> str:
    if each.mode == "enforce":
        return "Every call is allowed again at once; what it would have said is written down."
    told = {"stop": "told to stop", "warn": "warned"}[each.action]
    tally = next((one for one in shown.tallies.get(each.name, ()) if one.mode == "shadow"), None)
    false = f" In shadow so far: {words.count(tally.successes, FALSE[each.action])}." if tally else ""
    runs = words.count(len(firing_in(each, shown.now)), "run")
    return f"From their next call on, agents that ask are {told}. At this moment that is {runs}.{false}"


def _about_removal(each: Policy) -> str:
    stops = " Nothing is stopped by it any more." if each.mode == "enforce" else ""
    return f"Its lines stay in the ledger.{stops}"


def _asked(
    label: str, about: str, answer: str, each: Policy, action: str, shown: Shown, **fields: str
) -> Component:
    """A change that is asked about once more before it is made."""
    hidden = {"name": each.name, "policy": shown.chosen} | fields
    form = html.Form(
        [
            *[dcc.Input(type="hidden", name=name, value=value) for name, value in hidden.items() if value],
            html.P(about),
            html.Button(answer, type="submit", className="button", **aria(label=f"{answer}: {each.name}")),
        ],
        action=action,
        method="post",
    )
    summary = html.Summary(label, className="button small", **aria(label=f"{label} {each.name}"))
    return html.Details([summary, form], className="asked")


def gone(tally: Tally) -> Component:
    """A policy that is set no more, and what came of it."""
    link = html.Link(
        tally.policy, href=urls.fuses_url(policy=tally.policy), className="clip", title=tally.policy
    )
    return html.Li([html.H3(link), html.P(outcome_in_words(tally), className="soft")], className="policy")
