"""Keeping runs for a number of days: what is older goes, in the background and little by little.

A run's age is that of its last activity. Several processes may do this on one store at once: each
removes what the others have left.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.errors import ForkmapError
from engine.runs import SECOND_NS
from engine.store import Expired, Store

BATCH = 2_000
"""Records that are removed in one transaction, about."""
PASS_S = 3600.0
"""How often a server looks for runs that have become too old."""
DAY_NS = 86_400 * SECOND_NS

_log = logging.getLogger(__name__)


def expire(
    store: Store, before_ns: int, batch: int = BATCH, is_told: Callable[[], bool] = lambda: False
) -> Expired:
    """Remove what is older than a moment, of every tenant, batch by batch.

    Parameters
    ----------
    is_told : callable
        Whether to stop after the batch at hand; what is left then is left for the next time.
    """
    batches = [
        done for tenant in store.tenants() for done in _batches(store, tenant, before_ns, batch, is_told)
    ]
    return Expired(*map(sum, zip(*batches, strict=True))) if batches else Expired()


def _batches(
    store: Store, tenant: str, before_ns: int, batch: int, is_told: Callable[[], bool]
) -> Iterator[Expired]:
    while not is_told() and any(done := store.expire(tenant, before_ns, batch)):
        yield done


@contextmanager
def kept_for(
    store: Store, days: int | None, now_ns: Callable[[], int], every_s: float = PASS_S
) -> Iterator[None]:
    """Remove what is older than ``days`` in the background, at once and every hour, until left.

    A store whose clock stands still, and one without a number of days, keeps everything.
    """
    if days is None or store.clock_ns() is not None:
        yield
        return
    told = threading.Event()
    thread = threading.Thread(
        target=_work,
        args=(store, days * DAY_NS, now_ns, every_s, told),
        name="forkmap-retention",
        daemon=True,
    )
    thread.start()
    try:
        yield
    finally:
        told.set()
        thread.join()


def _work(
    store: Store, kept_ns: int, now_ns: Callable[[], int], every_s: float, told: threading.Event
) -> None:
    while True:
        try:
            done = expire(store, now_ns() - kept_ns, is_told=told.is_set)
            if any(done):
                _log.info("removed %d runs, %d spans and %d outcomes that were too old", *done)
        except ForkmapError as error:
            _log.warning("old runs could not be removed, which is tried again later: %s", error)
        except Exception:  # noqa: BLE001 - it must go on
            _log.exception("removing old runs failed")
        if told.wait(every_s):
            return
