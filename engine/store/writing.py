"""Writing runs: a row, and a packed path in each view."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from engine.paths import fold, without_models
from engine.runs import Run
from engine.store.fitting import bounded, plain
from engine.store.packing import pack_steps
from engine.store.schema import VIEWS
from engine.store.words import MAX_SIGNATURES, pack_names, pack_path

_FIND_RUN = "SELECT no, agent, start_ns FROM runs WHERE tenant = ? AND run_id = ?"

_WRITE_RUN = """
INSERT INTO runs (tenant, run_id, agent, version, ticket, start_ns, last_ns, outcome, source,
                  step_count, steps, said_by, inferred)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, run_id) DO UPDATE SET
    agent = excluded.agent, version = excluded.version, ticket = excluded.ticket,
    start_ns = excluded.start_ns, last_ns = excluded.last_ns, outcome = excluded.outcome,
    source = excluded.source, step_count = excluded.step_count, steps = excluded.steps,
    said_by = excluded.said_by, inferred = excluded.inferred
RETURNING no"""

_WRITE_PATH = """
INSERT INTO paths (agent, view, start_ns, run, last_ns, source, names, path)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""


def packed_paths(run: Run, number: Callable[[str], int]) -> tuple[bytes, bytes]:
    """A run's packed path in each view, of the numbers of its signatures."""
    signatures = [step.signature for step in run.steps]
    numbers = {signature: number(signature) for signature in dict.fromkeys(signatures)}
    return pack_path(fold(signatures), numbers, run), pack_path(
        fold(without_models(signatures)), numbers, run
    )


class RunWriter:
    """Writes run and path rows inside one transaction; what it looks up it remembers."""

    def __init__(self, db: sqlite3.Connection, tenant: int) -> None:
        self._db, self._tenant = db, tenant
        self._agents: dict[str, int] = {}
        self._signatures: dict[str, int] = {}

    def write(self, run: Run) -> int:
        """Write a run and its paths in place of what was there; the run's number."""
        self._remove_paths(run.run_id)
        agent = self._agent(run.agent)
        start_ns, last_ns = bounded(run.start_ns), bounded(run.last_ns)
        (number,) = self._db.execute(
            _WRITE_RUN,
            (
                self._tenant,
                run.run_id,
                agent,
                run.version,
                run.ticket,
                start_ns,
                last_ns,
                run.outcome,
                run.source,
                len(run.steps),
                pack_steps(run.steps, run.trace_ids),
                plain(run.said_by),
                run.inferred,
            ),
        ).fetchone()
        row = start_ns, number, last_ns, run.source, pack_names(run)
        self._db.executemany(
            _WRITE_PATH,
            [(agent, view, *row, path) for view, path in enumerate(packed_paths(run, self._signature))],
        )
        return int(number)

    def remove(self, run_id: str) -> None:
        """Remove a run that has no span left, and the traces that have none either."""
        for no, agent, start_ns in self._db.execute(_FIND_RUN, (self._tenant, run_id)).fetchall():
            remove_run(self._db, no, agent, start_ns)

    def _remove_paths(self, run_id: str) -> None:
        for row in self._db.execute(_FIND_RUN, (self._tenant, run_id)).fetchall():
            _remove_paths(self._db, *row)

    def _agent(self, name: str) -> int:
        if name not in self._agents:
            key = self._tenant, name
            self._db.execute("INSERT INTO agents (tenant, name) VALUES (?, ?) ON CONFLICT DO NOTHING", key)
            row = self._db.execute("SELECT no FROM agents WHERE tenant = ? AND name = ?", key)
            self._agents[name] = row.fetchone()[0]
        return self._agents[name]

    def _signature(self, signature: str) -> int:
        if signature not in self._signatures:
            key = self._tenant, signature
            found = "SELECT number FROM signatures WHERE tenant = ? AND signature = ?"
            row = self._db.execute(found, key).fetchone()
            self._signatures[signature] = row[0] if row else self._number(signature)
        return self._signatures[signature]

    def _number(self, signature: str) -> int:
        """Give a signature the tenant's next number; once they are used up, all others are one."""
        last = "SELECT coalesce(max(number), 0) FROM signatures WHERE tenant = ?"
        number = int(self._db.execute(last, (self._tenant,)).fetchone()[0]) + 1
        if number > MAX_SIGNATURES:
            return MAX_SIGNATURES
        text = signature if number < MAX_SIGNATURES else "other:?"
        self._db.execute("INSERT INTO signatures VALUES (?, ?, ?)", (self._tenant, number, text))
        return number


def remove_run(db: sqlite3.Connection, no: int, agent: int, start_ns: int) -> None:
    """Remove a run with its paths, and the rows of the traces that are still its."""
    _remove_paths(db, no, agent, start_ns)
    db.execute("DELETE FROM traces WHERE run = ?", (no,))
    db.execute("DELETE FROM runs WHERE no = ?", (no,))


def _remove_paths(db: sqlite3.Connection, no: int, agent: int, start_ns: int) -> None:
    db.executemany(
        "DELETE FROM paths WHERE agent = ? AND view = ? AND start_ns = ? AND run = ?",
        [(agent, view, start_ns, no) for view in range(len(VIEWS))],
    )
