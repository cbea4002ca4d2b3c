"""What is held in memory of runs in flight: a bounded number, by run and by trace.

Nothing here waits or locks: whoever shares it sees to that.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from engine.live import Known, Live
from engine.store import TenantRun

SPANS_A_RUN = 30
"""Spans held for each run there is room for, whichever run they are of."""


@dataclass(slots=True)
class Held:
    """What is held of a run.

    Attributes
    ----------
    live : Live, str or None
        The id of another run if it is the id of a trace that belongs to that one; None if none of
        these traces belongs to the run, or it is too long.
    known : dict
        The spans it was folded of, by digest.
    traces : tuple of int
        Numbers of all traces that may belong to it.
    change : int
        The newest change it was read with.
    fresh : bool
        Until one of its traces changes.
    asked : bool
        Whether somebody has asked for it.
    """

    live: Live | str | None
    known: dict[int, Known]
    traces: tuple[int, ...]
    change: int
    fresh: bool = True
    asked: bool = False


class Holding:
    """Runs by tenant and id, the least recently active first.

    Parameters
    ----------
    capacity : int
        Runs held at most; with 30 spans each in the mean at most.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._runs: OrderedDict[TenantRun, Held] = OrderedDict()
        self._spans = 0
        self._runs_of: dict[int, set[TenantRun]] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, key: TenantRun) -> Held | None:
        """What is held of a run."""
        return self._runs.get(key)

    def of_trace(self, trace: int) -> frozenset[TenantRun]:
        """The runs that a trace may belong to, as far as they are held."""
        return frozenset(self._runs_of.get(trace, ()))

    def touch(self, key: TenantRun) -> None:
        """Let a run that is held be stale, and the most recently active."""
        self._runs[key].fresh = False
        self._runs.move_to_end(key)

    def hold(self, key: TenantRun, held: Held) -> int:
        """Hold a run in place of what was held of it; how many had to make room."""
        self.drop(key)
        self._runs[key] = held
        self._spans += len(held.known)
        for trace in held.traces:
            self._runs_of.setdefault(trace, set()).add(key)
        before = len(self._runs)
        while len(self._runs) > self.capacity or self._spans > SPANS_A_RUN * self.capacity:
            self.drop(next(iter(self._runs)))
        return before - len(self._runs)

    def drop(self, key: TenantRun) -> None:
        """Hold a run no more, if it is held."""
        held = self._runs.pop(key, None)
        if held is None:
            return
        self._spans -= len(held.known)
        for trace in held.traces:
            self._runs_of[trace].discard(key)
            if not self._runs_of[trace]:
                del self._runs_of[trace]

    def clear(self) -> None:
        """Hold nothing."""
        self._runs.clear()
        self._runs_of.clear()
        self._spans = 0
