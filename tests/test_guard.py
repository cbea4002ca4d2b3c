"""The guard: what it knows of a run in flight is what the store would say, whatever came in which order."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.conventions import DECISION_SCOPE
from engine.errors import StoreError, UnknownRunError
from engine.guard import LOOK_S, MAX_SPANS, Guard
from engine.holding import SPANS_A_RUN
from engine.live import Live
from engine.paths import CUT, Fold, Token, fold
from engine.runs import SECOND_NS, ReadingSettings
from engine.spans import Span, Status
from engine.store import Changes, Store, Touched, Trail, feeding
from engine.store.sqlite import SQLiteStore, open_store

T = "default"
NOW_NS = time.time_ns()


def tool(trace: str, number: int, name: str = "search", **about: str) -> Span:
    """The call of a tool, the ``number``th second of its trace."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **about}
    start_ns = NOW_NS + number * SECOND_NS
    return Span(trace, str(number), "step", start_ns, start_ns + 1, attributes=attributes)


def of(session: str) -> dict[str, str]:
    return {"session.id": session}


class Meter:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        self.levels: dict[str, float] = {}

    def count(self, name: str, by: int = 1, label: str = "") -> None:
        self.counted[name] += by

    def time(self, name: str, seconds: float, label: str = "") -> None:
        raise NotImplementedError

    def level(self, name: str, value: float) -> None:
        self.levels[name] = value


class Counting(SQLiteStore):
    """Notes which runs it is asked for, how many of their spans are read, and when it was last looked at."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[tuple[str, int]] = []
        self.looked_ns = 0
        self.is_away = threading.Event()

    def trail(self, tenant: str, run_id: str, known: Container[int], limit: int) -> Trail | None:
        trail = super().trail(tenant, run_id, known, limit)
        if trail is not None and trail.spans is not None:
            self.asked.append((run_id, sum(span is not None for span in trail.spans.values())))
        return trail

    def changes(self, after: int) -> Changes:
        if self.is_away.is_set():
            raise StoreError("the store is away")
        begun_ns = time.time_ns()
        changes = super().changes(after)
        self.looked_ns = begun_ns
        return changes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spans.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = open_store(path, create=True)
    yield store
    store.close()


@pytest.fixture
def guard(store: Store) -> Guard:
    """One that is not started: it reads nothing ahead."""
    return Guard(store, time.time_ns)


def known(guard: Guard, run_id: str) -> tuple[Fold, ...] | None:
    live = guard.live(T, run_id)
    return None if live is None else live.folds


def until(holds: Callable[[], bool], limit_s: float = 10.0) -> None:
    deadline_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.002)


# --- what is known of one run --------------------------------------------------------------------


def test_a_run_is_known_by_its_path_as_far_as_it_came(store: Store, guard: Guard) -> None:
    about = {"gen_ai.agent.name": "desk"}
    store.append(T, [tool("t", 1, "open", **about), *(tool("t", number) for number in (2, 3, 4))])
    assert guard.live(T, "t") == Live(
        run_id="t",
        agent="desk",
        folds=(Fold("tool:open", 1), Fold("tool:search", 3)),
        closed=("tool:open",),
        last=Token("tool:search", 2),
        steps=4,
        last_ns=NOW_NS + 4 * SECOND_NS + 1,
        cut=False,
    )


def test_a_run_without_steps_stands_at_the_root(store: Store, guard: Guard) -> None:
    store.append(T, [Span("t", "1", "request", NOW_NS)])
    assert guard.live(T, "t") == Live("t", "unknown", (), (), None, 0, NOW_NS, False)


def test_a_run_past_the_bound_of_a_path_ends_with_the_mark(store: Store, guard: Guard) -> None:
    store.append(T, [tool("t", number, f"step-{number % 2}") for number in range(70)])
    live = guard.live(T, "t")
    assert live is not None
    assert (live.cut, live.steps, live.folds[64:], live.last) == (True, 70, (CUT,), CUT.token)


def test_a_run_nobody_sent_is_not_known(store: Store, guard: Guard) -> None:
    store.append(T, [tool("t", 1)])
    assert guard.live(T, "other") is None
    assert guard.live("another-tenant", "t") is None


def test_spans_are_known_before_they_are_settled_and_after(store: Store, guard: Guard) -> None:
    paths = []
    for number in range(1, 4):
        store.append(T, [tool("t", number)])
        paths.append(known(guard, "t"))
        store.settle(T)
        paths.append(known(guard, "t"))
    assert paths == [(Fold("tool:search", count),) for count in (1, 1, 2, 2, 3, 3)]


def test_a_trace_whose_session_is_learnt_moves_to_it(store: Store, guard: Guard) -> None:
    store.append(T, [tool("t", 1)])
    assert (known(guard, "t"), known(guard, "s")) == ((Fold("tool:search", 1),), None)
    store.append(T, [tool("t", 2, **of("s"))])
    assert (known(guard, "t"), known(guard, "s")) == ((Fold("tool:search", 2),),) * 2


def test_a_run_that_goes_on_in_a_second_trace_is_one(store: Store, guard: Guard) -> None:
    store.append(T, [tool("a", 1, "ask", **of("s"))])
    assert known(guard, "s") == (Fold("tool:ask", 1),)
    store.append(T, [tool("b", 2, "act", **of("s"))])
    assert known(guard, "s") == (Fold("tool:ask", 1), Fold("tool:act", 1))


def test_a_trace_returns_to_a_session_once_what_said_otherwise_is_replaced(
    store: Store, guard: Guard
) -> None:
    own = {"forkmap.run.id": "own"}
    store.append(T, [tool("t", 1, **of("s")), tool("t", 2, **own)])
    store.settle(T)
    assert (known(guard, "s"), known(guard, "own")) == (None, (Fold("tool:search", 2),))
    store.append(T, [tool("t", 2)])
    assert (known(guard, "s"), known(guard, "own")) == ((Fold("tool:search", 2),), None)
    store.append(T, [tool("t", 1)])
    assert (known(guard, "s"), known(guard, "t")) == (None, (Fold("tool:search", 2),))


def test_a_run_whose_agent_is_learnt_late_is_its(store: Store, guard: Guard) -> None:
    store.append(T, [tool("t", 2)])
    first = guard.live(T, "t")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
    store.append(T, [Span("t", "1", "invoke_agent desk", NOW_NS, attributes=agent)])
    second = guard.live(T, "t")
    assert first is not None
    assert second is not None
    assert (first.agent, second.agent) == ("unknown", "desk")


def test_a_run_with_a_long_id_is_found_by_it_whole(store: Store, guard: Guard) -> None:
    long = "r" * 300
    store.append(T, [tool(long, 1)])
    assert known(guard, long) == (Fold("tool:search", 1),)


@pytest.mark.parametrize("name", [" chat 7 ", "chat\n7", "r" * 300])
def test_a_run_is_held_once_whatever_blanks_and_controls_its_id_was_sent_with(
    store: Store, guard: Guard, name: str
) -> None:
    store.append(T, [tool("t", 1, **of(name))])
    first = guard.live(T, name)
    assert first is not None
    assert guard.live(T, name) is guard.live(T, first.run_id) is first


def test_a_run_is_found_by_the_id_of_any_of_its_traces(store: Store, guard: Guard) -> None:
    bare, dashed = "0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcdef"
    store.append(T, [tool(bare, 1)])
    assert known(guard, dashed) == (Fold("tool:search", 1),)
    store.append(T, [tool(bare, 2, **of("s")), tool("other", 3, **of("s"))])
    for _ in ("unsettled", "settled"):
        for name in (bare, dashed, dashed.upper(), "other", "s"):
            assert guard.live(T, name) == guard.live(T, "s")
            assert known(guard, name) == (Fold("tool:search", 3),)
        assert guard.live("another-tenant", bare) is None
        store.settle(T)
    store.append(T, [tool("other", 3, **of(bare))])
    assert known(guard, bare) == (Fold("tool:search", 1),)
    assert known(guard, "other") == (Fold("tool:search", 1),)


def test_of_a_run_in_too_many_traces_only_so_many_are_noted(store: Store) -> None:
    store.append(T, [tool(f"t{number}", 1, **of("s")) for number in range(5)])
    trail = store.trail(T, "s", {}, 2)
    assert trail is not None
    assert (len(trail.traces), trail.spans) == (3, None)


def test_a_run_that_expired_leaves(store: Store, guard: Guard) -> None:
    store.append(T, [tool("t", 1)])
    assert known(guard, "t") is not None
    store.expire(T, NOW_NS + 10 * SECOND_NS, 1_000)
    assert known(guard, "t") is None


# --- what is held --------------------------------------------------------------------------------


def test_what_is_known_is_not_read_again(path: Path, store: Store) -> None:
    counting = Counting(path)
    guard = Guard(counting, time.time_ns)
    for number in range(3):
        store.append(T, [tool("t", number)])
        guard.live(T, "t")
    guard.live(T, "t")
    assert counting.asked == [("t", 1), ("t", 1), ("t", 1)]


def test_the_least_recently_active_make_room(path: Path, store: Store) -> None:
    counting, meter = Counting(path), Meter()
    guard = Guard(counting, time.time_ns, meter=meter, capacity=2)
    for run_id in ("a", "b", "c"):
        store.append(T, [tool(run_id, 1)])
        guard.live(T, run_id)
    assert meter.counted == {"guard_evicted": 1}
    counting.asked.clear()
    assert [known(guard, run_id) for run_id in ("c", "b")] == [(Fold("tool:search", 1),)] * 2
    assert counting.asked == []
    assert known(guard, "a") == (Fold("tool:search", 1),)
    assert counting.asked == [("a", 1)]


def test_runs_of_many_spans_make_others_leave(store: Store) -> None:
    meter = Meter()
    guard = Guard(store, time.time_ns, meter=meter, capacity=2)
    store.append(T, [tool("a", number) for number in range(2 * SPANS_A_RUN)])
    store.append(T, [tool("b", 1)])
    guard.live(T, "a")
    assert meter.counted == {}
    guard.live(T, "b")
    assert meter.counted == {"guard_evicted": 1}


def test_a_run_of_too_many_spans_is_not_followed(store: Store) -> None:
    meter = Meter()
    guard = Guard(store, time.time_ns, meter=meter)
    store.append(T, [tool("t", number) for number in range(MAX_SPANS)])
    live = guard.live(T, "t")
    assert live is not None
    assert live.steps == MAX_SPANS
    store.append(T, [tool("t", MAX_SPANS)])
    assert guard.live(T, "t") is None
    assert meter.counted == {"guard_too_long": 1}
    store.expire(T, NOW_NS + 10 * MAX_SPANS * SECOND_NS, 3 * MAX_SPANS)
    store.append(T, [tool("t", 1)])
    assert known(guard, "t") == (Fold("tool:search", 1),)


def test_who_fell_behind_what_is_kept_of_changes_begins_anew(
    store: Store, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "KEPT_CHANGES", 3)
    store.append(T, [tool("t", 1)])
    assert known(guard, "t") == (Fold("tool:search", 1),)
    store.append(T, [tool("t", 2)])
    for number in range(5):
        store.append(T, [tool(f"other-{number}", 1)])
    assert not store.changes(1).whole
    assert known(guard, "t") == (Fold("tool:search", 2),)


def test_changes_are_told_once_a_trace_with_the_runs_it_may_belong_to(store: Store) -> None:
    store.append(T, [tool("a", 1), tool("b", 1, **of("s"))])
    store.append(T, [tool("a", 2)])
    assert store.changes(0) == Changes(3, (Touched(2, T, ("s", "b")), Touched(1, T, ("a",))), True)
    assert store.changes(2) == Changes(3, (Touched(1, T, ("a",)),), True)
    assert store.changes(3) == Changes(3, (), True)
    assert store.change() == 3
    store.append(T, [tool("a", 2)])
    assert store.change() == 3
    store.expire(T, NOW_NS + 10 * SECOND_NS, 1_000)
    assert {*store.changes(3).touched} == {Touched(1, "", ()), Touched(2, "", ())}


def test_runs_are_in_flight_while_unsettled_or_active(store: Store) -> None:
    store.append(T, [tool("old", -10_000), tool("new", 1), tool("newer", 2)])
    assert set(store.in_flight(NOW_NS, 10)) == {(T, "old"), (T, "new"), (T, "newer")}
    store.settle(T)
    assert store.in_flight(NOW_NS, 10) == [(T, "newer"), (T, "new")]
    assert store.in_flight(NOW_NS, 1) == [(T, "newer")]


def test_any_text_may_be_an_id(store: Store, guard: Guard) -> None:
    odd = 'a"\\\0\n\u2028é☃'
    store.append(T, [replace(tool(odd, 1), span_id=odd), tool("t", 1, **of(odd))])
    found = known(guard, odd)
    assert found == (Fold("tool:search", 2),)


# --- in the background ---------------------------------------------------------------------------


@pytest.fixture
def started(path: Path, store: Store) -> Iterator[tuple[Guard, Counting]]:
    counting = Counting(path)
    guard = Guard(counting, time.time_ns)
    guard.start()
    yield guard, counting
    guard.close()
    counting.close()


def test_runs_in_flight_are_read_ahead(store: Store, started: tuple[Guard, Counting]) -> None:
    guard, counting = started
    assert known(guard, "any") is None
    store.append(T, [tool("a", 1), tool("b", 1, **of("s"))])
    until(lambda: sorted(counting.asked) == [("a", 1), ("s", 1)])
    store.append(T, [tool("a", 2)])
    until(lambda: len(counting.asked) == 3)
    assert known(guard, "a") == (Fold("tool:search", 2),)


def test_while_nobody_asks_nothing_is_read_ahead(store: Store, started: tuple[Guard, Counting]) -> None:
    guard, counting = started
    until_looked(counting, 1)
    store.append(T, [tool("a", 1)])
    until_looked(counting, time.time_ns())
    time.sleep(2 * LOOK_S)
    assert counting.asked == []
    assert known(guard, "a") == (Fold("tool:search", 1),)


def test_runs_that_were_asked_for_are_read_ahead_of_others(path: Path, store: Store) -> None:
    counting = Counting(path)
    guard = Guard(counting, time.time_ns)
    store.append(T, [tool("asked", 1)])
    guard.live(T, "asked")
    store.append(T, [tool("asked", 2)])
    store.append(T, [tool("other", 1)])
    guard.look()
    counting.asked.clear()
    guard.start()
    until(lambda: len(counting.asked) == 2)
    assert counting.asked == [("asked", 1), ("other", 1)]
    guard.close()
    counting.close()


def test_settling_forgets_the_names_it_went_by(path: Path, store: Store) -> None:
    def named() -> list[tuple[str, int]]:
        with closing(sqlite3.connect(path)) as db:
            return db.execute("SELECT run_id, trace FROM sessions").fetchall()

    store.append(T, [tool("a", 1, **of("s")), tool("b", 1, **of("s")), tool("c", 1)])
    assert named() == [("s", 1), ("s", 2)]
    store.settle(T)
    assert named() == []
    store.append(T, [tool("b", 2, **{"forkmap.run.id": "own"})])
    store.settle(T)
    assert named() == [("s", 2)]
    store.expire(T, NOW_NS + 10 * SECOND_NS, 1_000)
    assert named() == []


def test_what_was_in_flight_before_it_started_is_read_ahead(path: Path, store: Store) -> None:
    store.append(T, [tool("settled", 1), tool("long-ago", -10_000)])
    store.settle(T)
    store.append(T, [tool("unsettled", -10_000)])
    counting = Counting(path)
    guard = Guard(counting, time.time_ns)
    guard.start()
    until(lambda: sorted(counting.asked) == [("settled", 1), ("unsettled", 1)])
    guard.close()


def test_an_answer_knows_every_span_acknowledged_before_the_question(
    store: Store, started: tuple[Guard, Counting]
) -> None:
    guard, _ = started
    for number in range(1, 20):
        store.append(T, [tool("t", number)])
        assert known(guard, "t") == (Fold("tool:search", number),)
    guard.close()
    store.append(T, [tool("t", 20)])
    assert known(guard, "t") == (Fold("tool:search", 20),)


def test_who_cannot_look_is_told_and_is_answered_once_it_can(
    store: Store, started: tuple[Guard, Counting]
) -> None:
    guard, counting = started
    counting.is_away.set()
    with pytest.raises(StoreError):
        guard.live(T, "t")
    store.append(T, [tool("t", 1)])
    counting.is_away.clear()
    assert known(guard, "t") == (Fold("tool:search", 1),)
    until_looked(counting, time.time_ns())  # the thread goes on


def test_threads_that_wait_for_a_look_share_the_next(path: Path, store: Store) -> None:
    looks, asking, go_on = list[int](), threading.Barrier(5), threading.Event()

    class Slow(SQLiteStore):
        def changes(self, after: int) -> Changes:
            looks.append(after)
            assert go_on.wait(10)
            return super().changes(after)

    slow = Slow(path)
    guard = Guard(slow, time.time_ns)
    first = threading.Thread(target=guard.look)
    first.start()
    until(lambda: len(looks) == 1)

    def ask() -> None:
        asking.wait()
        guard.live(T, "t")

    others = [threading.Thread(target=ask) for _ in range(4)]
    for thread in others:
        thread.start()
    asking.wait()
    time.sleep(0.1)
    go_on.set()
    for thread in (first, *others):
        thread.join()
    assert looks == [-1, 0]
    slow.close()


def test_threads_may_ask_while_spans_come(store: Store, started: tuple[Guard, Counting]) -> None:
    guard, _ = started
    faults: list[BaseException] = []

    def ask(stop: threading.Event) -> None:
        try:
            steps = dict.fromkeys(range(5), 0)
            while not stop.is_set():
                for run in steps:
                    live = guard.live(T, f"run-{run}")
                    now = 0 if live is None else live.steps
                    assert now >= steps[run]
                    steps[run] = now
        except BaseException as fault:
            faults.append(fault)
            raise

    stop = threading.Event()
    threads = [threading.Thread(target=ask, args=(stop,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(30):
        store.append(T, [tool(f"run-{number % 5}", number)])
        assert known(guard, f"run-{number % 5}") == (Fold("tool:search", number // 5 + 1),)
    stop.set()
    for thread in threads:
        thread.join()
    assert faults == []


def until_looked(counting: Counting, moment_ns: int) -> None:
    until(lambda: counting.looked_ns >= moment_ns)


def test_what_another_process_keeps_is_known_at_once(path: Path, store: Store, guard: Guard) -> None:
    guard.start()
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        for count in range(1, 6):
            other.submit(keep, path, count).result()
            assert known(guard, "t") == (Fold("tool:search", count),)
    guard.close()


def keep(path: Path, number: int) -> None:
    """Keep a span from another process."""
    store = open_store(path)
    store.append(T, [tool("t", number)])
    store.close()


# --- whatever comes, in which order --------------------------------------------------------------

TRACES = ("t1", "t2", "s1")
"""The last one has the id of a session."""
OWN: dict[str, str] = {"forkmap.run.id": "s2"}
CONVERSATION = {"gen_ai.conversation.id": "t1"}
SESSIONS: tuple[dict[str, str], ...] = ({}, {}, of("s1"), of("s2"), OWN, CONVERSATION)


@st.composite
def any_span(draw: st.DrawFn) -> Span:
    number = draw(st.integers(0, 4))
    span = tool(draw(st.sampled_from(TRACES)), number, draw(st.sampled_from("ab")))
    kind = draw(st.sampled_from(("execute_tool", "execute_tool", "chat", "invoke_agent", "plan")))
    more = {"gen_ai.operation.name": kind, "gen_ai.agent.name": draw(st.sampled_from(("x", "y")))}
    parent = draw(st.sampled_from((None, "0", "1", "9")))
    end_ns = draw(st.sampled_from((None, span.end_ns, NOW_NS + 9 * SECOND_NS)))
    facts: dict[str, Any] = {
        "attributes": span.attributes | more | draw(st.sampled_from(SESSIONS)),
        "scope": draw(st.sampled_from(("", "", DECISION_SCOPE))),
        "status": draw(st.sampled_from(Status)),
    }
    return replace(span, parent_id=parent, end_ns=end_ns, **facts)


SENDINGS = st.lists(
    st.one_of(st.lists(any_span(), min_size=1, max_size=5), st.sampled_from(("settle", "expire"))), max_size=8
)


@pytest.mark.parametrize("run_key", ["session", "trace"])
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sendings=SENDINGS, asked=st.sets(st.sampled_from(("t1", "t2", "s1", "s2"))))
def test_what_is_held_is_what_settling_makes_of_it(
    tmp_path_factory: pytest.TempPathFactory, run_key: str, sendings: list[list[Span] | str], asked: set[str]
) -> None:
    path = tmp_path_factory.mktemp("guard") / "spans.sqlite"
    by = ReadingSettings("session" if run_key == "session" else "trace")
    store = open_store(path, create=True, reading_settings=by)
    guard = Guard(store, time.time_ns)
    for sending in sendings:
        if sending == "settle":
            store.settle(T)
        elif sending == "expire":
            store.expire(T, NOW_NS + 3 * SECOND_NS, 1_000)
        else:
            assert not isinstance(sending, str)
            store.append(T, sending)
        for run_id in asked:
            guard.live(T, run_id)
    unsettled = {run_id: guard.live(T, run_id) for run_id in ("t1", "t2", "s1", "s2")}
    for run_id, live in unsettled.items():
        assert summary(live) == settled(store, run_id)
        assert guard.live(T, run_id) == live
    store.close()


def summary(live: Live | None) -> object:
    return None if live is None else (live.agent, live.folds, live.steps, live.last_ns)


def settled(store: Store, run_id: str) -> object:
    try:
        run = store.run(T, run_id)
    except UnknownRunError:
        its = store.runs_of(T, [run_id], [])
        if not its:
            return None
        run = store.run(T, *its)
    return run.agent, fold(step.signature for step in run.steps), len(run.steps), run.last_ns
