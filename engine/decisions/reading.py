"""The decision trace of a stored run, whichever way its spans came."""

from __future__ import annotations

from collections.abc import Iterable

from engine.decisions.trace import Trace
from engine.spans import Span


def read(run_id: str, spans: Iterable[Span], low_margin: float = 0.05) -> Trace | None:
    """The decisions that the spans of a run tell of, audited; None if they tell of none.

    Parameters
    ----------
    run_id : str
    spans : iterable of Span
        All spans of its traces, in any order.
    low_margin : float
        Margins below are findings.
    """
    raise NotImplementedError
