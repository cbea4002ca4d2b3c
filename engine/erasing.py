"""Forgetting what somebody asks to be forgotten, in the store and in what was made of it.

A map that was built before is of no use from the moment an erasure is written down: its tenant's
count of erasures is part of the key of every map. Then the store is emptied of it, and then its
bytes go from the cache and from the log, which is tried again until it is done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from time import monotonic

from engine import live, upkeep, walk
from engine.conventions import reading
from engine.errors import BusyStoreError, ForkmapError, UnknownRunError
from engine.metering import UNMETERED, Meter
from engine.selections import Selection
from engine.store import Receipt, Store

WAIT_S = 10.0
"""How long who asks waits for the end of it; the rest is done in the background."""
LOOK_S = 2.0
"""How often a server looks whether an erasure, by whichever process, has to be ended or tidied up after.

So soon it tries again, too, what could not be done: that a cache is back is nowhere told.
"""

_TEXTS = (reading._identifier, reading._name_of_span, live._shared, walk.may_become)
"""Tables that a process keeps of texts it has read: they may hold names."""

_log = logging.getLogger(__name__)


class Erasing:
    """Erases from one store and forgets what was cached of it.

    Parameters
    ----------
    forget : callable
        ``(tenant, shared)``: deletes what this process keeps in memory of what was built of a tenant before
        its latest erasure, and with True also what several processes share; raises CacheError while that
        cannot be done.
    now_ns : callable
        The wall clock, for receipts.
    """

    def __init__(
        self,
        store: Store,
        forget: Callable[[str, bool], None],
        now_ns: Callable[[], int],
        meter: Meter = UNMETERED,
    ) -> None:
        self._store, self._forget, self._now_ns, self._meter = store, forget, now_ns, meter
        self._tidied = {tenant: tidied for tenant, (_, tidied) in store.tidied().items()}

    def erase(self, tenant: str, selection: Selection, asked_by: str = "", wait_s: float = WAIT_S) -> Receipt:
        """Erase something; the receipt has no ``done_ns`` if that takes longer than one waits.

        Raises
        ------
        UnknownRunError
            The tenant holds nothing of it.
        """
        until_s = monotonic() + wait_s
        erasure_id = self._store.begin_erasure(tenant, selection, asked_by, self._now_ns())
        self._meter.count("erasures")
        try:
            _go_on(self._store, tenant, erasure_id, self._now_ns, lambda: monotonic() > until_s)
            self.tidy()
        except ForkmapError as error:
            _log.warning("an erasure is gone on with later: %s", error)
        receipt = self._store.receipt(tenant, erasure_id)
        assert receipt is not None
        return receipt

    def running(self) -> AbstractContextManager[None]:
        """Look again and again in the background until left."""
        return upkeep.repeating("erasing", self.look, LOOK_S)

    def look(self, is_told: Callable[[], bool] = lambda: False) -> float:
        """End what was begun, and tidy up; seconds until it should be looked again.

        Raises
        ------
        ForkmapError
            The store or the cache cannot be written to now.
        """
        end_begun(self._store, self._now_ns, is_told)
        self.tidy()
        return LOOK_S

    def tidy(self) -> None:
        """Delete what was cached before the latest erasures, and empty the store's log, if not done yet."""
        failed = None
        for tenant, (count, tidied) in self._store.tidied().items():
            if self._tidied.get(tenant) != count:
                try:
                    self._tidy(tenant, count, is_first=tidied != count)
                except ForkmapError as error:  # The others wait for no tenant.
                    failed = error
        if failed:
            raise failed

    def _tidy(self, tenant: str, count: int, is_first: bool) -> None:
        for table in _TEXTS:
            table.cache_clear()
        is_cut = not is_first or self._store.cut_log()  # The cache may be away for long.
        self._forget(tenant, is_first)
        if not is_cut:
            raise BusyStoreError("the log of the store is still read from")
        if is_first:
            self._store.set_tidied(tenant, count)
        self._tidied[tenant] = count


def nothing_held(tenant: str, selection: Selection, asked_by: str) -> Receipt:
    """What is answered where nothing is held that could be forgotten."""
    raise UnknownRunError(f"{selection.nothing} is held here.")


def end_begun(store: Store, now_ns: Callable[[], int], is_told: Callable[[], bool] = lambda: False) -> None:
    """End every erasure that was begun, by whoever was stopped in the middle of it, unless told to stop."""
    for tenant, erasure_id in store.begun_erasures():
        _go_on(store, tenant, erasure_id, now_ns, is_told)


def _go_on(
    store: Store, tenant: str, erasure_id: str, now_ns: Callable[[], int], is_told: Callable[[], bool]
) -> None:
    for _ in store.go_on_erasing(tenant, erasure_id, now_ns):
        if is_told():
            return
