"""The ledger's pen: lines are handed over at once and written behind whoever handed them.

So what a fuse answers never waits for the disk. Lines that lie here when the process is killed are
lost, those of about a tenth of a second; while the store cannot be written to they wait, as long as there
is room.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from itertools import islice, takewhile

from engine.errors import StoreError
from engine.fuses import Firing
from engine.metering import UNMETERED, Meter
from engine.store import Store

CAPACITY = 10_000
"""Lines that wait to be written; further ones are lost, and counted."""
BATCH = 500
"""Lines written in one transaction."""
LINGER_S = 0.1
"""How long lines wait for others, so that they are written together."""
RETRY_S = 1.0
"""How long after a fault it tries again."""

_log = logging.getLogger(__name__)


class Ledger:
    """Writes lines into a store, in a thread that begins with the first. Threads may share one.

    Parameters
    ----------
    store : Store
    meter : Meter
        Is told of lines that are lost.
    """

    def __init__(self, store: Store, meter: Meter = UNMETERED) -> None:
        self._store, self._meter = store, meter
        self._wake = threading.Condition()
        self._waiting: deque[tuple[str, Firing]] = deque()
        self._closed = self._held_up = self._losing = False
        self._thread: threading.Thread | None = None

    def add(self, tenant: str, firings: Sequence[Firing]) -> None:
        """Hand lines over; waits for nothing."""
        with self._wake:
            room = 0 if self._closed else CAPACITY - len(self._waiting)
            self._waiting.extend((tenant, firing) for firing in firings[:room])
            if self._thread is None and self._waiting:
                self._thread = threading.Thread(target=self._work, name="forkmap-ledger", daemon=True)
                self._thread.start()
            self._wake.notify_all()
        self._lose(len(firings) - room)

    def close(self) -> None:
        """Write what waits, once, and stop; later lines are lost."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()
        self._lose(len(self._waiting))
        self._waiting.clear()

    def _lose(self, lines: int) -> None:
        if lines > 0:
            self._meter.count("firings_lost", lines)
            if not self._losing:
                _log.error("lines of the ledger of fuses are lost: %d, and maybe more", lines)
            self._losing = True

    def _work(self) -> None:
        while self._rest():
            if not self._write() and not self._pause(RETRY_S):
                return

    def _rest(self) -> bool:
        """Wait for lines and a little longer for more; False once it is closed and none is left."""
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._closed)
        self._pause(LINGER_S)
        return bool(self._waiting)

    def _pause(self, seconds: float) -> bool:
        """Wait unless it is closed; False if it is."""
        with self._wake:
            return not self._wake.wait_for(lambda: self._closed, seconds)

    def _write(self) -> bool:
        """Write the first lines, which are of one tenant; False if that cannot be done now."""
        with self._wake:
            tenant = self._waiting[0][0]
            lines = [*takewhile(lambda line: line[0] == tenant, islice(self._waiting, BATCH))]
        try:
            self._store.add_firings(tenant, [firing for _, firing in lines])
        except StoreError as error:
            if not self._held_up:
                _log.warning("the ledger of fuses is written later: %s", error)
            self._held_up = True
            return False
        except Exception:  # noqa: BLE001 - it must go on
            _log.exception("the ledger of fuses could not be written")
            self._lose(len(lines))
        else:
            self._losing = False
        self._held_up = False
        with self._wake:
            for _ in lines:
                self._waiting.popleft()
        return True
