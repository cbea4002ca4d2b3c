"""Counts of runs and the base rate they make, as every document for programs writes them."""

from __future__ import annotations

from typing import Any

from engine.maps import Totals
from engine.statistics import wilson_one
from engine.store import AgentSummary

_COUNTS = ("completed", "successes", "failures", "abandoned", "unknown", "declared", "by_rule", "inferred")


def totals(counts: AgentSummary | Totals) -> dict[str, Any]:
    """Counts of runs, the base rate (None without a completed run) and its interval.

    >>> found = totals(Totals(2, 1, 1, 0, 0, 0, 0, 2, 0, 0, ()))
    >>> found["completed"], found["base_rate"], round(found["low"], 2), round(found["high"], 2)
    (2, 0.5, 0.09, 0.91)
    """
    low, high = wilson_one(counts.successes, counts.completed)
    rate = counts.successes / counts.completed if counts.completed else None
    return {name: getattr(counts, name) for name in _COUNTS} | {"base_rate": rate, "low": low, "high": high}
