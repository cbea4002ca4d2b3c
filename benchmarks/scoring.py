"""Scores of predictions made again and again, fold by fold, with intervals that draw whole tickets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
RESAMPLES = 1_000


class Interval(NamedTuple):
    """A mean and its 95 % bootstrap interval; NaN where there is nothing to take it of."""

    mean: float
    low: float
    high: float


class Pairs(NamedTuple):
    """Every run that succeeded (row) beside every one that did not (column).

    Attributes
    ----------
    right : shape (succeeded, others)
        How often the first had the better odds; equal odds count half.
    asked : shape (succeeded, others)
        How often both were in one fold, so that no fold's average tells them apart.
    """

    right: Floats
    asked: Floats

    @property
    def auc(self) -> float:
        """Share of the pairs that were told rightly; NaN without a pair."""
        asked = float(self.asked.sum())
        return float(self.right.sum()) / asked if asked else float("nan")


def pairs(made: Sequence[Floats], won: Floats, parts: Sequence[Ints]) -> Pairs:
    """The pairs of one fold, partition by partition.

    >>> odds, won = np.array([0.9, 0.2, 0.5, 0.5]), np.array([1.0, 0.0, 1.0, 0.0])
    >>> pairs([odds], won, [np.array([0, 0, 1, 1])]).auc
    0.75
    """
    better, worse = won > 0, won == 0
    right, asked = np.zeros((2, int(better.sum()), int(worse.sum())))
    for odds, part in zip(made, parts, strict=True):
        same = part[better][:, np.newaxis] == part[worse]
        right += same * (np.sign(odds[better][:, np.newaxis] - odds[worse]) + 1) / 2
        asked += same
    return Pairs(right, asked)


def isotonic(odds: Floats, won: Floats, asked: Floats) -> Floats:
    """The success rate that never falls as odds rise and fits told runs best, read off at other odds.

    >>> isotonic(np.array([0.1, 0.1, 0.8]), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.45, 0.9])).tolist()
    [0.5, 0.75, 1.0]
    """
    levels, place, support = np.unique(odds, return_inverse=True, return_counts=True)
    rates = np.bincount(place, won) / support
    fitted = isotonic_regression(rates, weights=support.astype(np.float64)).x
    return np.asarray(np.interp(asked, levels, fitted), np.float64)


def mean_interval(values: Floats, ticket: Ints) -> Interval:
    """Of a mean over runs.

    >>> mean_interval(np.array([1.0, 1.0]), np.array([0, 1]))
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    total, runs = np.bincount(ticket, values), np.bincount(ticket)
    return _drawn(runs.size, lambda times: float(times @ total) / float(times @ runs))


def auc_interval(
    ours: Sequence[Pairs], theirs: Sequence[Pairs], won: Sequence[Floats], ticket: Ints
) -> Interval:
    """Of the difference of two AUCs over the pairs of several sets.

    Parameters
    ----------
    ours, theirs : sequence of Pairs, one a set
    won : sequence of arrays, one a set
        Whether each run succeeded.
    ticket : shape (runs,)
        Of the runs of all sets behind one another.
    """
    mine = np.split(ticket, np.cumsum([each.size for each in won])[:-1])
    sets = [
        (tickets[ends > 0], tickets[ends == 0], our.right - their.right, our.asked)
        for tickets, ends, our, their in zip(mine, won, ours, theirs, strict=True)
    ]

    def difference(times: Floats) -> float:
        asked = sum(float(times[better] @ all @ times[worse]) for better, worse, _, all in sets)
        gained = sum(float(times[better] @ gain @ times[worse]) for better, worse, gain, _ in sets)
        return gained / asked if asked else float("nan")

    return _drawn(int(ticket.max()) + 1, difference)


def _drawn(tickets: int, mean: Callable[[Floats], float]) -> Interval:
    """The mean with every ticket once, and over tickets drawn again and again with all their runs."""
    chance = np.random.default_rng(0)
    drawn = [
        mean(np.bincount(chance.integers(0, tickets, tickets), minlength=tickets).astype(np.float64))
        for _ in range(RESAMPLES)
    ]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Interval(mean(np.ones(tickets)), float(low), float(high))
