"""Reading a cohort's paths as columns."""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.errors import UnknownAgentError
from engine.paths import Paths
from engine.runs import Cohort, Outcome
from engine.store.keys import cohort_numbers
from engine.store.schema import VIEWS
from engine.store.scope import IS_LIVE, scope
from engine.store.words import unpack_paths

_COMPLETED = f"""
SELECT run_id, ticket, path FROM paths
WHERE agent = :agent AND view = :view AND start_ns >= :from_ns AND start_ns < :to_ns AND NOT {IS_LIVE}
ORDER BY start_ns DESC, run DESC LIMIT :limit"""

_LIVE = f"""
SELECT p.run_id, p.ticket, p.path
FROM (SELECT no, start_ns FROM runs INDEXED BY runs_by_activity WHERE agent = :agent AND {IS_LIVE}
      AND start_ns >= :from_ns AND start_ns < :to_ns ORDER BY start_ns DESC, no DESC LIMIT :limit) r
CROSS JOIN paths p ON p.agent = :agent AND p.view = :view AND p.start_ns = r.start_ns AND p.run = r.no
ORDER BY r.start_ns DESC, r.no DESC"""

_JOINED = """
SELECT json_group_array(run_id), json_group_array(ticket), CAST(group_concat(path, '') AS BLOB) FROM ({})"""
"""All rows in one: handing 20,000 of them to Python would take longer than finding them."""

_RUN_IDS = msgspec.json.Decoder(tuple[str, ...])
_TICKETS = msgspec.json.Decoder(tuple[str | None, ...])


def read_paths(db: sqlite3.Connection, cohort: Cohort, now_ns: int, max_runs: int) -> Paths:
    """The cohort's paths as columns."""
    found = cohort_numbers(db, cohort)
    if found is None:
        raise UnknownAgentError(f"No run of the agent {cohort.agent!r} is in the store.")
    tenant, agent = found
    asked = {"agent": agent, "view": VIEWS.index(cohort.view), **scope(cohort.window, now_ns)}
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
