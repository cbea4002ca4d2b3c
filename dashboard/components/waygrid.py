"""The tree of two sides: each way with its share and its success on both, to be opened step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, rates, tokens, words
from dashboard.components.access import aria, data
from dashboard.components.rates import Rate
from dashboard.urls import Look
from engine.changes import AFTER, BEFORE, Changes, Moment, Way, ways_from
from engine.changes.wording import points, sides
from engine.growing import Ints
from engine.listing import Filters
from engine.siblings import ALPHA
from engine.splitting import parted
from engine.statistics import proportion

SHOWN = 200
"""Ways drawn at most: those that changed, then those that most runs took."""


def tree(found: Changes, look: Look) -> Component:
    """The ways from the start, each with those behind it."""
    wanted, told = shown(found)
    was, now = sides(found.split)
    legend = html.P(
        ["Of each pair of lines the upper one is ", html.B(was), ", the lower one ", html.B(now), "."],
        className="dim small",
    )
    rest = found.node.size - int(wanted.sum())
    more = f"{rest:,} rarer ways are not drawn; the API and forkmap compare --json have them all."
    parts = [
        html.Div([html.H2("Way by way"), legend], className="card-head"),
        html.Div([html.Span(text) for text in _HEADS], className="way way-heads", **aria(hidden="true")),
        _below(found, 0, wanted, told, look),
        *([html.P(more, className="dim small")] if rest else []),
    ]
    return html.Section(parts, className="card ways-card", **data(ways="tree"))


_HEADS = ("Step", "Share of the runs that came here", "Success, 95% interval", "Of the change")


def shown(found: Changes) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Which ways are drawn, with all that lead there; and which of them lead to one that changed."""
    changed = np.fmin(found.shift_p, found.success_p) < ALPHA
    order = np.lexsort((-found.support.sum(axis=0), ~changed))
    told, wanted = (np.zeros(found.node.size, bool) for _ in range(2))
    told[0] = wanted[0] = True
    count = 1
    for way in order.tolist():
        line = _line(found, way, wanted)
        if count + len(line) > SHOWN:
            continue
        wanted[line] = True
        count += len(line)
        if changed[way]:
            told[_line(found, way, told)] = True
    return wanted, told


def _line(found: Changes, way: int, known: np.ndarray[Any, Any]) -> list[int]:
    """A way and those that lead to it, up to one that is known."""
    line = []
    while not known[way]:
        line.append(way)
        way = int(found.parent[way])
    return line


def _below(found: Changes, node: int, wanted: Any, told: Any, look: Look) -> Component:
    ways: Ints = ways_from(found, node)
    return html.Ul(
        [html.Li(_way(found, way, wanted, told, look)) for way in ways.tolist() if wanted[way]],
        className="way-list",
    )


def _way(found: Changes, way: int, wanted: Any, told: Any, look: Look) -> Component:
    leads = found.kind[way] == Way.BRANCH and bool(wanted[ways_from(found, way)].any())
    below = [_below(found, way, wanted, told, look)] if leads else []
    return html.Details(
        [html.Summary(_row(found, way), className="way"), _more(found, way, look), *below],
        open=bool(leads and (told[ways_from(found, way)].any() or found.parent[way] == 0)),
        className="has-more" if leads else "",
    )


def _row(found: Changes, way: int) -> list[Component]:
    named = {Way.ENDED: "ended here", Way.DROPPED: "rare branches, dropped"}.get(Way(int(found.kind[way])))
    path = found.behaviour.path(int(found.node[way]))
    name = html.Span(named, className="step dim") if named else tokens.step(path[-1])
    return [
        html.Span([name, *_badge(found, way)], className="way-name"),
        _pair(_share(found, way, side) for side in (BEFORE, AFTER)),
        _pair(_success(found, way, side) for side in (BEFORE, AFTER)),
        html.Span(points(float(found.shifted[way] + found.changed[way])), className="number way-points"),
    ]


def _pair(lines: Any) -> Component:
    return html.Span([*lines], className="way-pair")


def _badge(found: Changes, way: int) -> list[Component]:
    """Whether only one of the sides has it, of those that both came to."""
    support = found.support[:, way]
    if not found.support[:, found.parent[way]].min() or support.min():
        return []
    text = "gone" if support[BEFORE] else "new"
    return [html.Span(text, className=f"badge badge-{text}")]


def _share(found: Changes, way: int, side: int) -> Component:
    some, every = int(found.support[side, way]), int(found.support[side, found.parent[way]])
    share = proportion(some, every)
    bar = html.I(className="way-share", style={"--share": f"{100 * (share or 0):.1f}%"})
    text = f"{words.percent(share)} · {words.count(some, 'run')}" if every else "nobody came here"
    return html.Span([bar, html.Span(text)], className=f"way-line side{side}")


def _success(found: Changes, way: int, side: int) -> Component:
    support, successes = int(found.support[side, way]), int(found.successes[side, way])
    low, high = float(found.low[side, way]), float(found.high[side, way])
    text = f"{words.percent(successes / support)} ({words.interval(low, high)})" if support else "–"
    bar = rates.bar(Rate("", support, successes, low, high), None)
    return html.Span([bar, html.Span(text)], className=f"way-line side{side}")


def _more(found: Changes, way: int, look: Look) -> Component:
    """How sure it is, and the runs of either side."""
    tested = [
        f"{name}: p {words.probability(float(p[way]))}, q {words.probability(float(q[way]))}"
        for name, p, q in (
            ("share", found.shift_p, found.shift_q),
            ("success", found.success_p, found.success_q),
        )
        if np.isfinite(p[way])
    ]
    only = found.support[:, way].sum() == found.support[:, found.parent[way]].sum()
    untested = "not tested: the only way from there" if only else "not tested: too few runs"
    said = html.Span("; ".join(tested) or untested, className="dim")
    return html.P([said, *_links(found, way, look)], className="way-more small")


def _links(found: Changes, way: int, look: Look) -> list[Component]:
    if found.kind[way] == Way.DROPPED:
        return []
    key = found.behaviour.key_text(int(found.node[way]))
    filters = Filters(outcome="completed", node=key, at="ended" if found.kind[way] == Way.ENDED else "")
    there = html.Link("On the map", href=urls.map_url(look._replace(node=key)))
    return [
        *(
            html.Link(f"Its runs {name}", href=urls.runs_url(*runs_of(found, side, look, filters)))
            for side, name in enumerate(sides(found.split))
            if found.support[side, way]
        ),
        there,
    ]


def runs_of(found: Changes, side: int, look: Look, filters: Filters) -> tuple[Look, Filters]:
    """What lists the runs of one side that pass some filters."""
    if isinstance(found.split, Moment):
        windows = parted(look.window, found.split.at_ns, found.behaviour.now_ns)
        return look._replace(window=windows[side]), filters
    return look, filters._replace(version=found.split[side])
