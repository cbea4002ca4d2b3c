"""The behaviour map, whole, on tiny cohorts written by hand."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.forks import Fork, Hotspot, explain, explain_hotspot, forks, golden_forks, hotspots, summary
from engine.maps import BehaviourMap, build
from engine.paths import CUT, Paths, Token, fold, half
from engine.runs import Cohort, Source

COHORT = Cohort("default", "agent")
Row = tuple[str, str, int]
"""Path as letters, outcome as one letter (s, f, a, or - for live), how many runs."""


def paths_of(*rows: Row) -> Paths:
    """Paths of runs ``r0, r1, …`` in the order of the rows."""
    runs = [(list(letters), "sfa-".index(outcome)) for letters, outcome, many in rows for _ in range(many)]
    folded = [fold(f"tool:{letter}" for letter in letters) for letters, _ in runs]
    signatures = sorted({each.signature for path in folded for each in path if each != CUT})
    flat = [each for path in folded for each in path]
    ids = tuple(f"r{number}" for number in range(len(runs)))
    return Paths(
        signatures=tuple(signatures),
        code=np.array([signatures.index(f.signature) if f != CUT else -1 for f in flat], np.int32),
        count=np.array([f.count for f in flat], np.uint8),
        offset=np.concatenate([[0], np.cumsum([len(path) for path in folded])]).astype(np.int64),
        outcome=np.array([outcome for _, outcome in runs], np.uint8),
        source=np.zeros(len(runs), np.uint8),
        half=np.array([half(run_id) for run_id in ids], np.uint8),
        run_ids=ids,
        tickets=(None,) * len(runs),
        versions=(None,) * len(runs),
    )


def map_of(*rows: Row, max_nodes: int = 50_000) -> BehaviourMap:
    return build(COHORT, paths_of(*rows), 0, max_nodes)


def drawn(behaviour: BehaviourMap) -> list[str]:
    """One line a node: indent, token, successes/support."""
    return [
        "  " * int(behaviour.depth[node])
        + (str(behaviour.path(node)[-1]).removeprefix("tool:") if node else "start")
        + f" {behaviour.successes[node]}/{behaviour.support[node]}"
        for node in range(len(behaviour))
    ]


def test_a_map_is_a_prefix_tree_with_children_by_support_then_token() -> None:
    behaviour = map_of(("ac", "s", 1), ("ab", "s", 2), ("abb", "f", 1), ("b", "a", 1))
    assert drawn(behaviour) == [
        "start 3/5",
        "  a 3/4",
        "    b 2/2",
        "    b×2 0/1",
        "    c 1/1",
        "  b 0/1",
    ]
    assert behaviour.abandoned.tolist() == [1, 0, 0, 0, 0, 1]
    assert behaviour.ended.tolist() == [0, 0, 2, 1, 1, 1]
    assert behaviour.size.tolist() == [6, 4, 1, 1, 1, 1]
    assert behaviour.parent.tolist() == [-1, 0, 1, 1, 1, 0]


def test_runs_without_a_step_end_at_the_root_and_are_counted() -> None:
    behaviour = map_of(("", "f", 2), ("a", "s", 1))
    assert drawn(behaviour) == ["start 1/3", "  a 1/1"]
    assert (behaviour.totals.no_steps, behaviour.ended[0]) == (2, 2)


def test_an_empty_cohort_is_a_root_alone() -> None:
    behaviour = map_of()
    assert drawn(behaviour) == ["start 0/0"]
    assert behaviour.base_rate is None
    assert summary(behaviour) == "No completed runs yet: nothing to compare."


def test_only_live_runs_make_no_node() -> None:
    behaviour = map_of(("ab", "-", 2))
    assert drawn(behaviour) == ["start 0/0"]
    assert behaviour.live.tolist() == [2]
    assert behaviour.totals.unknown == 2


def test_live_runs_are_laid_over_and_an_open_step_stands_at_a_later_bucket() -> None:
    behaviour = map_of(("abbb", "s", 1), ("ac", "s", 1), ("ab", "-", 1), ("az", "-", 1), ("", "-", 1))
    assert drawn(behaviour)[1:] == ["  a 2/2", "    b×3-5 1/1", "    c 1/1"]
    assert behaviour.live.tolist() == [3, 2, 1, 0]
    assert dict(zip(behaviour.live_run_ids, behaviour.live_node.tolist(), strict=True)) == {
        "r2": 2,
        "r3": 1,
        "r4": 0,
    }


def test_keys_are_the_same_in_every_build_whatever_else_is_there() -> None:
    small, large = map_of(("ab", "s", 1)), map_of(("zz", "f", 9), ("ab", "s", 1), ("aa", "f", 3))
    node = large.find(small.key_text(2))
    assert node is not None
    assert large.path(node) == (Token("tool:a", 0), Token("tool:b", 0))
    # Golden: fixed so that links keep their meaning from release to release.
    assert small.key_text(2) == "c6d3e189c167df06"
    assert (small.key_text(0), small.find("nonsense"), small.find("f" * 40)) == ("0" * 16, None, None)


def test_a_fatal_fork_and_its_evidence() -> None:
    behaviour = map_of(("ab", "s", 9), ("ab", "f", 1), ("ac", "s", 1), ("ac", "f", 9))
    (fork,) = forks(behaviour)
    expected = Fork(
        node=3,
        key=behaviour.key_text(3),
        path=(Token("tool:a", 0), Token("tool:c", 0)),
        support=10,
        successes=1,
        rate=0.1,
        low=fork.low,
        high=fork.high,
        sibling_support=10,
        sibling_successes=9,
        sibling_rate=0.9,
        p=fork.p,
        q=fork.q,
        runs_lost=8.0,
        failure="r11",
        success="r0",
    )
    assert fork == expected
    assert (round(fork.low, 3), round(fork.high, 3)) == (0.018, 0.404)
    assert f"{fork.p:.6f} {fork.q:.6f}" == "0.001093 0.001093"
    assert explain(fork) == (
        "1 of 10 runs that took tool:c here succeeded (10.0%, 95% interval 1.8–40.4%), against 9 of 10 "
        "(90.0%) that went another way from the same point; Fisher p = 0.0011, q = 0.0011."
    )
    assert summary(behaviour) == "1 fatal fork among 2 branches tested."


def test_examples_prefer_one_ticket() -> None:
    paths = paths_of(("ab", "s", 9), ("ab", "f", 1), ("ac", "s", 1), ("ac", "f", 9))
    tickets = list(paths.tickets)
    tickets[7], tickets[15] = "T-1", "T-1"
    behaviour = build(COHORT, _with_tickets(paths, tickets), 0)
    (fork,) = forks(behaviour)
    assert (fork.failure, fork.success) == ("r15", "r7")


def _with_tickets(paths: Paths, tickets: Sequence[str | None]) -> Paths:
    return replace(paths, tickets=tuple(tickets))


def test_the_gap_counts_at_exactly_25_points_and_not_below() -> None:
    exactly = map_of(("ab", "s", 150), ("ab", "f", 50), ("ac", "s", 100), ("ac", "f", 100))
    below = map_of(("ab", "s", 150), ("ab", "f", 50), ("ac", "s", 101), ("ac", "f", 100))
    assert [fork.path[-1].signature for fork in forks(exactly)] == ["tool:c"]
    assert forks(below) == ()


def test_a_golden_fork_is_the_fatal_fork_turned_round() -> None:
    behaviour = map_of(("ab", "s", 9), ("ab", "f", 1), ("ac", "s", 1), ("ac", "f", 9))
    (fatal,), (golden,) = forks(behaviour), golden_forks(behaviour)
    assert golden == Fork(
        node=2,
        key=behaviour.key_text(2),
        path=(Token("tool:a", 0), Token("tool:b", 0)),
        support=10,
        successes=9,
        rate=0.9,
        low=golden.low,
        high=golden.high,
        sibling_support=10,
        sibling_successes=1,
        sibling_rate=0.1,
        p=fatal.p,
        q=fatal.q,
        runs_lost=-8.0,
        failure="r11",
        success="r0",
    )
    assert (golden.runs_gained, fatal.runs_gained) == (8.0, -8.0)
    assert explain(golden) == (
        "9 of 10 runs that took tool:b here succeeded (90.0%, 95% interval 59.6–98.2%), against 1 of 10 "
        "(10.0%) that went another way from the same point; Fisher p = 0.0011, q = 0.0011."
    )


def test_a_golden_forks_gap_counts_at_exactly_25_points_and_not_below() -> None:
    exactly = map_of(("ab", "s", 150), ("ab", "f", 50), ("ac", "s", 100), ("ac", "f", 100))
    below = map_of(("ab", "s", 150), ("ab", "f", 50), ("ac", "s", 101), ("ac", "f", 100))
    assert [fork.path[-1].signature for fork in golden_forks(exactly)] == ["tool:b"]
    assert golden_forks(below) == ()


def test_of_three_ways_one_can_be_golden_and_none_fatal() -> None:
    behaviour = map_of(("a", "s", 9), ("b", "s", 4), ("b", "f", 5), ("c", "s", 4), ("c", "f", 5))
    assert [str(fork.path[-1]) for fork in golden_forks(behaviour)] == ["tool:a"]
    assert forks(behaviour) == ()


def test_three_runs_each_are_needed() -> None:
    assert map_of(("b", "s", 40), ("c", "f", 2)).tested == 0
    assert map_of(("b", "s", 40), ("c", "f", 3)).tested == 2
    assert len(forks(map_of(("b", "s", 40), ("c", "f", 3)))) == 1


def test_where_a_fork_is_impossible_the_map_says_so() -> None:
    behaviour = map_of(("b", "f", 9), ("b", "s", 1), ("c", "f", 10))
    assert (behaviour.tested, behaviour.impossible) == (2, 2)
    assert summary(behaviour).startswith("No fatal fork is possible: all 2 branches tested")


def test_why_there_is_no_fork() -> None:
    assert summary(map_of(("a", "s", 2), ("b", "f", 2))).startswith("No branch could be tested")
    assert summary(map_of(("a", "s", 5), ("b", "s", 5))) == (
        "No fatal forks: of 2 branches tested none ends 25 points worse than its siblings with p < 0.05."
    )


def test_runs_that_ended_at_the_parent_are_no_siblings() -> None:
    behaviour = map_of(("a", "s", 20), ("ab", "f", 5), ("ac", "f", 5))
    assert behaviour.sibling_support.tolist() == [0, 0, 5, 5]
    assert forks(behaviour) == ()


def test_a_hotspot_at_exactly_one_bit() -> None:
    behaviour = map_of(("ab", "s", 3), ("ac", "s", 3), ("a", "f", 1))
    (spot,) = hotspots(behaviour)
    options = ((Token("tool:b", 0), 3), (Token("tool:c", 0), 3))
    assert spot == Hotspot(1, behaviour.key_text(1), (Token("tool:a", 0),), 6, 1.0, options)
    assert explain_hotspot(spot) == "6 runs went on in 2 ways (tool:b 3, tool:c 3): 1.00 bits."


def test_two_visits_are_no_hotspot() -> None:
    assert hotspots(map_of(("b", "s", 1), ("c", "s", 1))) == ()


def test_a_hotspot_that_lost_all_its_children_keeps_its_visits() -> None:
    behaviour = map_of(("ab", "s", 2), ("ac", "s", 2), ("a", "f", 1), max_nodes=2)
    (spot,) = hotspots(behaviour)
    assert (spot.visits, spot.entropy_bits, spot.options) == (4, 1.0, ())


def test_a_cut_path_ends_in_a_mark_that_is_no_sibling() -> None:
    long = "ab" * 33
    behaviour = map_of((long, "f", 5), (long[:64], "s", 5), (long[:63] + "z", "s", 5))
    (mark,) = (node for node in range(1, len(behaviour)) if behaviour.path(node)[-1] == CUT.token)
    assert (behaviour.support[mark], behaviour.sibling_support[mark], behaviour.fork[mark]) == (5, 0, False)
    assert np.isnan(behaviour.p[mark])
    assert behaviour.totals.cut_paths == 5


def test_the_bound_keeps_the_largest_support_and_says_what_it_cut() -> None:
    rows = [("ab", "s", 5), ("abc", "s", 3), ("ad", "f", 4), ("e", "f", 1)]
    behaviour = map_of(*rows, max_nodes=4)
    assert drawn(behaviour) == ["start 8/13", "  a 8/12", "    b 8/8", "    d 0/4"]
    assert behaviour.cut.tolist() == [True, False, True, False]
    assert behaviour.totals.bounds_met == ("nodes",)
    assert behaviour.sibling_support.tolist() == [0, 1, 4, 8]
    assert behaviour.member_kept.tolist() == [True] * 5 + [False] * 3 + [True] * 4 + [False]
    assert behaviour.member_stopped.tolist() == behaviour.member_kept.tolist()
    assert len(behaviour.run_ids) == 13


def test_who_was_cut_took_no_token_from_there_whether_or_not_the_mark_was_kept() -> None:
    rows = [("ab" * 33, "f", 1), (("ab" * 32), "s", 2), ("ab" * 31 + "az", "s", 3)]
    whole, bounded = map_of(*rows), map_of(*rows, max_nodes=65)
    assert len(whole) == 67
    assert whole.member_stopped.tolist() == [True] * 6
    assert bounded.member_stopped.tolist() == [True] * 3 + [False] * 3


def test_a_map_says_that_more_runs_are_live_than_were_read() -> None:
    paths = replace(paths_of(("a", "s", 1)), live_bounded=True)
    assert build(COHORT, paths, 0).totals.bounds_met == ("live",)


def test_a_map_is_cheap_to_keep_and_comes_back_whole() -> None:
    behaviour = map_of(("ab", "s", 5), ("ac", "f", 4))
    again = pickle.loads(pickle.dumps(behaviour))
    assert drawn(again) == drawn(behaviour)
    assert again.totals == behaviour.totals


def test_a_map_as_a_table() -> None:
    frame = map_of(("ab", "s", 1), ("ac", "f", 2)).to_frame()
    assert frame["token"].tolist() == ["", "tool:a", "tool:c", "tool:b"]
    assert frame["support"].tolist() == [3, 3, 2, 1]
    assert frame.index.name == "key"
    assert frame.index.is_unique


def test_totals_state_the_mix_of_sources() -> None:
    paths = paths_of(("a", "s", 2), ("b", "f", 1), ("c", "-", 1))
    source = np.array([Source.DECLARED, Source.INFERRED, Source.RULE, Source.INFERRED], np.uint8)
    totals = build(COHORT, replace(paths, source=source), 0).totals
    assert (totals.declared, totals.by_rule, totals.inferred, totals.unknown) == (1, 1, 1, 1)
