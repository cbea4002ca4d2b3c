"""Built values as they lie in a cache that processes may share, and unpickled in memory.

A value is two entries: a stamp that says when it was built, and the pickled value under a key
of that build. So who has it in memory reads only the stamp. All keys hold their tenant's count of
erasures: what was built before one is under a key that nobody asks. Where the cache cannot be asked,
what is in memory is as good as it was, if nothing was erased since.
"""

from __future__ import annotations

import logging
import pickle
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from engine.errors import CacheError
from engine.requests import Request, is_void
from engine.runs import Cohort
from engine.walk import Index

T = TypeVar("T")
TRUSTED_S: Final = 1.0
"""How long a check goes by what was last seen in the cache."""
MEMO_BYTES: Final = 256 * 2**20
"""Pickled size of the values kept unpickled, those asked for last; one at least."""
IN_USE_S: Final = 300.0
"""How long what was asked for is in use: what is void then because of an erasure is to be built at once."""
IN_USE: Final = 1_000
"""Requests that are known to be in use, the latest."""

_log = logging.getLogger(__name__)


Void = Callable[[str], bool]
"""Whether the keys are void that begin so, before the first colon."""


class Cache(Protocol):
    """What is needed of a cache: bytes under text keys, kept until deleted or for want of room."""

    def get(self, key: str) -> bytes | None:
        """The bytes under a key, or None; raises CacheError where it cannot be known what there is."""

    def set(self, key: str, value: bytes) -> object:
        """Keep bytes under a key."""

    def delete(self, key: str) -> object:
        """Forget a key; an unknown one is no error."""

    def clear(self, void: Void) -> object:
        """Forget every key of this store that is void; raises CacheError where some may be left."""

    def clear_own(self, void: Void) -> object:
        """Forget those that only this process holds: the rest is cleared by whoever erased."""


class Place(NamedTuple):
    """Where a build belongs: what it is of, and what counted when it began."""

    request: Request
    erasures: int
    renewal: bytes

    @property
    def key(self) -> str:
        """The key of the stamp."""
        return self.request.key(self.erasures)


@dataclass(slots=True)
class Held:
    """A value in memory.

    Attributes
    ----------
    built_ns : int
        When its runs were read, on the wall clock.
    size : int
        Bytes when pickled.
    erasures : int
        The tenant's count of erasures it was built under.
    renewed : bool
        Whether its agent was renewed since.
    seen_s : float
        When it was last seen in the cache, on the monotonic clock.
    """

    value: Any
    built_ns: int
    size: int
    erasures: int
    renewed: bool = False
    seen_s: float = 0.0
    _walk: Index | None = field(default=None, repr=False)
    _made: dict[Callable[[Any], Any], Any] = field(default_factory=dict, repr=False)

    def walk(self) -> Index:
        """A map's nodes, ready to be walked; kept."""
        if self._walk is None:
            self._walk = Index(self.value)
        return self._walk

    def made(self, make: Callable[[Any], T]) -> T:
        """What a function makes of the value; kept as long as the value is."""
        if make not in self._made:
            self._made[make] = make(self.value)
        known: T = self._made[make]
        return known


class Shelf:
    """Values of a store in a cache.

    Parameters
    ----------
    erasures : callable
        A tenant's count of erasures.
    again : callable
        Is given what was in use and is void because of an erasure, when it is first seen.
    """

    def __init__(
        self,
        cache: Cache,
        erasures: Callable[[str], int],
        again: Callable[[list[Request]], object] = lambda requests: None,
    ) -> None:
        self._cache, self._erasures, self._again = cache, erasures, again
        self._lock = threading.Lock()
        self._memo: dict[Request, Held] = {}
        self._memo_bytes = 0
        self._counted: dict[str, int] = {}
        self._used_s: dict[Request, float] = {}

    def recent(self, request: Request) -> Held | None:
        """What was seen within the last second, unless something was erased since; else as :meth:`get`."""
        held, erasures = self._memo.get(request), self._erasures(request.cohort.tenant)
        if held and held.erasures == erasures and monotonic() < held.seen_s + TRUSTED_S:
            return held
        return self.get(request)

    def get(self, request: Request) -> Held | None:
        """What the cache holds; it is unpickled once."""
        held = self.at(self.place(request))
        if held is not None:
            self._use(request)
        return held

    def at(self, place: Place) -> Held | None:
        """What the cache holds at a place; where it cannot be asked, what is in memory."""
        try:
            return self._at(place)
        except CacheError:
            held = self._memo.get(place.request)
            return held if held is not None and held.erasures == place.erasures else None

    def _at(self, place: Place) -> Held | None:
        now_s = monotonic()
        for _ in range(2):  # Its body may be gone where a newer one has just taken its place.
            stamp = self._cache.get(place.key)
            if stamp is None:
                return None
            held = self._held(place, stamp)
            if held is not None:
                held.renewed, held.seen_s = stamp[8:] != place.renewal, now_s
                self._remember(place.request, held)
                return held
        return None

    def place(self, request: Request) -> Place:
        """Where a build that begins now belongs."""
        erasures = self._count(request.cohort.tenant)
        renewal = self._got(_renewal_key(erasures, request.cohort))
        return Place(request, erasures, renewal or b"")

    def put(self, place: Place, value: object, built_ns: int) -> bool:
        """Keep a built value instead of the one before, unless something was erased since it was begun."""
        body, tenant = pickle.dumps(value, pickle.HIGHEST_PROTOCOL), place.request.cohort.tenant
        if self._erasures(tenant) != place.erasures:
            return False
        key, before = place.key, self._got(place.key)
        stamp = built_ns.to_bytes(8, "big") + place.renewal
        self._cache.set(_body_key(key, stamp), body)
        self._cache.set(key, stamp)
        if before is not None and before[:8] != stamp[:8]:
            self._cache.delete(_body_key(key, before))
        if self._erasures(tenant) != place.erasures:
            self._cache.delete(key)
            self._cache.delete(_body_key(key, stamp))
            return False
        self._remember(place.request, Held(value, built_ns, len(body), place.erasures))
        return True

    def renew(self, tenant: str, agent: str) -> None:
        """Let what is built of an agent count as renewed: here at once, in other processes in a second."""
        cohort = Cohort(tenant, agent)
        self._cache.set(_renewal_key(self._erasures(tenant), cohort), secrets.token_bytes(8))
        with self._lock:
            for request, held in self._memo.items():
                if request.cohort[:2] == (tenant, agent):
                    held.seen_s = 0.0

    def forget(self, tenant: str, shared: bool) -> None:
        """Delete what is held here of before a tenant's latest erasure; if ``shared``, all of it.

        Raises
        ------
        CacheError
            Some may be left.
        """
        erasures = self._count(tenant)
        if shared:
            self._cache.clear(partial(is_void, tenant=tenant, erasures=erasures))

    def _count(self, tenant: str) -> int:
        """A tenant's count of erasures; what was built under another is dropped."""
        erasures = self._erasures(tenant)
        before = self._counted.get(tenant, -1)
        if erasures > before:  # Less was read before an erasure that others know of already.
            self._drop(tenant, erasures)
            if before >= 0:
                self._again(self._in_use(tenant))
        return erasures

    def _got(self, key: str) -> bytes | None:
        """What is under a key, as far as that is known."""
        with suppress(CacheError):
            return self._cache.get(key)
        return None

    def _use(self, request: Request) -> None:
        with self._lock:
            self._used_s.pop(request, None)
            self._used_s[request] = monotonic()
            if len(self._used_s) > IN_USE:
                del self._used_s[next(iter(self._used_s))]

    def _in_use(self, tenant: str) -> list[Request]:
        since_s = monotonic() - IN_USE_S
        with self._lock:
            self._used_s = {request: used_s for request, used_s in self._used_s.items() if used_s > since_s}
            return [request for request in self._used_s if request.cohort.tenant == tenant]

    def _held(self, place: Place, stamp: bytes) -> Held | None:
        built_ns, held = int.from_bytes(stamp[:8], "big"), self._memo.get(place.request)
        if held is not None and (held.erasures, held.built_ns) == (place.erasures, built_ns):
            return held
        body = self._cache.get(_body_key(place.key, stamp))
        return None if body is None else _unpickled(body, built_ns, place)

    def _remember(self, request: Request, held: Held) -> None:
        with self._lock:
            if held.erasures != self._counted.get(request.cohort.tenant):
                return  # Something was erased while it was read.
            self._forget(request)
            self._memo[request] = held
            self._memo_bytes += held.size
            while self._memo_bytes > MEMO_BYTES and len(self._memo) > 1:
                self._forget(next(iter(self._memo)))

    def _forget(self, request: Request) -> None:
        held = self._memo.pop(request, None)
        if held is not None:
            self._memo_bytes -= held.size

    def _drop(self, tenant: str, erasures: int) -> None:
        """Forget what this process holds that was built under another count than a tenant's latest."""
        with self._lock:
            self._counted[tenant] = erasures
            for request in [each for each in self._memo if each.cohort.tenant == tenant]:
                self._forget(request)
        self._cache.clear_own(partial(is_void, tenant=tenant, erasures=erasures))


def _renewal_key(erasures: int, cohort: Cohort) -> str:
    return Request("map", Cohort(cohort.tenant, cohort.agent)).key(erasures) + ":renewed"


def _body_key(key: str, stamp: bytes) -> str:
    return f"{key}@{int.from_bytes(stamp[:8], 'big')}"


def _unpickled(body: bytes, built_ns: int, place: Place) -> Held | None:
    try:
        return Held(pickle.loads(body), built_ns, len(body), place.erasures)
    except Exception:  # noqa: BLE001 - written by another version, or damaged: it is built anew
        _log.warning("what is cached as %s cannot be read", place.key, exc_info=True)
        return None
