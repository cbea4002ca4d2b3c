"""What changed, in words: the whole, each change, and the forks at which most changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, rates, tokens, waygrid, words
from dashboard.components.rates import Rate
from dashboard.urls import Look
from engine.changes import AFTER, BEFORE, Changes
from engine.changes.ranking import Change, Findings, Parting
from engine.changes.wording import (
    explain,
    headline,
    points,
    sides,
    summary,
    told_within_tickets,
    whole_within_tickets,
)
from engine.listing import Filters
from engine.paths import Token
from engine.siblings import ALPHA, MIN_SUPPORT

LISTED = 30
"""Changes listed at once."""
FORKS = 8
"""Forks listed: those at which most changed."""


def whole(found: Findings, look: Look) -> Component:
    """How the base rate changed, and whether within tickets too."""
    changes = found.changes
    few = int(changes.support[:, 0].min()) < MIN_SUPPORT
    sure = not few and changes.p < ALPHA
    shade = (" verdict-on-track" if changes.changed[0] > 0 else " verdict-likely-failure") if sure else ""
    title = "Too few runs to compare" if few else "No clear change of the success rate"
    if sure:
        title = f"Success {'rose' if changes.changed[0] > 0 else 'fell'}: {points(float(changes.changed[0]))}"
    within = [] if few else [html.P(whole_within_tickets(found))]
    parts = [html.H2(title), html.P(headline(changes)), *within, _table(changes, look)]
    return html.Section(parts, className=f"card verdict{shade}")


def _table(found: Changes, look: Look) -> Component:
    lines = []
    for side, name in zip((BEFORE, AFTER), sides(found.split), strict=True):
        support, successes = int(found.support[side, 0]), int(found.successes[side, 0])
        bounds = float(found.low[side, 0]), float(found.high[side, 0])
        href = urls.runs_url(*waygrid.runs_of(found, side, look, Filters(outcome="completed")))
        label = html.Span(name, className="clip", title=name)
        lines.append(Rate(label, support, successes, *bounds, href=href))
    return rates.table(lines, None, "Completed runs of either side", "Side")


def ranked(found: Findings, look: Look) -> Component:
    """Every change that is significant by itself: those that hold, then those that may be chance."""
    held = [each for each in found.ranked if each.holds]
    doubtful = [each for each in found.ranked if not each.holds]
    title = html.H2(["What changed", html.Span(f"{len(held):,}", className="count")])
    parts: list[Component] = [title, html.P(summary(found.changes, found.ranked), className="dim")]
    parts += _list(held, found.changes, look)
    if doubtful:
        label = html.Summary(f"{words.count(len(doubtful), 'more change')} that may be chance")
        parts.append(html.Details([label, *_list(doubtful, found.changes, look)]))
    return html.Section(parts, className="card change-list")


def _list(changes: Sequence[Change], found: Changes, look: Look) -> list[Component]:
    if not changes:
        return []
    lines = [html.Li(_change(each, found, look)) for each in changes[:LISTED]]
    more = len(changes) - LISTED
    rest = [html.P(f"{more:,} more: forkmap compare lists them.", className="dim")] if more > 0 else []
    return [html.Ol(lines), *rest]


_MARKS = {
    "new": "new",
    "vanished": "gone",
    "more": "more often",
    "fewer": "less often",
    "better": "better",
    "worse": "worse",
}


def _change(each: Change, found: Changes, look: Look) -> list[Component]:
    moved = html.Span(points(each.points), className="number", title="Part of the base rate's change")
    mark = html.Span(_MARKS[each.kind], className=f"badge badge-{_MARKS[each.kind].split()[0]}")
    head = html.Div([mark, *_where(each.path, each.ended), moved], className="change-head")
    within = [html.P(told_within_tickets(each.tickets, each.grew), className="dim")] if each.tickets else []
    link = html.Link("On the map", href=urls.map_url(look._replace(node=each.key)))
    return [head, html.P([explain(each, found.split), " ", link]), *within]


def _where(path: Sequence[Token], ended: bool) -> list[Component]:
    if ended:
        after = [tokens.step(path[-1])] if path else [html.Span("the start", className="step")]
        return [html.Span("ended after", className="dim"), *after]
    before = [html.Span("after", className="dim"), tokens.step(path[-2])] if path[1:] else []
    return [tokens.step(path[-1]), *before]


def partings(found: Sequence[Parting], look: Look) -> list[Component]:
    """Where the change of the base rate came about: by other ways, or by other success in the same ways."""
    if not found:
        return []
    heads = ("Fork", "Of the change", "by other ways", "by other success in the same ways")
    body = [_parting(each, look) for each in found[:FORKS]]
    caption = (
        "At each fork that both sides came to, in points of the success rate. A fork further on splits once "
        "more what the fork before it calls other success."
    )
    head = html.Tr(
        [html.Th(text, scope="col", className="number" if place else "") for place, text in enumerate(heads)]
    )
    table = html.Table(
        [html.Caption(caption), html.Thead(head), html.Tbody(body)], className="rates partings"
    )
    return [html.Section([html.H2("Where it came about"), table], className="card scroll")]


def _parting(each: Parting, look: Look) -> Component:
    name: Any = tokens.step(each.path[-1]) if each.path else html.Span("the start", className="step")
    before = [html.Span(" after ", className="dim"), tokens.step(each.path[-2])] if each.path[1:] else []
    link = html.Link(name, href=urls.map_url(look._replace(node=each.key)))
    cells = [html.Td(points(part), className="number") for part in (each.whole, each.shifted, each.changed)]
    return html.Tr([html.Th([link, *before], scope="row"), *cells])
