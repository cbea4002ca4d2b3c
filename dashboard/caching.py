"""The caches that built maps are kept in, by setting: this process's memory, a folder, or Redis.

They are Flask-Caching's. What several processes share may be away, or full: then a process keeps what
it builds in its own memory, says so once in its log, and looks every second whether the cache is back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeVar

from filelock import FileLock
from flask_caching.backends import FileSystemCache, RedisCache, SimpleCache

from dashboard.cache_place import MEMORY, REDIS, bare
from engine.errors import CacheError, ForkmapError, StoreError
from engine.metering import UNMETERED, Meter
from engine.shelf import Cache, Void
from engine.store import Store

KEPT_S: Final = 24 * 3600
"""Entries nobody renewed go after a day; the builder judges freshness itself."""
MEMORY_BYTES: Final = 512 * 2**20
"""Bytes kept in a process's own memory; of more, those kept first go."""
FILES: Final = 10_000
"""Entries kept in a folder."""
ALONE_S: Final = 5.0
"""How long a folder is waited for that another process writes; then it is written all the same."""
AWAY_S: Final = 1.0
"""How long a shared cache that failed is not asked."""
ANSWER_S: Final = 0.5
"""How long Redis may take to be reached, and to answer."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


def open_cache(place: str, store: Store, meter: Meter = UNMETERED, *, known: bool = False) -> Cache:
    """The cache of a store at a place, as ``FORKMAP_CACHE`` names it; stores may share the place.

    Parameters
    ----------
    known : bool
        Whether the place was good when the server began: a folder that is away then is no error either.

    Raises
    ------
    ForkmapError
        The folder cannot be made, or the address of Redis is none. One that is away is no error.
    """
    own = Backed(Bounded(default_timeout=KEPT_S))
    if place == MEMORY:
        return own
    name = _name(store)
    shared = _redis(place, name) if place.startswith(REDIS) else _files(Path(place) / name, known)
    return Sheltered(shared, own, bare(place), meter)


class Bounded(SimpleCache):
    """Memory that is bounded by bytes: a map may be a thousand times as large as another."""

    def _over_threshold(self) -> bool:
        return sum(len(value) for _, value in self._cache.values()) > MEMORY_BYTES

    def clear_void(self, void: Void) -> None:
        """Forget the keys that are void."""
        for key in [*self._cache]:
            if void(_part(key)):
                self._cache.pop(key, None)


class Files(FileSystemCache):
    """A folder that is made anew when it was deleted under a server.

    A file's name begins as its key does, before the first colon. One process writes at a time: what is
    half written when entries are cleared was left by one that was killed.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / f"lock{self._fs_transaction_suffix}", ALONE_S, poll_interval=0.005)
        with suppress(OSError):  # It is made when there is something to keep.
            super().__init__(str(folder), threshold=FILES, default_timeout=KEPT_S)

    def set(self, key: str, value: Any, *args: Any, **kwargs: Any) -> bool:
        """Keep a value under a key; whether it could be."""
        Path(self._path).mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._alone():
            return bool(super().set(key, value, *args, **kwargs))

    def delete(self, key: str, *args: Any, **kwargs: Any) -> bool:
        """Forget a key; whether that could be."""
        with self._alone():
            return bool(super().delete(key, *args, **kwargs))

    def clear_void(self, void: Void) -> None:
        """Forget the keys that are void, and what a process left that was killed while it wrote."""
        stay = {Path(self._lock.lock_file), Path(self._get_filename(self._fs_count_file))}
        with suppress(FileNotFoundError), self._alone():
            for file in Path(self._path).iterdir():
                if file not in stay and void(file.name.partition(".")[0]):
                    file.unlink(missing_ok=True)
            self._update_count(value=len([*self._list_dir()]))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Write alone, or as well as that can be had; whoever does already goes on."""
        with ExitStack() as held:
            with suppress(OSError):
                held.enter_context(self._lock)
            yield

    def _get_filename(self, key: str) -> str:
        return str(Path(self._path) / f"{_part(key)}.{blake2b(key.encode(), digest_size=16).hexdigest()}")


class Redis(RedisCache):
    """A part of a Redis: the keys with a prefix."""

    def clear_void(self, void: Void) -> None:
        """Forget the keys that are void."""
        prefix = self._get_prefix()
        for key in self._write_client.scan_iter(f"{prefix}*", count=1_000):
            if void(_part(key.decode(errors="replace").removeprefix(prefix))):
                self._write_client.unlink(key)


class Backed:
    """The engine's cache over one of Flask-Caching's."""

    def __init__(self, backend: Bounded | Files | Redis) -> None:
        self._backend = backend

    def get(self, key: str) -> bytes | None:
        """The bytes under a key, or None."""
        found = self._backend.get(key)
        return found if isinstance(found, bytes) else None

    def set(self, key: str, value: bytes) -> None:
        """Keep bytes under a key, or raise."""
        if not self._backend.set(key, value):
            raise CacheError("it has no room")

    def delete(self, key: str) -> None:
        """Forget a key."""
        self._backend.delete(key)

    def clear(self, void: Void) -> None:
        """Forget the keys that are void."""
        self._backend.clear_void(void)

    def clear_own(self, void: Void) -> None:
        """Forget the keys that are void."""
        self.clear(void)


class Sheltered:
    """A shared cache, and in its stead a process's own memory for what it does not take.

    Parameters
    ----------
    said : str
        What the log calls the shared cache.
    """

    def __init__(self, shared: Cache, own: Cache, said: str, meter: Meter) -> None:
        self._shared, self._own, self._said, self._meter = shared, own, said, meter
        self._is_away, self._again_s = False, 0.0

    def get(self, key: str) -> bytes | None:
        """The bytes under a key, shared or kept here meanwhile.

        Raises
        ------
        CacheError
            None are kept here, and what is shared cannot be asked.
        """
        answers: list[bytes | None] = self._asked(lambda: [self._shared.get(key)], [])
        found = answers[0] if answers else None
        if found is None:
            found = self._own.get(key)
        if found is None and not answers:
            raise CacheError(f"{self._said} does not answer")
        return found

    def set(self, key: str, value: bytes) -> None:
        """Share bytes under a key, or keep them here."""
        if self._asked(lambda: self._kept(key, value), False):
            self._own.delete(key)
        else:
            self._own.set(key, value)

    def delete(self, key: str) -> None:
        """Forget a key here and, if it answers, there."""
        self._own.delete(key)
        self._asked(lambda: self._shared.delete(key), None)

    def clear(self, void: Void) -> None:
        """Forget the keys that are void; raises CacheError if the shared cache does not answer."""
        self._own.clear(void)
        try:
            self._shared.clear(void)
        except Exception as error:
            raise CacheError(f"what {self._said} holds could not be deleted: {error}") from error

    def clear_own(self, void: Void) -> None:
        """Forget the keys that are void of what is kept here."""
        self._own.clear(void)

    def _kept(self, key: str, value: bytes) -> bool:
        self._shared.set(key, value)
        return True

    def _asked(self, ask: Callable[[], T], otherwise: T) -> T:
        """What the shared cache answers; while it is away only one question a second waits for it."""
        if self._is_away:
            now_s = monotonic()
            if now_s < self._again_s:
                return otherwise
            self._again_s = now_s + AWAY_S
        try:
            answer = ask()
        except Exception as error:  # noqa: BLE001 - whatever it is, there is a shelter
            self._fail(error)
            return otherwise
        if self._is_away:
            self._is_away = False
            _log.warning("%s answers again: maps are shared there", self._said)
        return answer

    def _fail(self, error: Exception) -> None:
        self._meter.count("cache", label="fault")
        self._again_s = monotonic() + AWAY_S
        if not self._is_away:
            self._is_away = True
            _log.warning("%s fails, so maps are kept in this process meanwhile: %s", self._said, error)


def _files(folder: Path, known: bool) -> Backed:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        if not known:
            raise ForkmapError(f"maps cannot be kept in {folder}: {error.strerror}") from error
    return Backed(Files(folder))


def _redis(url: str, name: str) -> Backed:
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise ForkmapError("maps kept in Redis need its client: pip install 'forkmap[redis]'") from error
    times_s = {"socket_timeout": ANSWER_S, "socket_connect_timeout": ANSWER_S}
    try:
        client = redis.Redis.from_url(url, **times_s, retry=Retry(NoBackoff(), 0))
    except ValueError as error:
        raise ForkmapError(f"{bare(url)} is no address of a Redis: {error}") from error
    return Backed(Redis(client, default_timeout=KEPT_S, key_prefix=f"{name}:"))


def _part(key: str) -> str:
    return key.partition(":")[0]


def _name(store: Store) -> str:
    """What parts a store's entries from those of others at the same place, even of a copy of it."""
    secret = b""
    with suppress(StoreError):  # One that is only read may have none.
        secret = store.secret()
    file = str(store.path.resolve()) if store.path else ""
    return blake2b(file.encode(), key=secret, digest_size=8).hexdigest()
