"""The runs of a map as a table: it agrees with the map in every count and every verdict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.builder import Maps, Ready
from engine.judging import KINDS
from engine.listing import Counts, Filters, Listing, Table, count, judged_by, narrow, ordered, tabulate
from engine.maps import BehaviourMap, build
from engine.occurrences import occurrences
from engine.runs import Cohort, Outcome, Source
from engine.verdicts import judge
from tests.memory_cache import DictCache
from tests.memory_store import DAY_NS, HOUR_NS, NOW_NS, MemoryStore, make_run
from tests.reference import Sample
from tests.strategies import cohorts, paths_of, repeated, run_of

AGENT = Cohort("default", "support-agent")
LOST, WON, LEFT = Outcome.FAILURE, Outcome.SUCCESS, Outcome.ABANDONED


def table_of(samples: list[Sample], max_nodes: int = 50_000) -> Table:
    paths = paths_of(samples)
    return tabulate(build(AGENT, paths, 0, max_nodes), paths, {})


def ids(table: Table, filters: Filters, sort: str = "run") -> list[str]:
    return [table.run_ids[row] for row in ordered(table, narrow(table, filters), sort).tolist()]


# --- verdicts ------------------------------------------------------------------------------------


@given(cohorts(), st.sampled_from((1, 2, 3, 5, 8, 50_000)))
def test_every_run_has_the_verdict_that_it_has_alone(samples: list[Sample], max_nodes: int) -> None:
    table = table_of(samples, max_nodes)
    found = {run_id: KINDS[kind] for run_id, kind in zip(table.run_ids, table.verdict.tolist(), strict=True)}
    alone = {
        sample.run_id: judge(table.behaviour, run_of(sample), sample.outcome is None).verdict
        for sample in samples
    }
    assert found == alone


def test_all_four_verdicts_are_told_apart() -> None:
    good, bad = ("tool:a",), ("tool:b", "tool:b")
    samples = [
        *repeated("good", good, {"success": 40}),
        *repeated("bad", bad, {"failure": 20}),
        *repeated("new", ("tool:c",), {"success": 1}),
        *repeated("few", ("tool:d",), {"success": 5}),
        Sample("going", ("tool:b",), None, None),
    ]
    table = table_of(samples)
    verdicts = {run: KINDS[kind] for run, kind in zip(table.run_ids, table.verdict.tolist(), strict=True)}
    assert {run: verdicts[run] for run in ("good-0", "bad-0", "new-0", "few-0", "going")} == {
        "good-0": "on_track",
        "bad-0": "likely_failure",
        "new-0": "novel",
        "few-0": "insufficient_history",
        "going": "likely_failure",
    }


# --- counts --------------------------------------------------------------------------------------


@given(cohorts(), st.sampled_from((2, 3, 5, 50_000)))
def test_what_a_map_counts_at_a_node_is_what_the_table_lists(samples: list[Sample], max_nodes: int) -> None:
    table = table_of(samples, max_nodes)
    map = table.behaviour
    for node in range(len(map)):
        passed = Filters(node=map.key_text(node))
        counts = count(table, narrow(table, passed))
        assert counts.completed == map.support[node]
        assert (counts.successes, counts.abandoned) == (map.successes[node], map.abandoned[node])
        assert counts.live == map.live[node]
        assert narrow(table, passed._replace(at="ended")).size == map.ended[node]
        assert narrow(table, passed._replace(at="on")).size == map.went_on[node]
        beside = count(table, narrow(table, passed._replace(at="beside")))
        if str(map.path(node)[-1:]) != "(Token(signature='…', bucket=0),)":
            assert (beside.runs, beside.successes) == (map.sibling_support[node], map.sibling_successes[node])


def test_the_totals_of_a_map_are_those_of_its_table() -> None:
    samples = [
        *repeated("a", ("tool:a",), {"success": 3, "failure": 2, "abandoned": 1}),
        Sample("going", ("tool:a",), None, None),
    ]
    table = table_of(samples)
    assert count(table) == Counts(3, 2, 1, 1)
    by_outcome = {
        name: narrow(table, Filters(outcome=name)).size
        for name in ("completed", "success", "unsuccessful", "failure", "abandoned", "live")
    }
    assert by_outcome == {
        "completed": 6,
        "success": 3,
        "unsuccessful": 3,
        "failure": 2,
        "abandoned": 1,
        "live": 1,
    }


@given(cohorts())
def test_the_runs_of_a_token_are_those_that_it_was_counted_by(samples: list[Sample]) -> None:
    table = table_of(samples)
    found = occurrences(table.paths, {}).steps
    for each in (*found.harmful, *found.golden):
        own = Filters(outcome="completed", token=str(each.step))
        assert narrow(table, own).size == each.support
        assert narrow(table, own._replace(outcome="success")).size == each.successes


# --- what the store adds, filters and order ------------------------------------------------------


@pytest.fixture
def table() -> Table:
    """Four completed runs and a live one."""
    runs = [
        make_run("r-1", "llm:m tool:a", WON, ticket="t1", age_ns=4 * HOUR_NS),
        make_run("r-2", "llm:m tool:a tool:b", LOST, ticket="t2", age_ns=3 * HOUR_NS),
        make_run("r-3", "tool:b", LEFT, source=Source.INFERRED, age_ns=2 * HOUR_NS),
        make_run("r-4", "", WON, ticket="t1", age_ns=HOUR_NS),
        make_run("r-5", "llm:m", source=Source.INFERRED, age_ns=60 * 10**9),
    ]
    store = MemoryStore(runs)
    return Listing(store)(build(AGENT, store.paths(AGENT, NOW_NS), NOW_NS))


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (Filters(), ["r-1", "r-2", "r-3", "r-4", "r-5"]),
        (Filters(outcome="unsuccessful"), ["r-2", "r-3"]),
        (Filters(outcome="live"), ["r-5"]),
        (Filters(source="inferred"), ["r-3"]),
        (Filters(source="declared", ticket="t1"), ["r-1", "r-4"]),
        (Filters(ticket="t"), []),
        (Filters(step="tool:b"), ["r-2", "r-3"]),
        (Filters(step=" b "), ["r-2", "r-3"]),
        (Filters(step="m"), ["r-1", "r-2", "r-5"]),
        (Filters(step="nothing"), []),
        (Filters(token="tool:b"), ["r-2", "r-3"]),
        (Filters(token="b"), []),
        (Filters(token="tool:b×2"), []),
        (Filters(steps=2), ["r-1", "r-2"]),
        (Filters(version="1"), []),
        (Filters(node="00000000000000ff"), []),
        (Filters(outcome="none"), []),
        (Filters(source="none"), []),
        (Filters(verdict="none"), []),
    ],
)
def test_filters_keep_the_runs_that_pass_all_of_them(
    table: Table, filters: Filters, found: list[str]
) -> None:
    assert ids(table, filters) == found


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("-started", ["r-5", "r-4", "r-3", "r-2", "r-1"]),
        ("started", ["r-1", "r-2", "r-3", "r-4", "r-5"]),
        ("-run", ["r-5", "r-4", "r-3", "r-2", "r-1"]),
        ("-steps", ["r-2", "r-1", "r-5", "r-3", "r-4"]),
        ("took", ["r-4", "r-5", "r-3", "r-1", "r-2"]),
        ("ticket", ["r-4", "r-1", "r-2", "r-5", "r-3"]),
        ("-ticket", ["r-2", "r-4", "r-1", "r-5", "r-3"]),
        ("outcome", ["r-4", "r-1", "r-2", "r-3", "r-5"]),
    ],
)
def test_a_column_sorts_both_ways_and_equal_runs_stand_newest_first(
    table: Table, sort: str, order: list[str]
) -> None:
    assert ids(table, Filters(), sort) == order


def test_a_run_that_is_no_longer_in_the_store_is_counted_as_the_map_counts_it() -> None:
    runs = [make_run(f"r-{number}", "tool:a", age_ns=DAY_NS) for number in range(3)]
    store = MemoryStore(runs)
    behaviour = build(AGENT, store.paths(AGENT, NOW_NS), NOW_NS)
    table = Listing(MemoryStore(runs[:2]))(behaviour)
    assert count(table).completed == behaviour.totals.completed == 3
    assert dict(zip(table.run_ids, table.start_ns.tolist(), strict=True)) == {
        "r-0": NOW_NS - DAY_NS,
        "r-1": NOW_NS - DAY_NS,
        "r-2": 0,
    }


def test_runs_that_came_since_the_map_was_built_are_in_no_row() -> None:
    before = [make_run("old", "tool:a", age_ns=2 * DAY_NS)]
    behaviour = build(AGENT, MemoryStore(before).paths(AGENT, NOW_NS), NOW_NS)
    since = [make_run(f"new-{number:03}", "tool:a", age_ns=HOUR_NS) for number in range(150)]
    table = Listing(MemoryStore(before + since))(behaviour)
    assert table.run_ids == ("old",)
    assert table.start_ns.tolist() == [NOW_NS - 2 * DAY_NS]


def test_verdicts_of_another_view_take_the_place_of_its_own() -> None:
    samples = repeated("a", ("tool:a",), {"success": 20})
    all_steps, tools = table_of(samples), table_of(samples[:12])
    table = judged_by(all_steps, tools)
    known = {
        run_id: KINDS[kind] if kind >= 0 else ""
        for run_id, kind in zip(table.run_ids, table.verdict, strict=True)
    }
    assert (known["a-0"], known["a-19"]) == ("on_track", "")


def test_a_table_is_made_once_for_each_map() -> None:
    made: list[BehaviourMap] = []
    store = MemoryStore([make_run("r", "tool:a")])

    def make(behaviour: BehaviourMap) -> int:
        made.append(behaviour)
        return len(made)

    maps = Maps(store, DictCache(), lambda: NOW_NS)
    while not isinstance(ready := maps.get(AGENT), Ready):
        pass
    assert [maps.made(AGENT, ready, make) for _ in range(3)] == [1, 1, 1]
    assert Listing(store) == Listing(store) and hash(Listing(store)) == hash(Listing(store))
    assert np.array_equal(maps.made(AGENT, ready, Listing(store)).start_ns, [NOW_NS - DAY_NS])
    maps.close()
