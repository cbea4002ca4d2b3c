"""Folding touched traces into runs and paths.

What must be folded is read from a snapshot and folded outside the write lock; under the
lock it is written only if nothing it was read from has changed since, else it is read again
there. So appending goes on meanwhile, and two processes may settle at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from engine.rules import ruled
from engine.runs import Declaration, Outcome, ReadingSettings, Run, RunKey, Source, assemble, run_key
from engine.spans import Span
from engine.store import feeding
from engine.store.keys import told_name, told_names, traces_of_run
from engine.store.packing import unpack_span
from engine.store.ruling import every_rule, rules_of
from engine.store.writing import RunWriter

BATCH_RUNS = 500
"""Touched traces folded in one transaction at most."""
BATCH_SPANS = 20_000
"""Spans after which a transaction takes no further run."""
MOST_SPANS = 100_000
"""Spans after which it takes no further trace of its runs either."""


class Basis(NamedTuple):
    """What a fold was read from: (trace, run, stamp) of every trace, what was declared, every rule."""

    traces: tuple[tuple[int, int | None, int], ...]
    declarations: tuple[Declaration, ...]
    rules: tuple[tuple[str, int, str, int], ...]


class Folded(NamedTuple):
    """A batch to write: each run by its id with the traces that are its now, None if it has no span left.

    The touched traces that are ``gone`` have no span either. The touched ones that are still there
    name other runs too, if there are any (``named``).
    """

    basis: Basis
    touched: tuple[int, ...]
    gone: tuple[int, ...]
    runs: dict[str, tuple[Run | None, tuple[int, ...]]]
    named: frozenset[tuple[str, int]]


class Settled(NamedTuple):
    """What was written: ids of the runs that the touched traces belong to, and the last such trace."""

    run_ids: set[str]
    up_to: int


def last_touched(db: sqlite3.Connection, tenant: int) -> int:
    """Number of the last touched trace, 0 if there is none: where settling may stop, whatever still comes."""
    query = "SELECT coalesce(max(no), 0) FROM traces WHERE tenant = ? AND stamp <> settled"
    found: tuple[int] = db.execute(query, (tenant,)).fetchone()
    return found[0]


def read_batch(
    db: sqlite3.Connection, tenant: int, reading: ReadingSettings, after: int, up_to: int
) -> Folded | None:
    """Fold the next touched traces with numbers in (after, up_to], and every run they belong to, or did.

    None if none of them is touched.
    """
    spans, keys = _touched(db, tenant, reading.run_key, after, up_to)
    if not spans:
        return None
    left = (_run_id(db, no) for no in spans)
    run_ids = tuple(dict.fromkeys((*keys.values(), *(run_id for run_id in left if run_id is not None))))
    runs = {}
    came: dict[str, list[int]] = {run_id: [] for run_id in run_ids}
    for no, key in keys.items():
        came[key].append(no)
    for run_id in run_ids:
        stayed = {no: spans_of(db, no) for no in traces_of_run(db, tenant, run_id) if no not in spans}
        # One that is touched and leaves with a later batch must stay touched until then.
        stays = [no for no, found in stayed.items() if found and run_key(found, reading.run_key) == run_id]
        traces = tuple(sorted(stays + came[run_id]))
        parts = stayed | {no: spans[no] for no in came[run_id]}
        sent = [span for no in sorted(parts) for span in parts[no]]
        declared = declarations_of(db, tenant, told_names(run_id, {span.trace_id for span in sent}))
        run = assemble(run_id, sent, declared, reading.evaluation) if sent else None
        runs[run_id] = run and _ruled(db, tenant, run), traces
    gone = tuple(spans.keys() - keys.keys())
    named = frozenset(_named_beside(spans, keys)) if reading.run_key == "session" else frozenset()
    return Folded(look(db, tenant, spans, run_ids), tuple(spans), gone, runs, named)


def _named_beside(spans: Mapping[int, list[Span]], keys: Mapping[int, str]) -> Iterator[tuple[str, int]]:
    """The runs that traces name beside the one they belong to, as they may come to belong to them."""
    return ((name, no) for no, key in keys.items() for name in feeding.names_of(spans[no]) - {key})


def _ruled(db: sqlite3.Connection, tenant: int, run: Run) -> Run:
    return run if run.source is Source.DECLARED else ruled(run, rules_of(db, tenant, run.agent))


def _touched(
    db: sqlite3.Connection, tenant: int, by: RunKey, after: int, up_to: int
) -> tuple[dict[int, list[Span]], dict[int, str]]:
    """The next touched traces: their spans, and the ids of the runs they belong to now.

    Past its bounds a batch goes on while traces belong to its runs, which would be folded again else.
    """
    found: dict[int, list[Span]] = {}
    keys: dict[int, str] = {}
    total, run_ids = 0, set[str]()
    touched = "SELECT no FROM traces WHERE tenant = ? AND stamp <> settled AND no > ? AND no <= ? ORDER BY no"
    for (no,) in db.execute(touched, (tenant, after, up_to)):
        spans = spans_of(db, no)
        key = run_key(spans, by) if spans else None
        is_full = len(found) >= BATCH_RUNS or total >= BATCH_SPANS
        if total >= MOST_SPANS or (is_full and key not in run_ids):
            break
        found[no] = spans
        total += len(spans)
        if key is not None:
            keys[no] = key
            run_ids.add(key)
    return found, keys


def spans_of(db: sqlite3.Connection, trace: int) -> list[Span]:
    """The spans of one trace, in no order that means anything."""
    return list(each_span(db, trace))


def each_span(db: sqlite3.Connection, trace: int) -> Iterator[Span]:
    """The spans of one trace, one at a time."""
    (trace_id,) = db.execute("SELECT trace_id FROM traces WHERE no = ?", (trace,)).fetchone()
    for span_id, body in db.execute("SELECT span_id, body FROM spans WHERE trace = ?", (trace,)):
        yield unpack_span(trace_id, span_id, body)


def _run_id(db: sqlite3.Connection, trace: int) -> str | None:
    """Id of the run a trace was last settled into."""
    row = db.execute("SELECT run_id FROM runs WHERE no = (SELECT run FROM traces WHERE no = ?)", (trace,))
    found: tuple[str] | None = row.fetchone()
    return found[0] if found else None


def declarations_of(db: sqlite3.Connection, tenant: int, names: Iterable[str]) -> list[Declaration]:
    """What was declared under any of these ids, by time, then by arrival."""
    query = "SELECT time_ns, no, run_id, outcome, declared_by FROM outcomes WHERE tenant = ? AND run_id = ?"
    rows = sorted(row for name in names for row in db.execute(query, (tenant, name)))
    return [Declaration(name, Outcome(outcome), time_ns, by) for time_ns, _, name, outcome, by in rows]


def look(db: sqlite3.Connection, tenant: int, touched: Iterable[int], run_ids: Iterable[str]) -> Basis:
    """What a fold of these traces and runs would be read from now."""
    ids = list(run_ids)
    numbers = dict.fromkeys((*touched, *(no for run_id in ids for no in traces_of_run(db, tenant, run_id))))
    state = "SELECT no, run, stamp, trace_id FROM traces WHERE no = ?"
    rows = [row for no in numbers for row in db.execute(state, (no,))]  # one may be gone by now
    return Basis(
        tuple(row[:3] for row in rows),
        tuple(declarations_of(db, tenant, dict.fromkeys(map(told_name, (*ids, *(row[3] for row in rows)))))),
        every_rule(db, tenant),
    )


def is_current(db: sqlite3.Connection, tenant: int, folded: Folded) -> bool:
    """Whether nothing that was read for the fold has changed since."""
    return look(db, tenant, folded.touched, folded.runs) == folded.basis


def write_batch(db: sqlite3.Connection, tenant: int, folded: Folded) -> Settled:
    """Write what :func:`read_batch` folded."""
    writer = RunWriter(db, tenant)
    settled = {no: stamp for no, _, stamp in folded.basis.traces}
    for run, traces in folded.runs.values():
        if run is not None:
            number = writer.write(run)
            db.executemany(
                "UPDATE traces SET run = ?, settled = ? WHERE no = ?",
                [(number, settled[no], no) for no in traces],
            )
    for run_id, (run, _) in folded.runs.items():
        if run is None:
            writer.remove(run_id)
    db.executemany("DELETE FROM traces WHERE no = ?", [(no,) for no in folded.gone])
    feeding.unname(db, folded.touched)
    feeding.name(db, tenant, folded.named)
    touched = set(folded.touched)
    run_ids = {run_id for run_id, (_, traces) in folded.runs.items() if not touched.isdisjoint(traces)}
    return Settled(run_ids, max(touched))


def is_read_as(db: sqlite3.Connection, fingerprint: int) -> bool:
    """Whether the store's runs are what these settings make of its spans."""
    found: tuple[int] | None = db.execute("SELECT value FROM meta WHERE key = 'reading'").fetchone()
    return found == (fingerprint,)


def read_anew(db: sqlite3.Connection, fingerprint: int) -> None:
    """Mark every trace for settling, unless another process has done so."""
    if not is_read_as(db, fingerprint):
        db.execute("UPDATE traces SET stamp = stamp + 1 WHERE tenant <> 0")
        db.execute("INSERT OR REPLACE INTO meta VALUES ('reading', ?)", (fingerprint,))
