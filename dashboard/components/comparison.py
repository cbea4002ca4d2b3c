"""What a comparison says in words: the diagnosis, what changed before the fork, the incident's questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, states, words
from dashboard.components.access import aria
from dashboard.components.lanes import row_id, unit
from dashboard.urls import Look
from engine.comparing import SPANS, Pair
from engine.decisions import wording
from engine.decisions.diff import Change, Diagnosis, Diff, Row
from engine.decisions.sides import Side
from engine.decisions.trace import Finding
from engine.runs import Run, is_live

LISTED = 5
"""Changes, and findings of a run, listed before the rest is only counted."""


def banner(diff: Diff) -> Component:
    """The diagnosis in words, what to look at first, and what changed before."""
    look = "calm" if diff.diagnosis is Diagnosis.IDENTICAL else "found"
    first = html.P([html.Span(wording.look_first(diff), className="look-first"), *_places(diff)])
    parts = [html.H2(wording.NAMES[diff.diagnosis]), html.P(wording.headline(diff)), first, *_changes(diff)]
    return html.Section(parts, className=f"card verdict diagnosis {look}", **aria(label="Diagnosis"))


def _places(diff: Diff) -> list[Any]:
    """Ways to the fork, and to the one change that the sentence before speaks of."""
    found = _speaking(diff)
    links = [html.A(f"Go to decision {found[0].a + 1}", href=_to_change(found[0]))] if len(found) == 1 else []
    if diff.fork is not None:
        text = f"Go to the fork, {unit(diff)} {diff.fork + 1}"
        links.append(html.A(text, href=f"#{row_id(diff.rows[diff.fork])}"))
    return [part for link in links for part in (" ", link)]


def _speaking(diff: Diff) -> Sequence[Change]:
    """Same choices out of other menus or ranks: those before the fork may be its cause."""
    return diff.changes if diff.fork is None else diff.before


def _changes(diff: Diff) -> list[Component]:
    """All of them, where the sentence before speaks of the first only."""
    found = _speaking(diff)
    if len(found) < 2:
        return []
    head = (
        "Where it differs:" if diff.fork is None else "Changed before the fork, the first may be its cause:"
    )
    lines = [html.Li(_change(change)) for change in found[:LISTED]]
    more = len(found) - len(lines)
    rest = [html.Li(f"and {more:,} more", className="dim")] if more else []
    return [html.P(head), html.Ul([*lines, *rest], className="changes")]


def _change(change: Change) -> Component:
    return html.A(wording.change(change), href=_to_change(change))


def _to_change(change: Change) -> str:
    return f"#{row_id(Row('=', change.a, change.b))}"


def notices(pair: Pair, now_ns: int) -> list[Component]:
    """What a reader must know of a pair before believing the comparison."""
    return [
        states.notice(said)
        for said in (*_cut(pair), *_unlike(pair), *_live(pair, now_ns), *_unrecorded(pair))
    ]


def _cut(pair: Pair) -> list[str]:
    return [f"Only the first {SPANS:,} spans of {name} were read." for name in pair.cut]


def _unlike(pair: Pair) -> list[str]:
    said, one, other = [], pair.run_a, pair.run_b
    if one.agent != other.agent:
        said.append(
            f"A is a run of {one.agent}, B of {other.agent}: another agent may well choose otherwise."
        )
    if one.ticket != other.ticket:
        tickets = [
            words.quoted(f"ticket {run.ticket}") if run.ticket else "no ticket" for run in (one, other)
        ]
        said.append(f"A worked on {tickets[0]}, B on {tickets[1]}: what differs may be the task.")
    return said


def _live(pair: Pair, now_ns: int) -> list[list[Any]]:
    """That a run is still going, and the way to what came since: a link of the page itself loads it anew."""
    live = [name for name, run in _named(pair) if is_live(run.source, run.last_ns, now_ns)]
    if not live:
        return []
    verb = "are" if len(live) > 1 else "is"
    again = html.A("Compare again", href=urls.compare_url(pair.run_a.run_id, pair.run_b.run_id))
    return [[f"{' and '.join(live)} {verb} still going: this compares what is there by now. ", again]]


def _named(pair: Pair) -> tuple[tuple[str, Run], ...]:
    return ("A", pair.run_a), ("B", pair.run_b)


def _unrecorded(pair: Pair) -> list[str]:
    if pair.diff.by == "decisions":
        return []
    none = [name for name, side in (("A", pair.a), ("B", pair.b)) if not side.choices]
    who = "Neither run recorded a decision" if len(none) > 1 else f"{none[0]} recorded no decision"
    return [f"{who}: the two are compared by their steps."]


def questions(diff: Diff) -> Component:
    """The four questions of an incident, answered for each run."""
    heads = html.Thead(html.Tr([html.Th(text, scope="col") for text in ("Question", "A", "B")]))
    rows = [
        html.Tr([html.Th(each.question, scope="row"), _answer(each.a), _answer(each.b)])
        for each in wording.answers(diff)
    ]
    caption = html.Caption("As far as each trace holds the answer")
    table = html.Table([caption, heads, html.Tbody(rows)], className="rates answers")
    return html.Section([html.H2("Four questions of an incident"), table], className="card scroll")


def _answer(text: str) -> Component:
    return html.Td(text, className="dim" if text == wording.INCOMPLETE else "")


def audit(pair: Pair) -> list[Component]:
    """What is wrong with how the decisions were recorded, and by which run; nothing if nothing is."""
    sides = [
        (name, run, _findings(side)) for (name, run), side in zip(_named(pair), (pair.a, pair.b), strict=True)
    ]
    lists = [_listed(name, run, found) for name, run, found in sides if found]
    return [html.Section([html.H2("What the audit finds"), *lists], className="card")] if lists else []


def _findings(side: Side) -> Sequence[Finding]:
    return side.trace.findings if side.trace else ()


def _listed(name: str, run: Run, found: Sequence[Finding]) -> Component:
    lines = [html.Li(_finding(finding)) for finding in found[:LISTED]]
    more = len(found) - len(lines)
    link = html.Link("beside its steps", href=urls.run_url(Look(run=run.run_id)))
    rest = f"and {words.count(more, 'more finding')}; all of them " if more else "All of them "
    return html.Div(
        [html.H3(f"{name}: {words.count(len(found), 'finding')}"), html.Ul([*lines, html.Li([rest, link])])]
    )


def _finding(finding: Finding) -> list[Any]:
    return [html.Code(finding.kind), " ", wording.finding(finding)]
