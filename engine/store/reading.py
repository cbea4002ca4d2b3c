"""Reading runs and paths back, without changing anything."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import UnknownAgentError, UnknownRunError
from engine.paths import Paths
from engine.runs import LIVE_NS, Cohort, Outcome, Run, Source, Window
from engine.spans import Span
from engine.store import AgentSummary, RunRow
from engine.store.appending import traces_of_run
from engine.store.packing import bounded, plain, unpack_paths, unpack_steps
from engine.store.schema import VIEWS
from engine.store.settling import spans_of

_IS_LIVE = "(source <> 0 AND last_ns > :after_ns AND last_ns <= :until_ns)"
"""What :func:`engine.runs.is_live` says of a row, with :func:`_moment`."""

_COMPLETED = """
SELECT run_id, ticket, class, path FROM paths
WHERE agent = :agent AND view = :view AND start_ns >= :from_ns AND start_ns < :to_ns
  AND NOT (class & 12 <> 0 AND last_ns > :after_ns AND last_ns <= :until_ns)
ORDER BY start_ns DESC, run DESC LIMIT :limit"""

_LIVE = f"""
SELECT p.run_id, p.ticket, 3 | (p.class & ~3), p.path
FROM (SELECT no, start_ns FROM runs WHERE agent = :agent AND {_IS_LIVE}
      AND start_ns >= :from_ns AND start_ns < :to_ns ORDER BY start_ns DESC, no DESC LIMIT :limit) r
CROSS JOIN paths p ON p.agent = :agent AND p.view = :view AND p.start_ns = r.start_ns AND p.run = r.no
ORDER BY r.start_ns DESC, r.no DESC"""

_SUMMARY = f"""
SELECT agent, {_IS_LIVE} AS live, outcome, source, count(*) FROM runs
WHERE agent IN (SELECT no FROM agents WHERE tenant = :tenant) AND start_ns >= :from_ns AND start_ns < :to_ns
GROUP BY agent, live, outcome, source"""

_EVER = """
SELECT a.no, a.name, min(r.start_ns), max(r.start_ns), count(*)
FROM agents a CROSS JOIN runs r ON r.agent = a.no WHERE a.tenant = :tenant GROUP BY a.no ORDER BY a.name"""

_ROWS = f"""
SELECT run_id, version, ticket, start_ns, last_ns, outcome, source, {_IS_LIVE}, step_count FROM runs
WHERE agent = :agent AND start_ns >= :from_ns AND start_ns < :to_ns
  AND (:outcome IS NULL OR :outcome = CASE WHEN {_IS_LIVE} THEN 3 ELSE outcome END)
ORDER BY start_ns DESC, no DESC LIMIT :limit"""


def _moment(now_ns: int) -> dict[str, int]:
    """Between which bounds a last activity keeps a run alive at ``now_ns``."""
    return {"after_ns": bounded(now_ns - LIVE_NS), "until_ns": bounded(now_ns + LIVE_NS)}


def _window(window: Window, now_ns: int) -> dict[str, int]:
    from_ns, to_ns = window.bounds(now_ns)
    return {"from_ns": bounded(from_ns), "to_ns": bounded(to_ns), **_moment(now_ns)}


def tenant_number(db: sqlite3.Connection, tenant: str) -> int | None:
    """Number of a tenant that has sent something."""
    row = db.execute("SELECT no FROM tenants WHERE name = ?", (plain(tenant),)).fetchone()
    return int(row[0]) if row else None


def _agent(db: sqlite3.Connection, cohort: Cohort) -> tuple[int, int] | None:
    """Numbers of the cohort's tenant and agent, if the agent has a run."""
    row: tuple[int, int] | None = db.execute(
        "SELECT t.no, a.no FROM tenants t JOIN agents a ON a.tenant = t.no WHERE t.name = ? AND a.name = ?"
        " AND EXISTS (SELECT 1 FROM runs WHERE agent = a.no)",
        (plain(cohort.tenant), plain(cohort.agent)),
    ).fetchone()
    return row


def paths(db: sqlite3.Connection, cohort: Cohort, now_ns: int, max_runs: int) -> Paths:
    """The cohort's paths as columns."""
    found = _agent(db, cohort)
    if found is None:
        raise UnknownAgentError(f"No run of the agent {cohort.agent!r} is in the store.")
    tenant, agent = found
    asked = {"agent": agent, "view": VIEWS.index(cohort.view), **_window(cohort.window, now_ns)}
    rows = db.execute(_COMPLETED, {**asked, "limit": max_runs + 1}).fetchall()
    is_bounded = len(rows) > max_runs
    del rows[max_runs:]
    rows += db.execute(_LIVE, {**asked, "limit": max_runs}).fetchall()
    return _columns(db, tenant, rows, is_bounded)


def _columns(db: sqlite3.Connection, tenant: int, rows: list[Any], is_bounded: bool) -> Paths:
    run_ids, tickets, classes, blobs = zip(*rows, strict=True) if rows else ((), (), (), ())
    kind = np.frombuffer(bytes(classes), np.uint8)
    words, offset = unpack_paths(blobs)
    signatures, code = _vocabulary(db, tenant, words >> np.uint32(8))
    return Paths(
        signatures=signatures,
        code=code,
        count=words.astype(np.uint8),
        offset=offset,
        outcome=kind & np.uint8(3),
        source=kind >> np.uint8(2) & np.uint8(3),
        half=kind >> np.uint8(4),
        run_ids=run_ids,
        tickets=tickets,
        bounded=is_bounded,
    )


def _vocabulary(
    db: sqlite3.Connection, tenant: int, number: NDArray[np.uint32]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The signatures that occur, in order of their text, and each fold's index into them."""
    is_used = np.zeros(int(number.max(initial=0)) + 1, np.bool_)
    is_used[number] = True
    is_used[0] = False
    texts = db.execute(
        "SELECT signature, number FROM signatures WHERE tenant = ?"
        " AND number IN (SELECT value FROM json_each(?)) ORDER BY signature",
        (tenant, json.dumps(np.flatnonzero(is_used).tolist())),
    ).fetchall()
    code = np.full(len(is_used), -1, np.int32)
    code[[number for _, number in texts]] = np.arange(len(texts))
    return tuple(text for text, _ in texts), code[number]


def agents(db: sqlite3.Connection, tenant: str, window: Window, now_ns: int) -> list[AgentSummary]:
    """One summary an agent, by name."""
    asked = {"tenant": tenant_number(db, tenant), **_window(window, now_ns)}
    counts: dict[int, list[tuple[int, int, int, int]]] = {}
    for agent, *count in db.execute(_SUMMARY, asked):
        counts.setdefault(agent, []).append(tuple(count))
    return [
        AgentSummary(tenant, name, *_totals(counts.get(agent, [])), *ever)
        for agent, name, *ever in db.execute(_EVER, asked)
    ]


def _totals(counts: list[tuple[int, int, int, int]]) -> tuple[int, ...]:
    """From (live, outcome, source, runs): completed, each outcome, live, each source."""
    completed = [(outcome, source, runs) for live, outcome, source, runs in counts if not live]
    return (
        sum(runs for *_, runs in completed),
        *(sum(runs for outcome, _, runs in completed if outcome == wanted) for wanted in list(Outcome)[:3]),
        sum(runs for live, *_, runs in counts if live),
        *(sum(runs for _, source, runs in completed if source == wanted) for wanted in Source),
    )


def runs(
    db: sqlite3.Connection, cohort: Cohort, now_ns: int, limit: int, outcome: Outcome | None
) -> list[RunRow]:
    """The cohort's runs, newest first."""
    found = _agent(db, cohort)
    if found is None:
        return []
    asked = {"agent": found[1], "limit": limit, "outcome": outcome, **_window(cohort.window, now_ns)}
    return [_row(cohort.agent, *row) for row in db.execute(_ROWS, asked)]


def _row(
    agent: str,
    run_id: str,
    version: str | None,
    ticket: str | None,
    start_ns: int,
    last_ns: int,
    outcome: int,
    source: int,
    live: int,
    steps: int,
) -> RunRow:
    stands = Outcome.UNKNOWN if live else Outcome(outcome)
    return RunRow(
        run_id, agent, version, ticket, start_ns, last_ns, stands, Source(source), bool(live), steps
    )


def run(db: sqlite3.Connection, tenant: str, run_id: str) -> Run:
    """One run."""
    row = db.execute(
        "SELECT r.run_id, a.name, version, ticket, start_ns, last_ns, outcome, source, steps"
        " FROM runs r JOIN agents a ON a.no = r.agent WHERE r.tenant = ? AND run_id = ?",
        (tenant_number(db, tenant), plain(run_id)),
    ).fetchone()
    if row is None:
        raise UnknownRunError(f"No run {run_id!r} is in the store.")
    name, agent, version, ticket, start_ns, last_ns, outcome, source, blob = row
    ended = Outcome(outcome), Source(source)
    return Run(name, agent, version, ticket, start_ns, last_ns, *ended, *unpack_steps(blob))


def spans(db: sqlite3.Connection, tenant: str, run_id: str) -> list[Span]:
    """The spans of a run's traces by start, then trace and span id."""
    number = tenant_number(db, tenant)
    traces = [] if number is None else traces_of_run(db, number, plain(run_id))
    if not traces:
        raise UnknownRunError(f"No run {run_id!r} is in the store.")
    found = [span for trace in traces for span in spans_of(db, trace)]
    return sorted(found, key=lambda span: (span.start_ns, span.trace_id, span.span_id))


def find(db: sqlite3.Connection, tenant: str, text: str) -> list[str]:
    """Run ids that a text names."""
    wanted = plain(text.strip())
    bare = wanted.replace("-", "").lower()
    dashed = "-".join((bare[:8], bare[8:12], bare[12:16], bare[16:20], bare[20:]))
    rows = db.execute(
        "SELECT run_id FROM runs WHERE tenant = :tenant AND run_id IN (:wanted, :bare, :dashed)"
        " UNION SELECT run_id FROM runs WHERE tenant = :tenant AND ticket = :wanted"
        " UNION SELECT run_id FROM runs WHERE no IN (SELECT run FROM traces"
        " WHERE tenant = :tenant AND trace_id IN (:wanted, :bare, :dashed))",
        {"tenant": tenant_number(db, tenant), "wanted": wanted, "bare": bare, "dashed": dashed},
    )
    return [run_id for (run_id,) in rows]
