"""Following runs that are still coming in, settled or not: what changed, and the spans of one run.

A trace belongs to the run it was settled into, unless spans that came since say otherwise; those
name their runs in ``sessions``, or none, and then it is the trace's own. So the traces of a run are
among those settled into it, those that name it and the one that has its id. By the id of one of its
traces, with dashes or without, a run is found too.

Each question is a row or two, however much is in it: a thread that asks for rows one by one waits for
the interpreter at each, and where spans come in that is busy.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Iterator

import msgspec

from engine.paths import identifier
from engine.spans import Span
from engine.store import Changes, TenantRun, Touched, Trail
from engine.store.fitting import bounded, plain
from engine.store.keys import spellings, tenant_number, told_name
from engine.store.packing import unpack_span

MAX_BYTES = 100_000_000
"""A run whose spans take more is too long, however few they are."""

_KEPT = "SELECT coalesce(min(no), 1), coalesce(max(no), 0) FROM changes"

_NAMED = """
SELECT json_group_array(json_array(trace, tenant, trace_id, settled, named)) FROM (
    SELECT c.trace, n.name AS tenant, t.trace_id, r.run_id AS settled, s.run_id AS named FROM ({}) c
    LEFT JOIN traces t ON t.no = c.trace
    LEFT JOIN tenants n ON n.no = t.tenant
    LEFT JOIN runs r ON r.no = t.run
    LEFT JOIN sessions s ON s.trace = c.trace)"""
_CHANGED = _NAMED.format("SELECT trace FROM changes WHERE no > ? GROUP BY trace ORDER BY max(no)")
_UNSETTLED = _NAMED.format("SELECT no AS trace FROM traces WHERE stamp <> settled ORDER BY no DESC LIMIT ?")

_ACTIVE = """
SELECT json_group_array(json_array(name, run_id)) FROM (
    SELECT n.name, r.run_id FROM agents a
    JOIN runs r INDEXED BY runs_by_activity ON r.agent = a.no AND r.source <> 0 AND r.last_ns > ?
    JOIN tenants n ON n.no = r.tenant
    ORDER BY r.last_ns DESC LIMIT ?)"""

_ITS = """
WITH its AS MATERIALIZED (
    SELECT no, trace_id FROM traces WHERE no IN (
        SELECT t.no FROM runs r JOIN traces t ON t.run = r.no WHERE r.tenant = :tenant AND r.run_id = :run
        UNION SELECT trace FROM sessions WHERE tenant = :tenant AND run_id = :run
        UNION SELECT no FROM traces WHERE tenant = :tenant AND trace_id = :run
        UNION SELECT no FROM traces WHERE tenant = :tenant
              AND trace_id IN (SELECT value FROM json_each(:spelt)))
    LIMIT :limit)"""
_SIZE = f"""{_ITS}
SELECT (SELECT json_group_array(no) FROM its), (SELECT coalesce(max(no), 0) FROM changes),
       count(*), total(bytes)
FROM (SELECT length(body) AS bytes FROM its JOIN spans ON trace = no LIMIT :limit)"""
_SPANS = f"""{_ITS}
SELECT trace_id, json_group_array(json_array(span_id, length(body))), CAST(group_concat(body, '') AS BLOB)
FROM its JOIN spans ON trace = no GROUP BY no"""

_Named = tuple[int, str | None, str | None, str | None, str | None]
_named = msgspec.json.Decoder(list[_Named]).decode
_runs = msgspec.json.Decoder(list[TenantRun]).decode
_numbers = msgspec.json.Decoder(tuple[int, ...]).decode
_lengths = msgspec.json.Decoder(list[tuple[str, int]]).decode


def changes(db: sqlite3.Connection, after: int) -> Changes:
    """What changed after a change; nothing and not ``whole`` if not all of that is kept."""
    oldest, latest = db.execute(_KEPT).fetchone()
    if not oldest - 1 <= after <= latest:
        return Changes(latest, (), False)
    return Changes(latest, _touched(db.execute(_CHANGED, (after,)).fetchone()[0]), True)


def _touched(rows: str) -> tuple[Touched, ...]:
    """One a trace: its rows lie behind one another."""
    found: dict[int, Touched] = {}
    for trace, tenant, trace_id, settled, named in _named(rows):
        before = found[trace].run_ids if trace in found else ()
        names = (*before, named, settled, identifier(trace_id or ""))
        found[trace] = Touched(trace, tenant or "", tuple(dict.fromkeys(filter(None, names))))
    return tuple(found.values())


def in_flight(db: sqlite3.Connection, after_ns: int, limit: int) -> list[TenantRun]:
    """Runs active after a moment and those with unsettled traces, the latest first."""
    unsettled = _touched(db.execute(_UNSETTLED, (limit,)).fetchone()[0])
    coming = [(each.tenant, each.run_ids[0]) for each in unsettled]
    active = _runs(db.execute(_ACTIVE, (bounded(after_ns), limit)).fetchone()[0])
    return list(dict.fromkeys((*coming, *active)))[:limit]


def trail(
    db: sqlite3.Connection, tenant: str, run_id: str, known: Container[int], limit: int
) -> Trail | None:
    """The spans of every trace that may belong to a run; None if there is none."""
    kept = identifier(plain(run_id))
    spelt = json.dumps(spellings(told_name(kept)))
    asked = {"tenant": tenant_number(db, tenant), "run": kept, "spelt": spelt, "limit": limit + 1}
    numbers, change, count, size = db.execute(_SIZE, asked).fetchone()
    traces = _numbers(numbers)
    if not traces:
        return None
    if count > limit or size > MAX_BYTES:
        return Trail(kept, change, traces, None)
    return Trail(kept, change, traces, dict(_spans(db.execute(_SPANS, asked).fetchall(), known)))


def _spans(rows: list[tuple[str, str, bytes]], known: Container[int]) -> Iterator[tuple[int, Span | None]]:
    """Each span by its digest, those not known read."""
    for trace_id, lengths, bodies in rows:
        end = 0
        for span_id, length in _lengths(lengths):
            start, end = end, end + length
            body = bodies[start:end]
            digest = hash((trace_id, span_id, body))
            yield digest, None if digest in known else unpack_span(trace_id, span_id, body)
