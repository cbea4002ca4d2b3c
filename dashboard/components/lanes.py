"""Two runs side by side, choice by choice: equal ones in a line, others open with their options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import cells, evidence, html, times, words
from dashboard.components.access import aria, data
from dashboard.components.stretches import behind, stretches
from dashboard.urls import Look
from engine.comparing import Pair
from engine.decisions import wording
from engine.decisions.diff import Diff, Row
from engine.runs import Run

INSIDE = 100
"""Rows drawn of a folded stretch."""
DRAWN = 200
"""Rows drawn beside folded ones, and the fork, wherever it is."""
OPEN = 40
"""Rows that differ drawn with their options, as the fork always is."""

_SIGNS = {"=": "the same", "≠": "they differ", "-": "only in A", "+": "only in B"}


def lanes(pair: Pair, now_ns: int) -> Component:
    """The two runs, each a lane, and between them what became of every pair of choices."""
    differing, number = behind(pair.diff), 0
    left, passed, drawn = DRAWN, 0, list[Component]()
    for stretch in stretches(pair.diff):
        if stretch.folded and left:
            drawn.append(_folded(pair, stretch.rows))
            continue
        for row in stretch.rows:
            if not left and not _is_fork(pair.diff, row):
                passed += 1
                continue
            drawn += [_passed(passed)] if passed else []
            left = max(0, left - 1)
            if row.mark == "=" and row.a not in differing:
                drawn.append(_equal(pair, row))
                continue
            number += 1
            drawn.append(_differing(pair, row, differing.get(row.a) if row.mark == "=" else None, number))
    heading = html.H2(f"{unit(pair.diff).capitalize()}s side by side", className="unseen")
    rows = html.Ol(drawn, className="lane-rows")
    return html.Section([heading, _heads(pair, now_ns), rows, *_rest(pair, passed)], className="card lanes")


def tally(diff: Diff) -> str:
    """How many of its rows are the same, and how many are not."""
    differing = behind(diff)
    same = sum(row.mark == "=" and row.a not in differing for row in diff.rows)
    return f"{words.count(same, unit(diff))} the same, {len(diff.rows) - same:,} not"


def unit(diff: Diff) -> str:
    """What its rows are of."""
    return "decision" if diff.by == "decisions" else "step"


def row_id(row: Row) -> str:
    """Id of a row that differs, to be linked to.

    >>> row_id(Row("≠", 2, 2)), row_id(Row("+", None, 3))
    ('row-3-3', 'row--4')
    """
    return "-".join(["row", *("" if place is None else str(place + 1) for place in (row.a, row.b))])


def _heads(pair: Pair, now_ns: int) -> Component:
    sides = (("A", pair.run_a, pair.a), ("B", pair.run_b, pair.b))
    one, other = (_head(name, run, len(side.sequence(pair.diff)), pair, now_ns) for name, run, side in sides)
    return html.Div([one, html.Span(className="gutter"), other], className="lane-row lane-heads")


def _head(name: str, run: Run, length: int, pair: Pair, now_ns: int) -> Component:
    href = urls.run_url(Look(run=run.run_id))
    link = html.Link(run.run_id, href=href, className="run-id clip", title=run.run_id)
    facts = [run.agent] if pair.run_a.agent != pair.run_b.agent else []
    facts += [words.count(length, unit(pair.diff)), *([f"version {run.version}"] if run.version else [])]
    about = html.Span([" · ".join([*facts, ""]), times.ago(run.start_ns, now_ns)], className="dim small")
    tag = html.Span(name, className="lane-tag")
    parts = [tag, html.Div([link, about], className="lane-run"), evidence.state(run, now_ns)]
    return html.Div(parts, className="lane")


def _folded(pair: Pair, rows: Sequence[Row]) -> Component:
    inside = [_equal(pair, row) for row in rows[:INSIDE]]
    more = len(rows) - len(inside)
    rest = [html.Li(f"and {more:,} more", className="lane-rest dim")] if more else []
    sign = html.Span("=", **aria(hidden="true"))
    summary = html.Summary([sign, f" {words.count(len(rows), unit(pair.diff))} the same"])
    body = html.Ol([*inside, *rest], className="lane-rows")
    return html.Li(html.Details([summary, body]), className="lane-fold")


def _passed(rows: int) -> Component:
    return html.Li(f"{words.count(rows, 'row')} before the fork not drawn", className="lane-rest dim")


def _rest(pair: Pair, passed: int) -> list[Component]:
    if not passed:
        return []
    text = f"The first {DRAWN} rows and the fork are drawn, beside folded ones. All of them: "
    command = html.Code(shlex.join(["forkmap", "diff", pair.a.name, pair.b.name]))
    return [html.P([text, command], className="lane-rest dim")]


def _equal(pair: Pair, row: Row) -> Component:
    return html.Li(_grid(pair, row, _SIGNS["="], opened=False), className="lane-item equal")


def _differing(pair: Pair, row: Row, what: str | None, number: int) -> Component:
    """A row that keys go to, by its number; of an equal choice it tells what differs behind it."""
    is_fork = _is_fork(pair.diff, row)
    looks = {"fork": is_fork, "behind": what is not None}
    line = [_fork_line(pair.diff)] if is_fork else [_behind_line(what)] if what else []
    sign = "the same choice" if what else _SIGNS[row.mark]
    return html.Li(
        [*line, _grid(pair, row, sign, opened=is_fork or number <= OPEN)],
        id=row_id(row),
        className=" ".join(["lane-item", *(name for name, is_so in looks.items() if is_so)]),
        tabIndex=-1,
        **data(difference=str(number)),
    )


def _is_fork(diff: Diff, row: Row) -> bool:
    return diff.fork is not None and row is diff.rows[diff.fork]


def _fork_line(diff: Diff) -> Component:
    ties = [f"{side} was close to a tie" for side, low in (("A", diff.low_a), ("B", diff.low_b)) if low]
    said: list[Any] = [html.Span("First divergence", className="badge divergence")]
    said += [html.B(wording.NAMES[diff.diagnosis]), html.Span(" · ".join(ties), className="low")]
    return html.P(said, className="lane-line")


def _behind_line(what: str) -> Component:
    return html.P([html.Span("Same choice", className="badge"), html.Span(what)], className="lane-line")


def _grid(pair: Pair, row: Row, said: str, opened: bool) -> Component:
    sign = html.Span(row.mark.replace("-", "−"), **aria(hidden="true"))
    gutter = html.Span([sign, html.Span(said, className="unseen")], className="gutter")
    return html.Div(
        [_cell(pair, row, "A", opened), gutter, _cell(pair, row, "B", opened)], className="lane-row"
    )


def _cell(pair: Pair, row: Row, name: str, opened: bool) -> Component:
    ours, theirs = (pair.a, pair.b) if name == "A" else (pair.b, pair.a)
    place, other = (row.a, row.b) if name == "A" else (row.b, row.a)
    if place is None:
        return html.Div(cells.gap(unit(pair.diff)), className="lane lane-gap", **data(lane=name))
    choice = ours.choice(pair.diff, place)
    if choice is None:
        run = pair.run_a if name == "A" else pair.run_b
        inside = [cells.step(place, run.steps[place], run.start_ns)]
    else:
        beside = theirs.choice(pair.diff, other)
        below = cells.opened(choice, beside) if opened else []
        inside = [cells.chosen(place, choice, beside, pair.diff.low_margin), *below]
    return html.Div(inside, className="lane", **data(lane=name))
