"""What a store keeps, and what it answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import msgspec
import numpy as np
import pytest

from engine.conventions import Evaluation
from engine.errors import UnknownAgentError, UnknownRunError
from engine.paths import path_text
from engine.runs import (
    ALL_TIME,
    LIVE_NS,
    READ_AS_IS,
    Cohort,
    Declaration,
    Outcome,
    ReadingSettings,
    Run,
    Source,
    Step,
    View,
    Window,
    is_live,
)
from engine.spans import Event, Span, Status
from engine.store import EVERY, AgentSummary, Appended, RunRow, Store, Wanted, settling
from engine.store.sqlite import SQLiteStore, open_store

NOW = 2_000_000_000_000_000_000
LONG_AGO = NOW - 3600 * 10**9


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "runs.sqlite", create=True)
    yield opened
    opened.close()


def call(
    trace: str,
    number: int,
    name: str = "search",
    at: int = LONG_AGO,
    took: int | None = 5,
    kind: str = "tool",
    status: Status = Status.UNSET,
    more: Mapping[str, object] = MappingProxyType({}),
) -> Span:
    """The numbered span of a trace: a tool call, a model call or an agent's span."""
    operation, key = {
        "tool": ("execute_tool", "gen_ai.tool.name"),
        "llm": ("chat", "gen_ai.request.model"),
        "agent": ("invoke_agent", "gen_ai.agent.name"),
    }[kind]
    named = {"gen_ai.operation.name": operation, key: name, **more}
    start_ns = at + number * 10
    end_ns = None if took is None else start_ns + took
    parent = None if kind == "agent" else f"{trace}-0"
    return Span(trace, f"{trace}-{number}", name, start_ns, end_ns, parent, status, "test", named)


def run_of(
    trace: str,
    *names: str,
    agent: str = "bot",
    at: int = LONG_AGO,
    more: Mapping[str, object] = MappingProxyType({}),
) -> list[Span]:
    """An agent's span and one tool call a name below it."""
    root = call(trace, 0, agent, at, took=10 * (len(names) + 1), kind="agent", more=more)
    return [root, *(call(trace, number, name, at) for number, name in enumerate(names, 1))]


def texts(store: Store, agent: str = "bot", view: View = "all", now_ns: int = NOW) -> dict[str, list[str]]:
    """Each run's path by run id."""
    paths = store.paths(Cohort("default", agent, ALL_TIME, view), now_ns)
    return {run_id: path_text(paths.folds(number)) for number, run_id in enumerate(paths.run_ids)}


# Identity


def test_an_identical_copy_changes_nothing(store: Store) -> None:
    spans = run_of("t", "search", "pay")

    assert store.append("default", spans) == Appended(new=3)
    assert store.settle("default") == {"t"}
    assert store.append("default", spans) == Appended(unchanged=3)
    assert store.settle("default") == set()
    assert texts(store) == {"t": ["tool:search", "tool:pay"]}


def test_the_order_of_attributes_makes_no_difference(store: Store) -> None:
    store.append("default", [Span("t", "s", "n", 1, attributes={"a": 1, "b": {"c": 1, "d": 2}})])

    again = Span("t", "s", "n", 1, attributes={"b": {"d": 2, "c": 1}, "a": 1})
    assert store.append("default", [again]) == Appended(unchanged=1)


def test_a_differing_copy_replaces_the_span_its_parent_included(store: Store) -> None:
    first = Span("t", "s", "n", 1, 2, parent_id="p")
    second = Span("t", "s", "n", 1, 2, parent_id="q", events=(Event("e", 2, {"x": [1, None]}),))
    store.append("default", [first])

    assert store.append("default", [second]) == Appended(changed=1)
    assert store.spans("default", "t") == [second]


def test_an_ended_span_is_never_replaced_by_one_that_has_not_ended(store: Store) -> None:
    begun, ended = Span("t", "s", "n", 1), Span("t", "s", "n", 1, 2)

    assert store.append("default", [begun]) == Appended(new=1)
    assert store.append("default", [ended]) == Appended(changed=1)
    assert store.append("default", [begun]) == Appended(unchanged=1)
    assert store.spans("default", "t") == [ended]


def test_of_copies_inside_one_batch_the_last_ended_one_counts(store: Store) -> None:
    begun, ended, other = Span("t", "s", "n", 1), Span("t", "s", "n", 1, 2), Span("t", "s", "m", 1, 2)
    batch = [begun, ended, other, begun]

    assert store.append("default", batch) == Appended(new=1, unchanged=3)
    assert store.append("default", batch) == Appended(unchanged=4)
    assert store.spans("default", "t") == [other]


def test_one_span_id_in_two_traces_is_two_spans(store: Store) -> None:
    assert store.append("default", [Span("t", "s", "n", 1), Span("u", "s", "n", 1)]) == Appended(new=2)


def test_an_empty_batch_is_fine(store: Store) -> None:
    assert store.append("default", []) == Appended()
    assert store.declare("default", []) == Appended()


# From spans to runs


def test_settling_names_each_run_once_and_none_that_a_trace_left(store: Store) -> None:
    chat = {"gen_ai.conversation.id": "chat"}
    spans = [call(f"t{number}", 1, more=chat) for number in range(settling.BATCH_RUNS + 1)]
    store.append("default", [*spans, call("u", 1)])
    assert store.settle("default") == {"chat", "u"}

    store.append("default", [call("u", 2, more=chat)])
    assert store.settle("default") == {"chat"}


def test_the_runs_that_traces_and_ids_belong_to(store: Store) -> None:
    chat = {"gen_ai.conversation.id": "chat"}
    store.append("default", [call("t", 1, more=chat), call("u", 1, more=chat), call("v", 1), call("w", 1)])
    store.append("other", [call("x", 1)])
    assert store.runs_of("default", ["t", "u", "v", "x", "\ud800"], ["w", "x", "none"]) == {"chat", "v", "w"}
    assert store.runs_of("nobody", ["t"], ["w"]) == set()


def test_a_run_comes_back_whole(store: Store) -> None:
    model = call(
        "t", 1, "m", kind="llm", more={"gen_ai.usage.input_tokens": 417, "gen_ai.usage.output_tokens": 52}
    )
    failed = call("t", 2, "pay", took=None, status=Status.ERROR)
    given = {"gen_ai.agent.version": "1.4.2", "forkmap.ticket": "T-1"}
    root = call("t", 0, "bot", took=40, kind="agent", more=given)
    store.append("default", [failed, model, root])

    assert store.run("default", "t") == Run(
        run_id="t",
        agent="bot",
        version="1.4.2",
        ticket="T-1",
        start_ns=LONG_AGO,
        last_ns=LONG_AGO + 40,
        outcome=Outcome.SUCCESS,
        source=Source.INFERRED,
        steps=(
            Step("llm:m", LONG_AGO + 10, LONG_AGO + 15, "t", "t-1", False, 417, 52),
            Step("tool:pay", LONG_AGO + 20, None, "t", "t-2", True, None, None),
        ),
        trace_ids=("t",),
        inferred=Outcome.SUCCESS,
    )
    assert store.spans("default", "t") == [root, model, failed]
    assert store.spans("default", "t", limit=2) == [root, model]


def test_a_trace_moves_to_its_session_when_that_is_learnt_late(store: Store) -> None:
    store.append("default", run_of("t", "search"))
    store.append("default", run_of("u", "pay", at=LONG_AGO + 1000, more={"gen_ai.conversation.id": "chat"}))
    assert texts(store) == {"t": ["tool:search"], "chat": ["tool:pay"]}

    store.append("default", [call("t", 2, "look", more={"gen_ai.conversation.id": "chat"})])

    assert texts(store) == {"chat": ["tool:search", "tool:look", "tool:pay"]}
    with pytest.raises(UnknownRunError):
        store.run("default", "t")
    assert store.find("default", "t") == ["chat"]


def test_the_run_a_trace_leaves_is_folded_again(store: Store) -> None:
    chat = {"gen_ai.conversation.id": "chat"}
    store.append("default", run_of("t", "search", more=chat))
    store.append("default", run_of("u", "pay", at=LONG_AGO + 1000, more=chat))
    assert texts(store) == {"chat": ["tool:search", "tool:pay"]}

    store.append("default", run_of("u", "pay", at=LONG_AGO + 1000, more={"gen_ai.conversation.id": "other"}))

    assert texts(store) == {"chat": ["tool:search"], "other": ["tool:pay"]}


def test_a_run_moves_to_its_agent_when_that_is_learnt_late(store: Store) -> None:
    root, *children = run_of("t", "search")
    store.append("default", children)
    assert texts(store, "unknown") == {"t": ["tool:search"]}

    store.append("default", [root])

    assert texts(store) == {"t": ["tool:search"]}
    with pytest.raises(UnknownAgentError, match="'unknown'"):
        texts(store, "unknown")


def test_a_run_without_a_step_has_an_empty_path(store: Store) -> None:
    store.append("default", run_of("t"))

    assert texts(store) == {"t": []}


def test_the_view_tools_leaves_model_steps_out_before_folding(store: Store) -> None:
    steps = [call("t", number, kind=kind) for number, kind in enumerate(("tool", "llm", "tool", "llm"), 1)]
    store.append("default", [call("t", 0, "bot", kind="agent"), *steps])

    assert texts(store) == {"t": ["tool:search", "llm:search", "tool:search", "llm:search"]}
    assert texts(store, view="tools") == {"t": ["tool:search×2"]}


def test_a_cut_path_keeps_its_mark_and_exact_counts(store: Store) -> None:
    store.append("default", run_of("t", *["a"] * 100, *["b"] * 100))

    paths = store.paths(Cohort("default", "bot", ALL_TIME), NOW)
    assert (paths.signatures, paths.code.tolist(), paths.count.tolist()) == (
        ("tool:a", "tool:b"),
        [0, 1, -1],
        [100, 92, 0],
    )


def test_settling_goes_on_until_nothing_is_left(store: Store) -> None:
    store.append("default", [call(f"t{number}", 1) for number in range(1001)])

    assert len(store.settle("default")) == 1001
    assert store.settle("default") == set()


def test_a_trace_that_leaves_its_run_with_a_later_batch_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    store = open_store(path, create=True)
    for number in range(700):
        in_it = {"session.id": "chat"} if number in (0, 650) else {}
        store.append("default", [call(f"t{number}", 1, more=in_it)])
    store.settle("default")
    assert len(store.spans("default", "chat")) == 2
    store.close()

    store = open_store(path, reading_settings=ReadingSettings(run_key="trace"))
    assert len(store.settle("default")) == 700
    assert (store.find("default", "chat"), store.find("default", "t650")) == ([], ["t650"])
    store.close()


def test_a_trace_whose_session_changes_while_many_wait_moves_there(store: Store) -> None:
    chat, other = {"session.id": "chat"}, {"session.id": "another"}
    store.append("default", [call("a", 1, more=chat), call("z", 1, more=chat)])
    store.append("default", [call(f"t{number}", 1) for number in range(600)])
    store.append("default", [call("b", 1, more=chat)])
    store.settle("default")
    touching = [call(trace, 2) for trace in ("a", *(f"t{number}" for number in range(600)))]
    store.append("default", [*touching, call("b", 1, more=other)])

    assert store.settle("default") >= {"chat", "another"}
    assert [len(store.spans("default", name)) for name in ("chat", "another")] == [3, 1]


# Declared outcomes


class Counting(SQLiteStore):
    """A store that counts what it folded in each transaction."""

    def _write_batch(self, tenant: str, folded: settling.Folded) -> settling.Settled:
        self.batches = [*getattr(self, "batches", ()), (len(folded.touched), len(folded.runs))]
        return super()._write_batch(tenant, folded)


def test_a_run_of_many_traces_is_folded_once_and_others_in_batches(tmp_path: Path) -> None:
    open_store(tmp_path / "runs.sqlite", create=True).close()
    store = Counting(tmp_path / "runs.sqlite")
    chat = {"session.id": "chat"}
    store.append("default", [call(f"a{number}", 1, more=chat) for number in range(1200)])
    store.append("default", [call(f"b{number}", 1) for number in range(600)])

    assert len(store.settle("default")) == 601
    assert store.batches == [(1200, 1), (500, 500), (100, 100)]
    assert len(store.spans("default", "chat")) == 1200
    store.close()


def test_a_declaration_may_come_before_its_spans(store: Store) -> None:
    store.declare("default", [Declaration("t", Outcome.FAILURE, NOW)])
    store.append("default", run_of("t", "search"))

    run = store.run("default", "t")
    assert (run.outcome, run.source) == (Outcome.FAILURE, Source.DECLARED)


def test_the_latest_declaration_wins_and_a_repeat_changes_nothing(store: Store) -> None:
    store.append("default", run_of("t", "search"))
    late, early = Declaration("t", Outcome.ABANDONED, 20, "ada"), Declaration("t", Outcome.FAILURE, 10)
    assert store.run("default", "t").outcome == Outcome.SUCCESS

    assert store.declare("default", [late]) == Appended(new=1)
    assert store.run("default", "t").outcome == Outcome.ABANDONED
    assert store.declare("default", [early, late]) == Appended(new=1, unchanged=1)
    assert store.run("default", "t").outcome == Outcome.ABANDONED


def test_a_declaration_of_a_run_without_spans_makes_no_run(store: Store) -> None:
    store.declare("default", [Declaration("t", Outcome.FAILURE, NOW)])

    with pytest.raises(UnknownRunError, match="'t'"):
        store.run("default", "t")


# The cohort


def test_a_cohort_is_columns_newest_first(store: Store) -> None:
    store.append("default", run_of("t", "a", "a", at=LONG_AGO, more={"forkmap.ticket": "T-1"}))
    more = {"gen_ai.agent.version": "2"}
    store.append("default", run_of("u", "b", "a", at=LONG_AGO + 1000, more=more))
    store.append("default", run_of("z", "c", agent="other"))
    store.declare("default", [Declaration("u", Outcome.ABANDONED, NOW)])

    paths = store.paths(Cohort("default", "bot", ALL_TIME), NOW)

    assert (paths.run_ids, paths.tickets, paths.versions, paths.signatures) == (
        ("u", "t"),
        (None, "T-1"),
        ("2", None),
        ("tool:a", "tool:b"),
    )
    columns = (paths.code, paths.count, paths.offset, paths.outcome, paths.source, paths.half)
    assert [column.tolist() for column in columns] == [
        [1, 0, 0],
        [1, 1, 2],
        [0, 2, 3],
        [2, 0],
        [0, 2],
        [1, 0],
    ]
    assert [column.dtype for column in columns] == [
        np.int32,
        np.uint8,
        np.int64,
        np.uint8,
        np.uint8,
        np.uint8,
    ]
    assert not paths.bounded


def test_the_window_is_half_open_over_the_first_start(store: Store) -> None:
    for start in (99, 100, 199, 200):
        store.append("default", run_of(f"t{start}", "a", at=start))

    def inside(window: Window) -> list[str]:
        return sorted(store.paths(Cohort("default", "bot", window), NOW).run_ids)

    assert inside(Window(100, 200)) == ["t100", "t199"]
    assert inside(ALL_TIME) == ["t100", "t199", "t200", "t99"]
    assert inside(Window()) == []


def test_the_bound_keeps_the_latest_runs_and_says_so(store: Store) -> None:
    for number in range(4):
        store.append("default", run_of(f"t{number}", *"abc"[:number], at=LONG_AGO + number * 1000))
    store.append("default", run_of("live", "z", at=NOW - 1000))
    store.append("default", run_of("late", "y", at=NOW))

    def read(max_runs: int) -> tuple[tuple[str, ...], list[list[str]], bool, bool]:
        paths = store.paths(Cohort("default", "bot", ALL_TIME), NOW, max_runs)
        whole = store.histories(Cohort("default", "bot", ALL_TIME), NOW, max_runs)
        assert [run.run_id for run in whole] == [*paths.run_ids]
        folds = [path_text(paths.folds(number)) for number in range(len(paths.run_ids))]
        return paths.run_ids, folds, paths.bounded, paths.live_bounded

    abc = [["tool:a", "tool:b", "tool:c"], ["tool:a", "tool:b"], ["tool:a"], []]
    live = [["tool:y"], ["tool:z"]]
    assert read(1) == (("t3", "late"), [abc[0], live[0]], True, True)
    assert read(2) == (("t3", "t2", "late", "live"), [*abc[:2], *live], True, False)
    assert read(4) == (("t3", "t2", "t1", "t0", "late", "live"), [*abc, *live], False, False)


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("after_ns", [-LIVE_NS - 1, -LIVE_NS, 0, LIVE_NS - 1, LIVE_NS])
def test_the_store_calls_live_what_the_rule_calls_live(store: Store, after_ns: int, declared: bool) -> None:
    store.append("default", run_of("t", "a"))
    if declared:
        store.declare("default", [Declaration("t", Outcome.FAILURE, NOW)])
    run = store.run("default", "t")
    now_ns = run.last_ns + after_ns

    live = is_live(run.source, run.last_ns, now_ns)
    cohort = Cohort("default", "bot", ALL_TIME)
    stands = Outcome.UNKNOWN if live else run.outcome
    assert store.paths(cohort, now_ns).outcome.tolist() == [stands]
    assert [(row.live, row.outcome) for row in store.runs(cohort, now_ns)] == [(live, stands)]
    [summary] = store.agents("default", ALL_TIME, now_ns)
    assert (summary.unknown, summary.completed) == (live, not live)


def test_an_agent_nobody_knows_is_an_error_and_an_empty_window_is_not(store: Store) -> None:
    store.append("default", run_of("t", "a"))

    assert store.paths(Cohort("default", "bot", Window(1, 2)), NOW).run_ids == ()
    with pytest.raises(UnknownAgentError, match="'nobody'"):
        store.paths(Cohort("default", "nobody"), NOW)
    with pytest.raises(UnknownAgentError, match="'nobody'"):
        next(store.histories(Cohort("default", "nobody"), NOW))


# Reading anew


def test_a_store_opened_with_another_run_key_is_read_anew(tmp_path: Path) -> None:
    path, chat = tmp_path / "runs.sqlite", {"gen_ai.conversation.id": "chat"}
    store = open_store(path, create=True)
    store.append("default", [*run_of("t", "a", more=chat), *run_of("u", "b", at=LONG_AGO + 1000, more=chat)])
    assert texts(store) == {"chat": ["tool:a", "tool:b"]}
    store.close()

    for run_key, expected in (
        ("trace", {"t": ["tool:a"], "u": ["tool:b"]}),
        ("session", {"chat": ["tool:a", "tool:b"]}),
    ):
        settings = msgspec.convert({"run_key": run_key}, ReadingSettings)
        store = open_store(path, reading_settings=settings)
        assert texts(store) == expected
        store.close()
        store = open_store(path, reading_settings=settings)
        assert store.settle("default") == set()
        store.close()


def test_a_store_opened_with_another_evaluation_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    said = {"gen_ai.evaluation.name": "solved", "gen_ai.evaluation.score.value": 0.4}
    judged = Span("t", "s", "n", 1, 2, events=(Event("gen_ai.evaluation.result", 2, said),))
    found = []
    for evaluation in (Evaluation(), Evaluation("solved", 0.5), Evaluation("solved", 0.3)):
        store = open_store(path, create=True, reading_settings=ReadingSettings(evaluation=evaluation))
        store.append("default", [judged])
        found.append(store.run("default", "t"))
        store.close()

    assert [(run.outcome, run.source) for run in found] == [
        (Outcome.SUCCESS, Source.INFERRED),
        (Outcome.FAILURE, Source.DECLARED),
        (Outcome.SUCCESS, Source.DECLARED),
    ]


def test_a_store_written_by_another_version_of_reading_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    store = open_store(path, create=True)
    store.append("default", run_of("t", "a"))
    assert texts(store) == {"t": ["tool:a"]}
    store.close()
    db = sqlite3.connect(path)
    db.execute(
        "UPDATE meta SET value = ? WHERE key = 'reading'", (READ_AS_IS.fingerprint(READ_AS_IS.VERSION - 1),)
    )
    db.execute("UPDATE runs SET ticket = 'as an older version read it'")
    db.commit()
    db.close()

    reader = open_store(path, read_only=True)
    assert reader.run("default", "t").ticket == "as an older version read it"
    reader.close()
    store = open_store(path)
    assert store.run("default", "t").ticket is None
    store.close()


# Lists


def test_the_agents_are_counted_by_outcome_and_source(store: Store) -> None:
    store.append("default", run_of("t", "a", at=1000))
    store.append("default", run_of("u", "a", at=2000))
    store.append("default", run_of("v", "a", at=NOW))
    store.append("default", run_of("w", "a", agent="other", at=3000))
    store.declare("default", [Declaration("u", Outcome.ABANDONED, NOW)])

    assert store.agents("default", ALL_TIME, NOW) == [
        AgentSummary("default", "bot", 2, 1, 0, 1, 1, 1, 0, 1, NOW),
        AgentSummary("default", "other", 1, 1, 0, 0, 0, 0, 0, 1, 3000),
    ]
    assert store.agents("default", Window(1500, 2500), NOW) == [
        AgentSummary("default", "bot", 1, 0, 0, 1, 0, 1, 0, 0, NOW),
        AgentSummary("default", "other", 0, 0, 0, 0, 0, 0, 0, 0, 3000),
    ]


def test_runs_are_listed_newest_first_and_by_outcome(store: Store) -> None:
    store.append("default", run_of("t", "a", at=1000, more={"forkmap.ticket": "T-1"}))
    store.append("default", run_of("u", at=2000))
    store.append("default", run_of("v", "a", "b", at=NOW))
    store.declare("default", [Declaration("u", Outcome.FAILURE, NOW)])
    ended = RunRow("t", "bot", None, "T-1", 1000, 1020, Outcome.SUCCESS, Source.INFERRED, False, 1, 1)
    failed = RunRow("u", "bot", None, None, 2000, 2010, Outcome.FAILURE, Source.DECLARED, False, 0, 2)
    live = RunRow("v", "bot", None, None, NOW, NOW + 30, Outcome.UNKNOWN, Source.INFERRED, True, 2, 3)

    def listed(wanted: Wanted = EVERY, limit: int = 100) -> list[RunRow]:
        return store.runs(Cohort("default", "bot", ALL_TIME), NOW, limit, wanted)

    assert listed() == [live, failed, ended]
    assert listed(limit=2) == [live, failed]
    assert listed(Wanted(after=failed.place)) == [ended]
    assert listed(Wanted(ticket="T-1")) == [ended]
    assert [listed(Wanted(outcome)) for outcome in Outcome] == [[ended], [failed], [], [live]]


def test_runs_are_listed_by_the_page_version_and_ticket(store: Store) -> None:
    """Every page but the last is full, and together they are the list, whatever began at once."""
    starts, versions, tickets = (1000, 2000, 2000, 2000, 3000), ("1", "2"), ("T-1", "T-2", None)
    for number in range(10):
        more = {"gen_ai.agent.version": versions[number % 2]}
        if ticket := tickets[number % 3]:
            more["forkmap.ticket"] = ticket
        store.append("default", run_of(f"t{number}", "a", at=starts[number % 5], more=more))
    store.append("else", run_of("t0", "a", at=1000, more={"forkmap.ticket": "T-1"}))
    cohort = Cohort("default", "bot", ALL_TIME)

    def pages(wanted: Wanted, limit: int) -> list[list[RunRow]]:
        found: list[list[RunRow]] = []
        while rows := store.runs(cohort, NOW, limit, wanted):
            found.append(rows)
            wanted = wanted._replace(after=rows[-1].place)
        return found

    every = store.runs(cohort, NOW)
    assert [row.place for row in every] == sorted((row.place for row in every), reverse=True)
    assert len(every) == 10
    for limit in (1, 3, 4, 10):
        paged = pages(EVERY, limit)
        assert [*chain(*paged)] == every
        assert {len(page) for page in paged[:-1]} <= {limit}
    for version in versions:
        of_version = [row for row in every if row.version == version]
        assert [*chain(*pages(Wanted(version=version), 2))] == of_version != []
        for ticket in ("T-1", "T-2"):
            both = [row for row in of_version if row.ticket == ticket]
            assert [*chain(*pages(Wanted(version=version, ticket=ticket), 1))] == both != []
    assert pages(Wanted(ticket="T-3"), 1) == pages(Wanted(version="T-1"), 1) == []


def test_a_run_is_found_by_its_id_its_trace_or_its_ticket(store: Store) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    store.append(
        "default", run_of(trace, "a", more={"gen_ai.conversation.id": "chat", "forkmap.ticket": "T-1"})
    )
    store.append("default", run_of("u", "a", at=LONG_AGO + 1000, more={"forkmap.ticket": "T-1"}))

    assert store.find("default", "chat") == ["chat"]
    assert store.find("default", trace) == ["chat"]
    assert store.find("default", " 0AF76519-16CD-43DD-8448-EB211C80319C ") == ["chat"]
    assert store.find("default", "T-1") == ["u", "chat"]
    assert store.find("default", "nothing") == []


def test_a_run_whose_names_are_long_is_kept_declared_and_found_by_them(store: Store) -> None:
    long = "é" * 2_000_000
    more = {"session.id": long + "1", "forkmap.ticket": long + "t", "service.version": long}
    named = {"service.name": long}
    store.append("default", [msgspec.structs.replace(call("t", 1, more=more), resource=named)])
    store.append("default", [msgspec.structs.replace(call("u", 1, more=more | {"session.id": long + "2"}))])
    store.declare("default", [Declaration(long + "1", Outcome.FAILURE, NOW)])

    run = store.run("default", long + "1")
    assert run.outcome == Outcome.FAILURE
    assert [len(str(text).encode()) for text in (run.run_id, run.ticket, run.version, run.agent)] == [
        *(255, 255),
        *(160, 160),
    ]
    assert store.find("default", long + "1") == store.find("default", run.run_id) == [run.run_id]
    assert store.spans("default", long + "1") == store.spans("default", run.run_id)
    assert len({*store.find("default", long + "t")}) == 2


@pytest.mark.parametrize("name", [" chat 7 ", "chat\n7", "\tchat\u20287", "chat\ufffd7"])
def test_a_run_and_a_ticket_are_known_by_what_was_sent(store: Store, name: str) -> None:
    store.append("default", [call("u", 1, more={"session.id": name, "forkmap.ticket": name})])
    store.declare("default", [Declaration(name, Outcome.FAILURE, NOW)])
    run = store.run("default", name)
    assert (run.outcome, run.source) == (Outcome.FAILURE, Source.DECLARED)
    assert store.find("default", name) == [run.run_id]
    assert [each.trace_id for each in store.spans("default", name)] == ["u"]
    assert [each.outcome for each in store.declarations("default", name)] == [Outcome.FAILURE]
    assert store.waiting("default", [name]) == []
    cohort = Cohort("default", run.agent, ALL_TIME)
    assert [each.run_id for each in store.runs(cohort, NOW, wanted=Wanted(ticket=name))] == [run.run_id]


def test_a_store_may_have_a_clock_of_its_own(store: Store) -> None:
    assert store.clock_ns() is None
    store.set_clock(NOW)
    store.set_clock(NOW + 1)
    assert store.clock_ns() == NOW + 1


# Tenants

ASKED: dict[str, tuple[Callable[[Store, str], object], object]] = {
    "run": (lambda store, tenant: store.run(tenant, "t"), UnknownRunError),
    "spans": (lambda store, tenant: store.spans(tenant, "t"), UnknownRunError),
    "paths": (lambda store, tenant: store.paths(Cohort(tenant, "bot", ALL_TIME), NOW), UnknownAgentError),
    "runs": (lambda store, tenant: store.runs(Cohort(tenant, "bot", ALL_TIME), NOW), []),
    "agents": (
        lambda store, tenant: [a for a in store.agents(tenant, ALL_TIME, NOW) if a[1] == "bot"],
        [],
    ),
    "id": (lambda store, tenant: store.find(tenant, "t"), []),
    "traces": (lambda store, tenant: store.runs_of(tenant, ["t"], []), set()),
    "run ids": (lambda store, tenant: store.runs_of(tenant, [], ["t"]), set()),
    "ticket": (lambda store, tenant: store.find(tenant, "T-1"), []),
    "settle": (lambda store, tenant: store.settle(tenant), set()),
}


def answer(ask: Callable[[Store, str], object], store: Store, tenant: str) -> object:
    """What is answered, or the kind of error."""
    try:
        return ask(store, tenant)
    except (UnknownRunError, UnknownAgentError) as error:
        return type(error)


@pytest.mark.parametrize(("ask", "nothing"), ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("has_runs", [False, True])
def test_another_tenant_finds_nothing(
    store: Store, ask: Callable[[Store, str], object], nothing: object, has_runs: bool
) -> None:
    store.append("ours", run_of("t", "a", more={"forkmap.ticket": "T-1"}))
    if has_runs:
        store.append("theirs", run_of("x", "b", agent="else"))
        store.settle("theirs")

    assert answer(ask, store, "theirs") == nothing
    assert answer(ask, store, "ours") != nothing


def test_another_tenants_declaration_changes_nothing(store: Store) -> None:
    store.append("ours", run_of("t", "a"))
    store.settle("ours")
    store.declare("theirs", [Declaration("t", Outcome.FAILURE, NOW)])

    assert store.settle("ours") == set()
    assert store.run("ours", "t").outcome == Outcome.SUCCESS


def test_two_tenants_may_use_the_same_ids(store: Store) -> None:
    for tenant, name in (("one", "a"), ("two", "b")):
        assert store.append(tenant, run_of("t", name)) == Appended(new=2)
    store.declare("two", [Declaration("t", Outcome.FAILURE, NOW)])

    assert store.run("one", "t").outcome == Outcome.SUCCESS
    assert store.run("two", "t").outcome == Outcome.FAILURE
    assert store.append("one", [call("t", 1, "b")]) == Appended(changed=1)
    assert store.spans("two", "t") == run_of("t", "b")
