"""Engine values as Plotly figures, one for each theme; pure.

A figure is written down as the JSON that the browser draws: making it of Plotly's own objects, which check
every property, took four fifths of a page's time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from dashboard.theme import Theme, palette, template, tone
from engine.backtest import Backtest
from engine.calibration import Reliability, is_off
from engine.verdicts import Odds

CLOSE = 6.0
"""Points of predicted success between which no text fits."""
THEMES: tuple[Theme, ...] = ("light", "dark")
Figure: TypeAlias = dict[str, Any]
"""Data and layout, as Plotly's JSON has them."""


def themed(draw: Callable[..., Figure], *values: Any) -> dict[str, Figure]:
    """A figure for each theme: the browser shows the one that fits.

    Parameters
    ----------
    draw : callable
        ``(theme, *values) -> Figure``.
    """
    return {theme: draw(theme, *values) for theme in THEMES}


def odds(theme: Theme, depths: Sequence[Odds], base: float | None, fell_most: int | None) -> Figure:
    """Success rate and interval of the runs that came as far, at each depth of a path."""
    known = [(place, each) for place, each in enumerate(depths, 1) if each.rate is not None]
    colours = palette(theme)
    shades = [colours.marks[tone(each.low, each.high, base, each.support) + 3] for _, each in known]
    rate = [100 * (each.rate or 0.0) for _, each in known]
    line = {
        "type": "scatter",
        "x": [place for place, _ in known],
        "y": rate,
        "mode": "lines+markers",
        "line": {"color": colours.dim, "width": 1},
        "marker": {"color": shades, "size": 9},
        "error_y": _whiskers(
            rate, [100 * each.low for _, each in known], [100 * each.high for _, each in known]
        ),
        "text": [f"{each.token}: {each.successes} of {each.support}" for _, each in known],
        "hovertemplate": "%{text}<br>%{y:.1f}%<extra></extra>",
    }
    along = {"range": [0.5, max(len(depths), 1) + 0.5], "dtick": 1 if len(depths) <= 20 else 5}
    dashed = {"color": colours.ink, "dash": "dash", "width": 1}
    dotted = {"color": colours.marks[0], "dash": "dot", "width": 1.5}
    shapes = [] if base is None else [_across(100 * base, dashed)]
    shapes += [] if fell_most is None else [_upright(fell_most, dotted)]
    return _figure([line], theme, ("step of the path", along), "success, %", shapes)


def reliability(theme: Theme, bins: Sequence[Reliability]) -> Figure:
    """Observed against predicted success, with the line on which they are equal.

    Beside each point stands its number of predictions; one whose interval misses what was predicted
    stands out.
    """
    filled = [each for each in bins if each.support]
    colours = palette(theme)
    observed = [100 * (each.observed or 0.0) for each in filled]
    low, high = [100 * each.wilson_low for each in filled], [100 * each.wilson_high for each in filled]
    predicted = [100 * (each.predicted_mean or 0.0) for each in filled]
    equal = {
        "type": "scatter",
        "x": [0, 100],
        "y": [0, 100],
        "mode": "lines",
        "line": {"color": colours.dim, "dash": "dash"},
        "hoverinfo": "skip",
    }
    points = {
        "type": "scatter",
        "x": predicted,
        "y": observed,
        "mode": "markers+text",
        "marker": {"color": [colours.marks[1 if is_off(each) else 5] for each in filled], "size": 9},
        "error_y": _whiskers(observed, low, high) | {"color": colours.dim},
        "text": [f" {each.support:,} " for each in filled],
        "textposition": _beside(predicted),
        "textfont": {"size": 11, "color": colours.dim},
        "hovertemplate": "%{text} predictions<br>predicted %{x:.1f}%, observed %{y:.1f}%<extra></extra>",
    }
    along = {"range": [0, 100]}
    return _figure([equal, points], theme, ("predicted success, %", along), "observed success, %")


def stopped(theme: Theme, found: Backtest, chosen: float | None) -> Figure:
    """Of the runs that did not succeed, and of those that did, the share stopped at every odds."""
    colours = palette(theme)
    x = [100 * each.odds for each in found.points]
    lines = [
        _share(
            "of those that did not succeed", x, [each.rightly for each in found.points], found.unsuccessful
        )
        | {"line": {"color": colours.marks[5], "width": 2}},
        _share("of those that succeeded", x, [each.wrongly for each in found.points], found.successes)
        | {"line": {"color": colours.marks[1], "width": 2, "dash": "dot"}},
    ]
    shapes = (
        [] if chosen is None else [_upright(100 * chosen, {"color": colours.ink, "dash": "dash", "width": 1})]
    )
    drawn = _figure(lines, theme, ("odds of success below, %", {"range": [0, 100]}), "stopped, %", shapes)
    drawn["layout"] |= {
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    }
    return drawn


def _share(name: str, x: Sequence[float], counts: Sequence[int], whole: int) -> dict[str, Any]:
    """A line of counts as shares of a whole; they change in steps."""
    return {
        "type": "scatter",
        "name": name,
        "x": x,
        "y": [100 * count / whole if whole else 0.0 for count in counts],
        "mode": "lines",
        "text": [f"{count:,} of {whole:,}" for count in counts],
        "hovertemplate": "below %{x:.0f}%: %{text}<extra></extra>",
    }


def _beside(x: Sequence[float]) -> list[str]:
    """Where a text stands beside each point: on the right, unless another point is close there.

    >>> _beside([8.7, 11.1, 46.2])
    ['middle left', 'middle right', 'middle right']
    """
    gaps = [right - left for left, right in pairwise(x)]
    return [f"middle {'left' if gap < CLOSE else 'right'}" for gap in [*gaps, 100.0]]


def _whiskers(middle: Sequence[float], low: Sequence[float], high: Sequence[float]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [top - here for top, here in zip(high, middle, strict=True)],
        "arrayminus": [here - bottom for bottom, here in zip(low, middle, strict=True)],
        "thickness": 1.5,
        "width": 4,
    }


def _figure(
    data: Sequence[dict[str, Any]],
    theme: Theme,
    x: tuple[str, dict[str, Any]],
    y: str,
    shapes: Sequence[dict[str, Any]] = (),
) -> Figure:
    """Data in its frame: titles of the axes, what more the horizontal one is told, and lines across."""
    title, along = x
    layout = {
        "template": template(theme),
        "height": 300,
        "xaxis": {"title": {"text": title}, **along},
        "yaxis": {"title": {"text": y}, "range": [-2, 102]},
        "shapes": list(shapes),
    }
    return {"data": list(data), "layout": layout}


def _across(y: float, line: dict[str, Any]) -> dict[str, Any]:
    """A line over the whole width."""
    return {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "yref": "y", "y0": y, "y1": y, "line": line}


def _upright(x: float, line: dict[str, Any]) -> dict[str, Any]:
    """A line over the whole height."""
    return {"type": "line", "xref": "x", "x0": x, "x1": x, "yref": "y domain", "y0": 0, "y1": 1, "line": line}
