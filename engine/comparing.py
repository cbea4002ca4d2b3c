"""Two stored runs side by side: by their decisions, or by their steps where one recorded none."""

from __future__ import annotations

from typing import NamedTuple

from engine.decisions.diff import Diff
from engine.decisions.menus import LOW_MARGIN
from engine.decisions.sides import Side, compare_sides, side
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
    ours, theirs = (side(run, store.spans(tenant, run.run_id)) for run in runs)
    return Pair(*runs, ours, theirs, compare_sides(ours, theirs, low_margin))
