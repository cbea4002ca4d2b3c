"""Reading runs, their spans and how they ended, without changing anything."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Any

from engine.conventions import Evaluation, read
from engine.errors import UnknownRunError
from engine.paths import identifier
from engine.runs import (
    ALL_TIME,
    DAY_NS,
    DEFAULT_DAYS,
    Cohort,
    Declaration,
    Outcome,
    Run,
    Source,
    Window,
    said,
)
from engine.spans import Span
from engine.store import MAX_RUNS, AgentSummary, DayRow, Place, RunRow, Wanted
from engine.store.fitting import bounded, plain
from engine.store.keys import cohort_numbers, tenant_number, told_names, traces_of_run, traces_told
from engine.store.narrowed import Asked
from engine.store.packing import unpack_steps
from engine.store.scope import IS_LIVE, scope
from engine.store.settling import declarations_of, each_span

_ENDED = """
SELECT a.no, o.value, s.value, (SELECT count(*) FROM runs WHERE agent = a.no AND outcome = o.value
                                AND source = s.value AND start_ns >= :from_ns AND start_ns < :to_ns)
FROM agents a, json_each('[0, 1, 2]') o, json_each('[0, 1, 2]') s WHERE a.tenant = :tenant"""

_STILL_LIVE = f"""
SELECT agent, outcome, source, count(*) FROM runs INDEXED BY runs_by_activity
WHERE agent IN (SELECT no FROM agents WHERE tenant = :tenant) AND {IS_LIVE}
  AND start_ns >= :from_ns AND start_ns < :to_ns GROUP BY agent, outcome, source"""

_EVER = """
SELECT no, name, (SELECT max(start_ns) FROM runs WHERE agent = agents.no) AS last_ns
FROM agents WHERE tenant = :tenant AND last_ns IS NOT NULL ORDER BY name"""

_OF_DAY = (
    f"start_ns >= :now_ns - (d.value + 1) * {DAY_NS}"
    f" AND start_ns < iif(d.value, :now_ns - d.value * {DAY_NS}, :to_ns)"
)
_ENDED_ON = f"""
SELECT a.name, d.value, o.value, (SELECT count(*) FROM runs INDEXED BY runs_by_outcome WHERE agent = a.no
                                  AND outcome = o.value AND source = s.value AND {_OF_DAY})
FROM agents a, json_each('[0, 1, 2]') o, json_each('[0, 1, 2]') s, json_each(:days) d
WHERE a.tenant = :tenant AND a.name IN (SELECT value FROM json_each(:agents))"""
"""Ranges of an index are counted, none of their runs is read."""

_LIVE_ON = f"""
SELECT a.name, max(0, (:now_ns - start_ns - 1) / {DAY_NS}) AS day, outcome, count(*)
FROM agents a CROSS JOIN runs r INDEXED BY runs_by_activity ON r.agent = a.no
WHERE a.tenant = :tenant AND a.name IN (SELECT value FROM json_each(:agents)) AND {IS_LIVE}
  AND start_ns >= :from_ns GROUP BY a.no, day, outcome"""

_ROWS = f"""
SELECT run_id, version, ticket, start_ns, last_ns, outcome, source, {IS_LIVE}, step_count, no, {{}}
FROM runs INDEXED BY {{}} agent = :agent AND start_ns >= :from_ns AND start_ns < :to_ns
  AND start_ns <= :place_ns AND (start_ns < :place_ns OR no < :number)
  AND (:outcome IS NULL OR :outcome = CASE WHEN {IS_LIVE} THEN 3 ELSE outcome END)
  AND (:version IS NULL OR :version = version)
ORDER BY start_ns DESC, no DESC LIMIT :limit"""
_BY_START = "runs_by_start WHERE"
_BY_TICKET = "runs_by_ticket WHERE tenant = :tenant AND ticket = :ticket AND"
_TOP = Place(2**63 - 1, 2**63 - 1)
"""Above every run."""

_IN_FLIGHT = f"""
SELECT run_id, name, version, ticket, start_ns, r.last_ns, outcome, source, said_by, inferred, steps
FROM (SELECT r.no, a.name FROM agents a CROSS JOIN runs r INDEXED BY runs_by_activity ON r.agent = a.no
      WHERE a.tenant = :tenant AND (:agent IS NULL OR a.name = :agent) AND {IS_LIVE}
      ORDER BY r.last_ns DESC, r.no DESC LIMIT :limit) latest
JOIN runs r ON r.no = latest.no ORDER BY r.last_ns DESC, r.no DESC"""
"""It costs by how many there are, not by how many there ever were."""

_NAMED = """
SELECT run_id FROM runs WHERE no IN (
    SELECT no FROM runs WHERE tenant = :tenant AND run_id IN (:kept, :bare, :dashed)
    UNION SELECT no FROM runs WHERE tenant = :tenant AND ticket = :kept
    UNION SELECT run FROM traces WHERE tenant = :tenant AND trace_id IN (:wanted, :bare, :dashed))
ORDER BY start_ns DESC, no DESC"""

_OF_RECORDS = """
SELECT run_id FROM runs WHERE no IN (
    SELECT run FROM traces WHERE tenant = :tenant AND trace_id IN (SELECT value FROM json_each(:traces)))
UNION
SELECT run_id FROM runs WHERE tenant = :tenant AND run_id IN (SELECT value FROM json_each(:runs))"""

_DECLARED_RUN = """
SELECT t.no, t.trace_id, r.source = 0 FROM runs r JOIN traces t ON t.run = r.no
WHERE r.tenant = ? AND r.run_id = ? ORDER BY t.no"""
"""A run's traces, and whether they need be read for what its spans declare."""

_ENDINGS = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED)


def agents(db: sqlite3.Connection, tenant: str, window: Window, now_ns: int) -> list[AgentSummary]:
    """One summary an agent that has a run, by name."""
    asked = {"tenant": tenant_number(db, tenant), **scope(window, now_ns)}
    ended = Counter({tuple(key): count for *key, count in db.execute(_ENDED, asked)})
    live = Counter({tuple(key): count for *key, count in db.execute(_STILL_LIVE, asked)})
    ended -= live
    return [
        AgentSummary(tenant, name, *_totals(no, ended, live), *ever)
        for no, name, *ever in db.execute(_EVER, asked)
    ]


def _totals(agent: int, ended: Counter[Any], live: Counter[Any]) -> tuple[int, ...]:
    """From counts by (agent, outcome, source): completed, each outcome, live, each source."""
    by_outcome = [sum(ended[agent, outcome, source] for source in Source) for outcome in _ENDINGS]
    by_source = [sum(ended[agent, outcome, source] for outcome in _ENDINGS) for source in Source]
    unknown = sum(live[agent, outcome, source] for outcome in _ENDINGS for source in Source)
    return sum(by_outcome), *by_outcome, unknown, *by_source


def days(db: sqlite3.Connection, tenant: str, agents: Sequence[str], now_ns: int) -> list[DayRow]:
    """Day by day how these agents' runs of the last 30 days ended."""
    asked = {
        "tenant": tenant_number(db, tenant),
        "agents": json.dumps([plain(each) for each in agents]),
        "days": json.dumps([*range(DEFAULT_DAYS)]),
        "now_ns": bounded(now_ns),
        **scope(Window(), now_ns),
    }
    ended, live = Counter[tuple[str, int, int]](), Counter[tuple[str, int, int]]()
    for counts, query in ((ended, _ENDED_ON), (live, _LIVE_ON)):
        for *key, count in db.execute(query, asked):
            counts[tuple(key)] += count
    ended -= live
    return [
        DayRow._make(
            (*day, *(ended[*day, each] for each in _ENDINGS), sum(live[*day, each] for each in _ENDINGS))
        )
        for day in sorted({(name, day) for name, day, _ in (*ended, *live)})
    ]


def runs(db: sqlite3.Connection, cohort: Cohort, now_ns: int, limit: int, wanted: Wanted) -> list[RunRow]:
    """The first of the cohort's runs that are wanted, newest first."""
    found = cohort_numbers(db, cohort)
    if found is None:
        return []
    place_ns, number = wanted.after or _TOP
    asked = {
        "tenant": found[0],
        "agent": found[1],
        "limit": limit,
        "outcome": wanted.outcome,
        "version": None if wanted.version is None else plain(wanted.version),
        "ticket": None if wanted.ticket is None else identifier(plain(wanted.ticket)),
        "place_ns": bounded(place_ns),
        "number": bounded(number),
        **scope(cohort.window, now_ns),
    }
    by = _BY_START if wanted.ticket is None else _BY_TICKET
    if cohort.where:
        looked_through = db.execute(_ROWS.format("steps", by), asked | {"limit": MAX_RUNS})
        return [row(cohort.agent, *found) for found in islice(_fitting(looked_through, cohort.where), limit)]
    return [row(cohort.agent, *found[:-1]) for found in db.execute(_ROWS.format("NULL", by), asked)]


def _fitting(rows: Iterable[tuple[Any, ...]], where: str) -> Iterator[tuple[Any, ...]]:
    """The rows whose runs are what an expression says, without the steps at their end."""
    asked = Asked(where)
    for *found, steps in rows:
        _, version, ticket, _, _, outcome, _, live, *_ = found
        if asked.fits(version, ticket, Outcome.UNKNOWN if live else outcome, steps):
            yield tuple(found)


def row(
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
    number: int,
) -> RunRow:
    """A line of a list of runs, of what is selected for it."""
    stands = Outcome.UNKNOWN if live else Outcome(outcome)
    return RunRow(
        run_id, agent, version, ticket, start_ns, last_ns, stands, Source(source), bool(live), steps, number
    )


def run(db: sqlite3.Connection, tenant: str, run_id: str) -> Run:
    """One run."""
    row = db.execute(
        "SELECT r.run_id, a.name, version, ticket, start_ns, last_ns, outcome, source, said_by,"
        " inferred, steps FROM runs r JOIN agents a ON a.no = r.agent WHERE r.tenant = ? AND run_id = ?",
        (tenant_number(db, tenant), identifier(plain(run_id))),
    ).fetchone()
    if row is None:
        raise UnknownRunError(f"No run {run_id!r} is in the store.")
    return run_of(row)


def run_of(row: tuple[Any, ...]) -> Run:
    """A run, of what is selected for it."""
    name, agent, version, ticket, start_ns, last_ns, outcome, source, said_by, inferred, blob = row
    ended, how = (Outcome(outcome), Source(source)), (said_by, Outcome(inferred))
    return Run(name, agent, version, ticket, start_ns, last_ns, *ended, *unpack_steps(blob), *how)


def live_runs(db: sqlite3.Connection, tenant: str, now_ns: int, limit: int, agent: str | None) -> list[Run]:
    """Runs in flight with their steps, the most recently active first."""
    asked = {
        "tenant": tenant_number(db, tenant),
        "agent": None if agent is None else plain(agent),
        "limit": limit,
        **scope(ALL_TIME, now_ns),
    }
    return [run_of(row) for row in db.execute(_IN_FLIGHT, asked)]


def undeclared(db: sqlite3.Connection, tenant: str, agent: str, limit: int) -> Iterator[Run]:
    """An agent's runs that nobody declared an outcome of, newest first."""
    found = cohort_numbers(db, Cohort(tenant, agent))
    rows = db.execute(
        "SELECT run_id, ?, version, ticket, start_ns, last_ns, outcome, source, said_by, inferred, steps"
        " FROM runs WHERE agent = ? AND source <> 0 ORDER BY start_ns DESC, no DESC LIMIT ?",
        (plain(agent), found and found[1], limit),
    )
    return map(run_of, rows)


def declarations(
    db: sqlite3.Connection, tenant: str, run_id: str, evaluation: Evaluation
) -> list[Declaration]:
    """What is declared for a run, by its spans and beside them, the one that counts first."""
    number, kept = tenant_number(db, tenant), identifier(plain(run_id))
    if number is None:
        return []
    found = db.execute(_DECLARED_RUN, (number, kept)).fetchall()
    traces = [no for no, _, is_declared in found if is_declared]
    sent = (span for trace in traces for span in each_span(db, trace))
    names = told_names(kept, [trace_id for _, trace_id, _ in found])
    every = [*said(kept, (read(span, evaluation) for span in sent)), *declarations_of(db, number, names)]
    every.sort(key=lambda each: each.time_ns)
    return every[::-1]


def spans(db: sqlite3.Connection, tenant: str, run_id: str, limit: int | None = None) -> list[Span]:
    """The (first) spans of a run's traces by start, then trace and span id; no others are held."""
    number = tenant_number(db, tenant)
    traces = [] if number is None else traces_of_run(db, number, identifier(plain(run_id)))
    if not traces:
        raise UnknownRunError(f"No run {run_id!r} is in the store.")
    found = (span for trace in traces for span in each_span(db, trace))
    return sorted(found, key=_began) if limit is None else nsmallest(limit, found, key=_began)


def waiting(db: sqlite3.Connection, tenant: str, names: Iterable[str]) -> list[str]:
    """Those of these ids that name no run, nor a trace of one."""
    number = tenant_number(db, tenant)
    return [name for name in names if number is None or not traces_told(db, number, name)]


def _began(span: Span) -> tuple[int, str, str]:
    return span.start_ns, span.trace_id, span.span_id


def find(db: sqlite3.Connection, tenant: str, text: str) -> list[str]:
    """Run ids that a text names."""
    wanted = plain(text.strip())
    bare = wanted.replace("-", "").lower()
    dashed = "-".join((bare[:8], bare[8:12], bare[12:16], bare[16:20], bare[20:]))
    names = {"wanted": wanted, "kept": identifier(wanted), "bare": bare, "dashed": dashed}
    asked = {"tenant": tenant_number(db, tenant), **names}
    return [run_id for (run_id,) in db.execute(_NAMED, asked)]


def runs_of(
    db: sqlite3.Connection, tenant: str, trace_ids: Iterable[str], run_ids: Iterable[str]
) -> set[str]:
    """Ids of the runs of these traces, and of those of these ids that there are."""
    asked = {
        "tenant": tenant_number(db, tenant),
        "traces": json.dumps([plain(each) for each in trace_ids]),
        "runs": json.dumps([identifier(plain(each)) for each in run_ids]),
    }
    return {run_id for (run_id,) in db.execute(_OF_RECORDS, asked)}
