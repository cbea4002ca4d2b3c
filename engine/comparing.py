"""Two stored runs side by side: by their decisions, or by their steps where one recorded none."""

from __future__ import annotations

from typing import NamedTuple

from engine.decisions.diff import Diff
from engine.decisions.menus import LOW_MARGIN
from engine.decisions.reading import read
from engine.decisions.sides import Side, compare_sides
from engine.runs import Run
from engine.store import Store


class Pair(NamedTuple):
    """Two runs, what of them is compared, and how they compare."""

    run_a: Run
    run_b: Run
    a: Side
    b: Side
    diff: Diff


def load_pair(store: Store, tenant: str, a: str, b: str, low_margin: float = LOW_MARGIN) -> Pair:
    """Compare two runs by their ids.

    Raises
    ------
    UnknownRunError
        One of them is not in the tenant.
    """
    runs = store.run(tenant, a), store.run(tenant, b)
    ours, theirs = (side_of(store, tenant, run, low_margin) for run in runs)
    return Pair(*runs, ours, theirs, compare_sides(ours, theirs, low_margin))


def side_of(store: Store, tenant: str, run: Run, low_margin: float = LOW_MARGIN) -> Side:
    """A run as it is compared: its steps, and the decisions it recorded."""
    trace = read(run.run_id, store.spans(tenant, run.run_id), low_margin)
    return Side(run.run_id, tuple(step.signature for step in run.steps), trace)
