"""Steps that hurt wherever they stand, on tiny cohorts written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from engine import demo
from engine import occurrences as occurring
from engine.maps import build
from engine.occurrences import Family, Occurrence, explain, failures, occurrences
from engine.paths import CUT, Paths, Token
from engine.runs import Cohort, Outcome, Run, Source
from engine.statistics import wilson_one
from engine.steps import Step
from engine.store.sqlite import open_store
from engine.strata import Held, Strata, held
from tests import reference
from tests.reference import MARK, Sample
from tests.strategies import cohorts
from tests.strategies import paths_of as columns_of
from tests.test_maps import COHORT, paths_of

ROWS = (("axb", "f", 4), ("bxa", "f", 4), ("xc", "f", 1), ("ab", "s", 5), ("ba", "s", 4), ("c", "-", 3))


def told(found: Sequence[Occurrence]) -> list[str]:
    """One line a step: its own runs, then the others'."""
    return [
        f"{each.step} {each.successes}/{each.support} against {each.other_successes}/{each.other_support}"
        for each in found
    ]


def test_a_step_hurts_wherever_it_stands() -> None:
    paths = paths_of(*ROWS)
    found = occurrences(paths, {})
    low, high = wilson_one(0, 9)
    p = float(reference.fisher(0, 9, 9, 0))
    (harmful,) = found.steps.harmful
    assert harmful == Occurrence(
        step=Token("tool:x", 0),
        failed=False,
        support=9,
        successes=0,
        rate=0.0,
        low=low,
        high=high,
        other_support=9,
        other_successes=9,
        other_rate=1.0,
        p=harmful.p,
        q=harmful.q,
        runs_lost=9.0,
        strata=Strata(None, None, None),
    )
    assert (harmful.p, harmful.q) == pytest.approx((p, p))
    assert found == (18, Family(1, (harmful,), (), 1, 0), Family(0, (), (), 0, 0))
    assert explain(harmful) == (
        "0 of 9 runs that took tool:x once in a row, wherever it stood, succeeded (0.0%, 95% interval "
        "0.0–29.9%), against 9 of 9 (100.0%) that did not; Fisher p = 4.1e-05, q = 4.1e-05."
    )


def test_what_the_tree_is_too_fine_for_is_found() -> None:
    paths = paths_of(
        *[(f"{first}x", "f", 1) for first in "abcdef"], *[(f"{first}y", "s", 1) for first in "abcdef"]
    )
    found = occurrences(paths, {}).steps
    assert build(COHORT, paths, 0).tested == 0
    assert (told(found.harmful), told(found.golden)) == (
        ["tool:x 0/6 against 6/6"],
        ["tool:y 6/6 against 0/6"],
    )


def test_a_golden_step_is_the_same_turned_round() -> None:
    rows = [(path, outcome.translate(str.maketrans("sf", "fs")), runs) for path, outcome, runs in ROWS]
    found = occurrences(paths_of(*rows), {})
    (golden,) = found.steps.golden
    assert (told([golden]), golden.runs_lost, golden.runs_gained) == (["tool:x 9/9 against 0/9"], -9.0, 9.0)
    assert found.steps.harmful == ()


def test_a_step_counts_once_a_run_and_each_repeat_count_is_a_step_of_its_own() -> None:
    rows = [("xaxax", "f", 6), ("xx", "s", 6), ("a", "s", 3)]
    found = occurrences(paths_of(*rows), {}).steps
    assert told(found.harmful) == ["tool:x 0/6 against 9/9", "tool:a 3/9 against 6/6"]
    assert told(found.golden) == ["tool:x×2 6/6 against 3/9"]


def test_the_gap_counts_at_exactly_25_points_and_not_below() -> None:
    exactly = paths_of(("x", "s", 50), ("x", "f", 50), ("b", "s", 75), ("b", "f", 25))
    below = paths_of(("x", "s", 50), ("x", "f", 50), ("b", "s", 749), ("b", "f", 251))
    assert told(occurrences(exactly, {}).steps.harmful) == ["tool:x 50/100 against 75/100"]
    assert occurrences(below, {}).steps.harmful == ()


def test_three_runs_each_are_needed() -> None:
    assert occurrences(paths_of(("x", "f", 2), ("b", "s", 40)), {}).steps.tested == 0
    assert occurrences(paths_of(("x", "f", 3), ("b", "s", 40)), {}).steps.tested == 2
    assert occurrences(paths_of(("x", "f", 40), ("b", "s", 2)), {}).steps.tested == 0


def test_the_mark_of_a_cut_path_is_no_step() -> None:
    found = occurrences(paths_of(("ab" * 33, "f", 9), ("ab", "s", 9)), {})
    assert CUT.token not in {each.step for each in (*found.steps.harmful, *found.steps.golden)}
    assert found.steps.tested == 0


def test_no_run_at_all_is_nothing_tested() -> None:
    nothing = Family(0, (), (), 0, 0)
    assert occurrences(paths_of(), {}) == (0, nothing, nothing)


def test_failed_calls_are_compared_among_themselves() -> None:
    paths = paths_of(("a", "f", 5), ("a", "s", 6), ("b", "s", 4))
    failed = {f"r{number}": ["tool:a", "tool:a"] for number in (0, 1, 2, 3, 4, 5)} | {"elsewhere": ["tool:z"]}
    found = occurrences(paths, failed)
    (harmful,) = found.failed.harmful
    assert told([harmful]) == ["tool:a 1/6 against 9/9"]
    assert (harmful.failed, found.failed.tested) == (True, 1)
    assert found.steps.tested == 2, "a and b, each against the other"
    assert harmful.q == pytest.approx(3 * float(reference.fisher(1, 5, 9, 0))), "one of three tests"
    assert explain(harmful).startswith("1 of 6 runs with a failed call of tool:a, wherever it stood, succ")
    assert "(100.0%) without one;" in explain(harmful)


def test_failures_are_read_off_a_runs_steps_in_view() -> None:
    runs = [run("r1", "tool:a", "!tool:a", "!llm:m", "!tool:a"), run("r2", "tool:a"), run("r3", "!llm:m")]
    assert failures(runs) == {"r1": {"tool:a", "llm:m"}, "r3": {"llm:m"}}
    assert failures(runs, "tools") == {"r1": {"tool:a"}}


def run(run_id: str, *steps: str) -> Run:
    """A run of these steps, of which those behind a ``!`` failed."""
    made = (
        Step(text.lstrip("!"), place, place, "t", str(place), text.startswith("!"), None, None)
        for place, text in enumerate(steps)
    )
    return Run(run_id, "agent", None, None, 0, 0, Outcome.SUCCESS, Source.DECLARED, tuple(made), ("t",))


def test_a_step_that_only_hard_tickets_take_is_not_confirmed() -> None:
    """Ticket h fails with or without x, ticket e succeeds: the mix of tickets is all there is to see."""
    paths = paths_of(("x", "f", 18), ("", "f", 6), ("", "s", 18), ("x", "s", 6))
    mixed = occurrences(replace(paths, tickets=("h",) * 24 + ("e",) * 24), {}).steps.harmful
    equal = occurrences(replace(paths, tickets=("one",) * 48), {}).steps.harmful
    assert told(mixed) == told(equal) == ["tool:x 6/24 against 18/24"]
    assert [each.evidence.label for each in (*mixed, *equal)] == ["significant", "confirmed"]
    assert [held(each.strata.tickets, True) for each in mixed if each.strata.tickets] == [Held.CANNOT_TELL]


def test_of_many_those_with_most_runs_lost_are_told_and_the_rest_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(occurring, "LISTED", 1)
    found = occurrences(paths_of(("xy", "f", 6), ("x", "f", 1), ("b", "s", 9)), {}).steps
    assert (told(found.harmful), found.harmful_found) == (["tool:x 0/7 against 9/9"], 2)
    assert (told(found.golden), found.golden_found) == (["tool:b 9/9 against 0/7"], 1)


@settings(max_examples=60, deadline=None)
@given(cohorts())
def test_steps_equal_the_reference(samples: list[Sample]) -> None:
    completed = [sample for sample in samples if sample.outcome is not None]
    has = {
        token: [s for s in completed if token in reference.path(s.signatures)] for token in every(completed)
    }
    won = sum(sample.success for sample in completed)
    tables = {
        token: (
            sum(s.success for s in own),
            len(own),
            won - sum(s.success for s in own),
            len(completed) - len(own),
        )
        for token, own in has.items()
        if min(len(own), len(completed) - len(own)) >= 3
    }
    p: dict[reference.Path, Fraction] = {
        (token,): reference.fisher(a, own - a, b, others - b) for token, (a, own, b, others) in tables.items()
    }
    q = reference.q_values(p)
    gap = {token: Fraction(b, others) - Fraction(a, own) for token, (a, own, b, others) in tables.items()}
    clear = {token for token in tables if p[token,] < Fraction(1, 20) and abs(gap[token]) >= Fraction(1, 4)}
    found = occurrences(columns_of(samples), {}).steps
    assert found.tested == len(tables)
    assert {each.step for each in found.harmful} == {token for token in clear if gap[token] > 0}
    assert {each.step for each in found.golden} == {token for token in clear if gap[token] < 0}
    for each in (*found.harmful, *found.golden):
        counts = each.successes, each.support, each.other_successes, each.other_support
        assert counts == tables[each.step]
        assert (each.p, each.q) == pytest.approx((float(p[each.step,]), float(q[each.step,])), rel=1e-9)
        assert each.runs_lost == pytest.approx(float(gap[each.step] * each.support))
    for listed in (found.harmful, found.golden):
        assert [abs(each.runs_lost) for each in listed] == sorted(
            (abs(e.runs_lost) for e in listed), reverse=True
        )


def every(samples: list[Sample]) -> set[reference.Token]:
    return {token for sample in samples for token in reference.path(sample.signatures)} - {MARK}


@pytest.fixture(scope="module")
def of_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Paths, dict[str, frozenset[str]]]:
    """Paths and failed calls of the demo's largest agent."""
    store = open_store(tmp_path_factory.mktemp("demo") / "demo.sqlite", create=True)
    demo.load(store)
    cohort = Cohort("default", "support-agent")
    found = store.paths(cohort, demo.NOW_NS), failures(store.histories(cohort, demo.NOW_NS))
    store.close()
    return found


def test_where_outcomes_are_shuffled_hardly_anything_is_confirmed(
    of_demo: tuple[Paths, dict[str, frozenset[str]]],
) -> None:
    """Of 200 shuffles at most 5 % have a step that is confirmed, and at most 5 % one that is significant.

    Both are rarer where a step stands for others, as here.
    """
    paths, failed = of_demo
    completed, chance = np.flatnonzero(paths.outcome < Outcome.UNKNOWN), np.random.default_rng(7)
    labels = []
    for _ in range(200):
        outcome = paths.outcome.copy()
        outcome[completed] = chance.permutation(outcome[completed])
        found = occurrences(replace(paths, outcome=outcome), failed)
        listed = [
            each for family in (found.steps, found.failed) for each in (*family.harmful, *family.golden)
        ]
        labels.append({each.evidence.label for each in listed})
    assert sum("confirmed" in each for each in labels) <= 10
    assert sum({"confirmed", "significant"} & each != set() for each in labels) <= 10
    assert any(labels), "some shuffles make a difference that may be chance"


def test_on_the_demo_what_was_planted_is_confirmed(of_demo: tuple[Paths, dict[str, frozenset[str]]]) -> None:
    found = occurrences(*of_demo)
    (first, *_), (call, *_) = found.steps.harmful, found.failed.harmful
    assert (str(first.step), first.evidence.label) == ("tool:search_orders×3-5", "confirmed")
    assert (str(call.step), call.evidence.label) == ("tool:search_orders", "confirmed")
