"""The two runs of a comparison: by their decisions where both have some, else by their steps."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.decisions.diff import Diff, compare, compare_steps
from engine.decisions.menus import LOW_MARGIN
from engine.decisions.trace import Choice, Trace


class Side(msgspec.Struct, frozen=True):
    """One run of a comparison.

    Attributes
    ----------
    name : str
        What it is called: a run's id, or a file.
    steps : tuple of str
        Signatures of its steps.
    trace : Trace or None
        None if no decision was recorded.
    """

    name: str
    steps: tuple[str, ...]
    trace: Trace | None = None

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Its decisions, in order."""
        return self.trace.choices if self.trace else ()

    def sequence(self, diff: Diff) -> Sequence[str]:
        """What the places of a comparison count: the tools that were chosen, or the steps."""
        return [each.chosen for each in self.choices] if diff.by == "decisions" else self.steps

    def choice(self, diff: Diff, place: int | None) -> Choice | None:
        """The decision at a place of a comparison; None beside a gap, and of a step."""
        is_there = diff.by == "decisions" and place is not None and place < len(self.choices)
        return self.choices[place] if is_there and place is not None else None


def compare_sides(a: Side, b: Side, low_margin: float = LOW_MARGIN) -> Diff:
    """Compare two runs by their decisions if both have some, else by their steps.

    Examples
    --------
    >>> compare_sides(Side("a", ("tool:read",)), Side("b", ("tool:read",))).by
    'steps'
    """
    if a.trace and b.trace and a.choices and b.choices:
        return compare(a.trace, b.trace, low_margin)
    return compare_steps(a.steps, b.steps)
