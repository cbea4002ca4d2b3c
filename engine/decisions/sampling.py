"""Which decisions of a long run keep their reasons and arguments: its first ones."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

RUNS = 10_000
"""Runs whose first decisions are remembered, those that something came of last."""


class Sampling:
    """The first decisions of each run that were seen, whatever batches they came in.

    Parameters
    ----------
    most : int
        Decisions of a run that keep their reasons.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._runs: OrderedDict[str, set[str]] = OrderedDict()
        self._lock = Lock()

    def is_beyond(self, run: str, span_id: str, parent_id: str | None, is_decision: bool) -> bool:
        """Whether a decision comes after the first ones of its run, or a call hangs from one that does.

        Until a run has them all, nothing of it comes after them. The same span again is answered the same.

        Examples
        --------
        >>> sampling = Sampling(most=1)
        >>> [sampling.is_beyond("r", each, "r", True) for each in ("d1", "d2", "d1")]
        [False, True, False]
        >>> [sampling.is_beyond("r", "call", each, False) for each in ("d1", "d2")]
        [False, True]
        """
        with self._lock:
            first = self._runs.get(run)
            if first is None:
                if not is_decision:
                    return False
                first = self._runs[run] = set()
            self._runs.move_to_end(run)
            if len(self._runs) > RUNS:
                self._runs.popitem(last=False)
            if is_decision and len(first) < self._most:
                first.add(span_id)
            return len(first) >= self._most and (span_id if is_decision else parent_id) not in first
