"""What a map says of a run in flight, in microseconds: its verdict, without the words.

It is what :mod:`engine.verdicts` says of a live run. Only where the path stands is looked at, not how it came
there, and the run is in no count: so nothing has to be left out.
"""

from __future__ import annotations

import msgspec

from engine.live import Live
from engine.paths import MAX_STEPS, MAX_TOKENS, Token, bucket
from engine.statistics import proportion, wilson_one
from engine.verdicts import Kind, rule
from engine.walk import Index, Standing, Why


class Foresight(msgspec.Struct, frozen=True, gc=False):
    """What the map says of a run's path, or of its path with the step that is named next.

    Attributes
    ----------
    verdict : {"insufficient_history", "novel", "likely_failure", "on_track"}
        As :mod:`engine.verdicts` gives it for a live run.
    support, successes, low, high
        Completed runs where the path stands, and the Wilson score interval of their success rate.
    base_support, base_successes : int
        Completed runs of the whole cohort.
    whole : bool
        Whether all of the path was walked; if it goes on past what is read of a run, the counts are
        of its beginning and tell nothing of what came after.
    next_step : str or None
        The signature that was named, if this is about it.
    """

    verdict: Kind
    support: int
    successes: int
    low: float
    high: float
    base_support: int
    base_successes: int
    whole: bool
    next_step: str | None

    @property
    def rate(self) -> float | None:
        """Success rate where the path stands."""
        return proportion(self.successes, self.support)

    @property
    def base_rate(self) -> float | None:
        """Success rate of the cohort."""
        return proportion(self.base_successes, self.base_support)


def foresee(index: Index, live: Live, next_step: str | None = None) -> Foresight:
    """What the map says of a run's path, or of "this path, then that step"."""
    here = standing(index, live) if next_step is None else _stand_next(index, live, next_step)
    why, support, successes = here.why, here.support, here.successes
    totals = index.map.totals
    completed, succeeded = totals.completed, totals.successes
    reached = 0 if here.nodes else int(index.map.support[here.node])
    low, high = wilson_one(successes, support)
    verdict = rule(why, support, high, reached, (completed, succeeded))
    whole = why is not Why.MARK
    return Foresight(verdict, support, successes, low, high, completed, succeeded, whole, next_step)


def standing(index: Index, live: Live) -> Standing:
    """Where a run in flight stands; past what is read of a run, where it was cut."""
    if live.cut:
        return index.stand(live.closed)._replace(why=Why.MARK)
    return index.stand(live.closed, live.last)


def _stand_next(index: Index, live: Live, next_step: str) -> Standing:
    """Where the run would stand; a path that would meet a bound, where it was closed."""
    if live.cut:
        return standing(index, live)
    if live.last is None:
        return index.stand((), Token(next_step, 0))
    if next_step == live.last.signature and live.steps < MAX_STEPS:
        return index.stand(live.closed, Token(next_step, bucket(live.folds[-1].count + 1)))
    closed = [*live.closed, str(live.last)]
    if live.steps == MAX_STEPS or len(closed) == MAX_TOKENS:
        return index.stand(closed)._replace(why=Why.MARK)
    return index.stand(closed, Token(next_step, 0))
