"""Whether a run is what an expression says.

Places stand between steps, 0 before the first and ``n`` behind the last. A set of places is
one integer, a bit a place, so each part of an expression moves a whole set of places at once.
``x`` and ``!`` of more than one step go place by place, and none of them stands in another: the
number of moves grows with (parts of the expression) x (steps of the run), and no further.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import and_, or_
from typing import NamedTuple, TypeAlias

from engine.sequences.tree import (
    And,
    Edge,
    Expression,
    Field,
    Link,
    Not,
    Or,
    Repeat,
    Step,
    is_on_one_step,
)
from engine.sequences.tree import Sequence as Chain
from engine.steps import Step as Call

Places: TypeAlias = int
"""A set of places: bit ``p`` is place ``p``."""


class Taken(NamedTuple):
    """A run's steps in order, as far as an expression asks: the signature of each, and whether it failed."""

    signatures: Sequence[str]
    which: Sequence[int]
    failed: Sequence[bool]


def taken(steps: Iterable[Call]) -> Taken:
    """What an expression asks of steps.

    >>> taken([Call("tool:a", 0, 1, "t", "1", True, None, None)])
    Taken(signatures=('tool:a',), which=(0,), failed=(True,))
    """
    numbers: dict[str, int] = {}
    said = [(numbers.setdefault(step.signature, len(numbers)), step.error) for step in steps]
    which, failed = zip(*said, strict=True) if said else ((), ())
    return Taken(tuple(numbers), which, failed)


def matches(expression: Expression, steps: Sequence[Call] | Taken, fields: Mapping[str, str | None]) -> bool:
    """Whether a run is what the expression says.

    Parameters
    ----------
    expression : Expression
        As :func:`engine.sequences.parse` reads it.
    steps : sequence of engine.steps.Step, or Taken
        All of the run's steps, in order.
    fields : mapping
        The run's ``ticket``, ``version`` and ``outcome``; one it lacks is None or absent.

    Examples
    --------
    >>> from engine.sequences import parse
    >>> def run(text):
    ...     names = text.split()
    ...     return [Call(f"tool:{n.strip('!')}", 0, 1, "t", n, "!" in n, None, None) for n in names]
    >>> matches(parse("close_ticket $"), run("search close_ticket"), {})
    True
    >>> [matches(parse("error(charge_card)"), run(r), {}) for r in ("charge_card!", "charge_card other!")]
    [True, False]
    >>> unresolved = parse("search_orders x3 .. !issue_refund")
    >>> searches = "search_orders search_orders search_orders reply"
    >>> matches(unresolved, run(searches), {}), matches(unresolved, run(searches + " issue_refund"), {})
    (True, False)
    >>> [matches(parse(e), run("a b c"), {"ticket": "t-1"}) for e in ("a > b", "a > c", "a .. c", "b x2")]
    [True, False, True, False]
    >>> [matches(parse(e), run("a b"), {"ticket": "t-1"}) for e in ("^ b", "!c and b", "ticket:t-*")]
    [False, True, True]
    """
    return _Matcher(steps if isinstance(steps, Taken) else taken(steps), fields).holds(expression)


class _Matcher:
    """Asks about one run."""

    def __init__(self, taken: Taken, fields: Mapping[str, str | None]) -> None:
        self._taken, self._fields = taken, fields
        self._end = len(taken.which)
        self._all = (2 << self._end) - 1
        self._met: dict[Expression, Places] = {}

    def holds(self, expression: Expression) -> bool:
        """Whether it is so of the run."""
        match expression:
            case Field(name, pattern):
                value = self._fields.get(name)
                return value is not None and pattern.fits(value)
            case Not(part):
                return not self.holds(part)
            case And(parts):
                return all(map(self.holds, parts))
            case Or(parts):
                return any(map(self.holds, parts))
            case Chain():
                return bool(self._walk(expression, 1, ".."))
            case _:
                return bool(self._ends(expression, self._all))

    def _ends(self, expression: Expression, starts: Places) -> Places:
        """Where the expression can end that begins at one of these places."""
        if is_on_one_step(expression):
            return (starts & self._where(expression)) << 1
        match expression:
            case Edge(is_end):
                return starts & (1 << self._end if is_end else 1)
            case Repeat(part, least):
                return self._repeated(part, least, starts)
            case Chain():
                return self._walk(expression, starts, ">")
            case Or(parts):
                return _union(self._ends(part, starts) for part in parts)
            case _:
                raise TypeError(f"{expression} stands at no place")

    def _where(self, condition: Expression) -> Places:
        """Before which steps the condition on one step is met; looked for once."""
        if condition not in self._met:
            self._met[condition] = self._look(condition)
        return self._met[condition]

    def _look(self, condition: Expression) -> Places:
        match condition:
            case Step():
                return self._named(condition)
            case Not(part):
                return self._all >> 1 & ~self._where(part)
            case And(parts):
                return reduce(and_, map(self._where, parts))
            case Or(parts):
                return _union(map(self._where, parts))
            case _:
                raise TypeError(f"{condition} is no condition on one step")

    def _named(self, wanted: Step) -> Places:
        fits = [wanted.fits(signature) for signature in self._taken.signatures]
        if not any(fits):
            return 0
        if not wanted.failed:
            return _places(fits[number] for number in self._taken.which)
        return _places(
            failed and fits[number]
            for number, failed in zip(self._taken.which, self._taken.failed, strict=True)
        )

    def _repeated(self, part: Expression, least: int, starts: Places) -> Places:
        if is_on_one_step(part):
            row = self._where(part)
            return _through(row, (starts & _in_a_row(row, least)) << least)
        for _ in range(least):
            before, starts = starts, self._ends(part, starts)
            if starts == before:
                return starts
        reached = starts
        while starts := self._ends(part, starts) & ~reached:
            reached |= starts
        return reached

    def _walk(self, chain: Chain, starts: Places, outside: Link) -> Places:
        """Where its parts can end, one after the other; ``outside`` links them to what is around."""
        apart = False
        for part, (left, right) in zip(chain.parts, pairwise((outside, *chain.links, outside)), strict=True):
            if isinstance(part, Not):
                starts = self._without(part.part, starts, left, right)
                apart = left == right == ".."
            else:
                starts = self._ends(part, starts if left == ">" or apart else self._later(starts))
                apart = False
        return starts & 1 << self._end if apart and outside == ".." else starts

    def _without(self, part: Expression, starts: Places, left: Link, right: Link) -> Places:
        """Where what follows can begin if the part is not there."""
        match left, right:
            case ">", ">":
                return self._ends(Not(part), starts)
            case "..", ">":
                return self._later(starts) & ~self._ends(part, self._all)
            case ">", "..":
                return self._not_here(part, starts)
            case _:
                return self._clear_of(part, starts)

    def _not_here(self, part: Expression, starts: Places) -> Places:
        """The places where the part does not begin."""
        if is_on_one_step(part):
            return starts & ~self._where(part)
        return _union(start for start in _each(starts) if not self._ends(part, start))

    def _clear_of(self, part: Expression, starts: Places) -> Places:
        """The places from each start up to where the part would end that begins there or later."""
        if is_on_one_step(part):
            return _through(self._where(Not(part)), starts)
        reached = 0
        for start in _each(starts):
            ends = self._ends(part, self._later(start))
            if not ends:
                return reached | self._later(start)
            reached |= _lowest(ends) - start
        return reached

    def _later(self, starts: Places) -> Places:
        """These places and all behind the first of them."""
        return self._all & -_lowest(starts)


def _in_a_row(row: Places, least: int) -> Places:
    """Where so many ones in a row begin."""
    known = 1
    while row and known < least:
        more = min(known, least - known)
        row &= row >> more
        known += more
    return row


def _through(row: Places, starts: Places) -> Places:
    """The starts and what follows each, up to the end of the unbroken row of ones it stands before."""
    # Adding carries each start to the end of its row.
    return starts | (row + (starts & row) ^ row)


def _lowest(places: Places) -> Places:
    return places & -places


def _each(places: Places) -> Iterator[Places]:
    while places:
        yield _lowest(places)
        places &= places - 1


def _union(many: Iterable[Places]) -> Places:
    return reduce(or_, many, 0)


def _places(are_met: Iterable[bool]) -> Places:
    """A set of places from whether each is in it, in time that grows with their number only."""
    digits = "".join("1" if met else "0" for met in are_met)
    return int(digits[::-1] or "0", 2)
