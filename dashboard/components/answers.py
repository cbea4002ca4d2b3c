"""What each fuse answers of one run, in words: whether it fires, and if not what it still asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, policies, tokens, words
from dashboard.components.drafts import percent_of
from engine.answering import Answer
from engine.fuses import Action, Fired, explain
from engine.runs import Outcome, Run, Source

SHOWN = 4
"""Fuses that are always shown; of the others it is told how many there are."""
SAYS = {
    ("stop", "enforce"): "Says stop",
    ("warn", "enforce"): "Warns",
    ("stop", "shadow"): "Would say stop",
    ("warn", "shadow"): "Would warn",
}
WOULD_HAVE = {"stop": "Would have said stop", "warn": "Would have warned"}


class Shown(NamedTuple):
    """What a card of answers shows.

    Attributes
    ----------
    answers : sequence of Answer
        Of the policies that are about runs of this agent, those that fire first.
    set : int
        Policies that there are, other agents' too.
    live : bool
        Whether the run is in flight: else they were asked before each of its calls.
    action : {"allow", "warn", "stop"}
        What a check answers now.
    firings : int
        Lines about the run in the ledger.
    step : str or None
        Signature of the step that it is asked to go on with, if one is.
    """

    answers: Sequence[Answer]
    set: int
    live: bool
    action: Action
    firings: int
    step: str | None = None


def card(run: Run, shown: Shown) -> Component:
    """The card of fuses on a run's page."""
    lines = [_line(run, each, shown.live) for each in shown.answers]
    more = len(lines) - SHOWN
    rest = html.Details([html.Summary(f"{more:,} more"), html.Ol(lines[SHOWN:], className="fuse-answers")])
    listed = [html.Ol(lines[:SHOWN], className="fuse-answers"), *([rest] if more > 0 else [])]
    return _section([html.P(_said(run, shown)), *(listed if lines else []), *_ledger(run, shown.firings)])


def unasked(sentence: str) -> Component:
    """The card where nothing can be asked."""
    return _section([html.P(sentence, role="status")])


def _section(parts: list[Any]) -> Component:
    link = html.Link("Policies", href=urls.fuses_url(), className="small")
    head = html.Div([html.H2("What the fuses say"), link], className="card-head")
    return html.Section([head, *parts], className="card fuses-say")


def _said(run: Run, shown: Shown) -> Any:
    """What all of them together answer."""
    if not shown.set:
        return "No policy is set: every call is allowed."
    if not run.steps and not shown.live:
        return "It made no call: no fuse was ever to be asked."
    if not shown.answers:
        return f"No policy is about runs of {words.quoted(run.agent)}: every call is allowed."
    if shown.live and shown.step:
        return ["If it names ", tokens.signature(shown.step), ", a check answers ", _action(shown), "."]
    if shown.live:
        return ["A check before its next call answers ", _action(shown), "."]
    return "It is over. Asked before each of its calls, by all other runs, they would have answered:"


def _action(shown: Shown) -> Component:
    return html.B(shown.action, className=f"action-{shown.action}")


def _line(run: Run, answer: Answer, live: bool) -> Component:
    policy = answer.policy
    link = html.Link(
        policy.name, href=urls.fuses_url(policy=policy.name), className="clip", title=policy.name
    )
    head = html.Div([link, policies.badge(policy.action, policy.mode)], className="answer-head")
    fires = answer.lacking is None
    said = _fires(run, answer, live) if fires else [html.Span(silent_in_words(answer, live))]
    return html.Li([head, html.P(said)], className="fires" if fires else "silent")


def _fires(run: Run, answer: Answer, live: bool) -> list[Any]:
    policy, why = answer.policy, explain(Fired(answer.policy, answer.found))
    if live:
        return [html.B(f"{SAYS[policy.action, policy.mode]}: "), why]
    call = tokens.signature(run.steps[answer.steps].signature)
    verb = WOULD_HAVE[policy.action]
    false = run.outcome is Outcome.SUCCESS and run.source is Source.DECLARED
    after_all = [html.B(f" The run succeeded: a {policies.FALSE[policy.action]}.")] if false else []
    return [html.B(f"{verb} before step {answer.steps + 1:,}, "), call, f": {why}", *after_all]


def silent_in_words(answer: Answer, live: bool = True) -> str:
    """Why a fuse does not fire.

    >>> from engine.foresight import Foresight
    >>> from engine.fuses import Policy
    >>> low = Policy(name="low", min_success_odds=0.25, action="stop")
    >>> found = Foresight("on_track", 12, 9, 0.46, 0.91, 180, 98, True, None)
    >>> silent_in_words(Answer(low, 2, found, "steps"))
    'Silent: 2 steps are taken, and it speaks after 3.'
    >>> silent_in_words(Answer(low, 5, found, "support"))
    'Silent: 12 earlier runs went this way, and it asks for 30.'
    >>> silent_in_words(Answer(low, 5, found, "odds"))
    'Silent: even the upper bound would have to be below 25%, and it is 91.0%.'
    """
    policy, found = answer.policy, answer.found
    took = f" and took {found.next_step} next" if found.next_step and live else ""
    reasons = {
        "agent": "it is about another agent.",
        "steps": (
            f"{words.count(answer.steps, 'step is', 'steps are')} taken, and it speaks after "
            f"{policy.foresight_after_steps:,}."
        ),
        "path": "the run goes on past what is read of a path.",
        "support": (
            f"{words.count(found.support, 'earlier run')} went this way{took}, and it asks for "
            f"{policy.foresight_min_support:,}."
        ),
        "odds": (
            f"even the upper bound would have to be below {percent_of(policy.min_success_odds)}%, and it is "
            f"{words.percent(found.high)}."
        ),
    }
    when = "Silent" if live else "Silent to the end"
    return f"{when}: {reasons[answer.lacking or 'odds']}"


def _ledger(run: Run, firings: int) -> list[Component]:
    """The way to what is written down of it."""
    if not firings:
        return []
    lines = words.count(firings, "line")
    link = html.Link(f"{lines} about this run in the ledger", href=urls.fuses_url(run=run.run_id))
    return [html.P(link, className="small")]
