"""What predictions are scored by: pairs of one fold, intervals over tickets, and runs with a planted fork."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from benchmarks.prediction import BACKOFF, BASE, NODE, POINTS, partitions, scores, steps_known
from benchmarks.scoring import auc_interval, isotonic, mean_interval, pairs
from benchmarks.told_runs import Told
from engine.statistics import concordant


def told(ticket: str, won: bool, path: str) -> Told:
    return Told(ticket, won, tuple(path.split()), [])


PLANTED = [
    told(f"t{number // 2}", branch == "tool:good", f"llm:m llm:m {branch} llm:m")
    for number in range(40)
    for branch in ("tool:good", "tool:bad")
]
"""After two steps nothing is known; after the third, everything."""


def test_the_area_is_that_of_the_rank_test() -> None:
    chance = np.random.default_rng(3)
    odds, won = chance.integers(0, 6, 60) / 5, chance.integers(0, 2, 60)
    better, worse = odds[won == 1], odds[won == 0]
    right, all = concordant(odds, won)
    assert right == pytest.approx(mannwhitneyu(better, worse).statistic)
    assert all == better.size * worse.size
    assert pairs([odds], won.astype(float), [np.zeros(60, np.int64)]).auc == pytest.approx(right / all)


def test_what_differs_between_folds_alone_tells_nothing_apart() -> None:
    """The average of the others is lower where this fold's is higher: across folds it would seem to tell."""
    won, part = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0]), np.array([0, 0, 0, 1, 1, 1])
    assert pairs([np.where(part == 0, 1 / 3, 2 / 3)], won, [part]).auc == 0.5
    assert math.isnan(pairs([won], np.ones(6), [part]).auc)


def test_isotonic_never_falls_and_pools_what_does() -> None:
    odds, won = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 1.0, 0.0, 1.0])
    assert isotonic(odds, won, odds).tolist() == [0.0, 0.5, 0.5, 1.0]


def test_intervals_draw_whole_tickets() -> None:
    values = np.array([1.0, 0.0, 1.0, 0.0])
    assert mean_interval(values, np.array([0, 0, 1, 1])) == (0.5, 0.5, 0.5)
    apart = mean_interval(values, np.arange(4))
    assert apart.low < 0.5 < apart.high
    won, part = np.array([1.0, 0.0]), np.zeros(2, np.int64)
    ours, theirs = (pairs([np.array(odds)], won, [part]) for odds in ([0.9, 0.1], [0.5, 0.5]))
    assert auc_interval([ours], [theirs], [won], np.array([0, 0])) == (0.5, 0.5, 0.5)


def test_a_ticket_stays_in_one_fold_where_it_is_asked_to() -> None:
    by_ticket = next(partitions(PLANTED, by_ticket=True))
    assert all(
        len({part for run, part in zip(PLANTED, by_ticket.tolist(), strict=True) if run.ticket == ticket})
        == 1
        for ticket in {run.ticket for run in PLANTED}
    )
    assert np.bincount(next(partitions(PLANTED, by_ticket=False))).tolist() == [16] * 5


def test_a_planted_fork_is_told_once_it_is_passed_and_not_before() -> None:
    found = scores(PLANTED, {}, by_ticket=True)
    assert [steps_known(PLANTED[0], point) for point in POINTS] == [1, 2, 3]
    aucs = {name: [found[name, point].pairs.auc for point in POINTS] for name in (BASE, NODE, BACKOFF)}
    assert aucs == {BASE: [0.5, 0.5, 0.5], NODE: [0.5, 0.5, 1.0], BACKOFF: [0.5, 0.5, 1.0]}
    assert found[NODE, POINTS[2]].squares.max() == 0.0
    assert 0.0 < found[BACKOFF, POINTS[2]].squares.max() < 0.001


def test_risks_of_another_library_are_turned_round_and_fitted() -> None:
    risks = {"theirs": [[0.5, 0.5, 0.6 if run.won else 0.7, 0.5] for run in PLANTED]}
    found = scores(PLANTED, risks, by_ticket=True)
    assert [found["theirs", point].pairs.auc for point in POINTS] == [0.5, 0.5, 1.0]
    squares = found["theirs", POINTS[2]].squares
    assert [squares[place] for place in (0, 1)] == pytest.approx([0.6**2, 0.3**2])
    assert found["theirs, fitted", POINTS[2]].squares.max() == 0.0
