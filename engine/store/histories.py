"""Reading a cohort's runs with all their steps, one after another."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from engine.errors import UnknownAgentError
from engine.runs import Cohort, Outcome, Run
from engine.store.keys import cohort_numbers
from engine.store.narrowed import Asked
from engine.store.reading import run_of
from engine.store.scope import IS_LIVE, scope

_RUNS = f"""
SELECT run_id, :name, version, ticket, start_ns, last_ns, outcome, source, said_by, inferred, steps
FROM runs WHERE agent = :agent AND start_ns >= :from_ns AND start_ns < :to_ns AND {IS_LIVE} = :live
ORDER BY start_ns DESC, no DESC LIMIT :limit"""


def histories(db: sqlite3.Connection, cohort: Cohort, now_ns: int, max_runs: int) -> Iterator[Run]:
    """The cohort's runs, newest first: completed ones, then live ones, of ``max_runs`` of each."""
    return map(run_of, _rows(db, cohort, now_ns, max_runs))


def run_ids(db: sqlite3.Connection, cohort: Cohort, now_ns: int, max_runs: int) -> set[str]:
    """Ids of the cohort's runs, as :func:`histories` gives them."""
    return {run_id for run_id, *_ in _rows(db, cohort, now_ns, max_runs)}


def _rows(db: sqlite3.Connection, cohort: Cohort, now_ns: int, max_runs: int) -> Iterator[tuple[Any, ...]]:
    found = cohort_numbers(db, cohort)
    if found is None:
        raise UnknownAgentError(f"No run of the agent {cohort.agent!r} is in the store.")
    asked = {"name": cohort.agent, "agent": found[1], "limit": max_runs, **scope(cohort.window, now_ns)}
    narrowed = Asked(cohort.where) if cohort.where else None
    for live in (0, 1):
        for row in db.execute(_RUNS, {**asked, "live": live}):
            _, _, version, ticket, _, _, outcome, *_, steps = row
            stands = Outcome.UNKNOWN if live else outcome
            if narrowed is None or narrowed.fits(version, ticket, stands, steps):
                yield row
