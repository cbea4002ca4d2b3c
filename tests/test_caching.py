"""Where built maps are kept: in memory, a folder or Redis; and what happens while those are away."""

from __future__ import annotations

import pickle
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard import cache_place, caching
from dashboard.app import Settings, create_app
from dashboard.caching import open_cache
from dashboard.commands.settings import from_environment
from engine.builder import Maps, Ready
from engine.errors import CacheError, ForkmapError
from engine.metering import NoMeter
from engine.requests import Request
from engine.runs import Cohort
from engine.shelf import Cache, Void
from tests.memory_store import NOW_NS, MemoryStore, corpus
from tests.redis_server import REDIS, RedisServer

AGENT = Cohort("default", "support-agent")
needs_redis = pytest.mark.skipif(REDIS is None, reason="redis-server is not installed (.ci/redis does)")


def everything(part: str) -> bool:
    return True


class Faults(NoMeter):
    """A meter that keeps what it is told."""

    def __init__(self) -> None:
        self.counts = Counter[tuple[str, str]]()

    def count(self, name: str, by: int = 1, label: str = "") -> None:
        self.counts[name, label] += by


class Erasing(MemoryStore):
    """A store that erases when told."""

    count = 0

    def erasures(self, tenant: str) -> int:
        return self.count


class Named(MemoryStore):
    """A store in a file, as far as its name goes."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self.path = path


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    yield server
    server.kill()


SHARED = ["folder", pytest.param("redis", marks=needs_redis)]


@pytest.fixture(params=["memory", *SHARED])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis")
        return server.url
    return "memory" if request.param == "memory" else str(tmp_path / "maps")


def test_a_cache_keeps_bytes_until_they_are_deleted(place: str) -> None:
    cache = open_cache(place, MemoryStore())
    assert cache.get("key") is None
    cache.set("key", b"value")
    cache.set("other", b"\x00\xff")
    assert (cache.get("key"), cache.get("other")) == (b"value", b"\x00\xff")
    cache.delete("key")
    cache.delete("nothing")
    assert (cache.get("key"), cache.get("other")) == (None, b"\x00\xff")
    cache.clear(lambda part: part == "key")
    assert cache.get("other") == b"\x00\xff"
    cache.set("other:1", b"more")
    cache.clear(lambda part: part == "other")
    assert (cache.get("other"), cache.get("other:1")) == (None, None)


@pytest.mark.parametrize("place", SHARED, indirect=True)
def test_what_is_shared_is_each_stores_own(place: str, tmp_path: Path) -> None:
    one, same, other = (open_cache(place, Named(tmp_path / name)) for name in ("one", "one", "other"))
    one.set("key", b"value")
    assert (same.get("key"), other.get("key")) == (b"value", None)
    other.set("key", b"another")
    same.clear(everything)
    assert (one.get("key"), other.get("key")) == (None, b"another")


def test_what_a_killed_process_left_half_written_is_cleared_too(tmp_path: Path) -> None:
    cache = open_cache(str(tmp_path), MemoryStore())
    (folder,) = tmp_path.iterdir()
    (folder / "half.__wz_cache").write_bytes(b"half")
    cache.clear(everything)
    assert not (folder / "half.__wz_cache").exists()


def test_what_is_being_written_while_another_process_clears_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = (open_cache(str(tmp_path), MemoryStore()) for _ in range(2))
    stop = threading.Event()

    def clear() -> None:
        while not stop.wait(0.001):
            other.clear(lambda part: part != "key")

    clearing = threading.Thread(target=clear)
    clearing.start()
    try:
        for number in range(200):
            one.set(f"key:{number}", bytes(200_000))
            one.delete(f"key:{number - 1}")
    finally:
        stop.set()
        clearing.join()
    assert other.get("key:199") == bytes(200_000)
    assert caplog.messages == []


def test_a_folder_that_is_deleted_under_a_server_is_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = (open_cache(str(tmp_path / "maps"), MemoryStore()) for _ in range(2))
    one.set("key", b"value")
    shutil.rmtree(tmp_path / "maps")
    one.clear(everything)
    assert one.get("key") is None
    one.set("key", b"another")
    assert other.get("key") == b"another"
    assert caplog.messages == []


def test_memory_is_bounded_by_bytes_and_lets_go_of_what_was_kept_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caching, "MEMORY_BYTES", 1_000)
    cache = open_cache("memory", MemoryStore())
    for number in range(10):
        cache.set(str(number), bytes(300))
    assert [number for number in range(10) if cache.get(str(number)) is not None] == [6, 7, 8, 9]


# --- while it is away ----------------------------------------------------------------------------


class Failing:
    """A shared cache that fails when told."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.error: Exception | None = None
        self.asked = 0

    def _ask(self) -> None:
        self.asked += 1
        if self.error:
            raise self.error

    def get(self, key: str) -> bytes | None:
        self._ask()
        return self.held.get(key)

    def set(self, key: str, value: bytes) -> None:
        self._ask()
        self.held[key] = value

    def delete(self, key: str) -> None:
        self._ask()
        self.held.pop(key, None)

    def clear(self, void: Void) -> None:
        self._ask()
        self.held.clear()

    def clear_own(self, void: Void) -> None:
        raise NotImplementedError


@pytest.fixture
def shared() -> Failing:
    return Failing()


@pytest.fixture
def meter() -> Faults:
    return Faults()


@pytest.fixture
def sheltered(shared: Failing, meter: Faults) -> Cache:
    return caching.Sheltered(shared, open_cache("memory", MemoryStore()), "the cache", meter)


def test_what_the_shared_cache_does_not_take_is_kept_here(
    sheltered: Cache, shared: Failing, meter: Faults, caplog: pytest.LogCaptureFixture
) -> None:
    sheltered.set("before", b"1")
    shared.error = ConnectionError("refused")
    sheltered.set("meanwhile", b"2")
    with pytest.raises(CacheError, match="the cache does not answer"):
        sheltered.get("before")
    assert sheltered.get("meanwhile") == b"2"
    assert shared.held == {"before": b"1"}
    assert caplog.messages == ["the cache fails, so maps are kept in this process meanwhile: refused"]
    assert meter.counts == {("cache", "fault"): 1}


def test_while_it_is_away_it_is_asked_once_a_second(
    sheltered: Cache, shared: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.error = TimeoutError("timed out")
    for _ in range(10):
        with pytest.raises(CacheError):
            sheltered.get("key")
    assert shared.asked == 1
    monkeypatch.setattr(caching, "AWAY_S", 0.0)
    sheltered.set("key", b"value")
    time.sleep(1.1)
    sheltered.get("key")
    assert shared.asked == 2


def test_when_it_is_back_it_is_shared_again(
    sheltered: Cache, shared: Failing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(caching, "AWAY_S", 0.0)
    shared.error = CacheError("it has no room")
    sheltered.set("key", b"here")
    shared.error = None
    assert sheltered.get("key") == b"here", "what is kept here is not lost"
    sheltered.set("key", b"there")
    assert (sheltered.get("key"), shared.held) == (b"there", {"key": b"there"})
    shared.held.clear()
    assert sheltered.get("key") is None
    assert caplog.messages[-1] == "the cache answers again: maps are shared there"


def test_clearing_says_if_it_could_not_and_clears_here_all_the_same(
    sheltered: Cache, shared: Failing
) -> None:
    shared.error = ConnectionError("refused")
    sheltered.set("key", b"value")
    with pytest.raises(CacheError, match="what the cache holds could not be deleted: refused"):
        sheltered.clear(everything)
    with pytest.raises(CacheError, match="the cache does not answer"):
        sheltered.get("key")


def test_clearing_its_own_leaves_what_is_shared(sheltered: Cache, shared: Failing) -> None:
    sheltered.set("key", b"value")
    sheltered.clear_own(everything)
    assert sheltered.get("key") == b"value"


# --- maps over them ------------------------------------------------------------------------------


def until_ready(maps: Maps) -> Any:
    until_s = time.monotonic() + 30
    while not isinstance(answer := maps.get(AGENT), Ready):
        assert time.monotonic() < until_s
        time.sleep(0.005)
    return answer


def test_two_builders_share_a_map_and_forget_it(place: str) -> None:
    cache = open_cache(place, MemoryStore())
    one = Maps(MemoryStore(corpus()), cache, lambda: NOW_NS)
    built = until_ready(one)
    forgetting = Erasing()
    other = Maps(forgetting, cache if place == "memory" else open_cache(place, MemoryStore()), lambda: NOW_NS)
    assert isinstance(answer := other.get(AGENT), Ready)
    assert answer.built_ns == built.built_ns
    forgetting.count = 1
    other.forget("default")
    assert not isinstance(one.get(AGENT), Ready)
    one.close()
    other.close()


def test_what_cannot_be_unpickled_is_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore(corpus())
    cache = open_cache(str(tmp_path), store)
    maps = Maps(store, cache, lambda: NOW_NS)
    built = until_ready(maps)
    stamp_key = Request("map", AGENT).key(0)
    cache.set(f"{stamp_key}@{built.built_ns}", pickle.dumps(built)[:-9])
    fresh = Maps(store, cache, lambda: NOW_NS)
    assert until_ready(fresh).built_ns > built.built_ns
    assert "cannot be read" in caplog.text
    maps.close()
    fresh.close()


@needs_redis
def test_without_redis_pages_and_maps_are_served_and_shared_again_once_it_is_back(
    redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = create_app(MemoryStore(corpus()), Settings(cache=redis.url)).server.test_client()

    def until_answered(what: str) -> None:
        until_s = time.monotonic() + 30
        while (status := client.get(f"/api/v1/{what}?agent=support-agent").status_code) != 200:
            assert status == 202 and time.monotonic() < until_s
            time.sleep(0.02)

    until_answered("maps")
    redis.kill()
    until_answered("calibration")
    assert f"redis://127.0.0.1:{redis.port}/0 fails, so maps are kept in this process" in caplog.text
    assert b'forkmap_cache_total{result="fault"}' in client.get("/metrics").data
    assert client.get("/map?agent=support-agent").status_code == 200
    until_answered("maps")

    redis.start()
    time.sleep(caching.AWAY_S + 0.1)
    until_answered("calibration")
    assert "answers again: maps are shared there" in caplog.text


@needs_redis
def test_a_redis_that_says_nothing_costs_half_a_second_once(redis: RedisServer) -> None:
    cache = open_cache(redis.url, MemoryStore())
    cache.set("key", b"value")
    redis.suspend()
    begun_s = time.monotonic()
    for _ in range(100):
        with pytest.raises(CacheError, match="does not answer"):
            cache.get("key")
    assert time.monotonic() - begun_s < 3 * caching.ANSWER_S


# --- the setting ---------------------------------------------------------------------------------


def test_the_setting_is_memory_a_folder_or_a_redis() -> None:
    assert from_environment({}).cache == "memory"
    for text in ("memory", "/var/cache/forkmap", "./maps", "redis://localhost:6379/1", "unix:///run/r.sock"):
        assert from_environment({"FORKMAP_CACHE": text}).cache == text
    assert from_environment({"FORKMAP_CACHE": "~/maps"}).cache == str(Path.home() / "maps")


@pytest.mark.parametrize("text", ["Memory", "maps", "memcached://localhost", "localhost:6379"])
def test_a_setting_that_is_none_of_them_is_refused(text: str) -> None:
    with pytest.raises(ForkmapError, match=r"FORKMAP_CACHE is .*: it may be memory, the path of a folder"):
        from_environment({"FORKMAP_CACHE": text})


def test_no_password_is_shown() -> None:
    with pytest.raises(ForkmapError) as raised:
        cache_place.parse("reddis://me:secret@host/0")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("text", ["redis://localhost:x/0", "redis://localhost/0?socket_timeout=x"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ForkmapError, match="is no address of a Redis"):
        open_cache(text, MemoryStore())


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ForkmapError, match=r"maps cannot be kept in .*: Not a directory"):
        open_cache(str(tmp_path / "file" / "maps"), MemoryStore())
    cache = open_cache(str(tmp_path / "file" / "maps"), MemoryStore(), known=True)
    cache.set("key", b"value")
    assert cache.get("key") == b"value"
    (tmp_path / "file").unlink()
    open_cache(str(tmp_path / "file" / "maps"), MemoryStore()).set("key", b"shared")
    assert cache.get("key") in (b"value", b"shared")
