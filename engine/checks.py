"""The check before a run's next call: path from the guard, map from the cache, policies from the store.

It builds nothing and never raises. Missing evidence is no evidence of failure: without a map, without
the run, or where something goes wrong, the call is allowed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

import msgspec

from engine.builder import Maps
from engine.errors import ForkmapError, UnknownStepError
from engine.fuses import Action, Asked, ask, written
from engine.guard import Guard
from engine.ledger import Ledger
from engine.live import Live
from engine.maps import BehaviourMap
from engine.metering import UNMETERED, Meter
from engine.queries import named_step
from engine.runs import SECOND_NS, Cohort
from engine.store import Store

UNKNOWN_RUN = "No span of this run has come yet, or more than can be followed: nothing is known of it."
NO_MAP = "The map of this run's agent is not built yet: it is requested."
FAULT = "The check failed, which the server's log tells of; nothing is stopped because of that."
TOLD_S = 1.0
"""How long after a fault is logged no other is: all are counted."""

_log = logging.getLogger(__name__)


class Checked(msgspec.Struct, frozen=True):
    """What a check says.

    Attributes
    ----------
    reason : str
        One sentence or two.
    asked : Asked or None
        What the fuses went by; None if they could not be asked.
    map_age_s : float or None
        How long ago the map was built.
    as_of_ns : int or None
        Every span acknowledged before this moment of the wall clock, when it was asked, was known.
    """

    action: Action
    reason: str
    asked: Asked | None = None
    map_age_s: float | None = None
    as_of_ns: int | None = None


def nothing_known(tenant: str, run_id: str, next_step: str | None = None) -> Checked:
    """What is answered where no run is followed.

    >>> nothing_known("default", "r").action
    'allow'
    """
    return Checked("allow", UNKNOWN_RUN)


class Checks:
    """Answers whether runs may go on. Threads may share one.

    Parameters
    ----------
    now_ns : callable
        The clock that the ledger is written by.
    meter : Meter
        Is told of each check: its action, its seconds, its faults, and what it knew nothing of.
    wall_ns : callable
        The clock by which maps grow old, and that answers tell the moment of.
    """

    def __init__(
        self,
        store: Store,
        maps: Maps,
        guard: Guard,
        now_ns: Callable[[], int],
        *,
        meter: Meter = UNMETERED,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._maps, self._guard = store, maps, guard
        self._now_ns, self._wall_ns, self._meter = now_ns, wall_ns, meter
        self._ledger = Ledger(store, meter)
        self._told_s = -inf

    def check(self, tenant: str, run_id: str, next_step: str | None = None) -> Checked:
        """Ask the fuses about a run, and about the step it names next: ``kind:name``, or a known name."""
        begun_s = time.perf_counter()
        try:
            checked = self._check(tenant, run_id, next_step)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong, an agent is not kept from its work
            self._tell(error)
            self._meter.count("check_faults")
            checked = Checked("allow", FAULT)
        self._meter.count("checks", label=checked.action)
        self._meter.time("check_seconds", time.perf_counter() - begun_s)
        return checked

    def _tell(self, error: Exception) -> None:
        """Log a fault, but not each of very many."""
        now_s = time.monotonic()
        if now_s - self._told_s >= TOLD_S:
            self._told_s = now_s
            _log.error(
                "a check failed: %s", error, exc_info=None if isinstance(error, ForkmapError) else error
            )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Read runs in flight ahead meanwhile."""
        self._guard.start()
        try:
            yield
        finally:
            self.close()

    def close(self) -> None:
        """Follow no longer, and write what fired into the ledger."""
        self._guard.close()
        self._ledger.close()

    def _check(self, tenant: str, run_id: str, next_step: str | None) -> Checked:
        as_of_ns = self._wall_ns()
        live = self._guard.live(tenant, run_id)
        if live is None:
            return self._blind("run", UNKNOWN_RUN, as_of_ns)
        found = self._maps.index(Cohort(tenant, live.agent))
        if found is None:
            return self._blind("map", NO_MAP, as_of_ns)
        ready, index = found
        step, complaint = _named(ready.value, next_step)
        asked = ask(index, live, self._store.policies(tenant), step)
        self._write(tenant, live, asked)
        age_s = max(0, self._wall_ns() - ready.built_ns) / SECOND_NS
        return Checked(asked.action, f"{asked.reason}{complaint}", asked, age_s, as_of_ns)

    def _blind(self, unknown: str, reason: str, as_of_ns: int) -> Checked:
        """Allow as nothing is known, and count that."""
        self._meter.count("checks_blind", label=unknown)
        return Checked("allow", reason, as_of_ns=as_of_ns)

    def _write(self, tenant: str, live: Live, asked: Asked) -> None:
        if asked.fired:
            now_ns = self._now_ns()
            self._ledger.add(tenant, [written(each, live, now_ns) for each in asked.fired])


def _named(behaviour: BehaviourMap, text: str | None) -> tuple[str | None, str]:
    """The signature that is named next, if one is; and what is wrong with a text that names none."""
    if text is None:
        return None, ""
    try:
        return named_step(behaviour, text), ""
    except UnknownStepError as error:
        return None, f" Of the next step nothing can be said: {error}."
