"""What policies promise, tried on runs that are over, beside what the ledger tells of them."""

from __future__ import annotations

from collections.abc import Sequence

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import policies, words
from dashboard.components.drafts import percent_of
from dashboard.urls import Look
from engine.backtest import Point, Promise, fuse_of
from engine.statistics import wilson_one
from engine.store import Tally

HEADS = ("Policy", "Tried on runs that are over", "In the ledger", "Kept?")


def kept(point: Point, tally: Tally) -> str:
    """Whether the share of false stops is what was promised, as far as the intervals tell.

    >>> promised = Point(0.5, 50, 45, 5, 0.043, 0.214, 210, None, 0, 4.0)
    >>> kept(promised, Tally("low", "stop", "shadow", 40, 20, 18, 2, 0, 0, 0, 0))
    'No: more false stops than promised.'
    >>> kept(promised, Tally("low", "stop", "shadow", 40, 4, 14, 2, 0, 0, 0, 20))
    'So far: the two intervals overlap.'
    >>> kept(promised, Tally("low", "stop", "enforce", 40, 0, 38, 2, 0, 0, 0, 0))
    'Cannot tell: a run that is really stopped can hardly succeed.'
    """
    if (tally.action, tally.mode) == ("stop", "enforce"):
        return "Cannot tell: a run that is really stopped can hardly succeed."
    said = tally.successes + tally.failures + tally.abandoned
    if not said:
        return "Cannot tell: of none of these runs anybody said how it ended."
    if not point.stopped:
        return "Cannot tell: it was to stop none."
    low, high = wilson_one(tally.successes, said)
    if low > point.high:
        return "No: more false stops than promised."
    return (
        "Better: fewer false stops than promised."
        if high < point.low
        else "So far: the two intervals overlap."
    )


def section(promises: Sequence[Promise], tallies: Sequence[Tally], look: Look) -> Component:
    """The policies that hold for an agent, promise beside practice.

    Parameters
    ----------
    tallies : sequence of Tally
        What the ledger tells of the agent: of each policy one for each action and mode it had.
    """
    if not promises:
        said = "No policy holds for this agent yet, so there is no ledger to compare with."
        return html.Section([html.H2("Promise and practice"), html.P(said)], className="card")
    heads = html.Tr([html.Th(text, scope="col") for text in HEADS])
    rows = [row for promise in promises for row in _rows(promise, tallies, look)]
    said = (
        "False stops in the ledger are runs that were to be stopped and of which somebody said that they "
        "succeeded. A run that was really stopped can hardly: only runs that went on are compared."
    )
    caption = html.Caption("Policies and their ledger", className="unseen")
    table = html.Table([caption, html.Thead(heads), html.Tbody(rows)], className="rates practice")
    shown = [html.P(said, className="soft"), html.Div(table, className="scroll")]
    return html.Section([html.H2("Promise and practice"), *shown], className="card")


def _rows(promise: Promise, tallies: Sequence[Tally], look: Look) -> list[Component]:
    policy = promise.policy
    fuse, odds = fuse_of(policy, look.fuse.earlier)
    terms = look._replace(odds=odds, fuse=fuse, policy=policy.name)
    name = [
        dcc.Link(policy.name, href=urls.backtest_url(terms), className="clip", title=policy.name),
        html.Span(f" below {percent_of(policy.min_success_odds)}%", className="dim"),
    ]
    head, promised = html.Th(name, scope="row"), html.Td(tried(promise))
    its = [tally for tally in tallies if tally.policy == policy.name]
    if not its:
        return [html.Tr([head, promised, html.Td("It has not fired yet."), html.Td("–")])]
    return [
        html.Tr([head, promised, html.Td(_ledger(tally)), html.Td(kept(promise.point, tally))])
        for tally in its
    ]


def tried(promise: Promise) -> str:
    """What a policy would have done."""
    point = promise.point
    share = f": {_false(point.wrongly, point.stopped)}" if point.stopped else ""
    return f"{point.stopped:,} of {words.count(promise.runs, 'run')} stopped{share}"


def fired(tally: Tally) -> str:
    """In how many runs it fired, and how those ended of which somebody said so."""
    said = tally.successes + tally.failures + tally.abandoned
    share = f": {_false(tally.successes, said)}" if said else ""
    return f"{words.count(tally.runs, 'run')}, {said:,} with an outcome that somebody gave{share}"


def _ledger(tally: Tally) -> list[Component]:
    link = dcc.Link(fired(tally), href=urls.fuses_url(policy=tally.policy))
    return [policies.badge(tally.action, tally.mode), html.Span(" "), link]


def _false(wrongly: int, stopped: int) -> str:
    return f"{words.percent(wrongly / stopped)} false stops ({words.interval(*wilson_one(wrongly, stopped))})"
