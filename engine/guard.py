"""The guard: paths of runs in flight, held in memory so that a check before a call waits for no disk.

It is a cache over the store. What the store says has changed, whichever process wrote it, makes what
is held of a run stale; a run that is asked for and is stale, or not held, is read there and then. Each
question looks first, so an answer knows every span acknowledged before it, however far reading ahead is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from math import inf
from time import monotonic, perf_counter

from engine.holding import Held, Holding
from engine.live import Known, Live, follow, know
from engine.metering import UNMETERED, Meter
from engine.paths import identifier
from engine.runs import LIVE_NS
from engine.store import Store, TenantRun, Touched, Trail
from engine.store.keys import told_name
from engine.upkeep import Told, repeating

CAPACITY = 10_000
"""Runs that are held by default."""
MAX_SPANS = 5_000
"""A run of more spans is not followed: its path met a bound long ago."""
LOOK_S = 0.025
"""How often the guard looks what has changed, to read ahead; and whoever asks finds little new."""
SHARE = 0.1
"""Part of the time it may read ahead: what comes in goes before."""
UNASKED_S = 60.0
"""After so long without a question it reads no more ahead than what was in flight when it started."""
RETRY_S = 1.0
"""How long after a fault it looks again."""


class Guard:
    """Knows the paths of runs in flight. Threads may share one.

    Parameters
    ----------
    store : Store
        What it follows.
    now_ns : callable
        The wall clock.
    meter : Meter
        Is told how many runs are held, let go or too long, and how far behind it was.
    capacity : int
        Runs held; the least recently active go first. They hold 30 spans each in the mean at most.
    """

    def __init__(
        self,
        store: Store,
        now_ns: Callable[[], int],
        *,
        meter: Meter = UNMETERED,
        capacity: int = CAPACITY,
    ) -> None:
        self._store, self._now_ns, self._meter = store, now_ns, meter
        self._settings = store.reading_settings
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._held = Holding(capacity)
        self._first: dict[TenantRun, None] = {}
        self._others: dict[TenantRun, None] = {}
        self._change = -1
        self._looked_s = self._asked_s = self._started_s = -inf
        self._owed_s = 0.0
        self._running = ExitStack()

    def start(self) -> None:
        """Read ahead in the background until closed."""
        self._started_s = monotonic()
        self._running.enter_context(repeating("following", self._step, RETRY_S))

    def close(self) -> None:
        """Read no more ahead; questions are answered still."""
        self._running.close()

    def live(self, tenant: str, run_id: str) -> Live | None:
        """A run as far as its spans came until now; None if none did, or more than can be followed.

        It is named by its id, or by that of one of its traces, with dashes or without.

        Raises
        ------
        StoreError
            If the store cannot be read.
        """
        self._asked_s = monotonic()
        self.look()
        found = self._found(tenant, identifier(run_id))
        if isinstance(found, str):
            found = self._found(tenant, found)
        return found if isinstance(found, Live) else None

    def _found(self, tenant: str, run_id: str) -> Live | str | None:
        """A run; or the id of the one that a trace of this id belongs to."""
        held = self._held.get((tenant, run_id))
        if held is None or not held.fresh:
            held = self._read(tenant, run_id)
        if held is None:
            return None
        held.asked = True
        return held.live

    def look(self) -> None:
        """Take in what has changed in the store since the last look; who waits for one shares the next."""
        asked_s = monotonic()
        with self._looking:
            if self._looked_s >= asked_s:
                return
            begun_s = monotonic()
            changes = self._store.changes(self._change)
            seeds = [] if changes.whole else self._in_flight()
            with self._lock:
                self._change = changes.up_to
                if not changes.whole:
                    self._begin_anew(seeds)
                for touched in changes.touched:
                    self._mark(touched)
            self._looked_s = begun_s

    def _in_flight(self) -> list[TenantRun]:
        """Runs that may go on, the latest first; in a store with a clock of its own by that."""
        clock_ns = self._store.clock_ns()
        after_ns = (self._now_ns() if clock_ns is None else clock_ns) - LIVE_NS
        return self._store.in_flight(after_ns, self._held.capacity)

    def _mark(self, touched: Touched) -> None:
        """Let what is held of the runs a trace belonged to, or may belong to, be stale; of a gone one, go."""
        named = [(touched.tenant, run_id) for run_id in touched.run_ids]
        known = [key for key in {*named, *self._held.of_trace(touched.trace)} if self._held.get(key)]
        for key in known:
            if touched.tenant:
                self._held.touch(key)
            else:
                self._held.drop(key)
        if touched.tenant and self._looked_s - self._asked_s < UNASKED_S:
            for key in known or named[:1]:
                self._want(key, self._held.get(key))

    def _begin_anew(self, seeds: list[TenantRun]) -> None:
        """Hold nothing, as anything may have changed, and read ahead what is in flight."""
        self._held.clear()
        for key in reversed(seeds):
            self._want(key, None)

    def _want(self, key: TenantRun, held: Held | None) -> None:
        """Have a run read ahead, before others that changed earlier; first those that were asked for."""
        wanted = self._first if held is not None and held.asked else self._others
        wanted.pop(key, None)
        wanted[key] = None
        if len(wanted) > self._held.capacity:
            del wanted[next(iter(wanted))]

    def _step(self, told: Told) -> float:
        """Look, then read ahead for the time that is owed; seconds until the next."""
        begun_s = monotonic()
        self._meter.level("guard_lag_seconds", begun_s - max(self._looked_s, self._started_s))
        self.look()
        self._owed_s = min(self._owed_s + SHARE * LOOK_S, SHARE * LOOK_S)
        while self._owed_s > 0 and not told() and (key := self._next()):
            read_s = perf_counter()
            self._read(*key)
            self._owed_s -= perf_counter() - read_s
        self._meter.level("guard_runs", len(self._held))
        return max(0.0, LOOK_S - (monotonic() - begun_s))

    def _next(self) -> TenantRun | None:
        with self._lock:
            for wanted in (self._first, self._others):
                while wanted:
                    key, _ = wanted.popitem()
                    held = self._held.get(key)
                    if held is None or not (held.fresh or held.live is None):
                        return key
        return None

    def _read(self, tenant: str, run_id: str) -> Held | None:
        """Read a run as it is now, and hold it."""
        before = self._held.get((tenant, run_id))
        known = {} if before is None else before.known
        trail = self._store.trail(tenant, run_id, known, MAX_SPANS)
        if trail is None:
            with self._lock:
                self._held.drop((tenant, run_id))
            return None
        held = self._folded(trail, known)
        with self._lock:
            self._hold((tenant, trail.run_id), held)
        return held

    def _folded(self, trail: Trail, known: dict[int, Known]) -> Held:
        if trail.spans is None:
            self._meter.count("guard_too_long")
            return Held(None, {}, trail.traces, trail.change)
        evaluation = self._settings.evaluation
        now = {
            digest: known[digest] if span is None else know(span, evaluation)
            for digest, span in trail.spans.items()
        }
        live = follow(trail.run_id, now.values(), self._settings, told_name)
        return Held(live, now, trail.traces, trail.change)

    def _hold(self, key: TenantRun, held: Held) -> None:
        """Hold a run, unless it was read later meanwhile."""
        before = self._held.get(key)
        if before is not None:
            if before.change > held.change:
                return
            held.asked = before.asked
        left = self._held.hold(key, held)
        if left:
            self._meter.count("guard_evicted", left)
        if held.change < self._change:  # it may have changed unnoticed
            held.fresh = False
            self._want(key, held)
