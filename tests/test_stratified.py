"""Comparing within strata, against exact arithmetic, published figures, permutations and Fisher's test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.statistics import fisher_exact
from engine.stratified import Stratified, stratified

Cells = tuple[int, int, int, int]
"""Mine that were won and lost, others that were won and lost."""

RABBITS = [(0, 6, 0, 5), (3, 3, 0, 6), (6, 0, 2, 4), (5, 1, 6, 0), (2, 0, 5, 0)]
"""Cured and died under penicillin that was given at once, and late, at five doses (Mantel 1963)."""


def compare(*strata: Cells) -> Stratified:
    """Compare two sides that are given as a table of each stratum."""
    rows = [
        (number, mine, won)
        for number, cells in enumerate(strata)
        for (mine, won), count in zip(
            [(True, True), (True, False), (False, True), (False, False)], cells, strict=True
        )
        for _ in range(count)
    ]
    stratum, mine, won = zip(*rows, strict=True) if rows else ((), (), ())
    return stratified(np.array(stratum, np.int64), np.array(mine, bool), np.array(won, bool))


def exact_p(strata: Sequence[Cells]) -> Fraction:
    """The p-value in exact arithmetic, by enumerating all tables of each stratum."""
    chances = {0: Fraction(1)}
    for a, b, c, d in strata:
        total = math.comb(a + b + c + d, a + b)
        sums: dict[int, Fraction] = {}
        for won in range(max(0, a - d), min(a + b, a + c) + 1):
            chance = Fraction(math.comb(a + c, won) * math.comb(b + d, a + b - won), total)
            for before, each in chances.items():
                sums[before + won] = sums.get(before + won, Fraction(0)) + each * chance
        chances = sums
    observed = chances[sum(cells[0] for cells in strata)]
    return sum((each for each in chances.values() if each <= observed), Fraction(0))


small = st.tuples(*[st.integers(0, 12)] * 4)


@given(st.lists(small, max_size=6))
def test_p_equals_exact_arithmetic(strata: list[Cells]) -> None:
    assert compare(*strata).p == pytest.approx(float(exact_p(strata)), rel=1e-9)


@given(st.tuples(*[st.integers(0, 400)] * 4))
def test_one_stratum_is_fishers_exact_test(cells: Cells) -> None:
    assert compare(cells).p == pytest.approx(fisher_exact(*([cell] for cell in cells))[0], rel=1e-9)


def test_p_and_weights_equal_the_published_exact_test_of_the_rabbits() -> None:
    found = compare(*RABBITS)
    assert round(found.p, 5) == 0.03994  # R, mantelhaen.test(Rabbits, exact = TRUE)
    assert found[4:8] == (3, 36, 18, 5)


def test_p_is_the_share_of_permutations_within_strata_that_are_as_unlikely() -> None:
    strata = [(0, 3, 2, 1), (1, 1, 2, 0)]
    tables = [[*([1] * (a + c)), *([0] * (b + d))] for a, b, c, d in strata]
    own = [a + b for a, b, _, _ in strata]
    first, second = (
        [sum(order[:n]) for order in permutations(each)] for each, n in zip(tables, own, strict=True)
    )
    sums = [x + y for x in first for y in second]
    counts = {each: sums.count(each) for each in set(sums)}
    as_unlikely = sum(count for count in counts.values() if count <= counts[1])
    assert compare(*strata).p == pytest.approx(as_unlikely / len(sums), rel=1e-12)


@given(st.lists(small, min_size=1, max_size=6))
def test_which_side_is_mine_turns_the_difference_round_and_nothing_else(strata: list[Cells]) -> None:
    here, there = compare(*strata), compare(*[(c, d, a, b) for a, b, c, d in strata])
    assert here.p == pytest.approx(there.p, rel=1e-9)
    assert (here.difference, here.low, here.high) == pytest.approx(
        (-there.difference, -there.high, -there.low), abs=1e-12, nan_ok=True
    )
    assert (here.strata, here.runs, here.shared) == (there.strata, there.runs, there.shared)


def test_a_mix_of_strata_moves_nothing() -> None:
    """Simpson's paradox: my side takes the hard ones, where everybody does badly."""
    strata = [(2, 18, 2, 18), (8, 2, 80, 20)]
    plain = fisher_exact([10], [20], [82], [38])[0]
    found = compare(*strata)
    assert plain < 0.001
    assert (found.p, found.difference, found.strata, found.runs, found.support) == (1.0, 0.0, 2, 150, 30)


def test_the_difference_and_its_interval_equal_the_formula_by_hand() -> None:
    # Weights 2.5 and 3.75; differences -0.2 and -0.4; slope and spread after Sato (1989).
    found = compare((2, 3, 3, 2), (1, 4, 9, 6))
    assert found.difference == pytest.approx((2.5 * -0.2 + 3.75 * -0.4) / 6.25)
    slope = (25 * 3 - 25 * 2 + 0) / 100 + (25 * 9 - 225 * 1 + 75 * 10 / 2) / 400
    spread = (2 * 2 + 3 * 3) / 20 + (1 * 6 + 9 * 4) / 40
    half = 1.96 * math.sqrt(found.difference * slope + spread) / 6.25
    assert (found.low, found.high) == pytest.approx((found.difference - half, found.difference + half))


def test_strata_of_one_side_or_one_outcome_could_have_shown_nothing() -> None:
    one_sided, alike = (3, 2, 0, 0), (2, 0, 4, 0)
    found = compare(one_sided, alike)
    assert found == Stratified(1.0, 0.0, 0.0, 0.0, 0, 0, 0, shared=1, least_low=1.0, least_high=1.0)
    told = (1, 1, 1, 1)
    assert compare(one_sided, told).p == compare(told).p
    assert compare(one_sided, told)[4:8] == (1, 4, 2, 1)


def test_without_a_shared_stratum_there_is_no_difference() -> None:
    found = compare((3, 2, 0, 0), (0, 0, 4, 1))
    assert (found.p, found.strata, found.shared) == (1.0, 0, 0)
    assert all(map(math.isnan, found[1:4]))


def test_runs_of_no_stratum_are_left_out() -> None:
    stratum = np.array([-1, -1, 4, 4])
    flags = np.array([True, False, True, False])
    assert stratified(stratum, flags, ~flags)[4:8] == (1, 2, 1, 1)
    assert stratified(stratum[:2], flags[:2], flags[:2]).shared == 0


def test_the_least_p_is_that_of_the_least_likely_outcome_under_the_same_margins() -> None:
    seen, worst = compare((1, 1, 2, 1), (1, 1, 1, 2)), compare((0, 2, 3, 0), (0, 2, 2, 1))
    assert seen.p == 1.0
    assert seen.least_low == worst.least_low == worst.p


def test_to_one_side_a_difference_may_be_shown_and_to_the_other_not() -> None:
    """One of 21 runs that all but one were won is mine: lost it is the rarest, won the most likely."""
    found = compare((1, 0, 19, 1))
    assert (round(found.least_low, 4), found.least_high, found.least) == (0.0476, 1.0, found.least_low)


@pytest.mark.parametrize("won", [4_700, 4_950, 5_000])
def test_ten_thousand_pairs_are_as_many_tosses_of_a_coin(won: int) -> None:
    found = compare(*[(1, 0, 0, 1)] * won, *[(0, 1, 1, 0)] * (10_000 - won))
    assert found.p == pytest.approx(stats.binomtest(won, 10_000).pvalue, rel=1e-9)


@pytest.mark.parametrize("cells", [(3_000, 7_000, 3_100, 6_900), (100, 900, 9_000, 10_000)])
def test_twenty_thousand_runs_in_one_stratum_are_fishers_exact_test(cells: Cells) -> None:
    assert compare(cells).p == pytest.approx(fisher_exact(*([cell] for cell in cells))[0], rel=1e-9)


def test_what_is_less_likely_than_a_float_can_say_is_the_smallest_there_is() -> None:
    assert compare(*[(1, 0, 0, 1)] * 10_000).p == np.finfo(np.float64).tiny
