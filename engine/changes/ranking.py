"""What changed most: ways that runs take more or less often, ways that end otherwise, and where that was."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from engine.changes import AFTER, BEFORE, Changes, Way, ways_from
from engine.growing import Flags, Ints
from engine.paths import Token
from engine.runs import Outcome
from engine.siblings import ALPHA, MIN_SUPPORT
from engine.strata import columns
from engine.stratified import Stratified, stratified

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
    tickets : Stratified or None
        The same comparison within tickets; None where it may be chance, or no run names one.
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
    tickets: Stratified | None = None

    @property
    def grew(self) -> bool:
        """Whether there is more of it after."""
        return self.kind in ("new", "more", "better")

    @property
    def holds(self) -> bool:
        """Whether it stands when all that was tested is taken into account."""
        return self.q < ALPHA


class Findings(NamedTuple):
    """All that is made of two sides.

    Attributes
    ----------
    tickets : Stratified or None
        The base rates compared within tickets; None where no run names one.
    """

    changes: Changes
    ranked: tuple[Change, ...]
    partings: tuple[Parting, ...]
    tickets: Stratified | None


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


def findings(found: Changes) -> Findings:
    """What changed most, and where."""
    numbers = columns(found.behaviour.tickets, ()).tickets
    whole = None if numbers is None else within_tickets(found, 0, numbers)
    return Findings(found, ranked(found, numbers), partings(found), whole)


def ranked(found: Changes, tickets: Ints | None = None) -> tuple[Change, ...]:
    """All changes with p < 0.05: those that hold first, then by what they moved of the base rate, then p.

    Of a fork with two ways, where more of one is less of the other, the one that is taken more is told.
    """
    shifts = [way for way in np.flatnonzero(found.shift_p < ALPHA).tolist() if _leads(found, way)]
    endings = np.flatnonzero(found.success_p < ALPHA).tolist()
    told = [*(_shift(found, way) for way in shifts), *(_ending(found, way) for way in endings)]
    if tickets is not None:
        told = [_told_more(found, each, tickets) for each in told]
    return tuple(sorted(told, key=lambda each: (not each.holds, -abs(each.points), each.p, each.way)))


def _told_more(found: Changes, change: Change, tickets: Ints) -> Change:
    """A change with what is left of it within tickets; one that may be chance needs no more doubt."""
    if not change.holds:
        return change
    return change._replace(tickets=within_tickets(found, change.way, tickets, change.kind in SHIFTS))


def _leads(found: Changes, way: int) -> bool:
    """Whether a way tells more than its only alternative, or that cannot be told."""
    ways = ways_from(found, int(found.parent[way]))
    told = bool(np.isfinite(found.shift_p[ways]).all())
    return ways.size != 2 or not told or way == ways[np.argmax(_moved(found, ways))]


def _moved(found: Changes, ways: Ints) -> list[float]:
    above = found.support[:, found.parent[ways]]
    shares = found.support[:, ways] / above
    moved: list[float] = (shares[AFTER] - shares[BEFORE]).tolist()
    return moved


def _shift(found: Changes, way: int) -> Change:
    parent = int(found.parent[way])
    ways = ways_from(found, parent)
    counted = ways if ways.size == 2 else [way]
    points = float(found.shifted[counted].sum())
    some, every = pair(found.support[:, way]), pair(found.support[:, parent])
    grew = some[AFTER] * every[BEFORE] > some[BEFORE] * every[AFTER]
    kind: Kind = "more" if grew else "fewer"
    if not min(some):
        kind = "new" if grew else "vanished"
    return _change(
        found, kind, way, some, every, float(found.shift_p[way]), float(found.shift_q[way]), points
    )


def _ending(found: Changes, way: int) -> Change:
    some, every = pair(found.successes[:, way]), pair(found.support[:, way])
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
    ended = bool(found.kind[way] == Way.ENDED)
    return Change(kind, way, key, path, ended, some, every, p, q, points)


def within_tickets(found: Changes, way: int, tickets: Ints, shift: bool = False) -> Stratified:
    """The two sides compared only with runs of the same ticket, after minus before.

    Parameters
    ----------
    found : Changes
    way : int
        Which way; 0 is the whole.
    tickets : ndarray of int64, shape (members,)
        Number of each member's ticket, -1 for none.
    shift : bool
        Compare how many took it of those that came to its parent, not how many of them succeeded.
    """
    took = _took(found, way)
    runs = _took(found, int(found.parent[way])) if shift else took
    met = took if shift else found.behaviour.member_outcome == Outcome.SUCCESS
    return stratified(tickets[runs], found.later[runs], met[runs])


def _took(found: Changes, way: int) -> Flags:
    """Members that took a way."""
    behaviour, node = found.behaviour, int(found.node[way])
    at = behaviour.member_node
    if found.kind[way] == Way.BRANCH:
        return np.asarray((at >= node) & (at < node + int(behaviour.size[node])))
    return np.asarray((at == node) & (behaviour.member_kept == (found.kind[way] == Way.ENDED)))


def pair(counts: Ints) -> tuple[int, int]:
    """What is counted of both sides, as plain numbers."""
    return int(counts[BEFORE]), int(counts[AFTER])


def partings(found: Changes) -> tuple[Parting, ...]:
    """The forks that at least 3 runs of each side came to, by what changed there, the most first."""
    nodes, leaves = len(found.behaviour), found.parent[1:]
    ways = np.bincount(leaves, minlength=nodes)
    shifted, changed = (
        np.bincount(leaves, weights=part[1:], minlength=nodes) for part in (found.shifted, found.changed)
    )
    forks = np.flatnonzero((ways > 1) & (found.support[:, :nodes].min(axis=0) >= MIN_SUPPORT))
    told = [_parting(found, node, float(shifted[node]), float(changed[node])) for node in forks.tolist()]
    return tuple(sorted(told, key=lambda each: (-abs(each.shifted) - abs(each.changed), each.node)))


def _parting(found: Changes, node: int, shifted: float, changed: float) -> Parting:
    sides = pair(found.support[:, node]), pair(found.successes[:, node])
    key, path = found.behaviour.key_text(node), found.behaviour.path(node)
    return Parting(node, key, path, *sides, float(found.changed[node]), shifted, changed)
