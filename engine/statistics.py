"""Statistics over arrays: intervals, exact tests, entropy, false discovery, scores.

NumPy in, NumPy out; no word of the domain. Every function is vectorised.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z = 1.96
"""Normal quantile of every interval; the literal, not the exact 97.5 % quantile."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_Z_SQUARED = Z * Z
_TIE = 1e-7
_SMALLEST = float(np.finfo(np.float64).tiny)
_LARGEST_CHUNK = 1 << 20


def proportion(successes: int, support: int) -> float | None:
    """Successes ÷ support; None at no support.

    >>> proportion(1, 4), proportion(0, 0)
    (0.25, None)
    """
    return successes / support if support else None


def wilson(successes: ArrayLike, support: ArrayLike) -> tuple[Floats, Floats]:
    """Wilson score interval of a proportion.

    Parameters
    ----------
    successes, support : array_like of int, same shape
        Counts, ``0 <= successes <= support``.

    Returns
    -------
    low, high : ndarray of float64
        Bounds in [0, 1]; exactly 0 at no success, exactly 1 at no failure, (0, 1) at no support.

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference.

    Examples
    --------
    >>> low, high = wilson([0, 5, 0], [3, 50, 0])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.043, 0.0], [0.562, 0.214, 1.0])
    """
    wins = np.asarray(successes, np.float64)
    total = np.asarray(support, np.float64)
    some = np.maximum(total, 1.0)
    rate = wins / some
    shrink = 1.0 + Z * Z / some
    centre = (rate + Z * Z / (2.0 * some)) / shrink
    spread = Z / shrink * np.sqrt(rate * (1.0 - rate) / some + Z * Z / (4.0 * some * some))
    low = np.where((wins == 0) | (total == 0), 0.0, centre - spread)
    high = np.where(wins == total, 1.0, centre + spread)
    return low, high


def wilson_one(successes: int, support: int) -> tuple[float, float]:
    """:func:`wilson` of a single proportion, as two floats and without an array's overhead.

    >>> [round(bound, 3) for bound in wilson_one(69, 90)]
    [0.669, 0.842]
    """
    if not support:
        return 0.0, 1.0
    rate = successes / support
    shrink = 1.0 + _Z_SQUARED / support
    centre = (rate + _Z_SQUARED / (2.0 * support)) / shrink
    spread = Z / shrink * math.sqrt(rate * (1.0 - rate) / support + _Z_SQUARED / (4.0 * support * support))
    return centre - spread if successes else 0.0, centre + spread if successes < support else 1.0


def fisher_exact(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> Floats:
    """Two-sided p-values of Fisher's exact test, one for each table [[a, b], [c, d]].

    The p-value is the sum of the probabilities of all tables with the same margins that are
    as likely as the observed one or less, equal within a relative tolerance of 1e-7.

    Parameters
    ----------
    a, b, c, d : array_like of int, shape (tables,)
        Cell counts, not negative.

    Returns
    -------
    ndarray of float64, shape (tables,)
        In (0, 1]; within 1e-9 (relative) of exact arithmetic, or the smallest normal float where
        the exact value lies below that.

    Examples
    --------
    >>> fisher_exact([5], [45], [93], [37]).tolist()[0] < 1e-12
    True
    >>> fisher_exact([1], [1], [1], [1]).tolist()
    [1.0]
    """
    cells = np.atleast_1d(*(np.asarray(cell, np.int64) for cell in (a, b, c, d)))
    observed = cells[0]
    row, column = cells[0] + cells[1], cells[0] + cells[2]
    total = row + cells[2] + cells[3]
    lowest = np.maximum(0, row + column - total)
    length = np.minimum(row, column) - lowest + 1
    p = np.ones(observed.shape, np.float64)
    todo = np.flatnonzero(length > 1)
    if todo.size:
        factorials = _log_factorials(int(total[todo].max()).bit_length())
        chunk = (np.cumsum(length[todo]) - 1) // _LARGEST_CHUNK
        for part in np.split(todo, np.flatnonzero(np.diff(chunk)) + 1):
            p[part] = _tails(
                observed[part], row[part], column[part], total[part], lowest[part], length[part], factorials
            )
    return p


@lru_cache(maxsize=2)
def _log_factorials(bits: int) -> NDArray[np.complex128]:
    """``ln k!`` for k < 2^bits, as coarse + fine·i, so that sums of coarse parts are exact.

    The coarse part is a multiple of 2^-20; differences of large logarithms then lose nothing.
    """
    exact = np.zeros(1 << bits, np.longdouble)
    np.cumsum(np.log(np.arange(1, 1 << bits, dtype=np.longdouble)), out=exact[1:])
    coarse = np.round(exact * 2.0**20) / 2.0**20
    return coarse.astype(np.float64) + 1j * (exact - coarse).astype(np.float64)


def _tails(
    observed: Ints,
    row: Ints,
    column: Ints,
    total: Ints,
    lowest: Ints,
    length: Ints,
    factorials: NDArray[np.complex128],
) -> Floats:
    """Sum of the hypergeometric probabilities not above the observed one, ragged over tables."""
    first = np.cumsum(length) - length
    table = np.repeat(np.arange(length.size), length)
    k = np.arange(table.size) + (lowest - first).take(table)
    ways = factorials.take(k)
    ways += factorials.take(row.take(table) - k)
    ways += factorials.take(column.take(table) - k)
    ways += factorials.take((total - row - column).take(table) + k)
    margins = (row, total - row, column, total - column)
    ways -= (sum(factorials.take(margin) for margin in margins) - factorials.take(total)).take(table)
    log_p = -(ways.real + ways.imag)
    at_observed = log_p[first + observed - lowest]
    chosen = np.where(log_p <= (at_observed + _TIE).take(table), np.exp(log_p), 0.0)
    return np.clip(np.add.reduceat(chosen, first), _SMALLEST, 1.0)


def entropy_bits(group: NDArray[np.integer[Any]], weight: ArrayLike, groups: int) -> Floats:
    """Shannon entropy of each group's weights, in bits.

    Parameters
    ----------
    group : ndarray of int, shape (items,)
        Group of each item, 0 <= group < groups.
    weight : array_like, shape (items,)
        Count of each item, not negative.
    groups : int
        Number of groups.

    Returns
    -------
    ndarray of float64, shape (groups,)
        0 for a group without weight.

    Examples
    --------
    >>> entropy_bits(np.array([0, 0, 1]), [5, 5, 7], 3).tolist()
    [1.0, 0.0, 0.0]
    """
    mass = np.asarray(weight, np.float64)
    total = np.bincount(group, weights=mass, minlength=groups)
    inner = np.bincount(group, weights=mass * np.log2(np.maximum(mass, 1.0)), minlength=groups)
    some = np.maximum(total, 1.0)
    return np.maximum(np.log2(some) - inner / some, 0.0)


def benjamini_hochberg(p: Floats) -> Floats:
    """q-value of each p-value: the false discovery rate at which it would just be accepted.

    References
    ----------
    Y. Benjamini, Y. Hochberg (1995), Controlling the false discovery rate.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    # It takes most of a second to import: only who builds a map waits for it.
    from scipy.stats import false_discovery_control

    q: Floats = false_discovery_control(p)
    return q


def concordant(odds: ArrayLike, observed: ArrayLike) -> tuple[float, int]:
    """Pairs of a success and a failure in which the success had the better odds, and all such pairs.

    Parameters
    ----------
    odds : array_like, shape (items,)
        Equal ones count half.
    observed : array_like of int, shape (items,)
        0 or 1.

    Returns
    -------
    concordant : float
        Divided by ``pairs`` it is the area under the ROC curve.
    pairs : int

    References
    ----------
    J. A. Hanley, B. J. McNeil (1982), The meaning and use of the area under a ROC curve.

    Examples
    --------
    >>> concordant([0.9, 0.5, 0.5, 0.2], [1, 1, 0, 0])
    (3.5, 4)
    """
    levels, place = np.unique(np.asarray(odds, np.float64), return_inverse=True)
    won = np.bincount(place, np.asarray(observed, np.float64), levels.size)
    lost = np.bincount(place, minlength=levels.size) - won
    below = np.cumsum(lost) - lost
    return float(won @ (below + lost / 2)), int(won.sum() * lost.sum())


def brier_score(predicted: Floats, observed: ArrayLike) -> float:
    """Mean squared difference between predictions in [0, 1] and what happened (0 or 1).

    References
    ----------
    G. W. Brier (1950), Verification of forecasts expressed in terms of probability.

    Examples
    --------
    >>> brier_score(np.array([0.5, 1.0]), [1, 1])
    0.125
    """
    return float(np.mean((predicted - np.asarray(observed, np.float64)) ** 2))
