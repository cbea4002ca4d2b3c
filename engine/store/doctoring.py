"""Looking a store over: what it holds, and whether all of it can be read and agrees.

Everything is read once, row by row, and nothing is written. Whatever is damaged becomes a
sentence; the rest is looked at all the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import DamagedStoreError
from engine.runs import Outcome, Run, Source
from engine.store import opening
from engine.store.migrating import version
from engine.store.packing import unpack_span, unpack_steps
from engine.store.removing import NOBODY
from engine.store.schema import VIEWS
from engine.store.words import MAX_SIGNATURES, pack_names
from engine.store.writing import packed_paths

NAMED = 20
"""Findings of one kind that are named; the rest are counted."""

_COUNTS = {
    "tenants": "SELECT count(*) FROM tenants",
    "runs": "SELECT count(*) FROM runs",
    "traces": "SELECT count(*) FROM traces",
    "spans": "SELECT count(*) FROM spans",
    "unsettled": "SELECT count(*) FROM traces WHERE stamp <> settled",
    "pages": "PRAGMA page_count",
    "free_pages": "PRAGMA freelist_count",
    "page_bytes": "PRAGMA page_size",
}

_STRAYS = (
    (
        "spans of a trace",
        "Spans belong to trace number {}, which is not there",
        "SELECT DISTINCT trace FROM spans WHERE NOT EXISTS (SELECT 1 FROM traces WHERE no = trace)",
    ),
    (
        "traces without spans",
        "The trace {!r} has no span",
        "SELECT trace_id FROM traces t WHERE NOT EXISTS (SELECT 1 FROM spans WHERE trace = t.no)",
    ),
    (
        "traces of a run",
        "The trace {!r} belongs to a run that is not there",
        f"SELECT trace_id FROM traces t WHERE (run IS NOT NULL OR stamp = settled AND tenant <> {NOBODY})"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE no = t.run AND tenant = t.tenant)",
    ),
    (
        "runs without traces",
        "The run {!r} has no trace",
        "SELECT run_id FROM runs r WHERE NOT EXISTS (SELECT 1 FROM traces WHERE run = r.no)",
    ),
    (
        "agents of runs",
        "The run {!r} has an agent that is not there",
        "SELECT run_id FROM runs r"
        " WHERE NOT EXISTS (SELECT 1 FROM agents WHERE no = r.agent AND tenant = r.tenant)",
    ),
    (
        "runs of paths",
        "A path belongs to run number {}, which is not there",
        "SELECT DISTINCT run FROM paths p WHERE NOT EXISTS"
        " (SELECT 1 FROM runs WHERE no = p.run AND agent = p.agent AND start_ns = p.start_ns)",
    ),
    (
        "traces of sessions",
        "The run {!r} is named by a trace that is not there",
        "SELECT run_id FROM sessions s WHERE NOT EXISTS"
        " (SELECT 1 FROM traces WHERE no = s.trace AND tenant = s.tenant)",
    ),
    *(
        (
            f"tenants of {table}",
            f"The table {table} has rows of tenant number {{}}, which is not there",
            f"SELECT DISTINCT tenant FROM {table}"
            f" WHERE tenant <> {NOBODY} AND tenant NOT IN (SELECT no FROM tenants)",
        )
        for table in ("agents", "signatures", "traces", "outcomes", "runs", "rules", "keys")
    ),
)
"""What is looked for, the sentence about it, and the query whose every row is a finding."""

_SPANS = "SELECT trace_id, span_id, ended, body FROM spans JOIN traces ON no = trace"
_RUNS = """
SELECT no, tenant, agent, run_id, version, ticket, start_ns, last_ns, outcome, source, step_count, steps
FROM runs"""
_PATHS = """
SELECT last_ns, source, names, path FROM paths
WHERE agent = ? AND view IN (0, 1) AND start_ns = ? AND run = ? ORDER BY view"""
_NUMBER = """
SELECT number FROM signatures WHERE tenant = :tenant AND signature = :signature
UNION ALL SELECT number FROM signatures WHERE tenant = :tenant AND number = :last LIMIT 1"""
"""Once the numbers are used up, all other signatures are the last."""


class _Row(NamedTuple):
    """A run as it lies in the store."""

    no: int
    tenant: int
    agent: int
    run_id: str
    version: str | None
    ticket: str | None
    start_ns: int
    last_ns: int
    outcome: int
    source: int
    step_count: int
    steps: bytes


class Examined(NamedTuple):
    """What a store holds, and what is wrong with it.

    Attributes
    ----------
    version : int or None
        The version of its schema; None where it cannot be read, as with every count.
    size_bytes, log_bytes : int
        Of the file, and of the write-ahead log beside it.
    counts : dict
        Of tenants, runs, traces, spans, unsettled traces, pages and free pages; bytes of a page.
    findings : tuple of str
        A sentence each; none if the store is sound.
    """

    path: Path
    version: int | None
    size_bytes: int
    log_bytes: int
    counts: dict[str, int | None]
    findings: tuple[str, ...]


def examine(path: Path) -> Examined:
    """Look a store over; the file is only read.

    Raises
    ------
    NotAStoreError, NewerStoreError, StoreError
        It is no store that this version can look over.
    """
    opening.check(path)
    sizes = path.stat().st_size, opening.log_bytes(path)
    try:
        with opening.told(path), closing(opening.connect(path, read_only=True)) as db:
            opening.bring_forward(db, path, read_only=True)
            counts = {name: _count(db, query) for name, query in _COUNTS.items()}
            return Examined(path, version(db), *sizes, counts, tuple(_findings(db)))
    except DamagedStoreError as error:
        return Examined(path, None, *sizes, dict.fromkeys(_COUNTS), (str(error),))


def _count(db: sqlite3.Connection, query: str) -> int | None:
    try:
        return int(db.execute(query).fetchone()[0])
    except sqlite3.Error:
        return None


def _findings(db: sqlite3.Connection) -> Iterator[str]:
    checks: list[tuple[str, Callable[[sqlite3.Connection], Iterable[str]]]] = [
        ("the pages of the file", _pages),
        *((what, partial(_strays, sentence=sentence, query=query)) for what, sentence, query in _STRAYS),
        ("spans", _spans),
        ("runs", _runs),
    ]
    for what, check in checks:
        try:
            found = iter(check(db))
            yield from islice(found, NAMED)
            more = sum(1 for _ in found)
            if more:
                yield f"{more:,} more findings of this kind ({what})"
        except sqlite3.Error as error:
            yield f"The store cannot be read all through, looking at {what}: {error}"


def _pages(db: sqlite3.Connection) -> Iterator[str]:
    """What SQLite itself finds, which says so in several lines at once where a tree is damaged."""
    for (found,) in db.execute("PRAGMA integrity_check(1000)"):
        yield from (f"The database says: {line}" for line in found.splitlines() if line != "ok")


def _strays(db: sqlite3.Connection, sentence: str, query: str) -> Iterator[str]:
    return (sentence.format(*row) for row in db.execute(query))


def _spans(db: sqlite3.Connection) -> Iterator[str]:
    for trace_id, span_id, ended, body in db.execute(_SPANS):
        fault = _fault(_of_span, trace_id, span_id, ended, body)
        if fault:
            yield f"The span {span_id!r} of trace {trace_id!r} {fault}"


def _of_span(trace_id: str, span_id: str, ended: int, body: bytes) -> str:
    has_ended = unpack_span(trace_id, span_id, body).end_ns is not None
    return "" if ended == has_ended else "is marked as ended if it has not, or the other way round"


def _runs(db: sqlite3.Connection) -> Iterator[str]:
    numbers: dict[tuple[int, str], int] = {}
    for row in map(_Row._make, db.execute(_RUNS)):
        paths = db.execute(_PATHS, (row.agent, row.start_ns, row.no)).fetchall()
        fault = _fault(_of_run, row, paths, partial(_number, db, numbers, row.tenant))
        if fault:
            yield f"The run {row.run_id!r} {fault}"


def _of_run(row: _Row, paths: Sequence[tuple[Any, ...]], number: Callable[[str], int]) -> str:
    """What is wrong with a run: its paths must be those that its steps fold to."""
    ended = Outcome(row.outcome), Source(row.source)
    steps, trace_ids = unpack_steps(row.steps)
    run = Run(row.run_id, "", row.version, row.ticket, row.start_ns, row.last_ns, *ended, steps, trace_ids)
    if row.step_count != len(steps):
        return f"counts {row.step_count} steps and holds {len(steps)}"
    if len(paths) != len(VIEWS):
        return f"has {len(paths)} of its {len(VIEWS)} paths"
    names = pack_names(run)
    if paths != [(row.last_ns, row.source, names, path) for path in packed_paths(run, number)]:
        return "has a path that is not what its steps fold to"
    return ""


def _number(db: sqlite3.Connection, known: dict[tuple[int, str], int], tenant: int, signature: str) -> int:
    """The number of a signature; those looked up once are remembered."""
    if (tenant, signature) not in known:
        asked = {"tenant": tenant, "signature": signature, "last": MAX_SIGNATURES}
        row = db.execute(_NUMBER, asked).fetchone()
        if row is None:
            raise LookupError(f"its step {signature!r} has no number")
        known[tenant, signature] = row[0]
    return known[tenant, signature]


def _fault(look: Callable[..., str], *row: Any) -> str:
    """What is wrong with a row; whatever happens to one that is damaged, it cannot be read."""
    try:
        return look(*row)
    except sqlite3.Error:
        raise
    except Exception as error:  # noqa: BLE001 - bytes that were changed may mean anything
        return f"cannot be read: {error}"
