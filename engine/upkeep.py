"""What a server does to its store in the background: settle what arrived, remove what is too old.

Both stop after the batch at hand when they are told to, and go on after a fault.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter

from engine.errors import ForkmapError
from engine.retention import DAY_NS, expire
from engine.store import Store

LOOK_S = 2.0
"""How often a server looks whether spans have arrived that are not settled."""
REST = 9
"""While spans arrive it rests that many times as long as settling a batch took: intake goes before."""
RETRY_S = 30.0
"""How long after a fault, such as a full disk, it tries to settle again."""
PASS_S = 3600.0
"""How often it looks for runs that have become too old."""

Told = Callable[[], bool]
Work = Callable[[Told], float]
"""Does a piece of work and says in how many seconds to do the next; stops early if it is told to."""

_log = logging.getLogger(__name__)


@contextmanager
def kept_up(store: Store, days: int | None, now_ns: Callable[[], int]) -> Iterator[None]:
    """Keep a store up in the background until left.

    Parameters
    ----------
    days : int or None
        How long runs are kept after their last activity; None is for ever, and so it is in a store
        whose clock stands still.
    now_ns : callable
        The wall clock.
    """
    with ExitStack() as background:
        background.enter_context(repeating("settling", lambda told: settle(store), RETRY_S))
        if days is not None and store.clock_ns() is None:
            background.enter_context(repeating("removing", _removing(store, days, now_ns), PASS_S))
        yield


def settle(store: Store) -> float:
    """Settle a batch of every tenant that has one, so that a reader finds little left to settle.

    The next one follows at once if nothing new has come meanwhile; else after a rest.
    """
    begun_s, before = perf_counter(), store.unsettled()
    settled = [store.settle(tenant, limit_s=0) for tenant in before]
    left = store.unsettled()
    if any(settled) and left and left.items() <= before.items():
        return 0
    return max(LOOK_S, REST * (perf_counter() - begun_s))


def _removing(store: Store, days: int, now_ns: Callable[[], int]) -> Work:
    def remove(told: Told) -> float:
        done = expire(store, now_ns() - days * DAY_NS, is_told=told)
        if any(done):
            _log.warning("removed %d runs, %d spans and %d outcomes that were too old", *done)
        return PASS_S

    return remove


@contextmanager
def repeating(name: str, work: Work, retry_s: float) -> Iterator[None]:
    """Do a work again and again in a thread until left; after a fault, ``retry_s`` seconds later.

    A fault that comes again and again is logged once.
    """
    told = threading.Event()
    arguments = name, work, retry_s, told
    thread = threading.Thread(target=_repeat, args=arguments, name=f"forkmap-{name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        told.set()
        thread.join()


def _repeat(name: str, work: Work, retry_s: float, told: threading.Event) -> None:
    pause_s, said = 0.0, ""
    while not told.wait(pause_s):
        pause_s = retry_s
        try:
            pause_s, said = work(told.is_set), ""
        except ForkmapError as error:
            if str(error) != said:
                _log.warning("%s is tried again later: %s", name, error)
            said = str(error)
        except Exception:  # noqa: BLE001 - it must go on
            _log.exception("%s failed, and is tried again later", name)
