"""What changed between two sides of an agent, on tiny cohorts and on published runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from engine.changes import AFTER, BEFORE, Changes, Moment, Versions, Way, changes, versions, ways_from
from engine.changes.joining import joined, of_version
from engine.changes.ranking import Parting, findings, partings, ranked
from engine.changes.wording import (
    caveats,
    explain,
    headline,
    summary,
    told_within_tickets,
    whole_within_tickets,
)
from engine.importing import import_files
from engine.maps import build
from engine.narrowing import PICKED_BY_OUTCOME
from engine.paths import Paths
from engine.runs import ALL_TIME, Cohort, Window
from engine.splitting import load_changes
from engine.store.sqlite import open_store
from engine.stratified import Stratified
from tests.memory_store import DAY_NS, HOUR_NS, NOW_NS, MemoryStore, make_run
from tests.reference import Sample
from tests.samples import SHARED
from tests.strategies import cohorts
from tests.strategies import paths_of as paths_of_samples
from tests.test_maps import Row, paths_of

COHORT = Cohort("default", "agent")
SPLIT = Versions("v1", "v2")
PUBLISHED = sorted((SHARED / "data/tau2-bench").glob("telecom-solo.gpt-4.1*.json"))
needs_published = pytest.mark.skipif(len(PUBLISHED) != 2, reason=f"no telecom-solo results in {SHARED}")


def exact_p(table: list[list[int]]) -> float:
    return float(fisher_exact(np.array(table)).pvalue)


def compared(before: Paths, after: Paths, max_nodes: int = 50_000) -> Changes:
    both = joined(before, after)
    earlier = int((before.outcome < 3).sum())
    behaviour = build(COHORT, both, 0, max_nodes)
    return changes(behaviour, np.arange(len(both.run_ids)) >= earlier, SPLIT)


def changed(before: Sequence[Row], after: Sequence[Row]) -> Changes:
    return compared(paths_of(*before), paths_of(*after))


def drawn(found: Changes) -> list[str]:
    """One line a way: where, how it goes on, and successes/support before -> after."""
    lines = []
    for way in range(found.node.size):
        path = "".join(str(token).removeprefix("tool:") for token in found.behaviour.path(found.node[way]))
        kind = "" if found.kind[way] == Way.BRANCH else f" {Way(found.kind[way]).name.lower()}"
        counts = [f"{found.successes[side, way]}/{found.support[side, way]}" for side in (BEFORE, AFTER)]
        lines.append(f"{path or 'start'}{kind} {' -> '.join(counts)}")
    return lines


BEFORE_ROWS: list[Row] = [("ab", "s", 9), ("ab", "f", 1), ("ac", "s", 4), ("ac", "f", 6)]
AFTER_ROWS: list[Row] = [("ab", "s", 2), ("ac", "s", 4), ("ac", "f", 10), ("a", "f", 4), ("ad", "-", 5)]


def test_both_sides_stand_on_one_tree_and_the_ways_from_a_node_part_its_runs() -> None:
    found = changed(BEFORE_ROWS, AFTER_ROWS)
    assert drawn(found) == [
        "start 13/20 -> 6/20",
        "a 13/20 -> 6/20",
        "ac 4/10 -> 4/14",
        "ab 9/10 -> 2/2",
        "a ended 0/0 -> 0/4",
    ]
    assert [ways_from(found, node).tolist() for node in range(4)] == [[1], [2, 3, 4], [], []]


def test_shares_and_success_are_tested_where_margins_allow_and_each_family_is_corrected() -> None:
    found = changed(BEFORE_ROWS, AFTER_ROWS)
    shifts = [exact_p(table) for table in ([[14, 6], [10, 10]], [[2, 18], [10, 10]], [[4, 16], [0, 20]])]
    assert found.shift_p[2:] == pytest.approx(shifts, rel=1e-9)
    assert np.isnan(found.shift_p[:2]).all()
    assert found.shift_q[2:] == pytest.approx([shifts[0], 3 * shifts[1], 1.5 * shifts[2]], rel=1e-9)
    assert found.success_p[2] == pytest.approx(exact_p([[4, 10], [4, 6]]), rel=1e-9)
    assert found.success_q[2] == found.success_p[2]
    assert np.isnan(np.delete(found.success_p, 2)).all(), "two runs after are too few"
    assert (found.shifts_tested, found.successes_tested) == (3, 1)
    assert found.p == pytest.approx(exact_p([[6, 14], [13, 7]]), rel=1e-9)


def test_the_shares_of_two_ways_are_one_test() -> None:
    rows: list[Row] = [("ac", "s", 9), ("ad", "s", 9), ("ae", "s", 9)]
    found = changed([*rows, ("b", "s", 9)], rows)
    assert found.shifts_tested == 5, "three ways after a, two from the start"
    (a, b) = ways_from(found, 0)
    start = exact_p([[27, 0], [27, 9]])
    assert found.shift_q[[a, b]] == pytest.approx([4 * start, 4 * start], rel=1e-9)


def test_the_change_at_a_fork_is_shifted_traffic_and_changed_success() -> None:
    """By hand: shares of ab, ac, ended .5, .5, 0 and then .1, .7, .2; the middle rate is .475."""
    found = changed(BEFORE_ROWS, AFTER_ROWS)
    assert found.changed[:2] == pytest.approx([-0.35, -0.35])
    shifted = [0.2 * ((0.4 + 4 / 14) / 2 - 0.475), -0.4 * (0.95 - 0.475), 0.2 * (0 - 0.475)]
    assert found.shifted[2:] == pytest.approx(shifted)
    assert found.changed[2:] == pytest.approx([0.6 * (4 / 14 - 0.4), 0.3 * 0.1, 0])
    (fork,) = partings(found)
    assert fork == Parting(
        1,
        found.behaviour.key_text(1),
        found.behaviour.path(1),
        (20, 20),
        (13, 6),
        fork.whole,
        fork.shifted,
        fork.changed,
    )
    assert (fork.shifted, fork.changed) == pytest.approx((sum(shifted), 0.6 * (4 / 14 - 0.4) + 0.03))
    assert fork.whole == pytest.approx(fork.shifted + fork.changed)


@settings(max_examples=80)
@given(cohorts(), cohorts(), st.sampled_from((1, 2, 4, 50_000)))
def test_what_changed_at_a_node_is_what_its_ways_add_up_to(
    before: list[Sample], after: list[Sample], max_nodes: int
) -> None:
    found = compared(paths_of_samples(before), paths_of_samples(after), max_nodes)
    support, successes = found.support, found.successes
    for node in range(len(found.behaviour)):
        ways = ways_from(found, node)
        if not ways.size:
            continue
        assert support[:, ways].sum(axis=1).tolist() == support[:, node].tolist()
        assert successes[:, ways].sum(axis=1).tolist() == successes[:, node].tolist()
        if support[:, node].min():
            parts = (found.shifted + found.changed)[ways].sum()
            assert parts == pytest.approx(found.changed[node], abs=1e-12)
    if support[:, 0].min():
        rates = successes[:, 0] / support[:, 0]
        assert found.changed[0] == pytest.approx(rates[AFTER] - rates[BEFORE], abs=1e-12)


@settings(max_examples=40)
@given(cohorts())
def test_a_side_compared_with_itself_has_not_changed(samples: list[Sample]) -> None:
    paths = paths_of_samples(samples)
    found = compared(paths, paths)
    assert ranked(found) == ()
    assert not found.shifted.any() and not found.changed.any()


@settings(max_examples=40)
@given(cohorts(), cohorts())
def test_sides_that_change_places_change_signs(one: list[Sample], other: list[Sample]) -> None:
    there, back = (
        compared(paths_of_samples(before), paths_of_samples(after))
        for before, after in ((one, other), (other, one))
    )
    assert there.changed == pytest.approx(-back.changed, abs=1e-12)
    assert there.shifted == pytest.approx(-back.shifted, abs=1e-12)
    assert there.shift_p == pytest.approx(back.shift_p, rel=1e-9, nan_ok=True)
    opposite = {"new": "vanished", "vanished": "new", "more": "fewer", "fewer": "more"}
    opposite |= {"better": "worse", "worse": "better"}
    kinds = [
        {(each.way, each.kind) for each in ranked(found) if ways_of(found, each.way) != 2}
        for found in (there, back)
    ]
    assert kinds[0] == {(way, opposite[kind]) for way, kind in kinds[1]}


def ways_of(found: Changes, way: int) -> int:
    return ways_from(found, int(found.parent[way])).size


def test_changes_are_told_in_sentences_those_that_hold_first() -> None:
    found = changed([("ab", "s", 30), ("ac", "f", 10)], [("ac", "f", 12), ("ad", "s", 20), ("a", "f", 8)])
    told = ranked(found)
    assert [(each.kind, each.holds) for each in told] == [("vanished", True), ("new", True), ("new", True)]
    assert [explain(each, SPLIT) for each in told] == [
        "Gone: after tool:a, runs no longer take tool:b: 0 of 40 (0.0%) with v2, 30 of 40 (75.0%) with v1; "
        "Fisher p = 1.9e-13, q = 7.6e-13.",
        "New: after tool:a, runs now take tool:d: 20 of 40 (50.0%) with v2, 0 of 40 (0.0%) with v1; "
        "Fisher p = 7.8e-08, q = 1.6e-07.",
        "New: after tool:a, runs now end: 8 of 40 (20.0%) with v2, 0 of 40 (0.0%) with v1; "
        "Fisher p = 0.0053, q = 0.0071.",
    ]
    assert headline(found) == (
        "20 of 40 (50.0%) runs succeeded with v2, 30 of 40 (75.0%) with v1: −25.0 points, more than chance "
        "(Fisher p = 0.037)."
    )
    assert summary(found, told) == (
        "4 shares of runs and 1 success rate were tested; 3 changed (q < 0.05), and 0 more may be chance."
    )


def test_of_two_ways_the_one_that_is_taken_more_is_told() -> None:
    found = changed([("a", "s", 20), ("b", "f", 20)], [("a", "s", 36), ("b", "f", 4)])
    (told,) = ranked(found)
    assert explain(told, SPLIT).startswith(
        "At the start, more runs take tool:a: 36 of 40 (90.0%) with v2, 20 of 40"
    )
    assert told.points == pytest.approx(0.4)


def test_a_way_is_told_where_its_only_alternative_cannot_be() -> None:
    """Rarer branches are dropped, and what is dropped is not tested."""
    rows: list[Row] = [(letter, "f", 3) for letter in "bcdefghi"]
    found = compared(paths_of(("a", "s", 30), *rows[:2]), paths_of(("a", "s", 6), *rows), max_nodes=2)
    assert [Way(kind) for kind in found.kind[1:]] == [Way.BRANCH, Way.DROPPED]
    (told,) = ranked(found)
    assert (told.kind, str(told.path[-1]), told.some, told.every) == ("fewer", "tool:a", (30, 6), (36, 30))


def test_success_in_the_same_way_is_told_better_or_worse() -> None:
    rows: list[Row] = [("ab", "s", 18), ("ab", "f", 2), ("ac", "s", 10)]
    worse = changed(rows, [("ab", "s", 4), ("ab", "f", 16), ("ac", "s", 10)])
    (told,) = ranked(worse)
    assert explain(told, SPLIT).startswith(
        "Runs that took tool:b after tool:a succeed less often: 4 of 20 (20.0%) with v2, "
        "18 of 20 (90.0%) with v1; Fisher"
    )
    assert told.points == pytest.approx(worse.changed[0])


def test_too_few_runs_are_said_to_be_too_few() -> None:
    found = changed([("a", "s", 2)], [("b", "f", 9)])
    assert headline(found) == (
        "0 of 9 (0.0%) runs succeeded with v2, 2 of 2 (100.0%) with v1: too few to compare, it takes 3 "
        "completed runs on each side."
    )
    assert summary(found, ranked(found)) == (
        "No way could be tested: it takes 3 completed runs of each side at one fork."
    )
    nobody = changed([], [("a", "s", 3)])
    assert headline(nobody) == "Among these runs none completed with v1: there is nothing to compare."
    assert headline(changed([], [])).startswith("Among these runs none completed with v1 or with v2")


def test_a_mix_of_tickets_is_told_from_a_change() -> None:
    """Easy work before, hard work after: the rates differ, and within either ticket they do not."""
    before = ticketed(paths_of(("a", "s", 18), ("a", "f", 2)), ["easy"] * 18 + ["hard"] * 2)
    after = ticketed(paths_of(("a", "s", 2), ("a", "f", 18)), ["easy"] * 2 + ["hard"] * 18)
    found = compared(before, after)
    assert found.p < 1e-5
    within = findings(found).tickets
    assert within is not None and (within.p, within.shared) == (1.0, 2)
    assert told_within_tickets(within, grew=False) == (
        "Within tickets it cannot be told: 0 runs of 0 tickets are too few to show anything."
    )


def test_within_tickets_no_ticket_none_shared_too_few_not_shown_and_reversed_differ() -> None:
    def said(**known: float) -> str:
        least, shared = known.pop("least", 0.001), int(known.pop("shared", 2))
        found = Stratified(known.pop("p", 0.01), 0.3, 0.1, 0.5, 2, 40, 20, shared, least, least)
        return told_within_tickets(found, grew=bool(known.pop("grew", True)))

    assert said() == (
        "Holds within tickets: +30.0 points, 95% interval +10.0 to +50.0, by 40 runs of 2 tickets "
        "(exact p = 0.01)."
    )
    assert (
        said(p=0.4) == "Not shown within tickets: 40 runs of 2 tickets could have shown it (exact p = 0.4)."
    )
    assert said(shared=0) == "Within tickets it cannot be told: the two sides share none."
    assert (
        said(least=0.06)
        == "Within tickets it cannot be told: 40 runs of 2 tickets are too few to show anything."
    )
    assert said(grew=False).startswith("The other way round within tickets: +30.0 points")


def test_a_change_that_only_runs_of_the_same_tickets_show_is_told_as_that() -> None:
    """Hard work, on which all fail, hides what changed in easy work."""
    tickets = ["easy"] * 20 + ["hard"] * 60
    before = ticketed(paths_of(("a", "s", 14), ("a", "f", 66)), tickets)
    after = ticketed(paths_of(("a", "s", 20), ("a", "f", 60)), tickets)
    found = findings(compared(before, after))
    assert headline(found.changes).endswith("no more than chance may do (Fisher p = 0.33).")
    assert whole_within_tickets(found) == (
        "Changed within tickets: +7.5 points, 95% interval +1.7 to +13.3, by 40 runs of 1 ticket "
        "(exact p = 0.02)."
    )


def ticketed(paths: Paths, tickets: Sequence[str]) -> Paths:
    return replace(paths, tickets=tuple(tickets))


def test_runs_are_chosen_whole_and_in_order() -> None:
    paths = replace(paths_of(("ab", "s", 1), ("", "f", 1), ("c", "-", 1)), versions=("1", "2", "1"))
    some = of_version(paths, "1")
    assert (some.run_ids, [some.folds(run) for run in range(2)]) == (
        ("r0", "r2"),
        [paths.folds(0), paths.folds(2)],
    )
    assert of_version(paths, "3").run_ids == ()


def test_versions_are_listed_newest_first() -> None:
    assert versions(["2", "1", None, "2", "10"]) == [("2", 2), ("1", 1), ("10", 1)]


def test_a_moment_parts_a_window_and_live_runs_are_on_neither_side() -> None:
    runs = [make_run(f"old-{n}", "tool:a", age_ns=2 * DAY_NS) for n in range(3)]
    runs += [make_run(f"new-{n}", "tool:b", age_ns=DAY_NS) for n in range(4)]
    store, cohort = MemoryStore(runs), Cohort("default", "support-agent", Window(days=7))
    found, *_ = load_changes(store, cohort, Moment(NOW_NS - DAY_NS), NOW_NS)
    assert drawn(found) == ["start 3/3 -> 4/4", "b 0/0 -> 4/4", "a 3/3 -> 0/0"]
    outside, *_ = load_changes(store, cohort, Moment(NOW_NS + HOUR_NS), NOW_NS)
    assert outside.support[:, 0].tolist() == [7, 0]


def test_what_was_not_read_and_what_was_picked_is_said() -> None:
    before, after = paths_of(("a", "s", 2), ("b", "s", 1)), paths_of(("c", "s", 1))
    assert caveats(compared(before, after)) == []
    found = compared(replace(before, bounded=True), after, max_nodes=2)
    picked = replace(found.behaviour, cohort=COHORT._replace(where="!outcome:failure"))
    assert caveats(replace(found, behaviour=picked)) == [
        PICKED_BY_OUTCOME,
        "More runs completed than are read: only the latest are compared.",
        "Only the 2 nodes with most runs are kept; others are dropped.",
    ]


@needs_published
def test_a_fine_tuned_model_against_its_sister_on_the_same_40_tickets(tmp_path: Path) -> None:
    store = open_store(tmp_path / "runs.sqlite", create=True)
    import_files(store, "default", PUBLISHED)
    cohort = Cohort("default", "tau2-telecom", ALL_TIME, "tools")
    (after, _), (before, _) = versions(store.paths(cohort, NOW_NS).versions)
    found, told, forks, within = load_changes(store, cohort, Versions(before, after), NOW_NS)
    store.close()
    assert before == "gpt-4.1" and after.startswith("ft:gpt-4.1")
    assert (found.support[:, 0].tolist(), found.successes[:, 0].tolist()) == ([40, 40], [20, 34])
    assert within is not None and within.shared == 40
    assert told_within_tickets(within) == (
        "Holds within tickets: +35.0 points, 95% interval +17.3 to +52.7, by 36 runs of 18 tickets "
        "(exact p = 0.0013)."
    )
    assert [(each.kind, str(each.path[-1]), each.some, each.every) for each in told] == [
        ("better", "tool:get_details_by_id×2", (3, 34), (10, 40)),
        ("vanished", "tool:can_send_mms", (6, 0), (10, 40)),
        ("new", "tool:check_network_status", (0, 21), (10, 40)),
        ("more", "tool:get_details_by_id×2", (10, 40), (40, 40)),
    ]
    first = forks[0]
    assert (str(first.path[-1]), first.support) == ("tool:get_customer_by_phone", (40, 40))
    assert (first.whole, first.shifted, first.changed) == pytest.approx((0.35, 0.00625, 0.34375))
