"""The guard: what it knows of a run in flight is what the store would say, whatever came in which order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.errors import UnknownRunError
from engine.guard import Guard
from engine.live import Live
from engine.paths import CUT, Fold, Token, fold
from engine.runs import SECOND_NS, ReadingSettings
from engine.spans import Span
from engine.store import Store
from engine.store.sqlite import open_store

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
    """One that is not started: each question looks by itself."""
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
    assert (known(guard, "t"), known(guard, "s")) == (None, (Fold("tool:search", 2),))


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


def test_a_run_that_expired_leaves(store: Store, guard: Guard) -> None:
    store.append(T, [tool("t", 1)])
    assert known(guard, "t") is not None
    store.expire(T, NOW_NS + 10 * SECOND_NS, 1_000)
    assert known(guard, "t") is None


# --- whatever comes, in which order --------------------------------------------------------------

Sending = tuple[str, ...] | tuple[Span, ...]
TRACES = ("t1", "t2", "s1")
"""The last one has the id of a session."""
SESSIONS = ({}, {}, of("s1"), of("s2"), {"forkmap.run.id": "s2"}, {"gen_ai.conversation.id": "t1"})


@st.composite
def any_span(draw: st.DrawFn) -> Span:
    number = draw(st.integers(0, 4))
    span = tool(draw(st.sampled_from(TRACES)), number, draw(st.sampled_from("ab")))
    kind = draw(st.sampled_from(("execute_tool", "execute_tool", "chat", "invoke_agent")))
    more = {"gen_ai.operation.name": kind, "gen_ai.agent.name": draw(st.sampled_from(("x", "y")))}
    parent = draw(st.sampled_from((None, "0", "1", "9")))
    end_ns = draw(st.sampled_from((None, span.end_ns, NOW_NS + 9 * SECOND_NS)))
    attributes = span.attributes | more | draw(st.sampled_from(SESSIONS))
    return replace(span, attributes=attributes, parent_id=parent, end_ns=end_ns)


SENDINGS = st.lists(
    st.one_of(st.lists(any_span(), min_size=1, max_size=5), st.sampled_from(("settle", "expire"))), max_size=8
)


@pytest.mark.parametrize("run_key", ["session", "trace"])
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        return None
    return run.agent, fold(step.signature for step in run.steps), len(run.steps), run.last_ns
