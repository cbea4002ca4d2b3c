"""Two stored runs side by side: by their decisions, or by their steps where one recorded none."""

from __future__ import annotations

from typing import NamedTuple

from engine.decisions.diff import Diff, compare, compare_steps
from engine.decisions.menus import LOW_MARGIN
from engine.decisions.reading import read
from engine.decisions.trace import Trace
from engine.runs import Run
from engine.store import Store


class Side(NamedTuple):
    """A run, and the decisions it recorded; None if it recorded none."""

    run: Run
    trace: Trace | None


class Pair(NamedTuple):
    """Two runs and how they compare."""

    a: Side
    b: Side
    diff: Diff


def load_side(store: Store, tenant: str, run_id: str, low_margin: float = LOW_MARGIN) -> Side:
    """Read a run with its decisions.

    Raises
    ------
    UnknownRunError
        No such run in the tenant.
    """
    run = store.run(tenant, run_id)
    return Side(run, read(run.run_id, store.spans(tenant, run.run_id), low_margin))


def load_pair(store: Store, tenant: str, a: str, b: str, low_margin: float = LOW_MARGIN) -> Pair:
    """Compare two runs by their ids.

    Raises
    ------
    UnknownRunError
        One of them is not in the tenant.
    """
    ours, theirs = (load_side(store, tenant, run_id, low_margin) for run_id in (a, b))
    return Pair(ours, theirs, side_by_side(ours, theirs, low_margin))


def side_by_side(a: Side, b: Side, low_margin: float = LOW_MARGIN) -> Diff:
    """How two runs compare; by steps unless both recorded decisions."""
    if a.trace is not None and b.trace is not None:
        return compare(a.trace, b.trace, low_margin)
    return compare_steps(*([step.signature for step in side.run.steps] for side in (a, b)))
