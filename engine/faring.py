"""How each agent fares: its runs day by day, and whether the last day differs from the days before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from engine.queries import AgentLine, overview
from engine.runs import DEFAULT_DAYS
from engine.statistics import benjamini_hochberg, fisher_exact, proportion
from engine.store import DayRow, Store

DAYS = DEFAULT_DAYS
CLEAR = 0.05
"""The last day is clearly another below this q-value, and perhaps below this p-value."""

Change: TypeAlias = Literal["none", "alike", "better", "worse", "perhaps better", "perhaps worse"]


class Day(NamedTuple):
    """How the runs ended that began on one day."""

    successes: int = 0
    failures: int = 0
    abandoned: int = 0
    live: int = 0

    @property
    def completed(self) -> int:
        """Those that have an outcome."""
        return self.successes + self.failures + self.abandoned

    @property
    def runs(self) -> int:
        """All of them."""
        return self.completed + self.live


class LastDay(NamedTuple):
    """The completed runs of the last 24 hours beside those of the days before.

    Attributes
    ----------
    p, q : float
        By Fisher's exact test, two-sided; q allows for all agents that are tested.
    """

    completed: int
    successes: int
    before: int
    before_successes: int
    p: float = 1.0
    q: float = 1.0

    @property
    def change(self) -> Change:
        """Whether it is another: ``none`` where either side has no run, ``alike`` where chance may do it.

        >>> LastDay(10, 0, 90, 80, 1e-6, 1e-5).change, LastDay(10, 9, 0, 0).change
        ('worse', 'none')
        """
        if not (self.completed and self.before):
            return "none"
        if self.p >= CLEAR:
            return "alike"
        worse = self.successes * self.before < self.before_successes * self.completed
        if self.q < CLEAR:
            return "worse" if worse else "better"
        return "perhaps worse" if worse else "perhaps better"

    @property
    def rate(self) -> float | None:
        """Success rate of the last day, in [0, 1]."""
        return proportion(self.successes, self.completed)

    @property
    def rate_before(self) -> float | None:
        """Success rate of the days before, in [0, 1]."""
        return proportion(self.before_successes, self.before)


class Faring(NamedTuple):
    """How one agent fares.

    Attributes
    ----------
    days : tuple of Day, length DAYS
        From the oldest on: the last 24 hours are the last.
    """

    line: AgentLine
    days: tuple[Day, ...]
    last: LastDay


def faring(store: Store, tenant: str, now_ns: int, limit: int) -> tuple[list[Faring], int]:
    """How the ``limit`` agents with most runs in the last 30 days fare, and how many more there are."""
    lines = overview(store, tenant, now_ns)
    lines, more = lines[:limit], len(lines[limit:])
    names = [line.window.agent for line in lines]
    days = by_day(store.days(tenant, names, now_ns))
    every = [days.get(name, (Day(),) * DAYS) for name in names]
    found = zip(lines, every, last_days(every), strict=True)
    return [Faring(*each) for each in found], more


def by_day(rows: Iterable[DayRow]) -> dict[str, tuple[Day, ...]]:
    """Each agent's last 30 days, oldest first.

    >>> by_day([DayRow("a", 0, 3, 1, 0, 2), DayRow("a", 29, 1, 0, 0, 0)])["a"][:: DAYS - 1]
    (Day(successes=1, failures=0, abandoned=0, live=0), Day(successes=3, failures=1, abandoned=0, live=2))
    """
    found: dict[str, list[Day]] = {}
    for row in rows:
        days = found.setdefault(row.agent, [Day()] * DAYS)
        days[DAYS - 1 - row.day] = Day._make(row[2:])
    return {agent: tuple(days) for agent, days in found.items()}


def last_days(every: Sequence[Sequence[Day]]) -> list[LastDay]:
    """Compare the last day of each agent with its days before.

    >>> steady, broken = [Day(8, 2)] * 29 + [Day(8, 2)], [Day(8, 2)] * 29 + [Day(0, 10)]
    >>> [last.change for last in last_days([steady, broken])]
    ['alike', 'worse']
    """
    if not every:
        return []
    done = np.array([[(day.completed, day.successes) for day in days] for days in every], np.int64)
    (last, won), (before, won_before) = done[:, -1].T, done[:, :-1].sum(axis=1).T
    p = fisher_exact(won, last - won, won_before, before - won_before)
    tested, q = (last > 0) & (before > 0), np.ones_like(p)
    if (p[tested] < CLEAR).any():
        q[tested] = benjamini_hochberg(p[tested])
    columns = (last, won, before, won_before, p, q)
    return [LastDay(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]
