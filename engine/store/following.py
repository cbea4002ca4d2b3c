"""Following runs that are still coming in, settled or not: what changed, and the spans of one run.

A trace belongs to the run it was settled into, unless spans that came since say otherwise; those
name their runs in ``sessions``, or none, and then it is the trace's own. So the traces of a run are
among those settled into it, those that name it and the one that has its id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable

from engine.paths import identifier
from engine.spans import Span
from engine.store import Changes, TenantRun, Touched, Trail, feeding
from engine.store.fitting import bounded, plain
from engine.store.keys import tenant_number, traces_of_run
from engine.store.packing import unpack_span

_OLDEST = "SELECT min(no) FROM changes"

_NAMED = """
SELECT c.trace, n.name, t.trace_id, r.run_id, s.run_id FROM ({}) c
LEFT JOIN traces t ON t.no = c.trace
LEFT JOIN tenants n ON n.no = t.tenant
LEFT JOIN runs r ON r.no = t.run
LEFT JOIN sessions s ON s.trace = c.trace"""
_CHANGED = _NAMED.format("SELECT trace FROM changes WHERE no > ? GROUP BY trace ORDER BY max(no)")
_UNSETTLED = _NAMED.format("SELECT no AS trace FROM traces WHERE stamp <> settled ORDER BY no DESC LIMIT ?")

_ACTIVE = """
SELECT n.name, r.run_id FROM agents a
JOIN runs r INDEXED BY runs_by_activity ON r.agent = a.no AND r.source <> 0 AND r.last_ns > ?
JOIN tenants n ON n.no = r.tenant
ORDER BY r.last_ns DESC LIMIT ?"""

_NAMING = "SELECT trace FROM sessions WHERE tenant = ? AND run_id = ?"
_OWN = "SELECT no FROM traces WHERE tenant = ? AND trace_id = ?"
_SIZE = "SELECT count(*) FROM (SELECT 1 FROM spans WHERE trace = ? LIMIT ?)"
_SPANS = "SELECT span_id, body FROM spans WHERE trace = ?"


def changes(db: sqlite3.Connection, after: int) -> Changes:
    """What changed after a change; nothing and not ``whole`` if not all of that is kept."""
    latest = feeding.latest(db)
    (oldest,) = db.execute(_OLDEST).fetchone()
    if after != latest and (oldest is None or not oldest - 1 <= after < latest):
        return Changes(latest, (), False)
    return Changes(latest, tuple(_touched(db.execute(_CHANGED, (after,)))), True)


def _touched(rows: Iterable[tuple[int, str | None, str | None, str | None, str | None]]) -> list[Touched]:
    """One a trace: its rows lie behind one another."""
    found: dict[int, Touched] = {}
    for trace, tenant, trace_id, settled, named in rows:
        before = found[trace].run_ids if trace in found else ()
        names = (*before, named, settled, identifier(trace_id or ""))
        found[trace] = Touched(trace, tenant or "", tuple(dict.fromkeys(filter(None, names))))
    return list(found.values())


def in_flight(db: sqlite3.Connection, after_ns: int, limit: int) -> list[TenantRun]:
    """Runs active after a moment and those with unsettled traces, the latest first."""
    unsettled = _touched(db.execute(_UNSETTLED, (limit,)))
    coming = [(each.tenant, each.run_ids[0]) for each in unsettled if each.run_ids]
    active = db.execute(_ACTIVE, (bounded(after_ns), limit)).fetchall()
    return list(dict.fromkeys((*coming, *active)))[:limit]


def trail(
    db: sqlite3.Connection, tenant: str, run_id: str, known: Container[int], limit: int
) -> Trail | None:
    """The spans of every trace that may belong to a run; None if there is none."""
    number, kept = tenant_number(db, tenant), identifier(plain(run_id))
    traces = () if number is None else _candidates(db, number, kept)
    if not traces:
        return None
    change, left = feeding.latest(db), limit + 1
    for trace in traces:
        left -= db.execute(_SIZE, (trace, left)).fetchone()[0]
    if left <= 0:
        return Trail(kept, change, traces, None)
    spans: dict[int, Span | None] = {}
    for trace in traces:
        (trace_id,) = db.execute("SELECT trace_id FROM traces WHERE no = ?", (trace,)).fetchone()
        for span_id, body in db.execute(_SPANS, (trace,)):
            digest = hash((trace_id, span_id, body))
            spans[digest] = None if digest in known else unpack_span(trace_id, span_id, body)
    return Trail(kept, change, traces, spans)


def _candidates(db: sqlite3.Connection, tenant: int, run_id: str) -> tuple[int, ...]:
    found = traces_of_run(db, tenant, run_id)
    found += [no for query in (_NAMING, _OWN) for (no,) in db.execute(query, (tenant, run_id))]
    return tuple(dict.fromkeys(found))
