"""Two stored runs side by side: by their decisions, or by their steps where one recorded none."""

from __future__ import annotations

from typing import NamedTuple

from engine.decisions.diff import Diff
from engine.decisions.menus import LOW_MARGIN
from engine.decisions.sides import Side, compare_sides, side
from engine.runs import Run
from engine.store import Store

SPANS = 50_000
"""Spans read of a run: its first ones."""


class Pair(NamedTuple):
    """Two runs, what of them is compared, and how they compare.

    Attributes
    ----------
    cut : tuple of str
        Which of them, A or B, have more spans than were read.
    """

    run_a: Run
    run_b: Run
    a: Side
    b: Side
    diff: Diff
    cut: tuple[str, ...] = ()


def load_pair(store: Store, tenant: str, a: str, b: str, low_margin: float = LOW_MARGIN) -> Pair:
    """Compare two runs by their ids.

    Raises
    ------
    UnknownRunError
        One of them is not in the tenant.
    """
    runs = store.run(tenant, a), store.run(tenant, b)
    spans = [store.spans(tenant, run.run_id, SPANS + 1) for run in runs]
    ours, theirs = (side(run, sent[:SPANS]) for run, sent in zip(runs, spans, strict=True))
    cut = tuple(name for name, sent in zip("AB", spans, strict=True) if len(sent) > SPANS)
    return Pair(*runs, ours, theirs, compare_sides(ours, theirs, low_margin), cut)
