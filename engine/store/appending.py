"""Keeping what arrives: spans by identity, declarations all of them.

Each function runs inside the caller's write transaction and marks the traces it touched by
raising their ``stamp``; :mod:`engine.store.settling` folds those later.
:mod:`engine.store.feeding` tells those who follow.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from engine.conventions import session
from engine.runs import Declaration
from engine.spans import Span
from engine.store import Appended, feeding
from engine.store.fitting import bounded, fitted, plain
from engine.store.keys import told_name, traces_told
from engine.store.packing import pack_span

_INSERT = "INSERT INTO spans (trace, span_id, ended, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_REPLACE = """
UPDATE spans SET ended = ?3, body = ?4
WHERE trace = ?1 AND span_id = ?2 AND ended <= ?3 AND body <> ?4"""

_NEW_TRACE = """
INSERT INTO traces (tenant, trace_id, stamp) SELECT ?, ?, coalesce(max(no), 0) FROM changes"""
"""A number may be given anew, but not with the same stamp: whoever still folds the one that went sees it."""

_KEY = itemgetter(0, 1)


class PackedSpan(NamedTuple):
    """A span ready to be written, and the session it names behind the precedence of its key."""

    trace_id: str
    span_id: str
    ended: bool
    body: bytes
    session: tuple[int, str] | None = None


def pack(spans: Sequence[Span]) -> list[PackedSpan]:
    """Pack a batch; only a batch that holds something unfit pays for being looked through."""
    try:
        "".join([span.trace_id + span.span_id for span in spans]).encode()
        return _packed(spans)
    except (UnicodeEncodeError, OverflowError, RecursionError, TypeError, ValueError):
        return _packed([fitted(span) for span in spans])


def _packed(spans: Iterable[Span]) -> list[PackedSpan]:
    return [PackedSpan(s.trace_id, s.span_id, s.end_ns is not None, pack_span(s), session(s)) for s in spans]


def append(db: sqlite3.Connection, tenant: int, spans: Sequence[PackedSpan]) -> Appended:
    """Write a packed batch."""
    kept = last_copies(spans)
    traces = {span.trace_id: 0 for span in kept}
    fresh = set()
    for trace_id in traces:
        traces[trace_id], is_new = _trace(db, tenant, trace_id)
        if is_new:
            fresh.add(trace_id)
    rows = [(traces[trace_id], span_id, ended, body) for trace_id, span_id, ended, body, _ in kept]
    new = db.executemany(_INSERT, rows).rowcount
    # Replaying the whole batch changes nothing of the spans just inserted.
    changed = db.executemany(_REPLACE, rows).rowcount if new < len(rows) else 0
    if new or changed:
        touch(db, [no for trace_id, no in traces.items() if trace_id not in fresh])
        feeding.tell(db, traces.values())
        feeding.name(db, tenant, _named(traces, kept))
    return Appended(new, changed, len(spans) - new - changed)


def _named(traces: dict[str, int], spans: Iterable[PackedSpan]) -> set[tuple[str, int]]:
    """The run ids that spans name, and the numbers of their traces."""
    named = {(span.session[1], traces[span.trace_id]) for span in spans if span.session is not None}
    return named | {(cut, no) for trace_id, no in traces.items() for cut in feeding.kept_cut(trace_id)}


def last_copies(spans: Sequence[PackedSpan]) -> Sequence[PackedSpan]:
    """The last copy of each span, of those that have ended if any has.

    >>> ended, begun = PackedSpan("t", "s", True, b"e"), PackedSpan("t", "s", False, b"b")
    >>> last_copies([begun, ended, begun]) == [ended]
    True
    """
    if len(set(map(_KEY, spans))) == len(spans):
        return spans
    kept: dict[tuple[str, str], PackedSpan] = {}
    for span in spans:
        before = kept.get(span[:2])
        if before is None or span.ended >= before.ended:
            kept[span[:2]] = span
    return list(kept.values())


def _trace(db: sqlite3.Connection, tenant: int, trace_id: str) -> tuple[int, bool]:
    """The number of a trace, and whether it was given now."""
    row = db.execute("SELECT no FROM traces WHERE tenant = ? AND trace_id = ?", (tenant, trace_id)).fetchone()
    if row:
        return row[0], False
    return db.execute(_NEW_TRACE, (tenant, trace_id)).lastrowid or 0, True


def touch(db: sqlite3.Connection, traces: Iterable[int]) -> None:
    """Mark traces for settling."""
    db.executemany("UPDATE traces SET stamp = stamp + 1 WHERE no = ?", [(no,) for no in traces])


_SAID_LAST = """
SELECT outcome FROM outcomes WHERE tenant = ? AND run_id = ? AND declared_by = ?
ORDER BY time_ns DESC, no DESC LIMIT 1"""


def declare(
    db: sqlite3.Connection, tenant: int, declarations: Sequence[Declaration], repeat: bool = True
) -> Appended:
    """Write declarations; the traces of a run that is already known are marked."""
    new = 0
    for told in declarations:
        row = (tenant, told_name(told.run_id), told.outcome, bounded(told.time_ns), plain(told.by))
        said = None if repeat else db.execute(_SAID_LAST, (tenant, row[1], row[4])).fetchone()
        if said == (row[2],):
            continue
        fresh = db.execute(
            "INSERT INTO outcomes (tenant, run_id, outcome, time_ns, declared_by) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            row,
        ).rowcount
        if fresh:
            new += 1
            touch(db, traces_told(db, tenant, told.run_id))
    return Appended(new, 0, len(declarations) - new)
