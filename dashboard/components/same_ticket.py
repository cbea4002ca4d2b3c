"""Other runs of a run's ticket: how they ended, when, and each beside it."""

from __future__ import annotations

from collections.abc import Sequence

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, html, times, words
from dashboard.components.access import data
from dashboard.urls import Look
from engine.runs import Outcome, Run
from engine.store import RunRow

SHOWN = 6
"""Runs listed."""
READ = 100
"""Runs read at most."""
HEADS = (("Run", ""), ("Outcome", ""), ("Began", ""), ("Steps", "number"), ("", ""))
ENDED = (
    (Outcome.SUCCESS, "succeeded"),
    (Outcome.FAILURE, "failed"),
    (Outcome.ABANDONED, "abandoned"),
    (Outcome.UNKNOWN, "live"),
)


def card(run: Run, others: Sequence[RunRow], look: Look, now_ns: int) -> Component:
    """The other runs of the ticket, newest first.

    Parameters
    ----------
    others : sequence of RunRow
        Not the run itself; at most one more than :data:`READ`, which tells that there are more.
    """
    ticket = run.ticket or ""
    every = html.Link("All runs of this ticket", href=urls.compare_url(run.run_id, ticket=ticket))
    heads = [
        html.Th(text or html.Span("Compare", className="unseen"), scope="col", className=name)
        for text, name in HEADS
    ]
    rows = [_row(run, each, look, now_ns) for each in others[:SHOWN]]
    table = html.Table(
        [html.Caption(in_words(others)), html.Thead(html.Tr(heads)), html.Tbody(rows)],
        className="rates same-ticket",
    )
    head = html.Div(
        [html.H2("Same ticket"), html.Span(ticket, className="dim clip", title=ticket)], className="card-head"
    )
    more = [html.P(every)] if len(others) > SHOWN else []
    return html.Section([head, table, *more], className="card")


def in_words(others: Sequence[RunRow]) -> str:
    """How many other runs there are, and how they ended."""
    read = others[:READ]
    counts = [(sum(row.outcome is outcome for row in read), said) for outcome, said in ENDED]
    each = ", ".join(f"{count:,} {said}" for count, said in counts if count)
    if len(others) > READ:
        return f"More than {READ} others; of the latest {READ} {each}"
    return f"{words.count(len(others), 'other run')}: {each}"


def _row(run: Run, other: RunRow, look: Look, now_ns: int) -> Component:
    whose = [html.Span(other.agent, className="dim clip small")] if other.agent != run.agent else []
    href = urls.compare_url(run.run_id, other.run_id, run.ticket or "")
    compare = html.Link(["Compare", html.Span(f" with {other.run_id}", className="unseen")], href=href)
    return html.Tr(
        [
            html.Th([evidence.run_link(other.run_id, look), *whose], scope="row"),
            html.Td(evidence.outcome(other.outcome)),
            html.Td(times.ago(other.start_ns, now_ns), className="dim"),
            html.Td(f"{other.steps:,}", className="number"),
            html.Td(compare),
        ],
        **data(key=other.run_id),
    )
