"""Engine values as Plotly figures, one for each theme; pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from dashboard.theme import Theme, palette, template, tone
from engine.calibration import Reliability, is_off
from engine.verdicts import Odds

CLOSE = 6.0
"""Points of predicted success between which no text fits."""
THEMES: tuple[Theme, ...] = ("light", "dark")


def themed(draw: Any, *values: Any) -> dict[str, Any]:
    """A figure for each theme: the browser shows the one that fits.

    Parameters
    ----------
    draw : callable
        ``(theme, *values) -> Figure``.
    """
    return {theme: draw(theme, *values).to_plotly_json() for theme in THEMES}


def odds(theme: Theme, depths: Sequence[Odds], base: float | None, fell_most: int | None) -> go.Figure:
    """Success rate and interval of the runs that came as far, at each depth of a path."""
    known = [(place, each) for place, each in enumerate(depths, 1) if each.rate is not None]
    colours = palette(theme)
    shades = [colours.marks[tone(each.low, each.high, base, each.support) + 3] for _, each in known]
    rate = [100 * (each.rate or 0.0) for _, each in known]
    figure = go.Figure(
        go.Scatter(
            x=[place for place, _ in known],
            y=rate,
            mode="lines+markers",
            line={"color": colours.dim, "width": 1},
            marker={"color": shades, "size": 9},
            error_y=_whiskers(
                rate, [100 * each.low for _, each in known], [100 * each.high for _, each in known]
            ),
            text=[f"{each.token}: {each.successes} of {each.support}" for _, each in known],
            hovertemplate="%{text}<br>%{y:.1f}%<extra></extra>",
        )
    )
    _frame(figure, theme, "step of the path", "success, %")
    figure.update_xaxes(range=[0.5, max(len(depths), 1) + 0.5], dtick=1 if len(depths) <= 20 else 5)
    if base is not None:
        figure.add_hline(100 * base, line={"color": colours.ink, "dash": "dash", "width": 1})
    if fell_most is not None:
        figure.add_vline(fell_most, line={"color": colours.marks[0], "dash": "dot", "width": 1.5})
    return figure


def reliability(theme: Theme, bins: Sequence[Reliability]) -> go.Figure:
    """Observed against predicted success, with the line on which they are equal.

    Beside each point stands its number of predictions; one whose interval misses what was predicted
    stands out.
    """
    filled = [each for each in bins if each.support]
    colours = palette(theme)
    observed = [100 * (each.observed or 0.0) for each in filled]
    low, high = [100 * each.wilson_low for each in filled], [100 * each.wilson_high for each in filled]
    equal = go.Scatter(
        x=[0, 100], y=[0, 100], mode="lines", line={"color": colours.dim, "dash": "dash"}, hoverinfo="skip"
    )
    points = go.Scatter(
        x=[100 * (each.predicted_mean or 0.0) for each in filled],
        y=observed,
        mode="markers+text",
        marker={"color": [colours.marks[1 if is_off(each) else 5] for each in filled], "size": 9},
        error_y=_whiskers(observed, low, high) | {"color": colours.dim},
        text=[f" {each.support:,} " for each in filled],
        textposition=_beside([100 * (each.predicted_mean or 0.0) for each in filled]),
        textfont={"size": 11, "color": colours.dim},
        hovertemplate="%{text} predictions<br>predicted %{x:.1f}%, observed %{y:.1f}%<extra></extra>",
    )
    figure = go.Figure([equal, points])
    _frame(figure, theme, "predicted success, %", "observed success, %")
    figure.update_xaxes(range=[0, 100])
    return figure


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


def _frame(figure: go.Figure, theme: Theme, x: str, y: str) -> None:
    figure.update_layout(template=template(theme), height=300)
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y, range=[-2, 102])
