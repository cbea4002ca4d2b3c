"""What a server does to its store in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep

import pytest

from engine import upkeep
from engine.errors import StoreError
from engine.retention import DAY_NS
from engine.spans import Span
from engine.store import Store, settling
from engine.store.sqlite import SQLiteStore, open_store

NOW = 2_000_000_000_000_000_000
MONTH = NOW - 30 * DAY_NS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "runs.sqlite", create=True)
    yield opened
    opened.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(500):
        if is_so():
            return
        sleep(0.02)
    pytest.fail("not so after ten seconds")


def names_of(threads: set[threading.Thread]) -> set[str]:
    return {each.name for each in threads}


def test_what_arrives_is_settled_before_anybody_asks(store: Store) -> None:
    for tenant in ("acme", "default"):
        store.append(tenant, [Span("t", "s", "n", NOW, NOW + 1)])
    assert store.unsettled() == {"acme": 1, "default": 2}
    with upkeep.kept_up(store, None, lambda: NOW):
        wait_until(lambda: not store.unsettled())


def test_a_batch_is_settled_at_a_time_without_a_rest_until_all_are(store: Store) -> None:
    store.append("default", [Span(f"t{number}", "s", "n", NOW, NOW + 1) for number in range(1_100)])
    assert upkeep.settle(store) == 0
    assert store.unsettled() == {"default": 1_100}
    assert upkeep.settle(store) == 0
    assert upkeep.settle(store) >= upkeep.LOOK_S
    assert store.unsettled() == {}


class Busy(SQLiteStore):
    """A store into which spans arrive while others are settled."""

    def _write_batch(self, tenant: str, folded: settling.Folded) -> settling.Settled:
        self.append(tenant, [Span("late", "s", "n", NOW, NOW + 1)])
        return super()._write_batch(tenant, folded)


def test_while_spans_arrive_a_rest_follows_each_batch(store: Store, tmp_path: Path) -> None:
    busy = Busy(tmp_path / "runs.sqlite")
    busy.append("default", [Span("t", "s", "n", NOW, NOW + 1)])
    assert upkeep.settle(busy) >= upkeep.LOOK_S
    assert busy.unsettled() == {"default": 2}
    busy.close()


def test_a_store_that_is_only_read_is_not_looked_at_without_a_rest(store: Store, tmp_path: Path) -> None:
    store.append("default", [Span("t", "s", "n", NOW, NOW + 1)])
    reader = open_store(tmp_path / "runs.sqlite", read_only=True)
    assert upkeep.settle(reader) >= upkeep.LOOK_S
    reader.close()


def test_old_runs_go_in_the_background_and_all_stops_when_left(store: Store) -> None:
    store.append("default", [Span("old", "s", "n", MONTH - 2, MONTH - 1)])
    store.append("default", [Span("kept", "s", "n", MONTH - 2, MONTH)])
    before = set(threading.enumerate())
    with upkeep.kept_up(store, 30, lambda: NOW):
        working = set(threading.enumerate()) - before
        assert names_of(working) == {"forkmap-settling", "forkmap-removing"}
        wait_until(lambda: store.find("default", "old") == [])
    assert not any(each.is_alive() for each in working)
    assert store.find("default", "kept") == ["kept"]


@pytest.mark.parametrize("days", [None, 30])
def test_without_days_or_with_a_clock_that_stands_everything_is_kept(store: Store, days: int | None) -> None:
    if days:
        store.set_clock(NOW)
    before = set(threading.enumerate())
    with upkeep.kept_up(store, days, lambda: NOW):
        assert names_of(set(threading.enumerate()) - before) == {"forkmap-settling"}


def test_work_goes_on_after_a_fault() -> None:
    faults: list[Exception] = [StoreError("busy"), OSError("no clock"), ValueError("odd")]
    done = threading.Event()

    def work(told: upkeep.Told) -> float:
        if faults:
            raise faults.pop()
        done.set()
        return 60

    with upkeep.repeating("work", work, 0.01):
        assert done.wait(10)


def test_work_is_told_to_stop() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def work(told: upkeep.Told) -> float:
        begun.set()
        while not told():
            sleep(0.001)
        stopped.set()
        return 0

    with upkeep.repeating("work", work, 1):
        assert begun.wait(10)
    assert stopped.is_set()
