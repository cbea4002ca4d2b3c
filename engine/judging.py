"""The verdict on every run of a map at once: what :func:`engine.verdicts.judge` says of each.

A map knows where its members ended and how, so leaving a run out of what it is judged by is one
subtraction, and all of them are judged by array arithmetic.
"""

from __future__ import annotations

from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from engine.growing import Flags, Ints, Nodes
from engine.history import MIN_HISTORY
from engine.maps import BehaviourMap
from engine.paths import Paths
from engine.runs import Outcome
from engine.statistics import wilson, wilson_one
from engine.verdicts import LIKELY_FAILURE_BELOW, Kind, rule
from engine.walk import Index, stand

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""The verdicts; a column of them holds their places here."""
INSUFFICIENT, NOVEL, LIKELY_FAILURE, ON_TRACK = range(len(KINDS))
Verdicts = NDArray[np.int8]


def judge_members(behaviour: BehaviourMap, marked: Flags) -> Verdicts:
    """The verdict on each completed run, with itself left out.

    Parameters
    ----------
    behaviour : BehaviourMap
        The runs are judged in its view.
    marked : bool, shape (completed runs,)
        Whether a member's path ends with the mark ``…``.

    Returns
    -------
    int8, shape (completed runs,)
        Indices into :data:`KINDS`.
    """
    node, won = behaviour.member_node, behaviour.member_outcome == Outcome.SUCCESS
    lonely = _lonely(behaviour)[node]
    verdict = np.full(node.size, INSUFFICIENT, np.int8)
    reached = behaviour.support[behaviour.parent[lonely]] - 1
    verdict[~marked & (lonely > 0) & (reached >= MIN_HISTORY)] = NOVEL
    support, successes = behaviour.support[node] - 1, behaviour.successes[node] - won
    known = ~marked & (lonely == 0) & behaviour.member_kept & (support >= MIN_HISTORY)
    completed, base = behaviour.totals.completed - 1, behaviour.totals.successes - won
    high = wilson(successes[known], support[known])[1]
    is_low = (high < LIKELY_FAILURE_BELOW) & (high < base[known] / max(completed, 1))
    verdict[known] = np.where(is_low, LIKELY_FAILURE, ON_TRACK)
    return verdict


def _lonely(behaviour: BehaviourMap) -> Nodes:
    """For each node the shallowest on the way to it that one run passed alone; 0 if there is none.

    Below such a node there is nobody else either, so its subtree is one stretch of the pre-order.
    """
    alone = behaviour.support == 1
    alone[0] = False
    first = np.flatnonzero(alone & ~alone[behaviour.parent])
    lonely = np.zeros(len(behaviour), np.int32)
    size = behaviour.size[first]
    before = np.cumsum(size) - size
    lonely[np.repeat(first - before, size) + np.arange(size.sum())] = np.repeat(first, size)
    return lonely


def judge_live(behaviour: BehaviourMap, paths: Paths, runs: Ints) -> Verdicts:
    """The verdict on runs that are live, their last tokens open.

    Parameters
    ----------
    behaviour : BehaviourMap
    paths : Paths
        In the map's view.
    runs : int64, shape (runs,)
        Places in ``paths`` of those to be judged.

    Returns
    -------
    int8, shape (runs,)
        Indices into :data:`KINDS`.
    """
    index, known = Index(behaviour), dict[tuple[bytes, bytes], int]()
    verdict = np.empty(runs.size, np.int8)
    for place, run in enumerate(runs.tolist()):
        span = slice(paths.offset[run], paths.offset[run + 1])
        path = paths.code[span].tobytes(), paths.count[span].tobytes()
        if path not in known:
            known[path] = _judge_live(index, paths, run)
        verdict[place] = known[path]
    return verdict


def _judge_live(index: Index, paths: Paths, run: int) -> int:
    behaviour = index.map
    here = stand(index, paths.folds(run), open_last=True)
    high = wilson_one(here.successes, here.support)[1]
    base = behaviour.totals.completed, behaviour.totals.successes
    return KINDS.index(rule(here.why, here.support, high, int(behaviour.support[here.node]), base))
