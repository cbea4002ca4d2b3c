"""What changed most, in sentences: ways that runs take more or less often, and ways that end otherwise."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from engine.changes import AFTER, BEFORE, Changes, Moment, Split, Way, ways_from
from engine.forks import compared
from engine.paths import Token
from engine.siblings import ALPHA, MIN_SUPPORT
from engine.statistics import proportion

Kind: TypeAlias = Literal["new", "vanished", "more", "fewer", "better", "worse"]
SHIFTS: tuple[Kind, ...] = ("new", "vanished", "more", "fewer")
"""Kinds that speak of how often a way is taken; the others of how runs on it end."""


class Change(NamedTuple):
    """A way that is taken, or ends, significantly otherwise than before.

    Attributes
    ----------
    way : int
        Which way, of :class:`Changes`.
    key, path
        Of the node it leads to, or runs end at.
    ended : bool
        Whether the way is to end there.
    some, every : tuple of int, one a side
        Runs that took it of those that came to its parent; or runs that succeeded of those that took it.
    p, q : float
        Of this test; ``holds`` if q is below 0.05, else it may be chance.
    points : float
        What it moved of the base rate, in [-1, 1].
    """

    kind: Kind
    way: int
    key: str
    path: tuple[Token, ...]
    ended: bool
    some: tuple[int, int]
    every: tuple[int, int]
    p: float
    q: float
    points: float

    @property
    def holds(self) -> bool:
        """Whether it stands when all that was tested is taken into account."""
        return self.q < ALPHA


class Parting(NamedTuple):
    """A fork that both sides came to, and what changed there: parts of the base rate's change.

    Attributes
    ----------
    support, successes : tuple of int, one a side
        Runs that came to it.
    whole, shifted, changed : float
        What changed at it counts for so much of the base rate; of that, through other shares of its ways,
        and through other success in the same ways. ``whole`` is their sum.
    """

    node: int
    key: str
    path: tuple[Token, ...]
    support: tuple[int, int]
    successes: tuple[int, int]
    whole: float
    shifted: float
    changed: float


def ranked(found: Changes) -> tuple[Change, ...]:
    """All changes with p < 0.05: those that hold first, then by what they moved of the base rate, then p.

    Of a fork with two ways, where more of one is less of the other, the one that is taken more is told.
    """
    told = [
        _shift(found, way) for way in np.flatnonzero(found.shift_p < ALPHA).tolist() if _leads(found, way)
    ]
    told += [_ending(found, way) for way in np.flatnonzero(found.success_p < ALPHA).tolist()]
    return tuple(sorted(told, key=lambda each: (not each.holds, -abs(each.points), each.p, each.way)))


def _leads(found: Changes, way: int) -> bool:
    """Whether a way tells more than its only alternative."""
    ways = ways_from(found, int(found.parent[way]))
    return ways.size != 2 or way == ways[np.argmax(_moved(found, ways))]


def _moved(found: Changes, ways: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[float]:
    above = found.support[:, found.parent[ways]]
    shares = found.support[:, ways] / above
    moved: list[float] = (shares[AFTER] - shares[BEFORE]).tolist()
    return moved


def _shift(found: Changes, way: int) -> Change:
    parent = int(found.parent[way])
    ways = ways_from(found, parent)
    counted = ways if ways.size == 2 else [way]
    points = float(found.shifted[counted].sum())
    some, every = _pair(found.support[:, way]), _pair(found.support[:, parent])
    grew = some[AFTER] * every[BEFORE] > some[BEFORE] * every[AFTER]
    kind: Kind = "more" if grew else "fewer"
    if not min(some):
        kind = "new" if grew else "vanished"
    return _change(
        found, kind, way, some, every, float(found.shift_p[way]), float(found.shift_q[way]), points
    )


def _ending(found: Changes, way: int) -> Change:
    some, every = _pair(found.successes[:, way]), _pair(found.support[:, way])
    grew = some[AFTER] * every[BEFORE] > some[BEFORE] * every[AFTER]
    told = float(found.success_p[way]), float(found.success_q[way]), float(found.changed[way])
    return _change(found, "better" if grew else "worse", way, some, every, *told)


def _change(
    found: Changes,
    kind: Kind,
    way: int,
    some: tuple[int, int],
    every: tuple[int, int],
    p: float,
    q: float,
    points: float,
) -> Change:
    node = int(found.node[way])
    key, path = found.behaviour.key_text(node), found.behaviour.path(node)
    return Change(kind, way, key, path, bool(found.kind[way] == Way.ENDED), some, every, p, q, points)


def _pair(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[int, int]:
    return int(counts[BEFORE]), int(counts[AFTER])


def partings(found: Changes) -> tuple[Parting, ...]:
    """The forks that at least 3 runs of each side came to, by what changed there, the most first."""
    enough = np.flatnonzero(found.support[:, : len(found.behaviour)].min(axis=0) >= MIN_SUPPORT)
    told = [_parting(found, node) for node in enough.tolist() if ways_from(found, node).size > 1]
    return tuple(sorted(told, key=lambda each: (-abs(each.shifted) - abs(each.changed), each.node)))


def _parting(found: Changes, node: int) -> Parting:
    ways, behaviour = ways_from(found, node), found.behaviour
    return Parting(
        node,
        behaviour.key_text(node),
        behaviour.path(node),
        _pair(found.support[:, node]),
        _pair(found.successes[:, node]),
        float(found.changed[node]),
        float(found.shifted[ways].sum()),
        float(found.changed[ways].sum()),
    )


def sides(split: Split) -> tuple[str, str]:
    """The two sides as a sentence names them.

    >>> from engine.changes import Versions
    >>> sides(Moment(0)), sides(Versions("v1", "v2"))
    (('before', 'since then'), ('with v1', 'with v2'))
    """
    if isinstance(split, Moment):
        return "before", "since then"
    return f"with {split.before}", f"with {split.after}"


_TELLS: dict[Kind, str] = {
    "new": "New: {here}, runs now {take}",
    "vanished": "Gone: {here}, runs no longer {take}",
    "more": "{here}, more runs {take}",
    "fewer": "{here}, fewer runs {take}",
    "better": "Runs that {took} {here} succeed more often",
    "worse": "Runs that {took} {here} succeed less often",
}


def explain(change: Change, split: Split) -> str:
    """A change in one sentence: what, then the counts of both sides, then how sure that is."""
    steps = change.path if change.ended else change.path[:-1]
    here = f"after {steps[-1]}" if steps else "at the start"
    what = "" if change.ended else f" {change.path[-1]}"
    take, took = ("end", "ended") if change.ended else (f"take{what}", f"took{what}")
    text = _TELLS[change.kind].format(here=here, take=take, took=took)
    before, after = (_of(some, every) for some, every in zip(change.some, change.every, strict=True))
    was, now = sides(split)
    doubt = "" if change.holds else " It may be chance: among all that was tested, q is not below 0.05."
    return (
        f"{text[0].upper()}{text[1:]}: {after} {now}, {before} {was}; "
        f"Fisher p {compared(change.p)}, q {compared(change.q)}.{doubt}"
    )


def _of(some: int, every: int) -> str:
    rate = proportion(some, every)
    return f"{some} of {every}" + ("" if rate is None else f" ({rate:.1%})")


def headline(found: Changes) -> str:
    """How the base rate changed, in a sentence, or why nothing can be said."""
    counts = [
        _of(*each) for each in zip(_pair(found.successes[:, 0]), _pair(found.support[:, 0]), strict=True)
    ]
    was, now = sides(found.split)
    told = f"{counts[AFTER]} runs succeeded {now}, {counts[BEFORE]} {was}"
    least = min(_pair(found.support[:, 0]))
    if least < MIN_SUPPORT:
        return f"{told}: too few to compare, it takes {MIN_SUPPORT} completed runs on each side."
    moved = f"{100 * found.changed[0]:+.1f} points"
    sure = "more than chance" if found.p < ALPHA else "no more than chance may do"
    return f"{told}: {moved}, {sure} (Fisher p {compared(found.p)})."


def summary(found: Changes, changes: tuple[Change, ...]) -> str:
    """How much was tested and how much of it changed, in a sentence."""
    tested = f"{found.shifts_tested} shares and {found.successes_tested} success rates were tested"
    if not found.shifts_tested + found.successes_tested:
        return f"No way could be tested: it takes {MIN_SUPPORT} completed runs of each side at one fork."
    held = sum(each.holds for each in changes)
    if not changes:
        return f"Nothing else changed significantly: {tested}."
    return f"{tested}; {held} changed (q < {ALPHA}), and {len(changes) - held} more may be chance."
