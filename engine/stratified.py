"""Comparing two sides within strata: an exact test of no association, and the difference that is left.

Runs are compared only with runs of the same stratum, so a mix of strata that differs between the two
sides moves nothing. NumPy in, numbers out; no word of the domain but that a run was won or not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.statistics import Floats, Ints, Z

Flags = NDArray[np.bool_]

_TIE = 1e-7
_SMALLEST = float(np.finfo(np.float64).tiny)


class Stratified(NamedTuple):
    """Two sides compared within strata.

    Attributes
    ----------
    p : float
        Exact conditional two-sided p-value of no association in any stratum; 1 where nothing is informative.
    difference, low, high : float
        Mantel-Haenszel difference of the success rates, mine minus the others', with its 95 % interval; in
        [-1, 1], NaN where no stratum has both sides.
    strata : int
        Informative strata: both sides and both outcomes are there.
    runs, support : int
        Runs in informative strata, and how many of these are mine.
    shared : int
        Strata where both sides are there.
    least_low, least_high : float
        The p-values that these strata give where as few, and as many, of mine are won as their totals allow:
        the smallest there could be of a difference to that side.
    """

    p: float
    difference: float
    low: float
    high: float
    strata: int
    runs: int
    support: int
    shared: int
    least_low: float
    least_high: float

    @property
    def least(self) -> float:
        """The smallest p-value that these strata could have given, to either side."""
        return min(self.least_low, self.least_high)


class Pool(NamedTuple):
    """Runs of which one side after the other is compared with the rest: their strata, and which were won.

    ``size`` and ``wins`` count those of each stratum, once for all sides.
    """

    stratum: Ints
    won: Flags
    size: Ints
    wins: Ints


class _Counts(NamedTuple):
    """Counts of each stratum that has both sides."""

    mine: Ints
    others: Ints
    mine_won: Ints
    others_won: Ints


def stratified(stratum: Ints, mine: Flags, won: Flags) -> Stratified:
    """Compare two sides within strata.

    Parameters
    ----------
    stratum : ndarray of int64, shape (runs,)
        Number of each run's stratum; a negative one is none, and leaves the run out.
    mine, won : ndarray of bool, shape (runs,)
        Whether each run is on my side (else on the other), and whether it was won.

    References
    ----------
    C. R. Mehta, N. R. Patel, R. Gray (1985), Computing an exact confidence interval for the common odds
    ratio in several 2 × 2 contingency tables: the conditional distribution. S. Greenland, J. M. Robins
    (1985) and T. Sato (1989), On the variance estimator for the Mantel-Haenszel risk difference.

    Examples
    --------
    >>> stratum = np.array([0, 0, 0, 1, 1, 1])
    >>> mine = np.array([True, False, False, True, True, False])
    >>> found = stratified(stratum, mine, np.array([False, True, True, False, False, True]))
    >>> round(found.p, 4), found.difference, found.strata, found.runs, found.support
    (0.1111, -1.0, 2, 6, 3)
    """
    return parted(pool(stratum, won), np.flatnonzero(mine))


def pool(stratum: Ints, won: Flags) -> Pool:
    """Runs to be compared: see :func:`stratified`."""
    size = np.bincount(stratum[stratum >= 0])
    wins = np.bincount(stratum[(stratum >= 0) & won], minlength=size.size)
    return Pool(stratum, won, size, wins)


def parted(pool: Pool, mine: Ints) -> Stratified:
    """Compare these of the runs with the rest, in the time that these take: see :func:`stratified`."""
    counts = _counts(pool, mine)
    size, wins = counts.mine + counts.others, counts.mine_won + counts.others_won
    told = (wins > 0) & (wins < size)
    chances = _chances(counts.mine[told], counts.others[told], wins[told])
    lowest = np.maximum(0, wins[told] - counts.others[told]).sum()
    at = int(counts.mine_won[told].sum() - lowest)
    return Stratified(
        _tail(chances, float(chances[at])),
        *_difference(counts),
        strata=int(told.sum()),
        runs=int(size[told].sum()),
        support=int(counts.mine[told].sum()),
        shared=size.size,
        least_low=_tail(chances, float(chances[0])),
        least_high=_tail(chances, float(chances[-1])),
    )


def _counts(pool: Pool, mine: Ints) -> _Counts:
    mine = mine[pool.stratum[mine] >= 0]
    known, place, own = np.unique(pool.stratum[mine], return_inverse=True, return_counts=True)
    own_won = np.bincount(place[pool.won[mine]], minlength=known.size)
    others, others_won = pool.size[known] - own, pool.wins[known] - own_won
    both = others > 0
    return _Counts(own[both], others[both], own_won[both], others_won[both])


def _chances(mine: Ints, others: Ints, wins: Ints) -> Floats:
    """Probabilities of every sum of my wins, from the least possible to the largest, given all margins."""
    tables, times = np.unique(np.stack([mine, others, wins], axis=1), axis=0, return_counts=True)
    pieces = [
        _power(hypergeometric(*table), many)
        for table, many in zip(tables.tolist(), times.tolist(), strict=True)
    ]
    pieces.append(np.ones(1))
    while len(pieces) > 1:  # the smallest first, so that long ones are convolved least often
        pieces.sort(key=len, reverse=True)
        pieces.append(np.convolve(pieces.pop(), pieces.pop()))
    return pieces[0]


def _power(chances: Floats, times: int) -> Floats:
    """Probabilities of the sum of so many like them, which are independent."""
    result = np.ones(1)
    while times:
        if times & 1:
            result = np.convolve(result, chances)
        times >>= 1
        if times:
            chances = np.convolve(chances, chances)
    return result


def hypergeometric(mine: int, others: int, wins: int) -> Floats:
    """Probabilities of each number of wins that may be mine, by the ratios of neighbours from the mode on.

    Multiplied outwards, nothing overflows and each keeps its relative precision.

    >>> hypergeometric(2, 1, 1).round(4).tolist()
    [0.3333, 0.6667]
    """
    lowest, highest = max(0, wins - others), min(mine, wins)
    before = np.arange(lowest, highest, dtype=np.float64)
    ratio = (wins - before) * (mine - before) / ((before + 1) * (others - wins + before + 1))
    mode = int(np.count_nonzero(ratio > 1))
    weight = np.ones(highest - lowest + 1)
    with np.errstate(under="ignore"):
        weight[mode + 1 :] = np.cumprod(ratio[mode:])
        weight[:mode] = np.cumprod(1 / ratio[:mode][::-1])[::-1]
    chances: Floats = weight / weight.sum()
    return chances


def _tail(chances: Floats, observed: float) -> float:
    """Sum of the probabilities not above the observed one, equal within a relative tolerance of 1e-7."""
    return float(np.clip(chances[chances <= observed * (1 + _TIE)].sum(), _SMALLEST, 1.0))


def _difference(counts: _Counts) -> tuple[float, float, float]:
    """The Mantel-Haenszel risk difference and its interval, by Sato's variance."""
    mine, others, won, others_won = (each.astype(np.float64) for each in counts)
    size = mine + others
    weight = float((mine * others / size).sum())
    if not weight:
        return math.nan, math.nan, math.nan
    difference = float(((won * others - others_won * mine) / size).sum()) / weight
    slope = (mine**2 * others_won - others**2 * won + mine * others * (others - mine) / 2) / size**2
    spread = (won * (others - others_won) + others_won * (mine - won)) / (2 * size)
    variance = max(0.0, difference * float(slope.sum()) + float(spread.sum())) / weight**2
    half = Z * math.sqrt(variance)
    return difference, max(-1.0, difference - half), min(1.0, difference + half)
