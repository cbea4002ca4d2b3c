"""What there is to compare: tickets, and the runs of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dash import dcc
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, html, times
from dashboard.urls import Look
from engine.runs import Outcome, Window
from engine.store import RunRow, TicketRow

TICKET_HEADS = (
    ("Ticket", ""),
    ("Agent", ""),
    ("Succeeded", "number"),
    ("Failed", "number"),
    ("Abandoned", "number"),
    ("Live", "number"),
    ("Latest run", ""),
)
RUN_HEADS = (
    ("Run", ""),
    ("Outcome", ""),
    ("Version", ""),
    ("Began", ""),
    ("Steps", "number"),
    ("Decisions", ""),
    ("By other runs", ""),
    ("Compare", ""),
)


def tickets(rows: Sequence[TicketRow], now_ns: int) -> Component:
    """Tickets with how their runs ended; what can be told apart comes first."""
    caption = html.Caption("Those with a success and another ending first, then by their latest run")
    body = html.Tbody([_ticket(row, now_ns) for row in rows])
    return html.Table([caption, _heads(TICKET_HEADS), body], className="rates tickets")


def _heads(heads: Sequence[tuple[str, str]]) -> Component:
    return html.Thead(html.Tr([html.Th(text, scope="col", className=look) for text, look in heads]))


def _ticket(row: TicketRow, now_ns: int) -> Component:
    link = html.Link(row.ticket, href=urls.compare_url(ticket=row.ticket), className="clip", title=row.ticket)
    agents = ", ".join(row.agents)
    counts = (row.successes, row.failures, row.abandoned, row.live)
    return html.Tr(
        [
            html.Th(link, scope="row"),
            html.Td(html.Span(agents, className="clip", title=agents)),
            *(html.Td(f"{count:,}" if count else "–", className="number") for count in counts),
            html.Td(times.ago(row.last_ns, now_ns), className="dim"),
        ]
    )


class Shown(NamedTuple):
    """What is known of the runs of a ticket, by run id.

    Attributes
    ----------
    verdicts : mapping
        What other runs say of each, in words.
    decided : set of str
        Runs that recorded decisions.
    windows : mapping
        By agent: the window in which its runs are looked at.
    """

    verdicts: Mapping[str, str]
    decided: set[str]
    windows: Mapping[str, Window]


def runs(rows: Sequence[RunRow], shown: Shown, look: Look, now_ns: int) -> Component:
    """The runs of a ticket, to choose two of them."""
    caption = html.Caption("Choose one run, then the one to put beside it")
    body = html.Tbody([_run(row, shown, look, now_ns) for row in rows])
    return html.Table([caption, _heads(RUN_HEADS), body], className="rates ticket-runs")


def _run(row: RunRow, shown: Shown, look: Look, now_ns: int) -> Component:
    agent = [html.Span(row.agent, className="dim clip small")] if len(shown.windows) > 1 else []
    return html.Tr(
        [
            html.Th(
                [evidence.run_link(row.run_id, Look(window=shown.windows[row.agent])), *agent], scope="row"
            ),
            html.Td(evidence.outcome(row.outcome)),
            html.Td(
                html.Span(row.version or "–", className="clip", title=row.version or ""), className="dim"
            ),
            html.Td(times.ago(row.start_ns, now_ns), className="dim"),
            html.Td(f"{row.steps:,}", className="number"),
            html.Td("recorded" if row.run_id in shown.decided else "by steps only", className="dim"),
            html.Td(shown.verdicts[row.run_id], className="dim"),
            html.Td(_choose(row.run_id, look)),
        ],
        className="marked marked-good" if row.run_id == look.a else "",
    )


def _choose(run_id: str, look: Look) -> Component:
    if run_id == look.a:
        return html.Span("chosen as A", className="badge")
    text = "Put beside A" if look.a else "Choose as A"
    a, b = (look.a, run_id) if look.a else (run_id, "")
    href = urls.compare_url(a, b, look.ticket)
    return html.Link([text, html.Span(f" {run_id}", className="unseen")], href=href)


def contrast(rows: Sequence[RunRow]) -> tuple[RunRow, RunRow] | None:
    """The latest success and the latest run that ended otherwise, if there are both; of one agent if so.

    Parameters
    ----------
    rows : sequence of RunRow
        The runs of a ticket, newest first.
    """
    good = [row for row in rows if row.outcome is Outcome.SUCCESS]
    bad = [row for row in rows if row.outcome in (Outcome.FAILURE, Outcome.ABANDONED)]
    pairs = [(one, other) for other in bad for one in good]
    alike = (pair for pair in pairs if pair[0].agent == pair[1].agent)
    return next(alike, pairs[0] if pairs else None)


def contrast_link(rows: Sequence[RunRow], ticket: str) -> list[Component]:
    """The way to the pair that tells most, if there is one."""
    pair = contrast(rows)
    if pair is None:
        return []
    href = urls.compare_url(pair[0].run_id, pair[1].run_id, ticket)
    ended = "a failure" if pair[1].outcome is Outcome.FAILURE else "an abandoned run"
    link = html.Link(f"Compare a success with {ended}", href=href, className="button primary")
    return [html.P(link)]


def find(look: Look) -> Component:
    """Find a ticket by a part of its name."""
    return _form([_field("Ticket", "q", look.q, "a part of its name"), _button("Find")])


def by_id(look: Look) -> Component:
    """Compare two runs by their ids."""
    ticket = [dcc.Input(type="hidden", name="ticket", value=look.ticket)] if look.ticket else []
    boxes = [
        _field(f"Run {name.upper()}", name, value, "run id") for name, value in (("a", look.a), ("b", look.b))
    ]
    return _form([*ticket, *boxes, _button("Compare")])


def _form(parts: list[Component]) -> Component:
    return html.Form(parts, action=urls.COMPARE, method="get", className="say")


def _field(label: str, name: str, value: str, hint: str) -> Component:
    box = dcc.Input(type="text", name=name, value=value, placeholder=hint, autoComplete="off")
    return html.Label([f"{label} ", box])


def _button(text: str) -> Component:
    return html.Button(text, type="submit", className="button")
