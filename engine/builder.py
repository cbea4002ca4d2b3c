"""Maps (and calibrations) built in the background and served from a cache.

Readers are answered at once::

    get(cohort) ─▶ Ready(value, built_ns, stale) │ Building │ Absent │ Failed(sentence)
                         ▲                                     │
                       cache ◀── worker ◀── queue ◀────────────┘  (absent or stale: requested)

A built value is served for 300 s; after that it is still served, marked stale, while its
successor is built. Two builds run at a time and one key is never built twice at once.
"""

from __future__ import annotations

import json
import logging
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from engine import queries
from engine.calibration import Calibration
from engine.errors import ForkmapError
from engine.maps import BehaviourMap
from engine.queries import BOUNDS, Bounds
from engine.runs import SECOND_NS, Cohort
from engine.store import Store
from engine.walk import Index

TTL_S: Final = 300.0
"""A built value is fresh for this long."""
TICK_S: Final = 2.0
"""The longest a request waits for an idle worker; normally it wakes one at once."""
WORKERS: Final = 2
"""Builds that run at a time."""
FAILURE_S: Final = 10.0
"""A failed build is reported for this long before a reader's question requests it again."""
MEMO: Final = 16
"""Values kept unpickled, those asked for last; and failures remembered, the latest."""
TRUSTED_S: Final = 1.0
"""How long :meth:`Maps.recent` goes by what it last saw in the cache."""
LAYOUT: Final = 1
"""Part of every key: counts up when a cached value changes shape."""

T = TypeVar("T")
Clock: TypeAlias = Callable[[], int]
What: TypeAlias = Literal["map", "calibration"]

_log = logging.getLogger(__name__)


class Cache(Protocol):
    """What the builder needs of a cache: bytes under text keys, kept until deleted."""

    def get(self, key: str) -> bytes | None:
        """The bytes under a key, or None."""

    def set(self, key: str, value: bytes) -> object:
        """Keep bytes under a key."""

    def delete(self, key: str) -> object:
        """Forget a key; an unknown one is no error."""

    def clear(self) -> object:
        """Forget every key of this store; raises CacheError where some may be left."""


class Ready(NamedTuple, Generic[T]):
    """The value, when it was built (wall clock), and whether a newer one is on its way."""

    value: T
    built_ns: int
    stale: bool


class Building(NamedTuple):
    """Requested earlier and on its way."""


class Absent(NamedTuple):
    """Nobody had asked before: it is requested now."""


class Failed(NamedTuple):
    """The build ended with an error: one sentence, and the error itself."""

    sentence: str
    error: Exception


Answer: TypeAlias = Ready[T] | Building | Absent | Failed


class Seen(NamedTuple):
    """A fresh map as it was last seen in the cache, ready to be walked.

    Attributes
    ----------
    erasures : int
        The store's count of erasures then.
    at_s : float
        When, on the monotonic clock.
    """

    erasures: int
    at_s: float
    ready: Ready[BehaviourMap]
    walk: Index


class Request(NamedTuple):
    """What is to be built."""

    what: What
    cohort: Cohort


def cache_key(request: Request, erasures: int) -> str:
    """The text a built value is cached under: the default window stays a symbol.

    >>> cache_key(Request("map", Cohort("default", "support-agent")), 0)
    'forkmap:1:0:["map", "default", "support-agent", null, null, "all"]'
    """
    cohort = request.cohort
    parts = [request.what, cohort.tenant, cohort.agent, *cohort.window, cohort.view]
    return f"forkmap:{LAYOUT}:{erasures}:{json.dumps(parts)}"


def load(request: Request, store: Store, now_ns: int, bounds: Bounds = BOUNDS) -> BehaviourMap | Calibration:
    """Build what is requested from the store."""
    if request.what == "map":
        return queries.load_map(store, request.cohort, now_ns, bounds)
    return queries.load_calibration(store, request.cohort, now_ns, bounds)


class Maps:
    """Answers readers from the cache and builds what they ask for in the background.

    Parameters
    ----------
    store : Store
        Where the runs are.
    cache : Cache
        Where built values are kept; several processes may share one.
    now_ns : callable
        The clock the questions are asked at (a demo store's stands still).
    wall_ns : callable
        The clock that ages built values.
    ttl_s : float
        Seconds a built value counts as fresh.
    build : callable
        ``(request, store, now_ns) -> value``.
    claim : callable
        Cross-process seam: ``claim(key)`` is a context that yields False when another
        process is building that key.
    """

    def __init__(
        self,
        store: Store,
        cache: Cache,
        now_ns: Clock,
        *,
        wall_ns: Clock = time.time_ns,
        ttl_s: float = TTL_S,
        build: Callable[[Request, Store, int], Any] = load,
        claim: Callable[[str], AbstractContextManager[bool]] = lambda key: nullcontext(True),
    ) -> None:
        self._store, self._cache, self._now_ns, self._wall_ns = store, cache, now_ns, wall_ns
        self._ttl_ns = int(ttl_s * SECOND_NS)
        self._erasures, self._build, self._claim = store.erasures, build, claim
        self._wake = threading.Condition()
        self._queue: deque[str] = deque()
        self._wanted: dict[str, Request] = {}
        self._again: set[str] = set()
        self._failed: dict[str, tuple[int, Failed]] = {}
        self._memo: dict[str, Ready[Any]] = {}
        self._kept: dict[str, Request] = {}
        self._seen: dict[Cohort, Seen] = {}
        self._counted = store.erasures()
        self._closed = False
        self._threads: list[threading.Thread] = []

    def get(self, cohort: Cohort) -> Answer[BehaviourMap]:
        """The cohort's map as far as it is there; what is missing or stale is requested."""
        return self._answer(Request("map", cohort))

    def recent(self, cohort: Cohort) -> Answer[BehaviourMap]:
        """As :meth:`get`, but what was ready within the last second is taken to be so still.

        Nothing is read from the cache then; the count of erasures always is.
        """
        seen = self._seen.get(cohort)
        if seen and seen.erasures == self._erasures() and time.monotonic() < seen.at_s + TRUSTED_S:
            return seen.ready
        erasures, answer = self._erasures(), self.get(cohort)
        if isinstance(answer, Ready):
            same = seen is not None and seen.ready.value is answer.value
            index = seen.walk if seen and same else Index(answer.value)
            self._see(cohort, Seen(erasures, time.monotonic(), answer, index))
        return answer

    def index(self, cohort: Cohort) -> tuple[Ready[BehaviourMap], Index] | None:
        """A cohort's recent map and its nodes ready to be walked, or None; what is missing is requested."""
        answer, seen = self.recent(cohort), self._seen.get(cohort)
        return (seen.ready, seen.walk) if seen and answer is seen.ready else None

    def forget(self) -> None:
        """Delete every value of this store that is cached, by whomever.

        Raises
        ------
        CacheError
            The cache does not answer: some may still be there.
        """
        self._drop()
        self._cache.clear()

    def calibration(self, cohort: Cohort) -> Answer[Calibration]:
        """The cohort's calibration, likewise."""
        return self._answer(Request("calibration", cohort))

    def renew(self, tenant: str, agent: str) -> None:
        """Request what was asked for of an agent anew, however fresh: its runs have changed.

        Until it is built the old value is served, marked stale; what is being built is built again.
        """
        with self._wake:
            known = {key: request for key, request in self._kept.items() if key in self._memo}
            for key, request in (known | self._wanted).items():
                if request.cohort[:2] != (tenant, agent) or self._closed:
                    continue
                if key in self._wanted:
                    self._again.add(key)
                else:
                    self._request(key, request)

    def close(self) -> None:
        """Stop after the builds that are running; later questions build nothing."""
        with self._wake:
            self._closed = True
            self._queue.clear()
            self._wanted.clear()
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()

    def _answer(self, request: Request) -> Answer[Any]:
        key = self._key(request)
        renewing = key in self._wanted
        ready = self._cached(key)
        if ready is not None and not ready.stale:
            return ready._replace(stale=renewing)
        with self._wake:
            failed = self._recent_failure(key)
            waiting = key in self._wanted
            if not waiting:
                # A build may have ended since the cache was asked.
                ready = self._cached(key)
                if ready is not None and not ready.stale:
                    return ready
            if not (waiting or failed or self._closed):
                self._request(key, request)
        return ready or failed or (Building() if waiting else Absent())

    def _key(self, request: Request) -> str:
        erasures = self._erasures()
        if erasures != self._counted:
            self._counted = erasures
            for key in self._drop():
                self._cache.delete(key)
        return cache_key(request, erasures)

    def _drop(self) -> dict[str, Request]:
        """Forget what is held in memory; the keys of what was cached from here."""
        with self._wake:
            forgotten, self._kept, self._memo, self._seen = self._kept, {}, {}, {}
        return forgotten

    def _see(self, cohort: Cohort, seen: Seen) -> None:
        with self._wake:
            self._seen.pop(cohort, None)
            self._seen[cohort] = seen
            while len(self._seen) > MEMO:
                del self._seen[next(iter(self._seen))]

    def _cached(self, key: str) -> Ready[Any] | None:
        """The cached value; what was unpickled once is kept while its stamp is the same."""
        data = self._cache.get(key)
        if data is None:
            return None
        built_ns = int.from_bytes(data[:8], "big")
        memo = self._memo.get(key)
        value = memo.value if memo and memo.built_ns == built_ns else pickle.loads(data[8:])
        ready = Ready(value, built_ns, not self._is_within(built_ns, self._ttl_ns))
        with self._wake:
            self._memo.pop(key, None)
            self._memo[key] = ready
            while len(self._memo) > MEMO:
                del self._memo[next(iter(self._memo))]
        return ready

    def _is_within(self, then_ns: int, limit_ns: int) -> bool:
        """Whether a moment is that near: one that lies far ahead, as the clock was set back, is not."""
        return abs(self._wall_ns() - then_ns) < limit_ns

    def _recent_failure(self, key: str) -> Failed | None:
        at_ns, failed = self._failed.get(key, (0, None))
        if failed is None or not self._is_within(at_ns, int(FAILURE_S * SECOND_NS)):
            self._failed.pop(key, None)
            return None
        return failed

    def _request(self, key: str, request: Request) -> None:
        self._wanted[key] = request
        self._queue.append(key)
        if len(self._threads) < WORKERS:
            thread = threading.Thread(target=self._work, name="forkmap-builder", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._wake.notify()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait(TICK_S)
                if self._closed:
                    return
                key = self._queue.popleft()
                request = self._wanted[key]
            failed = self._attempt(key, request)
            with self._wake:
                if failed is not None:
                    self._failed[key] = (self._wall_ns(), failed)
                    while len(self._failed) > MEMO:
                        del self._failed[next(iter(self._failed))]
                self._wanted.pop(key, None)
                if key in self._again and not self._closed:
                    self._again.remove(key)
                    self._request(key, request)

    def _attempt(self, key: str, request: Request) -> Failed | None:
        """Build one value into the cache; whatever goes wrong is told, never raised."""
        try:
            with self._claim(key) as mine:
                if mine:
                    self._keep(key, request, self._build(request, self._store, self._now_ns()))
        except ForkmapError as error:
            return Failed(str(error), error.with_traceback(None))
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            _log.exception("building %s failed", key)
            return Failed(
                f"The {request.what} could not be built: {type(error).__name__}: {error}",
                error.with_traceback(None),
            )
        return None

    def _keep(self, key: str, request: Request, value: object) -> None:
        """Cache a built value; one whose runs were erased meanwhile is under a key nobody asks."""
        self._kept[key] = request
        stamp = self._wall_ns().to_bytes(8, "big")
        self._cache.set(key, stamp + pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        if self._erasures() != self._counted:
            self._cache.delete(key)
