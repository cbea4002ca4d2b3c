"""Reading a cohort's paths as columns."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import UnknownAgentError
from engine.narrowing import selected
from engine.paths import Paths
from engine.runs import Cohort, Outcome
from engine.store.histories import run_ids
from engine.store.keys import cohort_numbers
from engine.store.schema import VIEWS
from engine.store.scope import IS_LIVE, scope
from engine.store.words import NAMED, unpack_names, unpack_paths, without_last

_COMPLETED = f"""
SELECT names, path FROM paths
WHERE agent = :agent AND view = :view AND start_ns >= :from_ns AND start_ns < :to_ns AND NOT {IS_LIVE}
ORDER BY start_ns DESC, run DESC LIMIT :limit"""

_LIVE = f"""
SELECT p.names, p.path
FROM (SELECT no, start_ns FROM runs INDEXED BY runs_by_activity WHERE agent = :agent AND {IS_LIVE}
      AND start_ns >= :from_ns AND start_ns < :to_ns ORDER BY start_ns DESC, no DESC LIMIT :limit) r
CROSS JOIN paths p ON p.agent = :agent AND p.view = :view AND p.start_ns = r.start_ns AND p.run = r.no
ORDER BY r.start_ns DESC, r.no DESC"""

_JOINED = "SELECT group_concat(names), CAST(group_concat(path, '') AS BLOB) FROM ({})"
"""All rows in one: handing 20,000 of them to Python would take longer than finding them.

SQLite joins rows in the order the subquery gives them, which it does but does not promise; names
and paths would still agree. Only which runs a bound keeps, and who is listed first, hangs on it.
"""


def read_paths(db: sqlite3.Connection, cohort: Cohort, now_ns: int, max_runs: int) -> Paths:
    """The cohort's paths as columns: those of the latest runs, and of these the ones that it lets through."""
    found = cohort_numbers(db, cohort)
    if found is None:
        raise UnknownAgentError(f"No run of the agent {cohort.agent!r} is in the store.")
    tenant, agent = found
    asked = {"agent": agent, "view": VIEWS.index(cohort.view), **scope(cohort.window, now_ns)}
    completed = _joined(db, _COMPLETED, {**asked, "limit": max_runs + 1})
    live = _joined(db, _LIVE, {**asked, "limit": max_runs + 1})
    paths = _columns(db, tenant, completed, live, max_runs)
    if not cohort.where:
        return paths
    fitting = run_ids(db, cohort, now_ns, max_runs)
    return selected(paths, np.array([run_id in fitting for run_id in paths.run_ids], bool))


class Joined(NamedTuple):
    """Run id, ticket and version of many rows in turn, and their joined paths."""

    names: tuple[Any, ...]
    paths: bytes


def _joined(db: sqlite3.Connection, query: str, asked: dict[str, int]) -> Joined:
    names, paths = db.execute(_JOINED.format(query), asked).fetchone()
    return Joined(unpack_names(names or ""), paths or b"")


def _columns(db: sqlite3.Connection, tenant: int, completed: Joined, live: Joined, max_runs: int) -> Paths:
    """Columns of at most ``max_runs`` completed and live runs each, of which one more was read."""
    bounds = len(completed.names) > NAMED * max_runs, len(live.names) > NAMED * max_runs
    completed, live = _latest(completed, max_runs), _latest(live, max_runs)
    packed = unpack_paths(completed.paths + live.paths)
    packed.outcome[len(completed.names) // NAMED :] = Outcome.UNKNOWN
    signatures, code = _vocabulary(db, tenant, packed.number)
    names = completed.names + live.names
    return Paths(signatures, code, *packed[1:], names[::NAMED], names[1::NAMED], names[2::NAMED], *bounds)


def _latest(found: Joined, max_runs: int) -> Joined:
    """Without the one more that was read to see whether there is one."""
    if len(found.names) <= NAMED * max_runs:
        return found
    return Joined(found.names[:-NAMED], without_last(found.paths))


def _vocabulary(
    db: sqlite3.Connection, tenant: int, number: NDArray[np.int32]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The signatures that occur, in order of their text, and each fold's index into them."""
    is_used = np.bincount(number, minlength=1) > 0
    is_used[0] = False
    texts = db.execute(
        "SELECT signature, number FROM signatures WHERE tenant = ?"
        " AND number IN (SELECT value FROM json_each(?)) ORDER BY signature",
        (tenant, json.dumps(np.flatnonzero(is_used).tolist())),
    ).fetchall()
    code = np.full(len(is_used), -1, np.int32)
    code[[number for _, number in texts]] = np.arange(len(texts))
    return tuple(text for text, _ in texts), code.take(number, mode="clip")
