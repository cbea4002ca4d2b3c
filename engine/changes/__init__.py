"""What changed between two sides of an agent: before and after a moment, or one version and another.

Both sides stand on one tree. A *way* is what a run may do at a node: take a child, end there, or take
a branch that the map's bound dropped; so the ways from a node part its runs without a rest. Each way has
its share of the parent's runs on either side, and how these ended, and is tested for both. The change
of the base rate is then split, from the root down: a way's *shifted* traffic and its *changed* success
are what is left of Kitagawa's decomposition at its parent, and what changed at a node is what its ways
add up to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.growing import Flags, Floats, Ints, Nodes, by_depth
from engine.maps import BehaviourMap
from engine.paths import MARK
from engine.runs import Outcome
from engine.siblings import MIN_SUPPORT
from engine.statistics import benjamini_hochberg, fisher_exact, wilson

BEFORE, AFTER = 0, 1
"""The sides, as the first index of what is known of both."""


class Moment(NamedTuple):
    """Runs of the window that began before a moment against those that began since."""

    at_ns: int


class Versions(NamedTuple):
    """Runs of one version of the agent against those of another."""

    before: str
    after: str


Split: TypeAlias = Moment | Versions


class Way(IntEnum):
    """What a run may do at a node."""

    BRANCH = 0
    ENDED = 1
    DROPPED = 2


@dataclass(frozen=True, slots=True)
class Changes:
    """Two sides on one tree, as arrays over ways; way ``i`` is node ``i`` as long as there are nodes.

    Attributes
    ----------
    behaviour : BehaviourMap
        The map of both sides together; its members stand in the order of ``later``.
    later : bool, shape (members,)
        Whether a run is on the side after.
    node, parent : int32, shape (ways,)
        The node a way leads to (for ENDED and DROPPED the one it is at), and where it leaves; -1 for
        the root.
    kind : uint8, shape (ways,)
        :class:`Way`.
    support, successes : int64, shape (2, ways)
        Runs of each side, and how many succeeded.
    low, high : float64, shape (2, ways)
        Wilson score intervals of successes / support.
    shift_p, shift_q : float64, shape (ways,)
        Fisher's exact test of the share of the parent's runs that took it, and the q-value in the
        family of all shifts tested, in which the two ways of a fork are one test; NaN where untested.
    success_p, success_q : float64, shape (ways,)
        Likewise of how those ended that took it.
    shifted, changed : float64, shape (ways,)
        Parts of the base rate's change, in [-1, 1]: through other shares, and through other success at or
        below. The ways from a node add up to what changed at it; ``changed[0]`` is the whole.
    p : float
        Fisher's exact test of the base rates; 1 where a side has no run.
    """

    split: Split
    behaviour: BehaviourMap
    later: Flags
    node: Nodes
    parent: Nodes
    kind: NDArray[np.uint8]
    support: Ints
    successes: Ints
    low: Floats
    high: Floats
    shift_p: Floats
    shift_q: Floats
    success_p: Floats
    success_q: Floats
    shifted: Floats
    changed: Floats
    p: float

    @property
    def shifts_tested(self) -> int:
        """Ways whose share was tested."""
        return int(np.isfinite(self.shift_p).sum())

    @property
    def successes_tested(self) -> int:
        """Ways whose success was tested."""
        return int(np.isfinite(self.success_p).sum())


def changes(behaviour: BehaviourMap, later: Flags, split: Split) -> Changes:
    """Compare the sides of a map.

    Parameters
    ----------
    behaviour : BehaviourMap
        The map of both sides together.
    later : ndarray of bool, shape (members,)
        Which members are on the side after.
    split : Split
        What parts them; kept.

    References
    ----------
    E. M. Kitagawa (1955), Components of a difference between two rates.
    """
    node, parent, kind, support, successes = _ways(behaviour, later)
    shift_p, success_p = _tests(behaviour, parent, kind, support, successes)
    shifted, changed = _decomposed(behaviour, parent, support, successes)
    low, high = wilson(successes, support)
    each = np.arange(1, parent.size + 1)
    is_one_of_two = np.bincount(parent[1:], minlength=1)[parent] == 2
    return Changes(
        split=split,
        behaviour=behaviour,
        later=later,
        node=node,
        parent=parent,
        kind=kind,
        support=support,
        successes=successes,
        low=low,
        high=high,
        shift_p=shift_p,
        shift_q=_corrected(shift_p, np.where(is_one_of_two, -parent, each)),
        success_p=success_p,
        success_q=_corrected(success_p, each),
        shifted=shifted,
        changed=changed,
        p=float(_fisher(successes[:, :1], support[:, :1])[0]),
    )


def _ways(behaviour: BehaviourMap, later: Flags) -> tuple[Nodes, Nodes, NDArray[np.uint8], Ints, Ints]:
    """Node, parent, kind and each side's counts of every way."""
    nodes = len(behaviour)
    won = behaviour.member_outcome == Outcome.SUCCESS
    at = behaviour.member_node.astype(np.int64)
    kept = behaviour.member_kept
    ends = [_counted(at, kept == flag, later, won, nodes) for flag in (True, False)]
    through = _through(ends[0] + ends[1], behaviour.size)
    every = through[:, 0] + through[:, 1]
    tables, node, kind = [through], [np.arange(nodes, dtype=np.int32)], [np.zeros(nodes, np.uint8)]
    for way, end in zip((Way.ENDED, Way.DROPPED), ends, strict=True):
        total = end[:, 0] + end[:, 1]
        here = np.flatnonzero((total.sum(axis=0) > 0) & (total.sum(axis=0) < every.sum(axis=0)))
        tables.append(end[:, :, here])
        node.append(here.astype(np.int32))
        kind.append(np.full(here.size, way, np.uint8))
    table = np.concatenate(tables, axis=2)
    parent = np.concatenate([behaviour.parent, *node[1:]])
    return np.concatenate(node), parent, np.concatenate(kind), table[:, 0] + table[:, 1], table[:, 1]


def _counted(at: Ints, wanted: Flags, later: Flags, won: Flags, nodes: int) -> Ints:
    """Members that end at each node, shape (2 sides, lost or won, nodes)."""
    place = ((later * 2 + won) * nodes + at)[wanted]
    return np.bincount(place, minlength=4 * nodes).reshape(2, 2, nodes)


def _through(ends: Ints, size: Nodes) -> Ints:
    """Members that pass each node, of those that end at each."""
    running = np.zeros((*ends.shape[:2], size.size + 1), np.int64)
    np.cumsum(ends, axis=2, out=running[:, :, 1:])
    return running.take(np.arange(size.size) + size, axis=2) - running[:, :, :-1]


def _tests(
    behaviour: BehaviourMap, parent: Nodes, kind: NDArray[np.uint8], support: Ints, successes: Ints
) -> tuple[Floats, Floats]:
    """p-values of shifted shares and of changed success.

    What is tested follows from margins that both tests hold fixed, never from what differs. The only way
    from a node repeats its parent's figures, and is left out.
    """
    mark = [token.signature == MARK for token in behaviour.tokens]
    marked = np.zeros(parent.size, bool)
    marked[: len(behaviour)] = np.array([*mark, False], bool)[behaviour.token]
    above, total = support[:, parent], support.sum(axis=0)
    told = (kind != Way.DROPPED) & ~marked & (total < above.sum(axis=0))
    told[0] = False
    shift, success = np.full(parent.size, np.nan), np.full(parent.size, np.nan)
    ways = np.flatnonzero(told & (above.min(axis=0) >= MIN_SUPPORT) & (total >= MIN_SUPPORT))
    shift[ways] = _fisher(support[:, ways], above[:, ways])
    ways = np.flatnonzero(told & (support.min(axis=0) >= MIN_SUPPORT))
    success[ways] = _fisher(successes[:, ways], support[:, ways])
    return shift, success


def _fisher(some: Ints, every: Ints) -> Floats:
    """Whether as large a part of one side's as of the other's."""
    if not some.size:
        return np.empty(0)
    rest = every - some
    return fisher_exact(some[AFTER], rest[AFTER], some[BEFORE], rest[BEFORE])


def _corrected(p: Floats, test: Ints) -> Floats:
    """q-values of tests; ways of one test share its."""
    q, tested = np.full(p.size, np.nan), np.flatnonzero(np.isfinite(p))
    _, first, which = np.unique(test[tested], return_index=True, return_inverse=True)
    if tested.size:
        q[tested] = benjamini_hochberg(p[tested][first])[which]
    return q


def _decomposed(
    behaviour: BehaviourMap, parent: Nodes, support: Ints, successes: Ints
) -> tuple[Floats, Floats]:
    """Shifted traffic and changed success of every way, as parts of the base rate's change.

    A way that only one side took has that side's rate on both: all it does is traffic.
    """
    some = np.maximum(support, 1)
    rate = successes / some
    both = support.min(axis=0) > 0
    rate = np.where(support > 0, rate, rate[::-1])
    share = support / some[:, parent]
    moved, usual = share[AFTER] - share[BEFORE], share.mean(axis=0)
    weight = _weights(behaviour, parent, np.where(both, usual, 0.0))
    before = weight[parent]
    before[0] = 0.0
    middle = rate.mean(axis=0)
    shifted = before * moved * (middle - middle[parent])
    return shifted, weight * (rate[AFTER] - rate[BEFORE])


def _weights(behaviour: BehaviourMap, parent: Nodes, usual: Floats) -> Floats:
    """What a way counts for in the base rate: the product of the mean shares that lead to it."""
    weight = usual.copy()
    weight[0] = float(usual[0] > 0)
    for level in by_depth(behaviour.depth)[1:]:
        weight[level] *= weight[parent[level]]
    rest = slice(len(behaviour), None)
    weight[rest] *= weight[parent[rest]]
    return weight


def ways_from(found: Changes, node: int) -> Ints:
    """The ways from a node: its children in the map's order, then who ended there, and what was dropped."""
    return np.flatnonzero(found.parent == node)


def versions(values: Sequence[str | None]) -> list[tuple[str, int]]:
    """The versions among members, which stand newest first, and how many runs each has; the newest first.

    >>> versions(["v2", None, "v1", "v2"])
    [('v2', 2), ('v1', 1)]
    """
    counts: dict[str, int] = {}
    for value in values:
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    return list(counts.items())
