"""Calibration on cohorts written by hand: every figure can be worked out on paper."""

from __future__ import annotations

import pytest

from engine.calibration import (
    STEPS,
    Calibration,
    DepthSkill,
    Reliability,
    agreement,
    backoff_sentence,
    calibrate,
    is_off,
    onset,
    sentence,
)
from engine.paths import half
from engine.statistics import wilson_one
from tests.reference import Sample
from tests.strategies import paths_of


def in_half(side: int, signatures: list[str], **outcomes: int) -> list[Sample]:
    """Runs whose ids fall into one half: so many that ended so."""
    ids = iter(number for number in range(10_000) if half(f"run-{signatures}-{number}") == side)
    return [
        Sample(f"run-{signatures}-{next(ids)}", tuple(signatures), outcome)
        for outcome, times in outcomes.items()
        for _ in range(times)
    ]


def skill(calibration: Calibration, steps: int) -> DepthSkill:
    return calibration.depths[STEPS.index(steps)]


GOOD, BAD = ["tool:good"], ["tool:bad"]


def test_each_half_is_predicted_from_the_other() -> None:
    samples = [
        *in_half(0, GOOD, success=9, failure=1),
        *in_half(0, BAD, success=1, failure=9),
        *in_half(1, GOOD, success=8, failure=2),
        *in_half(1, BAD, success=2, failure=8),
    ]
    made = calibrate(paths_of(samples))
    # Half 0 is told 0.8 and 0.2, half 1 is told 0.9 and 0.1; both base rates are one half.
    brier = (18 * 0.2**2 + 2 * 0.8**2 + 16 * 0.1**2 + 4 * 0.9**2) / 40
    assert made[:4] == pytest.approx((40, brier, 0.25, 1 - brier / 0.25))
    assert made.depths[0] == (1, *made[:4])
    assert made.depths[1:] == tuple(DepthSkill(steps, 0, None, None, None) for steps in STEPS[1:])
    assert sentence(made) == (
        "40 predictions, Brier score 0.135 against 0.250 for the base rate alone: the map's are 46.0% better "
        "than assuming the average."
    )


def test_the_backoff_estimate_is_scored_beside_the_maps_rates() -> None:
    samples = [
        *in_half(0, GOOD, success=9, failure=1),
        *in_half(0, BAD, success=1, failure=9),
        *in_half(1, GOOD, success=8, failure=2),
        *in_half(1, BAD, success=2, failure=8),
    ]
    made = calibrate(paths_of(samples))
    # The parent, one half, counts as one run: half 0 is told 8.5/11 and 2.5/11, half 1 9.5/11 and 1.5/11.
    brier = (18 * (2.5 / 11) ** 2 + 2 * (8.5 / 11) ** 2 + 16 * (1.5 / 11) ** 2 + 4 * (9.5 / 11) ** 2) / 40
    # Of the 100 pairs of each half, 81 and 64 are told apart, and 18 and 32 have equal odds.
    apart = (81 + 9 + 64 + 16) / 200
    assert made.backoff == pytest.approx((brier, 1 - brier / 0.25, apart))
    assert made.told_apart == pytest.approx(apart)
    assert backoff_sentence(made) == (
        "Of a run that succeeded and one that did not, each after as many steps, the map's rate gave the "
        "first the better odds in 85% of pairs, the back-off estimate in 85%; chance does in 50%. Runs in "
        "flight are listed in the order of the estimate; verdicts and fuses go by the map's rate."
    )


def test_the_backoff_tells_apart_by_paths_that_too_few_runs_took_for_the_map() -> None:
    samples = [
        run
        for side in (0, 1)
        for number in range(6)
        for run in (
            *in_half(side, [f"tool:good-{number}"], success=5),
            *in_half(side, [f"tool:bad-{number}"], failure=5),
        )
    ]
    made = calibrate(paths_of(samples))
    assert (made.told_apart, made.backoff.told_apart) == (0.5, 1.0)


def test_of_runs_that_all_ended_alike_none_is_told_apart() -> None:
    made = calibrate(paths_of([*in_half(0, GOOD, success=12), *in_half(1, GOOD, success=12)]))
    assert (made.told_apart, made.backoff, backoff_sentence(made)) == (None, (0.0, None, None), "")


def test_the_reliability_table_says_what_came_of_like_predictions() -> None:
    samples = [
        *in_half(0, GOOD, success=9, failure=1),
        *in_half(0, BAD, success=1, failure=9),
        *in_half(1, GOOD, success=10),
        *in_half(1, BAD, failure=10),
    ]
    table = calibrate(paths_of(samples)).reliability
    assert [(row.low, row.high) for row in table] == [(side / 10, (side + 1) / 10) for side in range(10)]
    assert {row.low: row[2:] for row in table if row.support} == {
        0.0: (0.0, 0.1, 10, *wilson_one(1, 10)),
        0.1: (pytest.approx(0.1), 0.0, 10, *wilson_one(0, 10)),
        0.9: (pytest.approx(0.95), 0.95, 20, *wilson_one(19, 20)),
    }
    assert table[5][2:] == (None, None, 0, 0.0, 1.0)


def test_whether_predictions_came_true_is_said_in_words() -> None:
    good = [*in_half(0, GOOD, success=9, failure=1), *in_half(1, GOOD, success=10)]
    assert agreement(calibrate(paths_of(good))) == (
        "Yes, as far as these runs tell: in 1 of 1 bins the interval holds it."
    )
    turned = [*in_half(0, BAD, success=10), *in_half(1, BAD, failure=10)]
    assert agreement(calibrate(paths_of(turned))) == (
        "Not literally: in 2 of the 2 bins with at least 10 predictions, the interval of what happened does "
        "not hold what was predicted."
    )
    assert agreement(calibrate(paths_of([]))) == "No bin holds 10 predictions: too few to say."


def test_a_place_that_nine_runs_reached_is_predicted_by_the_base_rate() -> None:
    asked = in_half(0, GOOD, success=1)
    rest = in_half(1, BAD, failure=10)
    nine = calibrate(paths_of([*asked, *rest, *in_half(1, GOOD, success=9)]))
    ten = calibrate(paths_of([*asked, *rest, *in_half(1, GOOD, success=10)]))
    told = [row.predicted_mean for row in nine.reliability if row.support]
    assert told == [pytest.approx(9 / 19), 1.0]
    assert [row.predicted_mean for row in ten.reliability if row.support] == [1.0]
    assert ten.reliability[-1].support == 21


def test_a_run_is_predicted_by_what_it_had_done_by_then() -> None:
    # After two steps a run of three searches is pooled with all that searched twice or more.
    searches = [*in_half(1, ["tool:s"] * 2, success=10), *in_half(1, ["tool:s"] * 3, failure=10)]
    made = calibrate(paths_of([*searches, *in_half(0, ["tool:s"] * 3, failure=1)]))
    # The other half's base rate, all it can tell, is 0.
    assert skill(made, 2)[:3] == pytest.approx((2, 21, (0.5**2 + 10 * 1**2 + 10 * 0**2) / 21))
    assert skill(made, 3) == pytest.approx((3, 11, 0.0, 0.5**2 / 11, 1.0))


def test_an_empty_half_predicts_nothing() -> None:
    made = calibrate(paths_of(in_half(0, GOOD, success=20)))
    assert made[:4] == (0, None, None, None)
    assert sentence(made) == "Nothing could be predicted yet: both halves of the cohort need completed runs."
    assert calibrate(paths_of([]))[:4] == (0, None, None, None)


def test_live_runs_and_runs_without_steps_are_not_predicted() -> None:
    live = Sample("live", ("tool:good",), None)
    idle = [*in_half(0, [], success=5), *in_half(1, [], failure=5)]
    assert calibrate(paths_of([*idle, live])).predicted == 0


def test_no_skill_is_said_in_words() -> None:
    same = [*in_half(0, GOOD, success=10, failure=10), *in_half(1, GOOD, success=10, failure=10)]
    made = calibrate(paths_of(same))
    assert made[:4] == (40, 0.25, 0.25, 0.0)
    assert sentence(made) == (
        "40 predictions, Brier score 0.250 against 0.250 for the base rate alone: no better than assuming "
        "the average (skill 0.0%)."
    )


def test_skill_is_unknown_where_the_base_rate_was_never_wrong() -> None:
    made = calibrate(paths_of([*in_half(0, GOOD, success=10), *in_half(1, GOOD, success=10)]))
    assert made[:4] == (20, 0.0, 0.0, None)
    assert sentence(made) == (
        "20 predictions, and the base rate alone was right every time: there was nothing to be better at."
    )


def test_from_how_many_steps_on_the_map_knows_more_is_said_in_words() -> None:
    def told(*skills: tuple[int, float | None, int]) -> str:
        depths = tuple(DepthSkill(steps, many, 0.2, 0.2, each) for steps, each, many in skills)
        return onset(Calibration(0, None, None, None, depths, ()))

    assert told((1, 0.0, 50), (2, -0.1, 50), (3, 0.3, 50)) == (
        "From 3 steps on they are better; before that, no better."
    )
    assert told((1, 0.1, 50), (2, 0.2, 50)) == "From the first step on they are better."
    assert told((1, 0.1, 50), (2, 0.0, 50)) == "After 2 steps, the most that can be told, they are no better."
    assert told((1, -0.1, 50), (2, 0.0, 50)) == "After no number of steps are they better."
    assert told((1, 0.1, 50), (2, -0.9, 9)) == "From the first step on they are better.", "too few to tell"
    assert told((1, None, 0)) == ""


def test_a_bin_is_off_where_its_interval_misses_what_was_predicted() -> None:
    held = Reliability(0.7, 0.8, 0.75, 0.8, 10, *wilson_one(8, 10))
    missed = Reliability(0.7, 0.8, 0.75, 0.2, 10, *wilson_one(2, 10))
    few = Reliability(0.7, 0.8, 0.75, 0.0, 9, *wilson_one(0, 9))
    assert [is_off(each) for each in (held, missed, few)] == [False, True, False]
