"""Who writes next: threads in the order they came, processes within a bounded time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest

from engine.errors import BusyStoreError
from engine.runs import ALL_TIME, Cohort
from engine.spans import Span
from engine.store import Appended, settling
from engine.store.sqlite import AGAIN_S, SQLiteStore, open_store
from engine.store.turns import Turns

SPAN = Span("t", "s", "n", 1, 2)


class Threads:
    """Threads that wait for a turn one after the other, and say when they have had it."""

    def __init__(self, turns: Turns) -> None:
        self.turns, self.had = turns, list[int]()
        self._threads: list[threading.Thread] = []

    def ask(self, number: int) -> None:
        """Let one more thread wait, and wait until it does."""
        waiting = len(self.turns._waiting) + 1
        self._threads.append(threading.Thread(target=self._have, args=(number,)))
        self._threads[-1].start()
        while len(self.turns._waiting) < waiting:
            pass

    def _have(self, number: int) -> None:
        assert self.turns.acquire(60)
        self.had.append(number)
        self.turns.release()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


def test_threads_have_their_turn_in_the_order_they_came() -> None:
    turns = Turns()
    threads = Threads(turns)
    assert turns.acquire(0)
    for number in range(8):
        threads.ask(number)
    turns.release()
    threads.join()
    assert threads.had == list(range(8))


def test_who_gave_up_waiting_is_passed_over() -> None:
    turns = Turns()
    threads = Threads(turns)
    assert turns.acquire(0)
    assert not turns.acquire(0.01)
    threads.ask(1)
    turns.release()
    threads.join()
    assert turns.acquire(0)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """While another connection is in a write transaction."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


def impatient(path: Path) -> SQLiteStore:
    """A store whose writers wait for a fifth of a second."""
    open_store(path, create=True).close()
    return SQLiteStore(path, patience_s=0.2)


def test_a_writer_waits_as_long_as_it_was_told_to_and_then_says_so(tmp_path: Path) -> None:
    store = impatient(tmp_path / "runs.sqlite")
    with locked(store.path):
        asked_s = monotonic()
        with pytest.raises(BusyStoreError, match="is busy: others have been writing to it for too long"):
            store.append("default", [SPAN])
        assert 0.2 <= monotonic() - asked_s < 5
    assert store.append("default", [SPAN]) == Appended(new=1)
    store.close()


def test_threads_that_wait_for_a_locked_store_are_all_told_within_that_time(tmp_path: Path) -> None:
    store = impatient(tmp_path / "runs.sqlite")
    told: list[float] = []

    def write() -> None:
        asked_s = monotonic()
        with pytest.raises(BusyStoreError):
            store.append("default", [SPAN])
        told.append(monotonic() - asked_s)

    with locked(store.path):
        threads = [threading.Thread(target=write) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(told) == 8 and max(told) < 1.5
    store.close()


def test_a_reader_of_a_locked_store_is_answered_as_last_settled(tmp_path: Path) -> None:
    store = impatient(tmp_path / "runs.sqlite")
    cohort = Cohort("default", "unknown", ALL_TIME)
    store.append("default", [SPAN])
    store.settle("default")
    store.append("default", [Span("u", "s", "n", 1, 2)])
    with locked(store.path):
        assert store.paths(cohort, 10**18).run_ids == ("t",)
        asked_s = monotonic()
        assert store.find("default", "u") == []
        assert monotonic() - asked_s < 0.2, "who asks several things in a row waits for the first only"
    sleep(AGAIN_S)
    assert store.paths(cohort, 10**18).run_ids == ("u", "t")
    store.close()


def test_a_reader_waits_for_who_settles_only_as_long_as_it_may(tmp_path: Path) -> None:
    open_store(tmp_path / "runs.sqlite", create=True).close()
    store = SQLiteStore(tmp_path / "runs.sqlite", settling_s=0.2)
    store.append("default", [SPAN])
    found: list[list[str]] = []
    reader = threading.Thread(target=lambda: found.append(store.find("default", "t")))
    with store._folding:
        reader.start()
        reader.join(timeout=10)
        assert found == [[]]
        assert store.settle("default", limit_s=0) == set()
    assert store.settle("default", limit_s=0) == {"t"}
    store.close()


def test_a_reader_of_what_is_settled_waits_for_no_writer(tmp_path: Path) -> None:
    store = open_store(tmp_path / "runs.sqlite", create=True)
    store.append("default", [SPAN])
    store.settle("default")
    with locked(tmp_path / "runs.sqlite"):
        asked_s = monotonic()
        assert store.find("default", "t") == ["t"]
        assert store.paths(Cohort("default", "unknown", ALL_TIME), 10**18).run_ids == ("t",)
        assert monotonic() - asked_s < 5, "a writer would wait for a minute"
    store.close()


def test_readers_of_a_locked_store_wait_together_and_not_one_after_the_other(tmp_path: Path) -> None:
    store = impatient(tmp_path / "runs.sqlite")
    store.append("default", [SPAN])
    waits_s: list[float] = []

    def read() -> None:
        asked_s = monotonic()
        assert store.find("default", "t") == []
        waits_s.append(monotonic() - asked_s)

    with locked(store.path):
        readers = [threading.Thread(target=read) for _ in range(8)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    assert len(waits_s) == 8 and max(waits_s) < 1.2
    sleep(AGAIN_S)
    assert store.find("default", "t") == ["t"]
    store.close()


def test_a_reader_of_very_much_that_arrived_is_answered_before_all_of_it_is_settled(tmp_path: Path) -> None:
    open_store(tmp_path / "runs.sqlite", create=True).close()
    store = SQLiteStore(tmp_path / "runs.sqlite", settling_s=0)
    store.append("default", [Span(f"t{number}", "s", "n", 1, 2) for number in range(600)])
    assert store.find("default", "t0") == ["t0"]
    assert store.unsettled() == {"default": 600}
    sleep(AGAIN_S)
    assert store.find("default", "t599") == ["t599"]
    assert store.unsettled() == {}
    store.close()


class Interrupted(SQLiteStore):
    """A store into which others write while it folds a batch."""

    arrived = 0

    def _write_batch(self, tenant: str, folded: settling.Folded) -> settling.Settled:
        self.arrived += 1
        assert self.arrived < 10
        self.append(tenant, [Span(f"late-{self.arrived}", "s", "n", 1, 2)])
        return super()._write_batch(tenant, folded)


def test_settling_ends_however_much_arrives_meanwhile(tmp_path: Path) -> None:
    open_store(tmp_path / "runs.sqlite", create=True).close()
    store = Interrupted(tmp_path / "runs.sqlite")
    store.append("default", [SPAN])
    assert store.settle("default") == {"t"}
    assert store.arrived == 1
    store.close()
