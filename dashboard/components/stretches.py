"""Which rows of a comparison stay in view, and which long stretches of equal ones are folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from engine.decisions import wording
from engine.decisions.diff import Diff, Row

AROUND = 2
"""Equal rows that stay in view beside one that differs."""
FOLDED = 4
"""Equal rows, beyond those, from which on they are folded."""


class Stretch(NamedTuple):
    """Rows one after the other, in view or folded."""

    rows: tuple[Row, ...]
    folded: bool = False


def behind(diff: Diff) -> dict[int | None, str]:
    """What differs behind equal choices, by place in A: menus or ranks, the first call or what came of it.

    Examples
    --------
    >>> from engine.decisions.diff import compare_steps
    >>> behind(compare_steps(["a"], ["a"]))
    {}
    """
    found: dict[int | None, str] = {
        change.a: wording.change(change).partition(": ")[2] for change in diff.changes
    }
    called = diff.mismatch
    if called is not None and called.a is not None and called.a != diff.fork:
        said = "the first call that differs is under it"
        found[called.a] = f"{found[called.a]}, and {said}" if called.a in found else said
    if diff.returned is not None:
        found[diff.returned] = "the first call that came to something else is under it"
    return found


def stretches(diff: Diff) -> Iterator[Stretch]:
    """All rows in order, parted into what is in view and what is folded.

    Where nothing differs at all nothing is folded.

    Examples
    --------
    >>> from engine.decisions.diff import compare_steps
    >>> found = stretches(compare_steps(["a"] * 9 + ["b"] + ["a"] * 3, ["a"] * 9 + ["c"] + ["a"] * 3))
    >>> [(len(stretch.rows), stretch.folded) for stretch in found]
    [(7, True), (2, False), (1, False), (3, False)]
    """
    differing, at = behind(diff), 0
    for is_plain, group in groupby(diff.rows, lambda row: row.mark == "=" and row.a not in differing):
        rows = tuple(group)
        first, at = at == 0, at + len(rows)
        last = at == len(diff.rows)
        yield from _parted(rows, first, last) if is_plain and not (first and last) else [Stretch(rows)]


def _parted(rows: Sequence[Row], first: bool, last: bool) -> Iterator[Stretch]:
    start, end = 0 if first else AROUND, len(rows) - (0 if last else AROUND)
    inner = tuple(rows[start:end])
    if len(inner) < FOLDED:
        yield Stretch(tuple(rows))
        return
    if start:
        yield Stretch(tuple(rows[:start]))
    yield Stretch(inner, folded=True)
    if end < len(rows):
        yield Stretch(tuple(rows[end:]))
