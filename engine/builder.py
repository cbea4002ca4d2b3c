"""Maps (and calibrations) built in the background and served from a cache.

Readers are answered at once::

    get(cohort) ─▶ Ready(value, built_ns, stale) │ Building │ Absent │ Failed(sentence)
                         ▲                                     │
                       shelf ◀── worker ◀── queue ◀────────────┘  (absent or stale: requested)

A built value is served for 300 s; after that it is still served, marked stale, while its
successor is built. Two builds run at a time and nothing is ever built twice at once, whichever
threads and processes want it: who does not have the claim waits until it is there, and has the
claim once the process that had it is dead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any, Final, TypeVar

from engine.builds import FAILURE_S, Builds
from engine.calibration import Calibration
from engine.chance import Chance, chance
from engine.changes import Split
from engine.changes.ranking import Findings
from engine.claims import Claim
from engine.errors import StoreError
from engine.maps import BehaviourMap
from engine.metering import UNMETERED, Meter
from engine.occurrences import Occurrences
from engine.questions import Questions
from engine.requests import Absent, Answer, Building, Failed, Ready, Request, Unready, What, load
from engine.runs import SECOND_NS, Cohort
from engine.shelf import Cache, Held, Place, Shelf
from engine.store import Store
from engine.walk import Index

__all__ = [
    "FAILURE_S",
    "TTL_S",
    "Absent",
    "Answer",
    "Building",
    "Cache",
    "Failed",
    "Maps",
    "Ready",
    "Request",
    "Unready",
    "load",
]

S = TypeVar("S")
T = TypeVar("T")
TTL_S: Final = 300.0
"""A built value is fresh for this long."""


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
        Keeps processes from building the same: see :mod:`engine.claims`.
    meter : Meter
        Told how the cache is met, and how builds end.
    """

    def __init__(
        self,
        store: Store,
        cache: Cache,
        now_ns: Callable[[], int],
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        ttl_s: float = TTL_S,
        build: Callable[[Request, Store, int], Any] = load,
        claim: Claim = lambda key: nullcontext(True),
        meter: Meter = UNMETERED,
    ) -> None:
        self._store, self._now_ns, self._wall_ns = store, now_ns, wall_ns
        self._ttl_ns = int(ttl_s * SECOND_NS)
        self._load, self._claim, self._meter = build, claim, meter
        self._shelf = Shelf(cache, store.erasures, self._ask_again)
        self._builds = Builds(self._build, wall_ns, meter)

    def get(self, cohort: Cohort) -> Answer[BehaviourMap]:
        """The cohort's map as far as it is there; what is missing or stale is requested."""
        request = Request("map", cohort)
        return self._answer(request, self._shelf.get(request))

    def calibration(self, cohort: Cohort) -> Answer[Calibration]:
        """The cohort's calibration, likewise."""
        request = Request("calibration", cohort)
        return self._answer(request, self._shelf.get(request))

    def chance(self, cohort: Cohort) -> Answer[Chance]:
        """How many forks of the cohort's map chance alone would make, likewise."""
        request = Request("chance", cohort)
        return self._answer(request, self._shelf.get(request))

    def changes(self, cohort: Cohort, split: Split) -> Answer[Findings]:
        """What changed between the two sides of a cohort, likewise."""
        request = Request("changes", cohort, split)
        return self._answer(request, self._shelf.get(request))

    def occurrences(self, cohort: Cohort) -> Answer[Occurrences]:
        """The steps that hurt or help wherever they stand in the cohort's runs, likewise."""
        request = Request("steps", cohort)
        return self._answer(request, self._shelf.get(request))

    def questions(self, cohort: Cohort) -> Answer[Questions]:
        """What fuses would have been asked in the cohort's runs that are over, likewise."""
        request = Request("questions", cohort)
        return self._answer(request, self._shelf.get(request))

    def recent(self, cohort: Cohort) -> Answer[BehaviourMap]:
        """As :meth:`get`, but what was there within the last second is taken to be so still.

        Nothing is read from the cache then; the tenant's count of erasures always is.
        """
        request = Request("map", cohort)
        return self._answer(request, self._shelf.recent(request))

    def index(self, cohort: Cohort) -> tuple[Ready[BehaviourMap], Index] | None:
        """A cohort's recent map and its nodes ready to be walked, or None; what is missing is requested."""
        request = Request("map", cohort)
        held = self._shelf.recent(request)
        answer = self._answer(request, held)
        return (answer, held.walk()) if held and isinstance(answer, Ready) else None

    def made(self, cohort: Cohort, ready: Ready[S], make: Callable[[S], T], what: What = "map") -> T:
        """What is made of a cohort's map, or else: once by each maker while that is in memory."""
        held = self._shelf.recent(Request(what, cohort))
        return held.made(make) if held and held.value is ready.value else make(ready.value)

    def renew(self, tenant: str, agent: str) -> None:
        """Let what is built of an agent count as stale, however fresh: its runs have changed.

        Who asks next is given the old value, marked stale, and has it built anew; what is being built is
        built again. It holds for every process at the cache.
        """
        self._shelf.renew(tenant, agent)

    def forget(self, tenant: str, shared: bool = True) -> None:
        """Delete what was built of a tenant before its latest erasure and is held here.

        If ``shared``, what is cached by whomever, too. What was in use is built again at once.

        Raises
        ------
        CacheError
            The cache does not answer: some may still be there.
        """
        self._shelf.forget(tenant, shared)

    def close(self) -> None:
        """Stop after the builds that are running; later questions build nothing."""
        self._builds.close()

    def _ask_again(self, requests: list[Request]) -> None:
        for request in requests:
            self._builds.ask(request)

    def _answer(self, request: Request, held: Held | None) -> Answer[Any]:
        self._meter.count("cache", label="miss" if held is None else "hit")
        if held is not None and self._is_fresh(held):
            return Ready(held.value, held.built_ns, stale=False)
        how = self._builds.ask(request)
        return how if held is None else Ready(held.value, held.built_ns, stale=True)

    def _is_fresh(self, held: Held) -> bool:
        """Whether it need not be built yet; one built far ahead, as the clock was set back, must be."""
        return not held.renewed and abs(self._wall_ns() - held.built_ns) < self._ttl_ns

    def _is_at(self, place: Place) -> bool:
        held = self._shelf.at(place)
        return held is not None and self._is_fresh(held)

    def _build(self, request: Request) -> bool:
        """Build a request unless it is there, fresh.

        False while other processes have the claim, or if something was erased meanwhile: then once more.
        """
        place = self._shelf.place(request)
        if self._is_at(place):
            return True
        with self._claim(place.key) as mine:
            if not mine:
                return False
            place = self._shelf.place(request)
            return self._is_at(place) or self._make(place)

    def _make(self, place: Place) -> bool:
        begun_s = time.perf_counter()
        with suppress(StoreError):  # Then it is built of what is settled.
            self._store.settle(place.request.cohort.tenant)  # Nobody waits in this thread, as readers do.
        built_ns = self._wall_ns()
        value = self._of_map(place.request) or self._load(place.request, self._store, self._now_ns())
        is_kept = self._shelf.put(place, value, built_ns)
        if is_kept:
            self._meter.time("build_seconds", time.perf_counter() - begun_s)
            self._meter.count("builds", label="ready")
        return is_kept

    def _of_map(self, request: Request) -> Chance | None:
        """What is made of a map that is there, fresh: its runs need not be read once more."""
        held = self._shelf.get(Request("map", request.cohort)) if request.what == "chance" else None
        return chance(held.value) if held is not None and self._is_fresh(held) else None
