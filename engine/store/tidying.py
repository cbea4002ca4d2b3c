"""Leaving no copy behind: what was removed may still lie in the log, and in unused places of the file."""

from __future__ import annotations

import sqlite3

_PATIENCE_MS = 1_000
"""How long cutting the log waits for those who still read from it; writers wait meanwhile."""


def cut_log(db: sqlite3.Connection) -> bool:
    """Write the log back into the file and make it empty; False if somebody was reading from it."""
    (patience_ms,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
    (is_busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    db.execute(f"PRAGMA busy_timeout = {patience_ms}")
    return not is_busy


def vacuum(db: sqlite3.Connection, now_ns: int) -> None:
    """Write the whole file anew, without what was removed, and note when."""
    db.execute("VACUUM")
    note(db, "vacuumed_ns", now_ns)
    cut_log(db)


def note(db: sqlite3.Connection, name: str, value: int) -> None:
    """Keep a number of the store's."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
