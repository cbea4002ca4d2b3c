"""The check before a call, over a real store, guard and builder; and the ledger it writes behind itself."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine import ledger
from engine.builder import Maps
from engine.checks import FAULT, NO_MAP, UNKNOWN_RUN, Checked, Checks
from engine.errors import DamagedStoreError
from engine.fuses import QUIET, Firing, Policy
from engine.guard import Guard
from engine.ledger import Ledger
from engine.metering import UNMETERED, Meter
from engine.runs import Declaration, Outcome
from engine.spans import Span
from engine.store import Store
from engine.store.sqlite import SQLiteStore, open_store
from tests.memory_cache import DictCache
from tests.reference import Sample
from tests.test_verdicts import LLM, REFUND, SEARCH, SUPPORT

T = "default"
NOW_NS = time.time_ns()
HOUR_NS = 3600 * 10**9
ODDS = Policy(name="odds", min_success_odds=0.7, action="stop")
MILD = Policy(name="odds", min_success_odds=0.01, action="stop")


class Counts:
    """Keeps what is counted."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()

    def count(self, name: str, by: int = 1, label: str = "") -> None:
        self.counted[f"{name} {label}".strip()] += by

    def time(self, name: str, seconds: float, label: str = "") -> None:
        self.counted[f"{name} timed"] += 1

    def level(self, name: str, value: float) -> None:
        pass


def spans_of(sample: Sample, start_ns: int) -> list[Span]:
    """A run's spans: its agent's, then one a step."""
    about: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support-agent"}
    outcome = {"session.outcome": sample.outcome} if sample.outcome else {}
    run = f"trace-{sample.run_id}", {"session.id": sample.run_id}
    root = Span(run[0], "root", "agent", start_ns, None, attributes=about | outcome | run[1])
    steps = [step(sample.run_id, at, text, start_ns + at) for at, text in enumerate(sample.signatures, 1)]
    return [root, *steps]


def step(run_id: str, number: int, signature: str, start_ns: int = NOW_NS) -> Span:
    kind, _, name = signature.partition(":")
    call = {"forkmap.kind": kind, "forkmap.name": name, "session.id": run_id}
    return Span(f"trace-{run_id}", f"{number}", name, start_ns, start_ns + 1, "root", attributes=call)


def live(run_id: str, *signatures: str) -> list[Span]:
    return spans_of(Sample(run_id, signatures, None), NOW_NS)


class House:
    """A store with 180 runs and three in flight, what reads it, and what is counted."""

    def __init__(self, store: Store) -> None:
        self.store, self.counts = store, Counts()
        for sample in SUPPORT:
            store.append(T, spans_of(sample, NOW_NS - HOUR_NS))
        store.append(T, live("doomed", LLM, *[SEARCH] * 4))
        store.append(T, live("healthy", LLM, SEARCH, REFUND))
        self.maps = Maps(store, DictCache(), time.time_ns)
        self.guard = Guard(store, time.time_ns)
        self.guard.start()
        self.checks = self.made(store, self.counts)

    def made(self, store: Store, meter: Meter = UNMETERED) -> Checks:
        return Checks(store, self.maps, self.guard, time.time_ns, meter=meter)

    def check(self, run_id: str, next_step: str | None = None) -> Checked:
        return self.checks.check(T, run_id, next_step)

    def await_map(self) -> None:
        until(lambda: self.check("healthy").asked is not None)

    def close(self) -> None:
        self.checks.close()
        self.guard.close()
        self.maps.close()


def until(holds: Callable[[], bool], limit_s: float = 20.0) -> None:
    deadline_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "runs.sqlite", create=True)
    yield store
    store.close()


@pytest.fixture
def house(store: Store) -> Iterator[House]:
    house = House(store)
    yield house
    house.close()


def fired(store: Store) -> list[tuple[str, str, str | None, Outcome | None]]:
    lines = store.firings(T, NOW_NS)
    return [(each.firing.run_id, each.firing.policy, each.firing.next_step, each.outcome) for each in lines]


# --- what a check says ---------------------------------------------------------------------


def test_until_its_map_is_built_a_run_is_allowed_and_then_it_is_stopped(house: House) -> None:
    house.store.set_policy(T, ODDS)
    first = house.check("doomed")
    assert (first.action, first.reason, first.asked, first.map_age_s) == ("allow", NO_MAP, None, None)
    house.await_map()
    then = house.check("doomed")
    assert (then.action, then.asked and then.asked.path.verdict) == ("stop", "likely_failure")
    assert then.reason == (
        "5 of 50 earlier runs on this path succeeded: even the upper bound, 21.4%, is below the 70.0% that "
        "policy odds asks for."
    )
    assert then.map_age_s is not None
    assert 0 <= then.map_age_s < 60
    assert then.as_of_ns is not None
    assert NOW_NS < then.as_of_ns <= time.time_ns()


def test_a_step_is_named_by_its_signature_or_by_a_name_that_is_one(house: House) -> None:
    house.await_map()
    house.store.set_policy(T, ODDS)
    assert house.check("healthy").reason == QUIET
    for named in (REFUND, "issue_refund", " tool:issue_refund "):
        assert house.check("healthy", named).action == "stop"


def test_a_text_that_names_no_step_costs_only_itself(house: House) -> None:
    house.await_map()
    house.store.set_policy(T, ODDS)
    checked = house.check("doomed", "no step at all")
    assert checked.action == "stop"
    assert checked.reason.endswith(
        "asks for. Of the next step nothing can be said: 'no step at all' is no step: a step is kind:name, "
        "for example tool:search_orders."
    )


def test_of_a_run_nobody_knows_nothing_is_said(house: House) -> None:
    checked = house.check("nobody")
    assert (checked.action, checked.reason, checked.asked) == ("allow", UNKNOWN_RUN, None)
    assert house.checks.check("other", "doomed").reason == UNKNOWN_RUN


def test_an_answer_knows_every_span_that_was_acknowledged_before_the_question(house: House) -> None:
    house.await_map()
    house.store.append(T, live("new", LLM))
    for number, support in ((2, 140), (3, 50), (4, 50)):
        house.store.append(T, [step("new", number, SEARCH, NOW_NS + number)])
        acknowledged_ns = time.time_ns()
        checked = house.check("new")
        assert checked.as_of_ns is not None
        assert checked.as_of_ns >= acknowledged_ns
        assert checked.asked is not None
        assert checked.asked.path.support == support


def test_an_ended_run_is_read_as_live(house: House) -> None:
    house.await_map()
    asked = house.check("searching-0").asked
    assert asked is not None
    assert (asked.path.support, asked.path.successes) == (50, 5)


def test_every_check_is_counted_by_its_action(house: House) -> None:
    house.await_map()
    house.counts.counted.clear()
    house.store.set_policy(T, ODDS)
    for run_id in ("doomed", "healthy", "nobody", "doomed"):
        house.check(run_id)
    assert house.counts.counted == {
        "checks stop": 2,
        "checks allow": 2,
        "checks_blind run": 1,
        "check_seconds timed": 4,
    }


def test_a_check_that_had_no_map_is_counted_as_blind(house: House) -> None:
    house.check("doomed")
    assert house.counts.counted["checks_blind map"] == 1
    house.await_map()
    blind = house.counts.counted["checks_blind map"]
    house.check("doomed")
    assert house.counts.counted["checks_blind map"] == blind


# --- faults --------------------------------------------------------------------------------


class Damaged(SQLiteStore):
    """A store whose policies cannot be read."""

    error: Exception = DamagedStoreError("runs.sqlite is damaged")

    def policies(self, tenant: str) -> tuple[Policy, ...]:
        raise self.error


@pytest.mark.parametrize("error", [Damaged.error, ZeroDivisionError("a fault of ours")])
def test_a_fault_inside_the_check_allows_and_is_counted(
    house: House, tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    house.await_map()
    house.store.set_policy(T, ODDS)
    damaged, counts = Damaged(tmp_path / "runs.sqlite"), Counts()
    damaged.error = error
    with closing(damaged):
        checks = house.made(damaged, counts)
        checked = [checks.check(T, "doomed") for _ in range(3)]
    assert {(each.action, each.reason, each.asked) for each in checked} == {("allow", FAULT, None)}
    assert counts.counted == {"checks allow": 3, "check_faults": 3, "check_seconds timed": 3}
    assert caplog.messages == [f"a check failed: {error}"]


def test_a_policy_that_is_edited_while_checks_run_holds_from_then_on(house: House) -> None:
    house.await_map()
    house.store.set_policies(T, [ODDS])
    over, seen = threading.Event(), set[tuple[str, str]]()

    def ask() -> None:
        while not over.is_set():
            checked = house.check("doomed")
            seen.add((checked.action, checked.reason[:14]))

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    for _ in range(10):
        for policies, action in (([MILD], "allow"), ([ODDS], "stop"), ([], "allow"), ([ODDS], "stop")):
            house.store.set_policies(T, policies)
            assert house.check("doomed").action == action
    over.set()
    for thread in asking:
        thread.join()
    assert seen == {("allow", QUIET), ("stop", "5 of 50 earlier"[:14])}


# --- the ledger ----------------------------------------------------------------------------


def test_every_firing_is_written_down_those_in_shadow_too(house: House) -> None:
    house.await_map()
    house.store.set_policies(
        T, [ODDS, Policy(name="shade", min_success_odds=0.9, action="stop", mode="shadow")]
    )
    house.check("doomed")
    house.check("healthy", REFUND)
    house.check("healthy")
    house.checks.close()
    unknown = Outcome.UNKNOWN
    assert fired(house.store) == [
        ("healthy", "shade", None, unknown),
        ("healthy", "shade", None, unknown),
        ("healthy", "odds", REFUND, unknown),
        ("doomed", "shade", None, unknown),
        ("doomed", "odds", None, unknown),
    ]
    house.store.declare(T, [Declaration("healthy", Outcome.SUCCESS, NOW_NS)])
    assert [(each.policy, each.runs, each.successes) for each in house.store.tally(T, NOW_NS)] == [
        ("odds", 2, 1),
        ("shade", 2, 1),
    ]


def test_a_check_does_not_wait_for_a_store_that_is_locked(house: House, tmp_path: Path) -> None:
    house.await_map()
    house.store.set_policy(T, ODDS)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun_s = time.monotonic()
        assert house.check("doomed").action == "stop"
        assert time.monotonic() - begun_s < 1
        other.execute("COMMIT")
    until(lambda: len(fired(house.store)) == 1)


def line(run_id: str = "doomed") -> Firing:
    return Firing(NOW_NS, run_id, "support-agent", "odds", "stop", "enforce", None, 5, 50, 5, 0.7, "why")


class Busy:
    """Takes lines once it is let."""

    def __init__(self) -> None:
        self.free, self.lines = threading.Event(), list[tuple[str, str]]()

    def add_firings(self, tenant: str, firings: Sequence[Firing]) -> int:
        if not self.free.is_set():
            raise DamagedStoreError("it is busy")
        self.lines += [(tenant, firing.run_id) for firing in firings]
        return len(firings)


def ledger_of(store: Busy, meter: Meter = UNMETERED) -> Ledger:
    any_store: Any = store
    return Ledger(any_store, meter)


def test_lines_wait_in_order_until_they_can_be_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ledger, "RETRY_S", 0.01)
    store = Busy()
    pen = ledger_of(store)
    pen.add("a", [line("1"), line("2")])
    pen.add("b", [line("3")])
    pen.add("a", [line("4")])
    time.sleep(2 * ledger.LINGER_S)
    assert store.lines == []
    store.free.set()
    until(lambda: store.lines == [("a", "1"), ("a", "2"), ("b", "3"), ("a", "4")])
    assert caplog.messages == ["the ledger of fuses is written later: it is busy"]
    pen.close()


def test_lines_there_is_no_room_for_are_lost_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    store, counts = Busy(), Counts()
    pen = ledger_of(store, counts)
    pen.add("a", [line()] * (ledger.CAPACITY + 3))
    assert counts.counted == {"firings_lost": 3}
    pen.add("a", [line()])
    assert counts.counted == {"firings_lost": 4}
    pen.close()
    assert counts.counted == {"firings_lost": 4 + ledger.CAPACITY}
    lost = [message for message in caplog.messages if "lost" in message]
    assert lost == ["lines of the ledger of fuses are lost: 3, and maybe more"]


def test_closing_writes_what_waits_and_later_lines_are_lost() -> None:
    store, counts = Busy(), Counts()
    store.free.set()
    pen = ledger_of(store, counts)
    pen.add("a", [line()] * (3 * ledger.BATCH))
    pen.close()
    pen.add("a", [line()])
    assert (len(store.lines), counts.counted) == (3 * ledger.BATCH, {"firings_lost": 1})
