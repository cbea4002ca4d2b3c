"""Runs that are too old go, whole, and nothing else does."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from dashboard.commands.settings import from_environment
from engine import retention
from engine.errors import ForkmapError, UnknownRunError
from engine.retention import DAY_NS
from engine.runs import ALL_TIME, Cohort, Declaration, Outcome, Source
from engine.spans import Span
from engine.store import Expired
from engine.store.doctoring import examine
from engine.store.sqlite import SQLiteStore, open_store

NOW = 2_000_000_000_000_000_000
MONTH = NOW - 30 * DAY_NS
COHORT = Cohort("default", "unknown", ALL_TIME)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    opened = open_store(tmp_path / "runs.sqlite", create=True)
    assert isinstance(opened, SQLiteStore)
    yield opened
    opened.close()


def run_of(trace: str, spans: int, last_ns: int, session: str = "") -> list[Span]:
    """Tool calls, one a second, the last of which ends at a moment."""
    second_ns = 10**9
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    named = call | ({"session.id": session} if session else {})
    return [
        Span(trace, f"{trace}-{n}", "search", end_ns - 1, end_ns, attributes=named)
        for n, end_ns in enumerate(range(last_ns - (spans - 1) * second_ns, last_ns + 1, second_ns))
    ]


def rows(store: SQLiteStore) -> dict[str, int]:
    """How many rows each table of runs holds."""
    db = sqlite3.connect(store.path)
    tables = ("traces", "spans", "runs", "paths", "outcomes")
    found = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    db.close()
    return found


def test_a_run_goes_with_everything_once_its_last_activity_is_too_old(store: SQLiteStore) -> None:
    store.append("default", run_of("old", 3, MONTH - 1) + run_of("kept", 2, MONTH))
    store.declare(
        "default", [Declaration("old", Outcome.FAILURE, NOW), Declaration("kept", Outcome.SUCCESS, NOW)]
    )

    assert retention.expire(store, MONTH) == Expired(runs=1, spans=3)
    assert rows(store) == {"traces": 1, "spans": 2, "runs": 1, "paths": 2, "outcomes": 1}
    assert store.paths(COHORT, NOW).run_ids == ("kept",)
    with pytest.raises(UnknownRunError):
        store.run("default", "old")
    assert retention.expire(store, MONTH) == Expired()


def test_a_run_of_several_traces_is_as_old_as_the_latest(store: SQLiteStore) -> None:
    store.append("default", run_of("a", 2, MONTH - DAY_NS, "chat") + run_of("b", 1, MONTH, "chat"))
    assert retention.expire(store, MONTH) == Expired()
    assert retention.expire(store, MONTH + 1) == Expired(runs=1, spans=3)
    assert not any(rows(store).values())


def test_what_has_just_arrived_counts_before_anything_goes(store: SQLiteStore) -> None:
    store.append("default", run_of("a", 2, MONTH - DAY_NS, "chat"))
    store.settle("default")
    store.append("default", run_of("b", 1, NOW, "chat"))
    assert retention.expire(store, MONTH) == Expired()


def test_outcomes_of_runs_never_seen_go_when_they_are_old(store: SQLiteStore) -> None:
    late, old = Declaration("late", Outcome.FAILURE, NOW), Declaration("old", Outcome.FAILURE, MONTH - 1)
    store.declare("default", [late, old])
    assert retention.expire(store, MONTH) == Expired(outcomes=1)
    store.append("default", run_of("late", 1, NOW) + run_of("old", 1, NOW))
    assert [store.run("default", each).source for each in ("late", "old")] == [
        Source.DECLARED,
        Source.INFERRED,
    ]


@pytest.mark.parametrize("session", ["chat", "01234567-89AB-CDEF-0123-456789ABCDEF"])
def test_an_old_outcome_stays_with_its_run_however_the_id_of_its_trace_is_spelt(
    store: SQLiteStore, session: str
) -> None:
    trace, told = "0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcdef"
    store.declare("default", [Declaration(told, Outcome.FAILURE, MONTH - 1)])
    store.append("default", run_of(trace, 1, NOW, session))
    assert retention.expire(store, MONTH) == Expired()
    assert store.run("default", session).source is Source.DECLARED
    assert retention.expire(store, NOW + 1) == Expired(runs=1, spans=1)
    assert not any(rows(store).values())


class Busy(SQLiteStore):
    """A store into which spans arrive once those before are settled."""

    late: tuple[Span, ...] = ()

    def settle(self, tenant: str, limit_s: float = inf) -> set[str]:
        settled = super().settle(tenant, limit_s)
        self.append(tenant, self.late)
        return settled


def test_what_arrives_before_an_old_run_goes_keeps_it_and_what_was_told_of_it(store: SQLiteStore) -> None:
    store.append("default", run_of("a", 2, MONTH - 1, "chat") + run_of("b", 1, MONTH - 1))
    told = [Declaration(name, Outcome.FAILURE, MONTH - 1) for name in ("chat", "talk", "nobody")]
    store.declare("default", told)
    busy = Busy(store.path)
    busy.late = (*run_of("c", 1, NOW, "chat"), *run_of("d", 1, NOW, "talk"))
    assert busy.expire("default", MONTH, 10) == Expired(runs=1, spans=1, outcomes=1)
    busy.close()
    assert [len(store.run("default", name).steps) for name in ("chat", "talk")] == [3, 1]
    assert {store.run("default", name).source for name in ("chat", "talk")} == {Source.DECLARED}


def test_old_runs_go_however_many_spans_of_others_arrive(store: SQLiteStore) -> None:
    store.append("default", run_of("old", 1, MONTH - 1))
    busy = Busy(store.path)
    busy.late = tuple(span for number in range(501) for span in run_of(f"t{number}", 1, NOW))
    assert busy.expire("default", MONTH, 10) == Expired(runs=1, spans=1)
    busy.close()


def test_every_tenant_s_old_runs_go(store: SQLiteStore) -> None:
    for tenant in ("acme", "default"):
        store.append(tenant, run_of("old", 1, MONTH - 1) + run_of("kept", 1, NOW))
    assert store.tenants() == ["acme", "default"]
    assert retention.expire(store, MONTH) == Expired(runs=2, spans=2)
    assert [store.find(tenant, "kept") for tenant in store.tenants()] == [["kept"], ["kept"]]


def test_a_long_run_goes_at_once_and_its_spans_a_few_at_a_time(store: SQLiteStore) -> None:
    store.append("default", run_of("old", 25, MONTH - 1))
    assert store.expire("default", MONTH, 10) == Expired(runs=1, spans=9)
    assert rows(store) == {"traces": 1, "spans": 16, "runs": 0, "paths": 0, "outcomes": 0}
    assert (store.find("default", "old"), store.unsettled(), examine(store.path).findings) == ([], {}, ())
    steps = [store.expire("default", MONTH, 10) for _ in range(3)]
    assert steps == [Expired(spans=10), Expired(spans=6), Expired()]
    assert not any(rows(store).values())


def in_a_session(traces: str, last_ns: int) -> list[Span]:
    """A session of one trace a letter, of two spans each."""
    return [span for trace in traces for span in run_of(trace, 2, last_ns, session="chat")]


def test_what_was_told_goes_with_the_run_by_whichever_of_its_ids(store: SQLiteStore) -> None:
    store.append("default", in_a_session("ab", MONTH - 1))
    store.declare("default", [Declaration(name, Outcome.FAILURE, NOW) for name in ("a", "b", "chat")])
    assert store.expire("default", MONTH, 2) == Expired(runs=1, spans=1)
    assert rows(store)["outcomes"] == 0
    assert retention.expire(store, MONTH) == Expired(spans=3)
    assert not any(rows(store).values())


def test_what_was_told_of_a_session_that_has_another_name_now_goes_with_the_run(store: SQLiteStore) -> None:
    store.append("default", run_of("t", 1, MONTH - 2, session="chat"))
    store.declare("default", [Declaration("chat", Outcome.FAILURE, NOW)])
    named = {"forkmap.run.id": "job", "session.id": "chat"}
    store.append("default", [Span("t", "late", "n", MONTH - 2, MONTH - 1, attributes=named)])
    assert store.find("default", "job") == ["job"]
    assert retention.expire(store, MONTH) == Expired(runs=1, spans=2)
    assert rows(store)["outcomes"] == 0


@pytest.mark.parametrize(("emptied", "left"), [("b", {"chat"}), ("abc", set())])
def test_a_touched_trace_without_spans_goes_when_it_is_settled(
    store: SQLiteStore, emptied: str, left: set[str]
) -> None:
    store.append("default", in_a_session("abc", MONTH) + run_of("d", 1, NOW))
    store.settle("default")
    with sqlite3.connect(store.path) as db:
        for trace in emptied:
            db.execute("DELETE FROM spans WHERE trace = (SELECT no FROM traces WHERE trace_id = ?)", trace)
        db.execute("UPDATE traces SET stamp = stamp + 1")
    db.close()

    assert store.settle("default") == left | {"d"}
    assert store.unsettled() == {}
    assert examine(store.path).findings == ()


def test_a_late_span_of_a_run_that_is_gone_is_a_run_of_its_own_age(store: SQLiteStore) -> None:
    spans = run_of("t", 3, MONTH - 1)
    store.append("default", spans[:2])
    retention.expire(store, MONTH)
    store.append("default", spans[2:])
    assert len(store.run("default", "t").steps) == 1
    assert retention.expire(store, MONTH) == Expired(runs=1, spans=1)


def test_a_span_that_comes_while_the_spans_of_its_run_are_swept_begins_a_new_one(store: SQLiteStore) -> None:
    spans = run_of("t", 5, MONTH - 1)
    store.append("default", spans[:4])
    assert store.expire("default", MONTH, 2) == Expired(runs=1, spans=1)
    store.append("default", [*run_of("u", 1, NOW, session="t"), _in_session(spans[4], "t")])
    assert retention.expire(store, MONTH) == Expired(spans=3)
    assert len(store.run("default", "t").steps) == 2


def _in_session(span: Span, session: str) -> Span:
    more = {**span.attributes, "session.id": session}
    return Span(span.trace_id, span.span_id, span.name, span.start_ns, span.end_ns, attributes=more)


def test_a_clock_that_jumps_back_removes_nothing(store: SQLiteStore) -> None:
    store.append("default", run_of("old", 1, MONTH))
    assert retention.expire(store, MONTH - 400 * DAY_NS) == Expired()


def test_two_processes_worth_of_passes_at_once_remove_everything_once(store: SQLiteStore) -> None:
    for number in range(40):
        store.append("default", run_of(f"t{number}", 5, MONTH - 1))
    others = [open_store(store.path) for _ in range(2)]
    done: list[Expired] = []
    threads = [
        threading.Thread(target=lambda other=other: done.append(retention.expire(other, MONTH, 17)))
        for other in others
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Expired(*map(sum, zip(*done, strict=True))) == Expired(runs=40, spans=200)
    assert not any(rows(store).values())
    for other in others:
        other.close()


def test_the_number_of_days_is_a_setting() -> None:
    assert from_environment({}).retention_days is None
    assert from_environment({"FORKMAP_RETENTION_DAYS": " 30 "}).retention_days == 30
    for text in ("0", "-1", "soon"):
        with pytest.raises(ForkmapError, match=r"FORKMAP_RETENTION_DAYS is .* a whole number from 1"):
            from_environment({"FORKMAP_RETENTION_DAYS": text})
