"""The background builder: answers at once, builds once, survives crashes, forgets erasures."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any

import pytest

from engine import builds, shelf
from engine.builder import Absent, Building, Failed, Maps, Ready, Request, load
from engine.chance import chance
from engine.errors import CacheError, UnknownAgentError, UnwritableStoreError
from engine.metering import NoMeter
from engine.runs import SECOND_NS, Cohort, Window
from engine.store import Store
from tests.memory_cache import DictCache
from tests.memory_store import NOW_NS, MemoryStore, corpus

AGENT = Cohort("default", "support-agent")
STORE: Store = MemoryStore()


class Erasing(MemoryStore):
    """A store that erases when told."""

    count = 0

    def erasures(self, tenant: str) -> int:
        return self.count if tenant == "default" else 0


class Clock:
    """A wall clock that moves when told."""

    def __init__(self) -> None:
        self.now_ns = 1_000 * SECOND_NS

    def __call__(self) -> int:
        return self.now_ns


class Workshop:
    """A build that waits for its gate and records what it was asked."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.started: list[Request] = []
        self.running = 0
        self.most_running = 0
        self.lock = threading.Lock()

    def __call__(self, request: Request, store: Any, now_ns: int) -> str:
        with self.lock:
            self.started.append(request)
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        assert self.gate.wait(30)
        with self.lock:
            self.running -= 1
        if request.cohort.agent == "nobody":
            raise UnknownAgentError("No run of 'nobody' is in the store.")
        if request.cohort.agent == "crash":
            raise ZeroDivisionError("division by zero")
        return f"{request.what} {len(self.started)} of {request.cohort.agent} at {now_ns}"


@pytest.fixture
def workshop() -> Workshop:
    return Workshop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache() -> DictCache:
    return DictCache()


@pytest.fixture
def maps(workshop: Workshop, clock: Clock, cache: DictCache) -> Iterator[Maps]:
    maker = Maps(STORE, cache, lambda: 7, wall_ns=clock, build=workshop)
    yield maker
    workshop.gate.set()
    maker.close()


def until(ask: Callable[[], Any], kind: type) -> Any:
    """Ask until the answer is of that kind."""
    deadline = time.monotonic() + 30
    while not isinstance(answer := ask(), kind):
        assert time.monotonic() < deadline, f"still {answer}"
        time.sleep(0.002)
    return answer


def test_absent_then_building_then_ready(maps: Maps, workshop: Workshop, clock: Clock) -> None:
    assert maps.get(AGENT) == Absent()
    assert maps.get(AGENT) == Building()
    workshop.gate.set()
    assert until(lambda: maps.get(AGENT), Ready) == Ready("map 1 of support-agent at 7", clock.now_ns, False)
    assert workshop.started == [Request("map", AGENT)]


def test_a_clock_that_is_set_back_makes_nothing_fresh_for_longer(
    maps: Maps, workshop: Workshop, clock: Clock
) -> None:
    workshop.gate.set()
    until(lambda: maps.get(AGENT), Ready)
    clock.now_ns -= 900 * SECOND_NS
    assert until(lambda: maps.get(AGENT), Ready) == Ready(
        "map 1 of support-agent at 7", 1_000 * SECOND_NS, True
    )

    asked = AGENT._replace(agent="nobody")
    until(lambda: maps.get(asked), Failed)
    clock.now_ns -= 900 * SECOND_NS
    assert not isinstance(maps.get(asked), Failed)


def test_a_request_wakes_an_idle_worker(
    maps: Maps, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "TICK_S", 3600.0)
    monkeypatch.setattr(builds, "WORKERS", 1)
    workshop.gate.set()
    until(lambda: maps.get(AGENT), Ready)
    for name in ("another", "a third"):
        until(partial(maps.get, AGENT._replace(agent=name)), Ready)


def test_after_300_seconds_the_stale_value_is_served_while_its_successor_is_built(
    maps: Maps, workshop: Workshop, clock: Clock
) -> None:
    workshop.gate.set()
    first = until(lambda: maps.get(AGENT), Ready)
    workshop.gate.clear()
    clock.now_ns += 300 * SECOND_NS - 1
    assert maps.get(AGENT) == first
    clock.now_ns += 1
    assert maps.get(AGENT) == first._replace(stale=True)
    assert maps.get(AGENT) == first._replace(stale=True)
    workshop.gate.set()
    until(lambda: not maps.get(AGENT).stale or None, bool)  # type: ignore[union-attr]
    second: Any = maps.get(AGENT)
    assert second == Ready("map 2 of support-agent at 7", clock.now_ns, False)
    assert len(workshop.started) == 2


def test_a_build_that_ends_while_a_reader_asks_is_not_built_again(workshop: Workshop, clock: Clock) -> None:
    class Slow(DictCache):
        """Answers as it stood before a build that ends while it is asked."""

        def get(self, key: str) -> bytes | None:  # type: ignore[override]
            found = super().get(key)
            if key == Request("map", AGENT).key(0) and workshop.started and not workshop.gate.is_set():
                workshop.gate.set()
                until(lambda: (key in self and not maker._builds._wanted) or None, bool)
            return found

    maker = Maps(STORE, Slow(), lambda: 7, wall_ns=clock, build=workshop)
    assert maker.get(AGENT) == Absent()
    until(lambda: bool(workshop.started) or None, bool)
    assert maker.get(AGENT) == Absent(), "it was not there yet, so it is requested"
    until(lambda: not maker._builds._wanted or None, bool)
    assert isinstance(maker.get(AGENT), Ready)
    assert len(workshop.started) == 1
    maker.close()


def test_only_so_many_failures_are_remembered(maps: Maps, workshop: Workshop) -> None:
    workshop.gate.set()
    for number in range(builds.FAILURES + 5):
        until(partial(maps.get, Cohort("default", "nobody", Window(number, None))), Failed)
    assert len(maps._builds._failed) == builds.FAILURES


def test_only_so_many_requests_wait_and_what_is_beyond_is_built_when_it_is_asked_again(
    maps: Maps, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "WANTED", 3)
    cohorts = [AGENT._replace(agent=name) for name in "abcd"]
    assert [maps.get(cohort) for cohort in cohorts] == [Absent()] * 4
    assert [maps.get(cohort) for cohort in cohorts] == [Building()] * 3 + [Absent()]
    workshop.gate.set()
    for cohort in cohorts:
        until(partial(maps.get, cohort), Ready)


def test_two_build_at_a_time_and_one_key_only_once(maps: Maps, workshop: Workshop) -> None:
    cohorts = [AGENT._replace(agent=name) for name in "abcd"]
    for _ in range(3):
        for cohort in cohorts:
            maps.get(cohort)
    until(lambda: workshop.running == 2 or None, bool)
    workshop.gate.set()
    for cohort in cohorts:
        until(partial(maps.get, cohort), Ready)
    assert sorted(request.cohort.agent for request in workshop.started) == list("abcd")
    assert workshop.most_running == 2


def test_a_map_and_a_calibration_of_one_cohort_are_two_values(maps: Maps, workshop: Workshop) -> None:
    workshop.gate.set()
    until(lambda: maps.get(AGENT), Ready)
    assert until(lambda: maps.calibration(AGENT), Ready).value == "calibration 2 of support-agent at 7"


def test_chance_is_counted_on_the_map_that_is_there_else_on_one_of_its_own(clock: Clock) -> None:
    built: list[str] = []

    def build(request: Request, store: Store, now_ns: int) -> Any:
        built.append(request.what)
        return load(request, store, now_ns)

    store = MemoryStore(corpus())
    beside, alone = (Maps(store, DictCache(), lambda: NOW_NS, wall_ns=clock, build=build) for _ in range(2))
    behaviour = until(lambda: beside.get(AGENT), Ready).value
    found = until(lambda: beside.chance(AGENT), Ready).value
    assert (found, built) == (chance(behaviour), ["map"])
    assert until(lambda: alone.chance(AGENT), Ready).value == found
    assert built == ["map", "chance"]
    beside.close()
    alone.close()


def test_window_and_view_are_part_of_the_key(maps: Maps, workshop: Workshop) -> None:
    workshop.gate.set()
    for cohort in (AGENT, AGENT._replace(window=Window(0, None)), AGENT._replace(view="tools")):
        until(partial(maps.get, cohort), Ready)
    assert len(workshop.started) == 3


def test_a_failed_build_is_told_to_those_who_wait_and_the_builder_goes_on(
    maps: Maps, workshop: Workshop, clock: Clock
) -> None:
    workshop.gate.set()
    nobody, crash = AGENT._replace(agent="nobody"), AGENT._replace(agent="crash")
    failed = until(lambda: maps.get(nobody), Failed)
    assert (failed.sentence, type(failed.error)) == ("No run of 'nobody' is in the store.", UnknownAgentError)
    assert maps.get(nobody) == failed
    sentence = "The map could not be built: ZeroDivisionError: division by zero"
    assert until(lambda: maps.get(crash), Failed).sentence == sentence
    until(lambda: maps.get(AGENT), Ready)
    clock.now_ns += 10 * SECOND_NS
    assert maps.get(nobody) == Absent(), "later it is tried again"


def test_an_agent_nobody_knows_is_no_failed_build(workshop: Workshop, cache: DictCache) -> None:
    class Counted(NoMeter):
        def __init__(self) -> None:
            self.counted: list[str] = []

        def count(self, name: str, by: int = 1, label: str = "") -> None:
            self.counted += [label] if name == "builds" else []

    workshop.gate.set()
    meter = Counted()
    maps = Maps(STORE, cache, lambda: 7, build=workshop, meter=meter)
    for agent in ("nobody", "crash"):
        until(partial(maps.get, AGENT._replace(agent=agent)), Failed)
    maps.close()
    assert meter.counted == ["failed"]


def test_an_erasure_forgets_every_value_and_deletes_the_old_entries(
    workshop: Workshop, clock: Clock, cache: DictCache
) -> None:
    store = Erasing()
    workshop.gate.set()
    maps = Maps(store, cache, lambda: 7, wall_ns=clock, build=workshop)
    until(lambda: maps.get(AGENT), Ready)
    old = set(cache)
    theirs = AGENT._replace(tenant="acme")
    kept = until(lambda: maps.get(theirs), Ready)
    store.count = 1
    assert maps.get(AGENT) == Building(), "what was in use is requested at once"
    until(lambda: maps.get(AGENT), Ready)
    assert len(cache) == 4 and not old & set(cache)
    maps.forget("default")
    assert len(cache) == 4, "what was built since stays"
    assert maps.get(theirs) == kept
    assert [request.cohort for request in workshop.started] == [AGENT, theirs, AGENT]
    maps.close()


def test_what_was_in_use_is_built_again_though_nobody_asks(workshop: Workshop, cache: DictCache) -> None:
    store = Erasing()
    workshop.gate.set()
    maps = Maps(store, cache, lambda: 7, build=workshop)
    until(lambda: maps.get(AGENT), Ready)
    store.count = 2
    maps.forget("default", shared=False)
    until(lambda: True if len(workshop.started) == 2 and not maps._builds._wanted else None, bool)
    assert isinstance(maps.get(AGENT), Ready)
    maps.close()


def test_what_is_erased_while_it_is_built_is_built_once_more(workshop: Workshop, cache: DictCache) -> None:
    store = Erasing()
    maps = Maps(store, cache, lambda: 7, build=workshop)
    maps.get(AGENT)
    until(lambda: True if workshop.started else None, bool)
    store.count = 1
    workshop.gate.set()
    until(lambda: True if len(workshop.started) == 2 and not maps._builds._wanted else None, bool)
    assert isinstance(maps.get(AGENT), Ready)
    maps.close()


class Away(DictCache):
    """A cache that cannot be asked when told."""

    is_away = False

    def get(self, key: str) -> bytes | None:  # type: ignore[override]
        if self.is_away:
            raise CacheError("it does not answer")
        return super().get(key)


def test_while_the_cache_cannot_be_asked_what_is_in_memory_is_trusted_unless_something_was_erased(
    workshop: Workshop, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "TRUSTED_S", 0.0)
    store, cache = Erasing(), Away()
    workshop.gate.set()
    maps = Maps(store, cache, lambda: 7, wall_ns=clock, build=workshop)
    ready = until(lambda: maps.recent(AGENT), Ready)
    cache.is_away = True
    assert [maps.recent(AGENT), maps.get(AGENT)] == [ready, ready]
    store.count = 1
    assert maps.recent(AGENT) != ready
    maps.close()


def test_a_map_is_built_of_all_that_was_touched_when_it_began(cache: DictCache) -> None:
    done: list[object] = []

    class Settling(MemoryStore):
        def settle(self, tenant: str, limit_s: float = inf) -> set[str]:
            done.append((tenant, limit_s))
            if tenant == "full":
                raise UnwritableStoreError("no room")
            return set()

    maps = Maps(Settling(), cache, lambda: 7, build=lambda request, store, now_ns: done.append("built"))
    for tenant in ("default", "full"):
        until(partial(maps.get, AGENT._replace(tenant=tenant)), Ready)
    maps.close()
    assert done == [("default", inf), "built", ("full", inf), "built"]


def test_who_counted_erasures_before_the_latest_keeps_nothing_in_memory(cache: DictCache) -> None:
    counts = [0, 1, 0]
    kept = shelf.Shelf(cache, lambda tenant: counts.pop(0) if len(counts) > 1 else counts[0])
    early, later, late = (kept.place(Request("map", AGENT)) for _ in range(3))
    assert (early.erasures, later.erasures, late.erasures) == (0, 1, 0)
    cache.set(late.key, (7).to_bytes(8, "big"))
    cache.set(f"{late.key}@7", pickle.dumps("of before"))
    kept.at(late)
    assert kept._memo == {}


def test_two_builders_share_one_cache(maps: Maps, workshop: Workshop, clock: Clock, cache: DictCache) -> None:
    workshop.gate.set()
    first = until(lambda: maps.get(AGENT), Ready)
    other = Maps(STORE, cache, lambda: 7, wall_ns=clock, build=workshop)
    assert other.get(AGENT) == first
    other.close()


def test_what_another_process_builds_is_waited_for_and_built_here_if_it_never_comes(
    workshop: Workshop, cache: DictCache
) -> None:
    taken = threading.Event()
    taken.set()

    @contextmanager
    def claim(key: str) -> Iterator[bool]:
        yield not taken.is_set()

    workshop.gate.set()
    maps = Maps(STORE, cache, lambda: 7, build=workshop, claim=claim)
    other = Maps(STORE, cache, lambda: 7, build=workshop)
    asked = AGENT._replace(agent="another")
    assert (maps.get(AGENT), maps.get(asked)) == (Absent(), Absent())
    until(lambda: other.get(AGENT), Ready)
    until(lambda: maps.get(AGENT), Ready)
    assert maps.get(asked) == Building()
    assert [request.cohort for request in workshop.started] == [AGENT]
    taken.clear()
    until(lambda: maps.get(asked), Ready)
    maps.close()
    other.close()
    assert [request.cohort for request in workshop.started] == [AGENT, asked]


def test_a_closed_builder_answers_and_builds_nothing(workshop: Workshop, cache: DictCache) -> None:
    maps = Maps(STORE, cache, lambda: 7, build=workshop)
    maps.close()
    assert maps.get(AGENT) == Absent()
    assert maps.get(AGENT) == Absent()
    assert workshop.started == []


def test_what_changed_is_built_anew_and_served_stale_meanwhile(
    maps: Maps, workshop: Workshop, clock: Clock
) -> None:
    workshop.gate.set()
    first = until(lambda: maps.get(AGENT), Ready)
    other = Cohort("default", "other")
    until(lambda: maps.get(other), Ready)
    workshop.gate.clear()
    clock.now_ns += 1

    maps.renew("default", "support-agent")

    assert maps.get(AGENT) == first._replace(stale=True)
    workshop.gate.set()
    deadline = time.monotonic() + 30
    while (again := until(lambda: maps.get(AGENT), Ready)).stale:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    assert again.value == "map 3 of support-agent at 7"
    assert [request.cohort for request in workshop.started] == [AGENT, other, AGENT]


def test_what_changes_while_it_is_built_is_built_again(maps: Maps, workshop: Workshop) -> None:
    maps.get(AGENT)
    deadline = time.monotonic() + 30
    while not workshop.started:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    maps.renew("default", "support-agent")
    maps.renew("default", "nobody asked")
    workshop.gate.set()
    while until(lambda: maps.get(AGENT), Ready).stale or len(workshop.started) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    assert [request.cohort for request in workshop.started] == [AGENT, AGENT]


def test_a_check_reads_the_cache_once_a_second_and_sees_an_erasure_at_once(clock: Clock) -> None:
    class Counting(DictCache):
        asked = 0

        def get(self, key: str) -> bytes | None:  # type: ignore[override]
            self.asked += 1
            return super().get(key)

    store, cache = Erasing(corpus()), Counting()
    maps = Maps(store, cache, lambda: NOW_NS, wall_ns=clock)
    assert maps.index(AGENT) is None, "it is requested"
    ready, index = until(lambda: maps.index(AGENT), tuple)
    assert (ready, index.map) == (maps.get(AGENT), ready.value)
    cache.asked = 0
    assert maps.index(AGENT) == (ready, index) and maps.recent(AGENT) == ready
    assert cache.asked == 0
    store.count = 1
    assert maps.index(AGENT) is None
    maps.close()


def test_what_is_seen_again_keeps_its_walk(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "TRUSTED_S", 0.0)
    maps = Maps(MemoryStore(corpus()), DictCache(), lambda: NOW_NS, wall_ns=clock)
    _, index = until(lambda: maps.index(AGENT), tuple)
    clock.now_ns += 301 * SECOND_NS
    again: Any = maps.index(AGENT)
    assert again[0].stale and again[1] is index
    maps.close()


def test_what_is_forgotten_is_gone_from_the_cache_whoever_built_it(
    maps: Maps, workshop: Workshop, cache: DictCache
) -> None:
    workshop.gate.set()
    until(lambda: maps.get(AGENT), Ready)
    store = Erasing()
    store.count = 1
    other = Maps(store, cache, lambda: 7)
    other.forget("acme")
    assert len(cache) == 2
    other.forget("default")
    assert cache == {}
    assert maps.get(AGENT) == Absent()
    other.close()
