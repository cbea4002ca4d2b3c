"""Success rates side by side: runs, a whiskered interval on a 0-100 track, the figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dash.development.base_component import Component

from dashboard.components import html, words
from dashboard.components.access import aria
from dashboard.theme import tone


class Rate(NamedTuple):
    """One line of a table of rates; ``mark`` is a short remark beside the label.

    A marked line stands out: as a warning, unless it is ``good``. ``href`` leads to the runs it counts.
    """

    label: Any
    support: int
    successes: int
    low: float
    high: float
    mark: str = ""
    good: bool = False
    href: str = ""


def bar(rate: Rate, base: float | None) -> Component:
    """The interval on its track, the base rate as a dashed line; its text is in the figures."""
    shade = tone(rate.low, rate.high, base, rate.support)
    parts = [html.Span(className="whisker-base", style={"left": _at(base)})] if base is not None else []
    if rate.support:
        width = f"{100 * (rate.high - rate.low):.2f}%"
        parts += [
            html.Span(className="whisker-bar", style={"left": _at(rate.low), "width": width}),
            html.Span(className="whisker-point", style={"left": _at(rate.successes / rate.support)}),
        ]
    return html.Span(parts, className=f"whisker tone{shade}", **aria(hidden="true"))


def _at(share: float) -> str:
    return f"{100 * share:.2f}%"


HEADS = (("Runs", "number"), ("0–100%", "wide"), ("Success", "number"), ("95% interval", "number"))


def table(
    rates: Sequence[Rate], base: float | None, caption: str, label: str = "Step", brief: bool = False
) -> Component:
    """Lines of rates under one caption, drawn on one scale; ``brief`` puts the bounds under the rates."""
    heads = [(label, ""), *HEADS[: 3 if brief else 4]]
    return html.Table(
        [
            html.Caption(caption),
            html.Thead(html.Tr([html.Th(text, scope="col", className=name) for text, name in heads])),
            html.Tbody([_line(rate, base, brief) for rate in rates]),
        ],
        className="rates",
    )


def _line(rate: Rate, base: float | None, brief: bool) -> Component:
    share = rate.successes / rate.support if rate.support else None
    bounds = words.interval(rate.low, rate.high) if rate.support else "–"
    remark = [html.Span(rate.mark, className="badge")] if rate.mark else []
    return html.Tr(
        [
            html.Th(html.Div([html.Span(rate.label), *remark], className="label"), scope="row"),
            html.Td(_support(rate), className="number"),
            html.Td(bar(rate, base), className="wide", title=f"95% interval {bounds}"),
            html.Td(
                [words.percent(share), *([html.Span(bounds, className="bounds")] if brief else [])],
                className="number",
            ),
            *([] if brief else [html.Td(bounds, className="number dim")]),
        ],
        className=_standing_out(rate),
    )


def _support(rate: Rate) -> Any:
    text = f"{rate.support:,}"
    return html.Link(text, href=rate.href, className="counted") if rate.href and rate.support else text


def _standing_out(rate: Rate) -> str:
    if not rate.mark:
        return ""
    return "marked marked-good" if rate.good else "marked"
