"""The back-off estimate: by hand, and its weight against maps that are built anew without each run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from engine.backoff import WEIGHTS, Backoff, back_off, best_weight, expect, left_out_errors, shrunk
from engine.growing import by_depth
from engine.maps import BehaviourMap, build
from engine.paths import Token
from engine.runs import Cohort
from engine.walk import Index
from tests.reference import Sample
from tests.strategies import cohorts, paths_of

COHORT = Cohort("default", "desk")


def map_of(samples: list[Sample]) -> BehaviourMap:
    return build(COHORT, paths_of(samples), 0)


def ended(path: str, **outcomes: int) -> list[Sample]:
    return [
        Sample(f"{path} {outcome} {number}", tuple(path.split()), outcome)
        for outcome, times in outcomes.items()
        for number in range(times)
    ]


DESK = map_of(
    [
        *ended("tool:a tool:b", success=3, failure=1),
        *ended("tool:a tool:b tool:b", failure=2),
        *ended("tool:c", success=2),
    ]
)
"""Eight runs, five succeeded: a 3 of 6, then b once 3 of 4 and b twice 0 of 2; c 2 of 2."""


def with_weight(weight: float) -> Backoff:
    levels = by_depth(DESK.depth)
    return Backoff(weight, shrunk(levels, DESK.parent, DESK.support, DESK.successes, weight))


def test_a_node_is_drawn_to_its_parent_and_the_parent_to_its_own() -> None:
    base, below_a = 5 / 8, (3 + 2 * 5 / 8) / 8
    told = dict(zip(map(str, map(DESK.path, range(5))), with_weight(2.0).rate.tolist(), strict=True))
    a, b, twice, c = Token("tool:a", 0), Token("tool:b", 0), Token("tool:b", 1), Token("tool:c", 0)
    assert told == pytest.approx(
        {
            str(()): base,
            str((a,)): below_a,
            str((a, b)): (3 + 2 * below_a) / 6,
            str((a, twice)): (0 + 2 * below_a) / 4,
            str((c,)): (2 + 2 * base) / 4,
        }
    )


def test_a_run_in_flight_has_its_open_step_pooled_and_one_nobody_took_says_what_its_parent_says() -> None:
    backoff, index, below_a = with_weight(2.0), Index(DESK), (3 + 2 * 5 / 8) / 8
    pooled = index.stand(["tool:a"], Token("tool:b", 0))
    assert (pooled.successes, pooled.support) == (3, 6)
    assert expect(backoff, DESK, pooled) == pytest.approx((3 + 2 * below_a) / 8)
    assert expect(backoff, DESK, index.stand(["tool:a"], Token("tool:z", 0))) == pytest.approx(below_a)
    assert expect(backoff, DESK, index.stand(())) == 5 / 8
    assert expect(backoff, DESK, index.stand(["tool:z"], Token("tool:a", 0))) == 5 / 8


@pytest.mark.parametrize("samples", [[], ended("tool:a"), ended("tool:a", success=1)])
def test_nobody_is_even_odds_and_one_run_says_how_it_ended(samples: list[Sample]) -> None:
    backoff = back_off(map_of(samples))
    assert backoff.rate.tolist() == [0.5 if not samples else 1.0] * len(backoff.rate)


def test_steps_that_decide_get_a_light_weight_and_steps_that_do_not_the_heaviest() -> None:
    clear = [*ended("tool:a", success=50), *ended("tool:b", failure=50)]
    alike = [*ended("tool:a", success=25, failure=25), *ended("tool:b", success=25, failure=25)]
    assert [back_off(map_of(samples)).weight for samples in (clear, alike)] == [WEIGHTS[0], WEIGHTS[-1]]


@settings(max_examples=15, deadline=None)
@given(cohorts(max_shapes=3))
def test_errors_are_those_of_maps_without_the_run(samples: list[Sample]) -> None:
    told = [sample for sample in samples if sample.outcome is not None][:12]
    whole = map_of(told)
    counts = by_depth(whole.depth), whole.parent, whole.support, whole.successes
    expected = sum((left_out(told, number) for number in range(len(told))), np.zeros(len(WEIGHTS)))
    if len(told) > 1:
        assert left_out_errors(*counts) == pytest.approx(expected)
    assert best_weight(*counts) in WEIGHTS


def left_out(samples: list[Sample], number: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """By weight, the squared errors of one run at each of its tokens, told by a map of the others."""
    run, others = samples[number], map_of(samples[:number] + samples[number + 1 :])
    path = [str(fold.token) for fold in paths_of([run]).folds(0)]
    levels = by_depth(others.depth)
    nodes = [Index(others).descend(path[:depth])[0] for depth in range(1, len(path) + 1)]
    rates = [shrunk(levels, others.parent, others.support, others.successes, weight) for weight in WEIGHTS]
    return np.array([((rate[nodes] - (run.outcome == "success")) ** 2).sum() for rate in rates])
