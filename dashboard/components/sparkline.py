"""Runs by day as bars on one line: how many there were, and how many of them succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dash.development.base_component import Component

from dashboard.components import html
from dashboard.components.access import aria
from engine.faring import Day

GAP = 0.25
"""Part of a day's width that stays empty."""
LEAST = 0.06
"""Height of the smallest bar: one run beside a thousand is still seen."""


class Mark(NamedTuple):
    """When something was changed: how far from the left that is, in [0, 1], and what it is called."""

    share: float
    name: str


def sparkline(days: Sequence[Day], marks: Sequence[Mark] = ()) -> Component:
    """A bar a day, all runs of which as high as they are many; the part that succeeded stands below.

    A mark is a line between the days before it and those after.
    """
    most = max((day.runs for day in days), default=0)
    heights = [_height(day.runs, most) for day in days]
    won = [height * day.successes / max(day.runs, 1) for height, day in zip(heights, days, strict=True)]
    parts = [
        html.Span(className=f"spark-{name}", style={"clipPath": shape(tops)})
        for name, tops in (("all", heights), ("won", won))
    ]
    parts += [html.Span(className="spark-mark", style={"left": f"{100 * mark.share:.2f}%"}) for mark in marks]
    about = describe(days) + (f"; marked: {', '.join(mark.name for mark in marks)}" if marks else "")
    return html.Span(parts, className="spark", title=about, role="img", **aria(label=about))


def _height(runs: int, most: int) -> float:
    return max(LEAST, runs / most) if runs else 0.0


def shape(tops: Sequence[float]) -> str:
    """The outline of bars of these heights, in [0, 1], side by side.

    >>> shape([1.0, 0.5])
    'polygon(0% 100%,0% 0%,37.5% 0%,37.5% 100%,50% 100%,50% 50%,87.5% 50%,87.5% 100%)'
    """
    wide = 100 / max(len(tops), 1)
    points = []
    for place, top in enumerate(tops):
        left, right, high = place * wide, (place + 1 - GAP) * wide, 100 * (1 - top)
        points += [(left, 100), (left, high), (right, high), (right, 100)]
    return f"polygon({','.join(f'{x:.4g}% {y:.4g}%' for x, y in points)})"


def describe(days: Sequence[Day]) -> str:
    """The bars in words.

    >>> describe([Day(8, 2), Day(), Day(1, 3, 0, 2)])
    'Runs by day: 0 to 10 a day; of 6 in the last 24 hours 1 succeeded, 3 did not and 2 are in flight'
    >>> describe([Day(8, 2), Day()])
    'Runs by day: 0 to 10 a day; none in the last 24 hours'
    """
    counts, last = [day.runs for day in days], days[-1]
    said = f"Runs by day: {min(counts):,} to {max(counts):,} a day; "
    if not last.runs:
        return f"{said}none in the last 24 hours"
    failed = last.completed - last.successes
    going = f" and {last.live:,} {'is' if last.live == 1 else 'are'} in flight" if last.live else ""
    joined = "," if going else " and"
    ended = f"{last.successes:,} succeeded{joined} {failed:,} did not{going}"
    return f"{said}of {last.runs:,} in the last 24 hours {ended}"
