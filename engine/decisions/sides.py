"""The two runs of a comparison: by their decisions where both have some, else by their steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import structs

from engine.decisions.aligning import folded
from engine.decisions.diff import Diff, compare, compare_steps
from engine.decisions.incident import answer
from engine.decisions.menus import LOW_MARGIN
from engine.decisions.reading import read
from engine.decisions.trace import Choice, Trace
from engine.runs import Run
from engine.spans import Span


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
        if diff.by == "steps" or place is None or place >= len(self.choices):
            return None
        return self.choices[place]


def side(run: Run, spans: Iterable[Span]) -> Side:
    """A run as it is compared: its steps, and the decisions that its spans tell of."""
    return Side(run.run_id, tuple(step.signature for step in run.steps), read(run.run_id, spans))


def lanes(diff: Diff, a: Side, b: Side, named: Callable[[str], str] = str) -> Iterator[tuple[str, str, str]]:
    """What stands in A's lane, in the gutter and in B's, row by row; long equal stretches are folded.

    Examples
    --------
    >>> a, b = Side("a", ("tool:read", "tool:edit")), Side("b", ("tool:read",))
    >>> list(lanes(compare_sides(a, b), a, b))
    [('1 tool:read', '=', '1 tool:read'), ('2 tool:edit', '-', '')]
    """
    ours, theirs = a.sequence(diff), b.sequence(diff)
    called = diff.mismatch.a if diff.mismatch else None
    behind = {each.a for each in diff.changes} | {called, diff.returned}
    for row in folded(diff.rows, behind):
        if isinstance(row, int):
            yield f"{row:,} equal", "=", f"{row:,} equal"
        else:
            yield _cell(ours, row.a, named), row.mark, _cell(theirs, row.b, named)


def _cell(names: Sequence[str], place: int | None, named: Callable[[str], str]) -> str:
    return "" if place is None else f"{place + 1} {named(names[place])}"


def compare_sides(a: Side, b: Side, low_margin: float = LOW_MARGIN) -> Diff:
    """Compare two runs by their decisions if both have some, or neither a step; else by their steps.

    Examples
    --------
    >>> compare_sides(Side("a", ("tool:read",)), Side("b", ("tool:read",))).by
    'steps'
    """
    if (a.choices and b.choices) or ((a.choices or b.choices) and not (a.steps or b.steps)):
        ours, theirs = (each.trace or Trace(each.name, ()) for each in (a, b))
        return compare(ours, theirs, low_margin)
    diff = compare_steps(a.steps, b.steps)
    a_said, b_said = (
        answer(each.trace, told.same_fork, low_margin) if each.trace else told
        for each, told in zip((a, b), diff.answers, strict=True)
    )
    return structs.replace(diff, answers=(a_said, b_said), low_margin=low_margin)
