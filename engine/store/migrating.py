"""Bringing a store of an earlier version forward, a version at a time."""

from __future__ import annotations

import sqlite3

from engine.store.schema import STEPS_FORWARD, VERSION


def version(db: sqlite3.Connection) -> int:
    """The version of an open store, its log included."""
    found: tuple[int] = db.execute("PRAGMA user_version").fetchone()
    return found[0]


def migrate(db: sqlite3.Connection) -> None:
    """Take all steps that are missing, in one transaction; two processes may try at once."""
    if version(db) >= VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in STEPS_FORWARD[version(db) - 1 :]:
            for statement in step:
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {max(version(db), VERSION)}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
