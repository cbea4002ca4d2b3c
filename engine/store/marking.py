"""Markers: moments at which something was changed, as a deploy; runs before and after are compared."""

from __future__ import annotations

import sqlite3

from engine.errors import InputError
from engine.paths import clean_name
from engine.store import MAX_MARKERS, Marker
from engine.store.fitting import bounded, plain

_OF_TENANT = (
    "SELECT no, name, time_ns, agent FROM markers WHERE tenant = (SELECT no FROM tenants WHERE name = ?)"
)
_LATEST_FIRST = "ORDER BY time_ns DESC, no DESC"
_SAME = "SELECT no FROM markers WHERE tenant = ? AND name = ? AND time_ns = ? AND agent IS ?"
_OLD = "FROM markers WHERE tenant = ? AND time_ns < ?"
_COUNT_OLD, _REMOVE_OLD = f"SELECT count(*) {_OLD}", f"DELETE {_OLD}"


def markers(db: sqlite3.Connection, tenant: str, agent: str | None) -> list[Marker]:
    """The markers of a tenant, or those that concern an agent, the latest first."""
    about = "" if agent is None else "AND (agent IS NULL OR agent = ?)"
    asked = [plain(each) for each in (tenant, agent) if each is not None]
    return [Marker._make(row) for row in db.execute(f"{_OF_TENANT} {about} {_LATEST_FIRST}", asked)]


def add_marker(
    db: sqlite3.Connection, tenant: int, name: str, time_ns: int, agent: str | None
) -> tuple[Marker, bool]:
    """Keep a marker; one that is there already is the same. Whether it is new."""
    kept = clean_name(plain(name)), bounded(time_ns), None if agent is None else clean_name(plain(agent))
    same = db.execute(_SAME, (tenant, *kept)).fetchone()
    if same:
        return Marker(same[0], *kept), False
    (count,) = db.execute("SELECT count(*) FROM markers WHERE tenant = ?", (tenant,)).fetchone()
    if count >= MAX_MARKERS:
        raise InputError(f"There are {MAX_MARKERS:,} markers already, and there may be no more.")
    added = "INSERT INTO markers (tenant, name, time_ns, agent) VALUES (?, ?, ?, ?)"
    return Marker(db.execute(added, (tenant, *kept)).lastrowid or 0, *kept), True


def remove_marker(db: sqlite3.Connection, tenant: int, number: int) -> bool:
    """Remove a marker; whether the tenant had it."""
    gone = db.execute("DELETE FROM markers WHERE tenant = ? AND no = ?", (tenant, bounded(number)))
    return gone.rowcount > 0


def count_old(db: sqlite3.Connection, tenant: int | None, before_ns: int) -> int:
    """How many markers of a tenant are before a moment."""
    (count,) = db.execute(_COUNT_OLD, (tenant, before_ns)).fetchone()
    return int(count)


def remove_old(db: sqlite3.Connection, tenant: int | None, before_ns: int) -> int:
    """Remove the markers of a tenant before a moment; how many."""
    return db.execute(_REMOVE_OLD, (tenant, before_ns)).rowcount
