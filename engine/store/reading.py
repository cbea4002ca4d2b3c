"""Reading runs and paths back, without changing anything."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from typing import Any, NamedTuple

import msgspec
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

_COMPLETED = f"""
SELECT run_id, ticket, path FROM paths
WHERE agent = :agent AND view = :view AND start_ns >= :from_ns AND start_ns < :to_ns AND NOT {_IS_LIVE}
ORDER BY start_ns DESC, run DESC LIMIT :limit"""

_LIVE = f"""
SELECT p.run_id, p.ticket, p.path
FROM (SELECT no, start_ns FROM runs INDEXED BY runs_by_activity WHERE agent = :agent AND {_IS_LIVE}
      AND start_ns >= :from_ns AND start_ns < :to_ns ORDER BY start_ns DESC, no DESC LIMIT :limit) r
CROSS JOIN paths p ON p.agent = :agent AND p.view = :view AND p.start_ns = r.start_ns AND p.run = r.no
ORDER BY r.start_ns DESC, r.no DESC"""

_JOINED = """
SELECT json_group_array(run_id), json_group_array(ticket), CAST(group_concat(path, '') AS BLOB) FROM ({})"""
"""All rows in one: handing 20,000 of them to Python would take longer than finding them."""

_ENDED = """
SELECT a.no, o.value, s.value, (SELECT count(*) FROM runs WHERE agent = a.no AND outcome = o.value
                                AND source = s.value AND start_ns >= :from_ns AND start_ns < :to_ns)
FROM agents a, json_each('[0, 1, 2]') o, json_each('[0, 1, 2]') s WHERE a.tenant = :tenant"""

_STILL_LIVE = f"""
SELECT agent, outcome, source, count(*) FROM runs INDEXED BY runs_by_activity
WHERE agent IN (SELECT no FROM agents WHERE tenant = :tenant) AND {_IS_LIVE}
  AND start_ns >= :from_ns AND start_ns < :to_ns GROUP BY agent, outcome, source"""

_EVER = """
SELECT no, name, (SELECT min(start_ns) FROM runs WHERE agent = agents.no) AS first_ns,
       (SELECT max(start_ns) FROM runs WHERE agent = agents.no),
       (SELECT count(*) FROM runs WHERE agent = agents.no)
FROM agents WHERE tenant = :tenant AND first_ns IS NOT NULL ORDER BY name"""

_ROWS = f"""
SELECT run_id, version, ticket, start_ns, last_ns, outcome, source, {_IS_LIVE}, step_count FROM runs
WHERE agent = :agent AND start_ns >= :from_ns AND start_ns < :to_ns
  AND (:outcome IS NULL OR :outcome = CASE WHEN {_IS_LIVE} THEN 3 ELSE outcome END)
ORDER BY start_ns DESC, no DESC LIMIT :limit"""


_NAMED = """
SELECT run_id FROM runs WHERE no IN (
    SELECT no FROM runs WHERE tenant = :tenant AND run_id IN (:wanted, :bare, :dashed)
    UNION SELECT no FROM runs WHERE tenant = :tenant AND ticket = :wanted
    UNION SELECT run FROM traces WHERE tenant = :tenant AND trace_id IN (:wanted, :bare, :dashed))
ORDER BY start_ns DESC, no DESC"""

_RUN_IDS = msgspec.json.Decoder(tuple[str, ...])
_TICKETS = msgspec.json.Decoder(tuple[str | None, ...])
_ENDINGS = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED)


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
    completed = _joined(db, _COMPLETED, {**asked, "limit": max_runs + 1})
    live = _joined(db, _LIVE, {**asked, "limit": max_runs})
    return _columns(db, tenant, completed, live, max_runs)


class Joined(NamedTuple):
    """Run ids, tickets and joined paths of many rows."""

    run_ids: tuple[str, ...]
    tickets: tuple[str | None, ...]
    paths: bytes


def _joined(db: sqlite3.Connection, query: str, asked: dict[str, int]) -> Joined:
    run_ids, tickets, blob = db.execute(_JOINED.format(query), asked).fetchone()
    return Joined(_RUN_IDS.decode(run_ids), _TICKETS.decode(tickets), blob or b"")


def _columns(db: sqlite3.Connection, tenant: int, completed: Joined, live: Joined, max_runs: int) -> Paths:
    """Columns of at most ``max_runs`` completed runs, of which one more was read, and of the live ones."""
    packed = unpack_paths(completed.paths + live.paths)
    ended = len(completed.run_ids)
    packed.outcome[ended:] = Outcome.UNKNOWN
    signatures, code = _vocabulary(db, tenant, packed.number)
    paths = Paths(
        signatures,
        code,
        *packed[1:],
        run_ids=completed.run_ids + live.run_ids,
        tickets=completed.tickets + live.tickets,
    )
    return _without(paths, max_runs) if ended > max_runs else paths


def _without(paths: Paths, run: int) -> Paths:
    """The paths without the run at that index, marked as bounded."""
    first, after = paths.offset[run : run + 2].tolist()
    offset = np.concatenate((paths.offset[: run + 1], paths.offset[run + 2 :] - (after - first)))
    return Paths(
        paths.signatures,
        np.delete(paths.code, slice(first, after)),
        np.delete(paths.count, slice(first, after)),
        offset,
        np.delete(paths.outcome, run),
        np.delete(paths.source, run),
        np.delete(paths.half, run),
        paths.run_ids[:run] + paths.run_ids[run + 1 :],
        paths.tickets[:run] + paths.tickets[run + 1 :],
        bounded=True,
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
    """One summary an agent that has a run, by name."""
    asked = {"tenant": tenant_number(db, tenant), **_window(window, now_ns)}
    ended = Counter({tuple(key): count for *key, count in db.execute(_ENDED, asked)})
    live = Counter({tuple(key): count for *key, count in db.execute(_STILL_LIVE, asked)})
    return [
        AgentSummary(tenant, name, *_totals(no, ended - live, live), *ever)
        for no, name, *ever in db.execute(_EVER, asked)
    ]


def _totals(agent: int, ended: Counter[Any], live: Counter[Any]) -> tuple[int, ...]:
    """From counts by (agent, outcome, source): completed, each outcome, live, each source."""
    by_outcome = [sum(ended[agent, outcome, source] for source in Source) for outcome in _ENDINGS]
    by_source = [sum(ended[agent, outcome, source] for outcome in _ENDINGS) for source in Source]
    unknown = sum(live[agent, outcome, source] for outcome in _ENDINGS for source in Source)
    return sum(by_outcome), *by_outcome, unknown, *by_source


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
    asked = {"tenant": tenant_number(db, tenant), "wanted": wanted, "bare": bare, "dashed": dashed}
    return [run_id for (run_id,) in db.execute(_NAMED, asked)]
