"""Removing what is long past: runs by their last activity, and outcomes no run was ever seen of.

What is old is found in a snapshot; then about as many records as are allowed are removed in one
transaction, so that writers never wait long. A trace goes with the last of its spans, and a run
with the last of its traces: one that is left half removed is still old, and is gone on with.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from engine.paths import identifier
from engine.store import Expired
from engine.store.keys import tenant_number, traces_of_run
from engine.store.writing import remove_run

_IS_SETTLED = "NOT EXISTS (SELECT 1 FROM traces WHERE run = r.no AND stamp <> settled)"

_RUNS = f"""
SELECT r.no FROM agents a JOIN runs r INDEXED BY runs_by_start ON r.agent = a.no
WHERE a.tenant = :tenant AND r.start_ns < :before_ns AND r.last_ns < :before_ns AND {_IS_SETTLED}
LIMIT :limit"""
"""No run ends before it starts, so the index of starts finds those that ended long ago."""

_OUTCOMES = """
SELECT no FROM outcomes o WHERE tenant = :tenant AND time_ns < :before_ns
AND NOT EXISTS (SELECT 1 FROM runs WHERE tenant = o.tenant AND run_id = o.run_id)
AND NOT EXISTS (SELECT 1 FROM traces WHERE tenant = o.tenant AND trace_id = o.run_id) LIMIT :limit"""

_STILL_OLD = f"""
SELECT tenant, run_id, agent, start_ns FROM runs r WHERE no = ? AND last_ns < ? AND {_IS_SETTLED}"""

_REMOVE_OUTCOME = """
DELETE FROM outcomes WHERE no = ? AND time_ns < ?
AND NOT EXISTS (SELECT 1 FROM runs WHERE tenant = outcomes.tenant AND run_id = outcomes.run_id)"""

_REMOVE_SPANS = """
DELETE FROM spans WHERE (trace, span_id) IN (SELECT trace, span_id FROM spans WHERE trace = ? LIMIT ?)"""

_REMOVE_TOLD = "DELETE FROM outcomes WHERE tenant = ? AND run_id = ?"


class Old(NamedTuple):
    """Numbers of runs, and of outcomes without a run, that are old."""

    runs: tuple[int, ...] = ()
    outcomes: tuple[int, ...] = ()


def find(db: sqlite3.Connection, tenant: str, before_ns: int, limit: int) -> Old:
    """At most ``limit`` old runs, and outcomes; a run with touched traces waits until it is settled."""
    asked = {"tenant": tenant_number(db, tenant), "before_ns": before_ns, "limit": limit}
    found = ([no for (no,) in db.execute(query, asked)] for query in (_RUNS, _OUTCOMES))
    return Old(*map(tuple, found))


def remove(db: sqlite3.Connection, old: Old, before_ns: int, limit: int) -> Expired:
    """Remove what is still old, about ``limit`` records of it."""
    runs = spans = 0
    for no in old.runs:
        row = db.execute(_STILL_OLD, (no, before_ns)).fetchone()
        if row is None:
            continue
        tenant, run_id, agent, start_ns = row
        removed, is_gone = _remove_traces(db, tenant, run_id, limit - runs - spans)
        spans += removed
        if is_gone:
            db.execute(_REMOVE_TOLD, (tenant, run_id))
            remove_run(db, no, agent, start_ns)
            runs += 1
        if runs + spans >= limit:
            return Expired(runs, spans)
    left = [(no, before_ns) for no in old.outcomes[: limit - runs - spans]]
    return Expired(runs, spans, db.executemany(_REMOVE_OUTCOME, left).rowcount if left else 0)


def _remove_traces(db: sqlite3.Connection, tenant: int, run_id: str, limit: int) -> tuple[int, bool]:
    """Remove at most ``limit`` spans of a run, and each trace with its last; how many, and if it was all."""
    removed = 0
    for trace in traces_of_run(db, tenant, run_id):
        removed += db.execute(_REMOVE_SPANS, (trace, limit - removed)).rowcount
        if db.execute("SELECT 1 FROM spans WHERE trace = ? LIMIT 1", (trace,)).fetchone():
            return removed, False
        ((trace_id,),) = db.execute("DELETE FROM traces WHERE no = ? RETURNING trace_id", (trace,)).fetchall()
        db.execute(_REMOVE_TOLD, (tenant, identifier(trace_id)))
    return removed, True
