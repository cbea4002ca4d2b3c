"""Reading the two sides of an agent's runs that are compared, and comparing them."""

from __future__ import annotations

import numpy as np

from engine.changes import Moment, Split, changes
from engine.changes.joining import joined, of_version
from engine.changes.ranking import Findings, findings
from engine.maps import build
from engine.paths import Paths
from engine.queries import BOUNDS, Bounds
from engine.runs import Cohort, Outcome, Window
from engine.store import Store


def load_changes(
    store: Store, cohort: Cohort, split: Split, now_ns: int, bounds: Bounds = BOUNDS
) -> Findings:
    """Compare the two sides that a moment, or two versions, make of a cohort.

    Of either side of a moment the latest ``max_runs`` are read; of two versions those among the latest
    ``max_runs`` of the cohort.

    Raises
    ------
    UnknownAgentError
        Nobody by that name in the tenant.
    """
    before, after = _sides(store, cohort, split, now_ns, bounds.max_runs)
    both = joined(before, after)
    behaviour = build(cohort, both, now_ns, bounds.max_nodes)
    earlier = int((before.outcome < Outcome.UNKNOWN).sum())
    return findings(changes(behaviour, np.arange(len(both.run_ids)) >= earlier, split))


def _sides(store: Store, cohort: Cohort, split: Split, now_ns: int, max_runs: int) -> tuple[Paths, Paths]:
    if isinstance(split, Moment):
        windows = parted(cohort.window, split.at_ns, now_ns)
        before, after = (store.paths(cohort._replace(window=window), now_ns, max_runs) for window in windows)
        return before, after
    every = store.paths(cohort, now_ns, max_runs)
    return of_version(every, split.before), of_version(every, split.after)


def parted(window: Window, at_ns: int, now_ns: int) -> tuple[Window, Window]:
    """A window up to a moment, and from it on; a moment outside leaves one of them empty.

    >>> [each.bounds(99) for each in parted(Window(10, 30), 20, 99)]
    [(10, 20), (20, 30)]
    >>> parted(Window(10, 30), 5, 99)[0].bounds(99), parted(Window(10), 20, 99)[1].end_ns
    ((10, 10), None)
    """
    start_ns, end_ns = window.bounds(now_ns)
    at_ns = min(max(at_ns, start_ns), end_ns)
    is_open = window.is_symbol or window.end_ns is None
    return Window(start_ns, at_ns), Window(at_ns, None if is_open else end_ns)
