"""Removing a run: it goes whole, at once; its spans, which may be very many, are swept away after.

A run that is taken away is in one transaction nobody's: no reader finds it, and a span that comes
for one of its traces begins a new one. Its traces keep their numbers and lose their names; under a
*mark* that says what they were removed for they wait until the last of their spans is swept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from engine.store import feeding
from engine.store.keys import spellings, told_name, traces_told
from engine.store.writing import remove_run

NOBODY = 0
"""The tenant of traces that wait to be swept."""

_RUN = "SELECT tenant, run_id, agent, start_ns FROM runs WHERE no = ?"
_TRACES = "SELECT no, trace_id FROM traces WHERE run = ?"
_HAND_OVER = f"""
UPDATE traces SET tenant = {NOBODY}, trace_id = ? || '/' || no, run = NULL,
                  stamp = stamp + 1, settled = stamp + 1 WHERE no = ?"""
"""Its stamp is another, so whoever has read it to fold it reads again."""
_WAITING = f"SELECT no, trace_id FROM traces WHERE tenant = {NOBODY} LIMIT ?"
_SWEEP = (
    "DELETE FROM spans WHERE (trace, span_id) IN (SELECT trace, span_id FROM spans WHERE trace = ? LIMIT ?)"
)
_FORGET = "DELETE FROM {} WHERE tenant = ? AND run_id = ?"


class Taken(NamedTuple):
    """What was taken away: the ids it was known by, and how much of it there was."""

    names: tuple[str, ...] = ()
    runs: int = 0
    traces: int = 0
    outcomes: int = 0
    firings: int = 0


def together(*parts: Taken) -> Taken:
    """All that was taken, of several.

    >>> together(Taken(("a",), runs=1), Taken(("b",), outcomes=2))
    Taken(names=('a', 'b'), runs=1, traces=0, outcomes=2, firings=0)
    """
    names, *counts = zip(*parts, strict=True)
    return Taken(tuple(chain.from_iterable(names)), *map(sum, counts))


def take_run(db: sqlite3.Connection, no: int, mark: str) -> Taken:
    """Take a run away, if it is still there, with its paths, what was told of it and what fuses said."""
    row = db.execute(_RUN, (no,)).fetchone()
    if row is None:
        return Taken()
    tenant, run_id, agent, start_ns = row
    traces = db.execute(_TRACES, (no,)).fetchall()
    names = (run_id, *(trace_id for _, trace_id in traces))
    others = _take(db, [trace for trace, _ in traces], mark)
    remove_run(db, no, agent, start_ns)
    own = Taken(names, 1, len(traces))
    return together(own, forget(db, tenant, names), _forget_former(db, tenant, others))


def take_trace(db: sqlite3.Connection, no: int, mark: str) -> Taken:
    """Take a trace away that belongs to no run yet."""
    tenant, *names = db.execute("SELECT tenant, trace_id FROM traces WHERE no = ?", (no,)).fetchone()
    others = _take(db, [no], mark)
    own = Taken(tuple(names), 0, 1)
    return together(own, forget(db, tenant, names), _forget_former(db, tenant, others))


def _take(db: sqlite3.Connection, traces: Sequence[int], mark: str) -> set[str]:
    """Hand traces over to nobody; the ids of other runs that they named."""
    named = "SELECT run_id FROM sessions WHERE trace = ?"
    others = {run_id for no in traces for (run_id,) in db.execute(named, (no,))}
    db.executemany(_HAND_OVER, [(mark, no) for no in traces])
    feeding.tell(db, traces)
    feeding.unname(db, traces)
    return others


def forget(db: sqlite3.Connection, tenant: int, names: Iterable[str]) -> Taken:
    """Remove the outcomes that were told of runs and traces of these ids, and the firings in them."""
    told = {(tenant, told_name(name)): name for name in names}
    spelt = {(tenant, each) for (_, kept), name in told.items() for each in (name, *spellings(kept))}
    outcomes = sum(db.execute(_FORGET.format("outcomes"), each).rowcount for each in told)
    firings = sum(db.execute(_FORGET.format("firings"), each).rowcount for each in spelt)
    return Taken(outcomes=outcomes, firings=firings)


def _forget_former(db: sqlite3.Connection, tenant: int, names: Iterable[str]) -> Taken:
    """Forget what was told by other names of what was taken, but for those that still name something."""
    still = "SELECT 1 FROM sessions WHERE tenant = ? AND run_id = ?"
    unknown = (name for name in names if not traces_told(db, tenant, name))
    gone = [name for name in unknown if not db.execute(still, (tenant, name)).fetchone()]
    return together(Taken(tuple(gone)), forget(db, tenant, gone))


def is_swept(db: sqlite3.Connection) -> bool:
    """Whether no trace waits to be swept."""
    return not db.execute(_WAITING, (1,)).fetchone()


def sweep(db: sqlite3.Connection, limit: int) -> int:
    """Remove at most ``limit`` spans of traces that were taken away, and each trace with its last; how many.

    An erasure that a trace was marked for counts them.
    """
    left = limit
    for no, mark in db.execute(_WAITING, (limit,)).fetchall():
        swept = db.execute(_SWEEP, (no, left)).rowcount
        count = "UPDATE erasures SET spans = spans + ? WHERE erasure_id = ?"
        db.execute(count, (swept, mark.partition("/")[0]))
        left -= swept
        if not db.execute("SELECT 1 FROM spans WHERE trace = ? LIMIT 1", (no,)).fetchone():
            db.execute("DELETE FROM traces WHERE no = ?", (no,))
        if left <= 0:
            break
    return limit - left
