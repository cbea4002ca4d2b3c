"""Statistics against published figures, exact arithmetic and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.statistics import (
    benjamini_hochberg,
    brier_score,
    entropy_bits,
    fisher_exact,
    wilson,
    wilson_one,
)
from tests import reference
from tests.strategies import tables


# Published by the document the product was asked for ("Counting, done carefully", sections 3 and 5).
@pytest.mark.parametrize(
    ("successes", "support", "low", "high"),
    [(0, 3, 0.0, 56.2), (5, 50, 4.3, 21.4), (69, 90, 66.9, 84.2)],
)
def test_published_wilson_intervals(successes: int, support: int, low: float, high: float) -> None:
    assert tuple(round(100 * bound, 1) for bound in wilson_one(successes, support)) == (low, high)


def test_the_exact_quantile_would_miss_a_published_figure() -> None:
    exact = stats.binomtest(0, 3).proportion_ci(method="wilson").high
    assert round(100 * exact, 1) == 56.1


def test_wilson_bounds_are_exact_at_the_ends() -> None:
    low, high = wilson([0, 7, 0], [7, 7, 0])
    assert (low[0], high[1], low[2], high[2]) == (0.0, 1.0, 0.0, 1.0)


@given(st.integers(1, 10_000), st.data())
def test_the_interval_contains_the_rate_and_narrows_with_support(support: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, support))
    low, high = wilson_one(successes, support)
    inner_low, inner_high = wilson_one(10 * successes, 10 * support)
    assert 0 <= low <= inner_low <= successes / support <= inner_high <= high <= 1
    assert inner_high - inner_low < high - low


@given(st.integers(0, 3000), st.data())
def test_intervals_equal_the_reference_one_by_one_and_as_arrays(support: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, support))
    interval = wilson_one(successes, support)
    assert interval == tuple(float(bound) for bound in wilson(successes, support))
    assert interval == pytest.approx(reference.wilson(successes, support), abs=1e-12)


def test_published_fisher_p() -> None:
    # The search loop: 5 of 50 against 93 of 130.
    assert f"{fisher_exact([5], [45], [93], [37])[0]:.1e}" == "2.2e-14"


@given(st.lists(tables, min_size=1, max_size=20))
def test_fisher_equals_exact_arithmetic(some: list[tuple[int, int, int, int]]) -> None:
    p = fisher_exact(*np.array(some).T)
    exact = [float(reference.fisher(*table)) for table in some]
    np.testing.assert_allclose(p, exact, rtol=1e-9)


@given(st.lists(tables, min_size=1, max_size=20))
def test_fisher_equals_scipy(some: list[tuple[int, int, int, int]]) -> None:
    p = fisher_exact(*np.array(some).T)
    theirs = [stats.fisher_exact(np.array([[a, b], [c, d]])).pvalue for a, b, c, d in some]
    np.testing.assert_allclose(p, theirs, rtol=1e-9)


@pytest.mark.parametrize("table", [(500, 510, 480, 520), (3, 900, 40, 1100), (700, 0, 0, 900)])
def test_fisher_stays_exact_on_large_tables(table: tuple[int, int, int, int]) -> None:
    expected = float(reference.fisher(*table))
    assert fisher_exact(*([cell] for cell in table))[0] == pytest.approx(expected, rel=1e-9)


def test_a_p_value_too_small_for_a_float_is_not_zero() -> None:
    assert 0 < fisher_exact([0], [600], [600], [0])[0] < 1e-300


def test_fisher_counts_exact_ties_of_a_symmetric_table() -> None:
    assert fisher_exact([2], [8], [8], [2])[0] == pytest.approx(
        float(reference.fisher(2, 8, 8, 2)), rel=1e-12
    )


def test_entropy_of_an_even_split_is_one_bit() -> None:
    bits = entropy_bits(np.array([0, 0, 1, 1, 1, 1, 3]), [4, 4, 1, 1, 1, 1, 9], 4)
    np.testing.assert_allclose(bits, [1.0, 2.0, 0.0, 0.0], atol=1e-9)


def test_a_q_value_is_the_least_rate_at_which_it_would_be_found() -> None:
    p = np.array([0.001, 0.2, 0.03, 0.03, 0.9, 0.5])
    rate = [min(other * 6 / (p <= other).sum() for other in p if other >= each) for each in p]
    np.testing.assert_allclose(benjamini_hochberg(p), rate)


def test_nothing_to_correct() -> None:
    assert benjamini_hochberg(np.array([])).tolist() == []


def test_brier_score() -> None:
    assert brier_score(np.array([0.9, 0.2]), [1, 0]) == pytest.approx((0.01 + 0.04) / 2)
