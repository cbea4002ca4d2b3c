"""A back-off estimate of success: every node's rate, drawn towards the rate of its parent, and so on up.

A node that few runs passed says little by itself, and its ancestors say the rest: where ``n`` runs passed
it and ``s`` of them succeeded, the estimate is ``(s + weight × parent's estimate) / (n + weight)``, and the
root's is the base rate. So the weight counts in runs: how many the parent's estimate is worth. It is the one
that would have told these very runs best, each told at every token of its path by all the others.

It is a number to rank by and no evidence: verdicts and fuses keep to counts and their interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.growing import Floats, Nodes, by_depth
from engine.maps import BehaviourMap
from engine.walk import Standing

Counts: TypeAlias = NDArray[np.integer[Any]]

WEIGHTS: Final = tuple(2.0**power for power in range(13))
"""Weights to choose from, in runs: 1, 2, 4, … 4096."""
EVEN: Final = 0.5
"""The base rate of nobody."""


class Backoff(NamedTuple):
    """The estimate at every node of a map.

    Attributes
    ----------
    weight : float
        How many runs the estimate of its parent is worth to a node.
    rate : float64, shape (nodes,)
        Estimated success rate, in [0, 1].
    """

    weight: float
    rate: Floats


def back_off(behaviour: BehaviourMap) -> Backoff:
    """Estimate every node of a map, with the weight that fits its own runs best."""
    levels = by_depth(behaviour.depth)
    counts = behaviour.parent, behaviour.support, behaviour.successes
    weight = best_weight(levels, *counts)
    return Backoff(weight, shrunk(levels, *counts, weight))


def expect(backoff: Backoff, behaviour: BehaviourMap, here: Standing) -> float:
    """The estimate where a path stands; where nobody took its last token, at the node before it.

    Parameters
    ----------
    backoff : Backoff
        Of that map.
    behaviour : BehaviourMap
    here : Standing
        Pooled children count as one.
    """
    if not here.support or here.nodes == (0,):
        return float(backoff.rate[here.node])
    above = float(backoff.rate[behaviour.parent[here.nodes[0]]])
    return (here.successes + backoff.weight * above) / (here.support + backoff.weight)


def shrunk(levels: Sequence[Nodes], parent: Nodes, support: Counts, won: Counts, weight: float) -> Floats:
    """Every node's rate, drawn towards its parent's estimate.

    Parameters
    ----------
    levels : sequence of int arrays
        Nodes of each depth in order; the root is the first.
    parent, support, won : int, shape (nodes,)
        Runs through each node, and how many of them succeeded.
    weight : float
        Above 0.

    Examples
    --------
    >>> parent, levels = np.array([-1, 0, 1]), [np.array([node]) for node in range(3)]
    >>> shrunk(levels, parent, np.array([10, 4, 0]), np.array([5, 0, 0]), 4.0).tolist()
    [0.5, 0.25, 0.25]
    """
    rate = np.full(parent.size, won[0] / support[0] if support[0] else EVEN)
    for level in levels[1:]:
        rate[level] = (won[level] + weight * rate[parent[level]]) / (support[level] + weight)
    return rate


def best_weight(levels: Sequence[Nodes], parent: Nodes, support: Counts, won: Counts) -> float:
    """The weight with the least :func:`left_out_errors`, of equally good ones the largest."""
    errors = left_out_errors(levels, parent, support, won)
    return WEIGHTS[len(WEIGHTS) - 1 - int(np.argmin(errors[::-1]))]


def left_out_errors(levels: Sequence[Nodes], parent: Nodes, support: Counts, won: Counts) -> Floats:
    """By weight, the sum of squared errors where each run is told at every token of its path by the others.

    A run that is left out is left out of every ancestor too, and all runs of a node that ended alike are
    told the same: so two estimates a node are all it takes, for those that succeeded and for the others.
    Parameters as of :func:`shrunk`; nodes stand in pre-order.
    """
    weights, own = np.array(WEIGHTS)[:, np.newaxis], np.array([0, 1])[:, np.newaxis, np.newaxis]
    base, times = (won[0] - own) / max(int(support[0]) - 1, 1), _times(parent, support)
    told, errors = np.broadcast_to(base, (2, len(WEIGHTS), 1)), np.zeros(len(WEIGHTS))
    for before, level in pairwise(level[times[level] > 0] for level in levels):
        others, others_won = np.maximum(support[level] - 1, 0), np.maximum(won[level] - own, 0)
        above = told[:, :, np.searchsorted(before, parent[level])]
        told = (others_won + weights * above) / (others + weights)
        lost = support[level] - won[level]
        errors += told[0] ** 2 @ (lost * times[level]) + (1 - told[1]) ** 2 @ (won[level] * times[level])
    return errors


def _times(parent: Nodes, support: Counts) -> Counts:
    """How often a node counts: the first that only one run passed, for all of that run's path below it."""
    alone = support == 1
    first = alone & ~alone[parent]
    first[0] = alone[0]
    times = (support > 1).astype(np.int64)
    times[first] = np.bincount(np.cumsum(first)[alone] - 1, minlength=int(first.sum()))
    times[0] = 1
    return times
