"""Removing what is long past: runs by their last activity, and outcomes no run was ever seen of.

What is old is found in a snapshot; then about as many records as are allowed are removed in one
transaction, so that writers never wait long. A trace goes with the last of its spans, and a run
with the last of its traces: one that is left half removed is still old, and is gone on with.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from typing import NamedTuple

from engine.runs import RunKey, run_key
from engine.store import Expired, feeding
from engine.store.keys import tenant_number, told_name, traces_of_run
from engine.store.settling import BATCH_RUNS, spans_of
from engine.store.writing import remove_run

_IS_SETTLED = "NOT EXISTS (SELECT 1 FROM traces WHERE run = r.no AND stamp <> settled)"

_RUNS = f"""
SELECT r.no FROM agents a JOIN runs r INDEXED BY runs_by_start ON r.agent = a.no
WHERE a.tenant = :tenant AND r.start_ns < :before_ns AND r.last_ns < :before_ns AND {_IS_SETTLED}
LIMIT :limit"""
"""No run ends before it starts, so the index of starts finds those that ended long ago."""

_DASHED = " || '-' || ".join(f"substr(o.run_id, {part})" for part in ("1, 8", "9, 4", "13, 4", "17, 4", "21"))
_SPELLINGS = f"(o.run_id, {_DASHED}, upper(o.run_id), upper({_DASHED}))"
_IS_UNSEEN = f"""
NOT EXISTS (SELECT 1 FROM runs WHERE tenant = o.tenant AND run_id IN {_SPELLINGS})
AND NOT EXISTS (SELECT 1 FROM traces WHERE tenant = o.tenant AND trace_id IN {_SPELLINGS})"""
"""An outcome is kept under one form of a trace id; whoever goes by another form of any id has it too."""

_OUTCOMES = f"""
SELECT no FROM outcomes o WHERE tenant = :tenant AND time_ns < :before_ns AND {_IS_UNSEEN} LIMIT :limit"""

_STILL_OLD = f"""
SELECT tenant, run_id, agent, start_ns FROM runs r WHERE no = ? AND last_ns < ? AND {_IS_SETTLED}"""

_REMOVE_OUTCOME = f"""
DELETE FROM outcomes AS o WHERE no = ? AND time_ns < ?
AND run_id NOT IN (SELECT value FROM json_each(?)) AND {_IS_UNSEEN}"""

_WAITING = "SELECT no FROM traces WHERE tenant = ? AND stamp <> settled LIMIT ?"
"""Traces that came since all were settled; where they are many, removing waits for the next pass."""

_REMOVE_SPANS = """
DELETE FROM spans WHERE (trace, span_id) IN (SELECT trace, span_id FROM spans WHERE trace = ? LIMIT ?)"""

_REMOVE_TOLD = "DELETE FROM outcomes WHERE tenant = ? AND run_id = ?"


class Old(NamedTuple):
    """Numbers of runs, and of outcomes without a run, that are old."""

    runs: tuple[int, ...] = ()
    outcomes: tuple[int, ...] = ()


def find(db: sqlite3.Connection, tenant: str, before_ns: int, limit: int) -> Old:
    """At most ``limit`` old runs and outcomes; a run with touched traces waits until it is settled."""
    asked = {"tenant": tenant_number(db, tenant), "before_ns": before_ns}
    runs = tuple(no for (no,) in db.execute(_RUNS, asked | {"limit": limit}))
    outcomes = db.execute(_OUTCOMES, asked | {"limit": limit - len(runs)})  # a long look, if there are many
    return Old(runs, tuple(no for (no,) in outcomes))


def remove(db: sqlite3.Connection, tenant: int, by: RunKey, old: Old, before_ns: int, limit: int) -> Expired:
    """Remove what is still old, about ``limit`` records of it."""
    waiting = db.execute(_WAITING, (tenant, BATCH_RUNS + 1)).fetchall()
    if len(waiting) > BATCH_RUNS:
        return Expired()
    awaited = {run_key(sent, by) for (no,) in waiting if (sent := spans_of(db, no))}
    return _remove(db, old, awaited, before_ns, limit)


def _remove(
    db: sqlite3.Connection, old: Old, awaited: Collection[str], before_ns: int, limit: int
) -> Expired:
    runs = spans = 0
    for no in old.runs:
        row = db.execute(_STILL_OLD, (no, before_ns)).fetchone()
        if row is None or row[1] in awaited:
            continue
        tenant, run_id, agent, start_ns = row
        removed, is_gone = _remove_traces(db, tenant, run_id, limit - runs - spans)
        spans += removed
        if is_gone:
            db.execute(_REMOVE_TOLD, (tenant, told_name(run_id)))
            remove_run(db, no, agent, start_ns)
            runs += 1
        if runs + spans >= limit:
            return Expired(runs, spans)
    names = json.dumps([told_name(run_id) for run_id in awaited])
    left = [(no, before_ns, names) for no in old.outcomes[: limit - runs - spans]]
    return Expired(runs, spans, db.executemany(_REMOVE_OUTCOME, left).rowcount if left else 0)


def _remove_traces(db: sqlite3.Connection, tenant: int, run_id: str, limit: int) -> tuple[int, bool]:
    """Remove at most ``limit`` spans of a run, and each trace with its last; how many, and if it was all."""
    removed = 0
    for trace in traces_of_run(db, tenant, run_id):
        removed += db.execute(_REMOVE_SPANS, (trace, limit - removed)).rowcount
        feeding.tell(db, [trace])
        if db.execute("SELECT 1 FROM spans WHERE trace = ? LIMIT 1", (trace,)).fetchone():
            return removed, False
        ((trace_id,),) = db.execute("DELETE FROM traces WHERE no = ? RETURNING trace_id", (trace,)).fetchall()
        db.execute(_REMOVE_TOLD, (tenant, told_name(trace_id)))
        feeding.unname(db, [trace])
    return removed, True
