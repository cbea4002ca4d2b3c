"""Taking turns: who writes next.

SQLite lets a waiting writer ask again after longer and longer pauses, and whoever happens to ask
between two of them overtakes. So the threads of a process queue here, in the order
they came; the one whose turn it is asks SQLite, often, on behalf of all of them.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from time import monotonic

PAUSE_MS = 3
"""About the longest pause between two tries to get the write lock from another process."""


class Turns:
    """A lock that threads get in the order they asked for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    def acquire(self, timeout_s: float) -> bool:
        """Wait for a turn; whether it came in time.

        >>> turns = Turns()
        >>> turns.acquire(0), turns.acquire(0)
        (True, False)
        """
        with self._guard:
            if not self._taken:
                self._taken = True
                return True
            called = threading.Event()
            self._waiting.append(called)
        try:
            came = called.wait(timeout_s)
        except BaseException:
            if self._left(called):
                self.release()
            raise
        return came or self._left(called)

    def release(self) -> None:
        """Give the turn to who has waited longest."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False

    def _left(self, called: threading.Event) -> bool:
        """Wait no longer; whether the turn came all the same."""
        with self._guard:
            if not called.is_set():
                self._waiting.remove(called)
        return called.is_set()


def begin(db: sqlite3.Connection, timeout_s: float) -> None:
    """Begin a write transaction once no other process is in one.

    Raises
    ------
    sqlite3.OperationalError
        With SQLITE_BUSY if another still is after ``timeout_s`` seconds.
    """
    until_s = monotonic() + timeout_s
    (patience_ms,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {PAUSE_MS}")
    try:
        while not _has_begun(db, until_s):
            pass
    finally:
        db.execute(f"PRAGMA busy_timeout = {patience_ms}")


def _has_begun(db: sqlite3.Connection, until_s: float) -> bool:
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() >= until_s:
            raise
        return False
    return True
