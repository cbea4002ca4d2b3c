"""Colour: one rule for marks and areas, the colours of both themes, the look of charts.

A colour says what the interval says. Upper bound below the base rate: orange. Lower bound
above it: blue. Three strengths each, by how far away the bound is. The interval holds the
base rate, or there are too few runs to speak: grey.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MIN_TONE_SUPPORT = 10
"""Runs below which every colour is grey."""
STRONG_POINTS = 10
"""Points between a bound and the base rate beyond which the middle strength is used."""
STRONGEST_POINTS = 25
"""Points beyond which the full strength is used."""

Theme = Literal["light", "dark"]
Seven = tuple[str, str, str, str, str, str, str]


class Palette(NamedTuple):
    """Colours of a theme; ``assets/theme.css`` holds the same ones.

    Attributes
    ----------
    marks : tuple of str, length 7
        Lines and points, for tones -3 to 3: at least 3:1 on the panel.
    areas : tuple of str, length 7
        Fills, for tones -3 to 3.
    """

    panel: str
    line: str
    ink: str
    dim: str
    marks: Seven
    areas: Seven


PALETTES: dict[Theme, Palette] = {
    "light": Palette(
        panel="#ffffff",
        line="#dde3ea",
        ink="#16202e",
        dim="#5c687b",
        marks=("#8a3200", "#b34a00", "#c8762e", "#75839a", "#4a8cc4", "#1b6cae", "#0a4680"),
        areas=("#a84a12", "#d9822f", "#f3b981", "#d9dfe7", "#9cc6ea", "#3f8acb", "#125a9c"),
    ),
    "dark": Palette(
        panel="#131a23",
        line="#273240",
        ink="#e8edf4",
        dim="#8e9bad",
        marks=("#ffb57a", "#e8893a", "#b8682a", "#6d7a8d", "#3f7fb8", "#5ba6ea", "#a3d0ff"),
        areas=("#f59a4f", "#ab5d25", "#6e4426", "#2a3543", "#24476a", "#2f77b5", "#7dbcf5"),
    ),
}


def palette(theme: Theme) -> Palette:
    """The colours of a theme.

    >>> palette("dark").marks[0]
    '#ffb57a'
    """
    return PALETTES[theme]


def tone(low: float, high: float, base: float | None, support: int) -> int:
    """Tone of one interval: -3 (far below the base rate) to 3 (far above), 0 undecided.

    Parameters
    ----------
    low, high : float
        Bounds of the interval, in [0, 1].
    base : float or None
        Base rate; without one nothing is decided.
    support : int
        Runs the interval stands on.

    Examples
    --------
    >>> tone(0.077, 0.266, 0.544, 54), tone(0.479, 0.608, 0.544, 226), tone(0.585, 0.795, 0.544, 70)
    (-3, 0, 1)
    >>> tone(0.6, 1.0, 0.544, 9)
    0
    """
    return int(tones(low, high, base, support))


def tones(low: ArrayLike, high: ArrayLike, base: float | None, support: ArrayLike) -> NDArray[np.int8]:
    """Tone of every interval; see :func:`tone`.

    >>> tones([0.1, 0.4, 0.8], [0.2, 0.6, 0.9], 0.5, [10, 10, 10]).tolist()
    [-3, 0, 3]
    """
    if base is None:
        return np.zeros(np.shape(support), np.int8)
    below, above = base - np.asarray(high), np.asarray(low) - base
    away = 100 * np.maximum(below, above)
    strength = 1 + (away > STRONG_POINTS).astype(np.int8) + (away > STRONGEST_POINTS)
    side = (above > 0).astype(np.int8) - (below > 0)
    toned: NDArray[np.int8] = np.where(np.asarray(support) < MIN_TONE_SUPPORT, 0, side * strength).astype(
        np.int8
    )
    return toned


def template(theme: Theme) -> dict[str, Any]:
    """The look of every chart in a theme, as Plotly's template."""
    colours = palette(theme)
    axis = {"gridcolor": colours.line, "linecolor": colours.line, "zeroline": False}
    layout = {
        "paper_bgcolor": colours.panel,
        "plot_bgcolor": colours.panel,
        "font": {"color": colours.ink, "family": "Inter, system-ui, sans-serif", "size": 12},
        "colorway": [colours.marks[5], colours.marks[1], colours.marks[3]],
        "margin": {"l": 48, "r": 12, "t": 8, "b": 40},
        "showlegend": False,
        "xaxis": axis,
        "yaxis": axis,
    }
    return {"layout": layout}
