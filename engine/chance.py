"""How many fatal forks chance alone would make of a map: outcomes are shuffled, and the forks counted.

Outcomes are shuffled within tickets and versions, so that what a mix of tickets or versions makes of a
branch stays; where no version's runs of a ticket ended differently, within tickets alone; where no run
carries a ticket, among all runs. As many forks as that leaves are not the step's doing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from engine.growing import Flags, Ints, Nodes
from engine.maps import BehaviourMap
from engine.paths import MARK
from engine.runs import Outcome
from engine.siblings import ALPHA, FORK_GAP_POINTS
from engine.statistics import fisher_exact

SHUFFLES: Final = 200
"""Shuffles of a map's outcomes."""
_SEED = 20_000
_AT_ONCE = 1 << 20
"""Outcomes shuffled at a time."""


class Chance(NamedTuple):
    """What shuffled outcomes make of a map.

    Attributes
    ----------
    shuffles : int
        How often the outcomes were shuffled.
    forks : float
        Fatal forks of a shuffled map, on average.
    found : int
        Fatal forks that the map has.
    as_many : int
        Shuffles that made at least as many.
    moved : int
        Runs whose outcome could become another one: others they were shuffled among ended otherwise.
    within_tickets, within_versions : bool
        Whether outcomes were shuffled only among runs of the same ticket, and of the same version.
    """

    shuffles: int
    forks: float
    found: int
    as_many: int
    moved: int
    within_tickets: bool
    within_versions: bool


class _Among(NamedTuple):
    """The group of each run, among which its outcome is shuffled, and how many runs that can change."""

    group: Ints
    moved: int
    within_tickets: bool
    within_versions: bool


class _Ranges(NamedTuple):
    """Where the runs of each tested node stand, with its siblings', among runs in order of their nodes.

    The siblings' are those below its parent but for the runs that stopped there, for what was cut right after
    it, and for its own.
    """

    first: Ints
    last: Ints
    all_first: Ints
    all_last: Ints
    cut_first: Ints
    cut_last: Ints


def chance(behaviour: BehaviourMap, shuffles: int = SHUFFLES) -> Chance:
    """Count the fatal forks that shuffled outcomes make; the same map gives the same figures."""
    among = _among(behaviour)
    order = np.lexsort((~behaviour.member_stopped, behaviour.member_node))
    group = among.group[order]
    tested = np.flatnonzero(~np.isnan(behaviour.p))
    ranges = _ranges(behaviour, behaviour.member_node[order], behaviour.member_stopped[order], tested)
    own, others = (each[tested].astype(np.int64) for each in (behaviour.support, behaviour.sibling_support))
    won = (behaviour.member_outcome == Outcome.SUCCESS)[order]
    forks = np.concatenate([_forks(each, ranges, own, others) for each in _shuffled(won, group, shuffles)])
    found = int(behaviour.fork.sum())
    return Chance(
        shuffles,
        float(forks.mean()),
        found,
        int((forks >= found).sum()),
        among.moved,
        among.within_tickets,
        among.within_versions,
    )


def _among(behaviour: BehaviourMap) -> _Among:
    """Which runs are shuffled together: within versions, too, if that can move anything."""
    won = behaviour.member_outcome == Outcome.SUCCESS
    has_tickets = any(ticket is not None for ticket in behaviour.tickets)
    if has_tickets and len(set(behaviour.versions)) > 1:
        group = _numbers(zip(behaviour.tickets, behaviour.versions, strict=True))
        if moved := _moved(group, won):
            return _Among(group, moved, within_tickets=True, within_versions=True)
    group = _numbers(behaviour.tickets) if has_tickets else np.zeros(won.size, np.int64)
    return _Among(group, _moved(group, won), has_tickets, within_versions=False)


def _numbers(values: Iterable[Hashable]) -> Ints:
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], np.int64)


def _moved(group: Ints, won: Flags) -> int:
    runs, wins = np.bincount(group), np.bincount(group, weights=won)
    return int(runs[(wins > 0) & (wins < runs)].sum())


def _ranges(behaviour: BehaviourMap, at: Nodes, stopped: Flags, tested: Ints) -> _Ranges:
    """The ranges of tested nodes among runs that stand at these nodes, in order, stopped ones first."""
    parent = behaviour.parent[tested]
    stops = np.bincount(at[stopped], minlength=len(behaviour))
    cut = np.flatnonzero([token.signature == MARK for token in behaviour.tokens])
    marks = np.flatnonzero(np.isin(behaviour.token, cut))
    mark = np.zeros(len(behaviour), np.int64)
    mark[behaviour.parent[marks]] = marks  # a parent without one has the root here, and that is none
    below = np.where(mark[parent] > 0, mark[parent], len(behaviour))
    return _Ranges(
        first=np.searchsorted(at, tested),
        last=np.searchsorted(at, tested + behaviour.size[tested]),
        all_first=np.searchsorted(at, parent) + stops[parent],
        all_last=np.searchsorted(at, parent + behaviour.size[parent]),
        cut_first=np.searchsorted(at, below),
        cut_last=np.searchsorted(at, below, side="right"),
    )


def _shuffled(won: Flags, group: Ints, shuffles: int) -> Iterator[Flags]:
    """The outcomes, shuffled within groups: shape (some shuffles, runs) at a time."""
    generator = np.random.default_rng(_SEED)
    by_group = np.argsort(group, kind="stable")
    grouped, values = group[by_group].astype(np.float64), won[by_group]
    at_once = max(1, _AT_ONCE // max(1, won.size))
    for begun in range(0, shuffles, at_once):
        keys = generator.random((min(at_once, shuffles - begun), won.size)) + grouped
        shuffled = np.empty(keys.shape, bool)
        shuffled[:, by_group] = values[np.argsort(keys, axis=1)]
        yield shuffled


def _forks(won: Flags, ranges: _Ranges, own: Ints, others: Ints) -> Ints:
    """How many tested nodes are fatal forks, in each shuffle; the exact test only where the gap is."""
    before = np.zeros((len(won), won.shape[1] + 1), np.int32)
    np.cumsum(won, axis=1, out=before[:, 1:])
    first, last, all_first, all_last, cut_first, cut_last = (
        before.take(each, axis=1).astype(np.int64) for each in ranges
    )
    mine = last - first
    theirs = all_last - all_first - (cut_last - cut_first) - mine
    far = 100 * (theirs * own - mine * others) >= FORK_GAP_POINTS * own * others
    shuffle, node = np.nonzero(far)
    table = (node * won.shape[1] + mine[far]) * won.shape[1] + theirs[far]
    _, example, same = np.unique(table, return_index=True, return_inverse=True)
    mine, theirs, own, others = (
        mine[far][example],
        theirs[far][example],
        own[node[example]],
        others[node[example]],
    )
    clear = fisher_exact(mine, own - mine, theirs, others - theirs) < ALPHA
    return np.bincount(shuffle[clear[same]], minlength=len(won))
