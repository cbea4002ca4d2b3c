"""Telling those who follow the store which traces were touched or removed, and what runs they name.

Each function runs inside the caller's write transaction, so what is told and what happened are
seen at once or not at all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable

from engine.conventions import session
from engine.paths import identifier
from engine.spans import Span

KEPT_CHANGES = 100_000
"""Changes that are kept, the newest: who has fallen further behind starts anew."""

_LATEST = "SELECT coalesce(max(no), 0) FROM changes"


def latest(db: sqlite3.Connection) -> int:
    """Number of the newest change, 0 if there never was one."""
    (number,) = db.execute(_LATEST).fetchone()
    return int(number)


def tell(db: sqlite3.Connection, traces: Iterable[int]) -> None:
    """Note that spans of these traces came, changed or went."""
    db.executemany("INSERT INTO changes (trace) VALUES (?)", [(no,) for no in traces])
    db.execute("DELETE FROM changes WHERE no <= ?", (latest(db) - KEPT_CHANGES,))


def names_of(spans: Iterable[Span]) -> set[str]:
    """The run ids that spans of one trace name: sessions, and the trace's id where it is kept cut.

    >>> names_of([Span("t", "1", "a", 0), Span("t", "2", "b", 0, attributes={"session.id": "s"})])
    {'s'}
    """
    found = list(spans)
    named = {name[1] for span in found if (name := session(span)) is not None}
    return named.union(*(kept_cut(span.trace_id) for span in found[:1]))


def kept_cut(trace_id: str) -> set[str]:
    """The run id that a trace id makes, if that is not the id itself because it is too long."""
    return {identifier(trace_id)} - {trace_id}


def name(db: sqlite3.Connection, tenant: int, named: Iterable[tuple[str, int]]) -> None:
    """Note which run ids traces name, until they are settled."""
    insert = "INSERT INTO sessions (tenant, run_id, trace) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    db.executemany(insert, [(tenant, run_id, trace) for run_id, trace in named])


def unname(db: sqlite3.Connection, traces: Collection[int]) -> None:
    """Forget which run ids traces name."""
    db.executemany("DELETE FROM sessions WHERE trace = ?", [(no,) for no in traces])
