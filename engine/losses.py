"""What all fatal forks of a map cost together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.maps import BehaviourMap


class Losses(NamedTuple):
    """What fatal forks cost.

    Attributes
    ----------
    forks : int
        How many there are.
    runs : float
        Runs they cost, not negative; of forks one inside the other the dearer side counts.
    worst : int
        Node of the fork that costs most, 0 for none.
    q : float
        Its q-value, 1 for none.
    """

    forks: int = 0
    runs: float = 0.0
    worst: int = 0
    q: float = 1.0


def losses(behaviour: BehaviourMap) -> Losses:
    """What a map's fatal forks cost together.

    Runs through a fork that lies behind another are in the counts of both: they are counted once, by the
    outer fork or by those inside it, whichever cost more.
    """
    nodes = np.flatnonzero(behaviour.fork)
    if not nodes.size:
        return Losses()
    rate = behaviour.sibling_successes[nodes] / behaviour.sibling_support[nodes]
    cost = behaviour.support[nodes] * rate - behaviour.successes[nodes]
    worst = int(nodes[cost.argmax()])
    end = nodes + behaviour.size[nodes]
    runs = _once(nodes.tolist(), end.tolist(), cost.tolist())
    return Losses(nodes.size, runs, worst, float(behaviour.q[worst]))


def _once(start: list[int], end: list[int], cost: list[float]) -> float:
    """The sum of what ranges cost, in order of their starts, of those inside another the dearer side.

    >>> _once([1, 2, 4, 9], [8, 3, 5, 10], [10.0, 4.0, 7.0, 1.0])
    12.0
    """
    outer: list[tuple[int, float]] = []
    for first, past, own in zip(reversed(start), reversed(end), reversed(cost), strict=True):
        inside = 0.0
        while outer and outer[-1][0] < past:
            inside += outer.pop()[1]
        outer.append((first, max(own, inside)))
    return sum(each for _, each in outer)
