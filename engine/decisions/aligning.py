"""Two sequences side by side: face to face up to their fork, and only the tails behind it aligned."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import Literal, TypeAlias

import msgspec
from rapidfuzz.distance import LCSseq

Mark: TypeAlias = Literal["=", "≠", "-", "+"]

_WINDOW = 8192
"""Longer tails are aligned piece by piece: a longest common subsequence takes a bit a pair."""


class Row(msgspec.Struct, frozen=True):
    """A row of two lanes.

    Attributes
    ----------
    mark : {"=", "≠", "-", "+"}
        Equal, different, only in A, only in B.
    a, b : int or None
        Places in the sequences; None beside a gap.
    """

    mark: Mark
    a: int | None
    b: int | None


def common_prefix(a: Sequence[str], b: Sequence[str]) -> int:
    """How many places from the start are equal.

    >>> common_prefix("abcd", "abxd")
    2
    """
    differing = (place for place, (ours, theirs) in enumerate(zip(a, b, strict=False)) if ours != theirs)
    return next(differing, min(len(a), len(b)))


def align(a: Sequence[str], b: Sequence[str]) -> tuple[Row, ...]:
    """Rows that hold every place of both sequences once, in order.

    The places behind the common prefix stand face to face, since an edit distance would put a gap
    beside the fork; the longest common subsequence of what follows decides the rest.

    Examples
    --------
    >>> "".join(row.mark for row in align("abXcd", "abYZcd"))
    '==≠+=='
    >>> align("ab", "a")
    (Row(mark='=', a=0, b=0), Row(mark='-', a=1, b=None))
    """
    fork = common_prefix(a, b)
    rows = [Row("=", place, place) for place in range(fork)]
    tail = fork
    if fork < len(a) and fork < len(b):
        rows.append(Row("≠", fork, fork))
        tail += 1
    for start in range(tail, max(len(a), len(b)), _WINDOW):
        rows += _aligned(a[start : start + _WINDOW], b[start : start + _WINDOW], start)
    return tuple(rows)


def folded(rows: Sequence[Row], marked: Container[int | None] = (), around: int = 3) -> Iterator[Row | int]:
    """The rows that differ or are marked, with equal ones around; of longer stretches how many are left out.

    Parameters
    ----------
    marked : container of int
        Places of A whose rows are shown although they are equal; None is no place.

    Examples
    --------
    >>> rows = align("abcdefgXh", "abcdefgYh")
    >>> [each if isinstance(each, int) else each.mark for each in folded(rows, around=2)]
    [5, '=', '=', '≠', '=']
    """
    shown = [place for place, row in enumerate(rows) if row.mark != "=" or row.a in marked]
    near = {at for place in shown for at in range(place - around, place + around + 1)}
    for is_near, stretch in groupby(range(len(rows)), key=near.__contains__):
        places = list(stretch)
        if is_near or len(places) == 1:
            yield from (rows[place] for place in places)
        else:
            yield len(places)


def _aligned(a: Sequence[str], b: Sequence[str], start: int) -> Iterator[Row]:
    """Rows of two tails; the same whichever is called A, though several subsequences may be longest."""
    if list(a) > list(b):
        yield from map(_mirrored, _aligned(b, a, start))
        return
    numbers = {item: number for number, item in enumerate(dict.fromkeys([*a, *b]))}
    blocks = LCSseq.opcodes([numbers[item] for item in a], [numbers[item] for item in b]).as_matching_blocks()
    end_a = end_b = 0
    for block in blocks:
        yield from _facing(range(start + end_a, start + block.a), range(start + end_b, start + block.b))
        end_a, end_b = block.a + block.size, block.b + block.size
        for offset in range(block.size):
            yield Row("=", start + block.a + offset, start + block.b + offset)


def _facing(a: range, b: range) -> Iterator[Row]:
    for ours, theirs in zip_longest(a, b):
        yield Row("+" if ours is None else "-" if theirs is None else "≠", ours, theirs)


def _mirrored(row: Row) -> Row:
    marks: dict[Mark, Mark] = {"-": "+", "+": "-"}
    return Row(marks.get(row.mark, row.mark), row.b, row.a)
