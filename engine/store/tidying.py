"""Leaving no copy behind: what was removed may still lie in the log, and in unused places of the file."""

from __future__ import annotations

import sqlite3

from engine.store.packing import unpack_signatures
from engine.store.words import MAX_SIGNATURES

_PATIENCE_MS = 1_000
"""How long cutting the log waits for those who still read from it; writers wait meanwhile."""


_TRIES = 10
"""How often the log is cut after the file was written anew: until then the file is as it was."""


def cut_log(db: sqlite3.Connection) -> bool:
    """Write the log back into the file and make it empty; False if somebody was reading from it."""
    (patience_ms,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
    (is_busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    db.execute(f"PRAGMA busy_timeout = {patience_ms}")
    return not is_busy


def vacuum(db: sqlite3.Connection, now_ns: int) -> bool:
    """Write the whole file anew, without what was removed, and note when; False as :func:`cut_log`."""
    db.execute("BEGIN IMMEDIATE")
    _drop_signatures(db)
    db.execute("COMMIT")
    db.execute("VACUUM")
    is_cut = any(cut_log(db) for _ in range(_TRIES))
    if is_cut:
        note(db, "vacuumed_ns", now_ns)
    return is_cut


def _drop_signatures(db: sqlite3.Connection) -> None:
    """Remove signatures that no run has any more, as they may hold ids; the last number stands for others."""
    runs = db.execute("SELECT tenant, steps FROM runs")
    used = {(tenant, signature) for tenant, steps in runs for signature in unpack_signatures(steps)}
    kept = db.execute("SELECT tenant, signature FROM signatures WHERE number < ?", (MAX_SIGNATURES,))
    unused = set(kept) - used
    db.executemany("DELETE FROM signatures WHERE tenant = ? AND signature = ?", unused)


def note(db: sqlite3.Connection, name: str, value: int) -> None:
    """Keep a number of the store's."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
