"""Removing what is long past: runs by their last activity, and outcomes no run was ever seen of.

What is old is found in a snapshot; then about as many records as are allowed are removed in one
transaction, so that writers never wait long.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from engine.store import Expired
from engine.store.keys import tenant_number
from engine.store.marking import count_old, remove_old
from engine.store.removing import is_swept, sweep, take_run

ROWS = 8
"""Records that a run is without its spans, about."""
_MARK = "expired"

_IS_SETTLED = """
NOT EXISTS (SELECT 1 FROM traces WHERE run = r.no AND stamp <> settled)
AND NOT EXISTS (SELECT 1 FROM traces WHERE tenant = r.tenant AND trace_id = r.run_id AND stamp <> settled)
AND NOT EXISTS (SELECT 1 FROM sessions s JOIN traces t ON t.no = s.trace
                WHERE s.tenant = r.tenant AND s.run_id = r.run_id AND t.stamp <> t.settled)"""
"""No trace waits that is one of the run, or may come to be."""

_RUNS = f"""
SELECT r.no FROM agents a JOIN runs r INDEXED BY runs_by_start ON r.agent = a.no
WHERE a.tenant = :tenant AND r.start_ns < :before_ns AND r.last_ns < :before_ns AND {_IS_SETTLED}
LIMIT :limit"""
"""No run ends before it starts, so the index of starts finds those that ended long ago."""

_DASHED = " || '-' || ".join(f"substr(o.run_id, {part})" for part in ("1, 8", "9, 4", "13, 4", "17, 4", "21"))
_SPELLINGS = f"(o.run_id, {_DASHED}, upper(o.run_id), upper({_DASHED}))"
_IS_UNSEEN = f"""
NOT EXISTS (SELECT 1 FROM runs WHERE tenant = o.tenant AND run_id IN {_SPELLINGS})
AND NOT EXISTS (SELECT 1 FROM traces WHERE tenant = o.tenant AND trace_id IN {_SPELLINGS})
AND NOT EXISTS (SELECT 1 FROM sessions WHERE tenant = o.tenant AND run_id IN {_SPELLINGS})"""
"""An outcome is kept under one form of a trace id; whoever goes by another form of any id has it too."""

_OUTCOMES = f"""
SELECT no FROM outcomes o WHERE tenant = :tenant AND time_ns < :before_ns AND {_IS_UNSEEN} LIMIT :limit"""

_STILL_OLD = f"SELECT 1 FROM runs r WHERE no = ? AND last_ns < ? AND {_IS_SETTLED}"
_REMOVE_OUTCOME = f"DELETE FROM outcomes AS o WHERE no = ? AND time_ns < ? AND {_IS_UNSEEN}"


class Old(NamedTuple):
    """Numbers of runs, and of outcomes without a run, that are old; what else there is to do.

    Attributes
    ----------
    is_swept : bool
        Whether no span waits to be swept.
    markers : int
        How many markers are old.
    """

    runs: tuple[int, ...] = ()
    outcomes: tuple[int, ...] = ()
    is_swept: bool = True
    markers: int = 0


def find(db: sqlite3.Connection, tenant: str, before_ns: int, limit: int) -> Old:
    """At most ``limit`` old runs and outcomes; a run with touched traces waits until it is settled."""
    number = tenant_number(db, tenant)
    asked = {"tenant": number, "before_ns": before_ns, "limit": 1 + limit // ROWS}
    runs = tuple(no for (no,) in db.execute(_RUNS, asked))
    outcomes = unseen(db, number, before_ns, limit - len(runs))
    return Old(runs, outcomes, is_swept(db), count_old(db, number, before_ns))


def unseen(db: sqlite3.Connection, tenant: int | None, before_ns: int, limit: int) -> tuple[int, ...]:
    """Numbers of old outcomes of runs that were never seen; a long look, if there are many."""
    asked = {"tenant": tenant, "before_ns": before_ns, "limit": limit}
    return tuple(no for (no,) in db.execute(_OUTCOMES, asked))


def remove(db: sqlite3.Connection, tenant: str, old: Old, before_ns: int, limit: int) -> Expired:
    """Remove what is still old, about ``limit`` records of it."""
    still = (no for no in old.runs if db.execute(_STILL_OLD, (no, before_ns)).fetchone())
    runs = sum(take_run(db, no, _MARK).runs for no in still)
    spans = sweep(db, limit - runs)
    outcomes = remove_unseen(db, old.outcomes[: limit - runs - spans], before_ns)
    markers = remove_old(db, tenant_number(db, tenant), before_ns) if old.markers else 0
    return Expired(runs, spans, outcomes, markers)


def remove_unseen(db: sqlite3.Connection, outcomes: tuple[int, ...], before_ns: int) -> int:
    """Remove outcomes whose run is unseen still; how many."""
    rows = [(no, before_ns) for no in outcomes]
    return db.executemany(_REMOVE_OUTCOME, rows).rowcount if rows else 0
