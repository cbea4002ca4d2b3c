"""Reading a cohort's runs with all their steps, one after another."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from engine.errors import UnknownAgentError
from engine.runs import Cohort, Run
from engine.store.keys import cohort_numbers
from engine.store.reading import run_of
from engine.store.scope import IS_LIVE, scope

_RUNS = f"""
SELECT run_id, :name, version, ticket, start_ns, last_ns, outcome, source, said_by, inferred, steps
FROM runs WHERE agent = :agent AND start_ns >= :from_ns AND start_ns < :to_ns AND {IS_LIVE} = :live
ORDER BY start_ns DESC, no DESC LIMIT :limit"""


def histories(db: sqlite3.Connection, cohort: Cohort, now_ns: int, max_runs: int) -> Iterator[Run]:
    """The cohort's runs, newest first: completed ones, then live ones, ``max_runs`` of each."""
    found = cohort_numbers(db, cohort)
    if found is None:
        raise UnknownAgentError(f"No run of the agent {cohort.agent!r} is in the store.")
    asked = {"name": cohort.agent, "agent": found[1], "limit": max_runs, **scope(cohort.window, now_ns)}
    for live in (0, 1):
        yield from map(run_of, db.execute(_RUNS, {**asked, "live": live}))
