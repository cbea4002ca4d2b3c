"""What a fuse would have done to runs that are over, at every odds it might have been set to.

Each run is asked about before each of its calls and judged by all the others, or only by those that were over
before it began. A run that did not succeed was stopped rightly, one that did was stopped wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

import numpy as np

from engine.fuses import AFTER_STEPS, MIN_SUPPORT, Policy
from engine.growing import Flags, Floats, Ints
from engine.questions import Questions
from engine.runs import Source
from engine.statistics import wilson, wilson_one

ODDS: Final = tuple(percent / 100 for percent in range(1, 101))
"""The odds that are tried: every percentage."""

COST: Final = 1.0
"""Rightly stopped runs that one stopped wrongly costs, unless somebody says otherwise."""

KEPT: Final = 128
"""Backtests of each kind that are kept of the same runs, the latest: more than there may be policies."""


class Fuse(NamedTuple):
    """What a fuse goes by, all but its odds.

    Attributes
    ----------
    min_support : int
        Runs it takes where the path stands.
    after_steps : int
        Steps the run must have taken.
    earlier : bool
        Whether only runs count that were over before the run began, as on the day itself.
    """

    min_support: int = MIN_SUPPORT
    after_steps: int = AFTER_STEPS
    earlier: bool = False


class Point(NamedTuple):
    """What a fuse would have done at some odds.

    Attributes
    ----------
    stopped, rightly, wrongly : int
        Runs it would have fired in; those of them that did not succeed, and those that did.
    low, high : float
        Wilson score interval of wrongly / stopped.
    steps_saved : int
        Steps that the rightly stopped went on to take all the same.
    tokens_saved : int or None
        Tokens of models that these steps took; None if no rightly stopped run tells of any.
    metered : int
        How many of the rightly stopped do.
    median_lead : float or None
        Steps before their end at which the rightly stopped would have been stopped, by the median.
    """

    odds: float
    stopped: int
    rightly: int
    wrongly: int
    low: float
    high: float
    steps_saved: int
    tokens_saved: int | None
    metered: int
    median_lead: float | None

    def gain(self, cost: float) -> float:
        """What it is worth, in rightly stopped runs, where one wrongly stopped costs so many."""
        return self.rightly - cost * self.wrongly if self.stopped else 0.0

    @property
    def wrong_share(self) -> float | None:
        """Of the stopped runs, the share that was stopped wrongly."""
        return self.wrongly / self.stopped if self.stopped else None


class Backtest(NamedTuple):
    """What a fuse would have done.

    Attributes
    ----------
    runs, successes : int
        Runs that were asked about.
    declared, by_rule, inferred : int
        Where their outcomes come from.
    unasked : int
        Runs that no fuse like this could have fired in, whatever its odds: they made no call after so many
        steps, or their way too few others.
    points : tuple of Point
        In the order of the odds that were tried.
    """

    runs: int
    successes: int
    declared: int
    by_rule: int
    inferred: int
    unasked: int
    points: tuple[Point, ...]

    @property
    def unsuccessful(self) -> int:
        """Runs that a fuse had better stop."""
        return self.runs - self.successes


class HeldOut(NamedTuple):
    """Odds that were best in the older half of the runs, and what they did in the newer half."""

    chosen: Point
    after: Point


def backtest(
    asked: Questions, fuse: Fuse, odds: Sequence[float] = ODDS, which: Flags | None = None
) -> Backtest:
    """What a fuse would have done to runs that are over.

    Parameters
    ----------
    odds : sequence of float
        The odds to try.
    which : bool, shape (runs,), optional
        The runs to ask about; every one unless said. All stay in the history of the others.
    """
    chosen = np.ones(asked.steps.size, bool) if which is None else which
    firings = _firings(asked, fuse, chosen)
    source = np.bincount(asked.source[chosen], minlength=len(Source)).tolist()
    runs = int(chosen.sum())
    return Backtest(
        runs=runs,
        successes=int(asked.won[chosen].sum()),
        declared=source[Source.DECLARED],
        by_rule=source[Source.RULE],
        inferred=source[Source.INFERRED],
        unasked=runs - int(np.unique(firings.run).size),
        points=tuple(_point(asked, firings, each) for each in odds),
    )


def break_even(cost: float) -> float:
    """The odds of success at which stopping a run brings as much as it costs.

    >>> break_even(1), break_even(3)
    (0.5, 0.25)
    """
    return 1 / (1 + cost)


def recommended(found: Backtest, cost: float) -> Point | None:
    """The odds of the largest gain; None where none gains anything.

    Of equal ones those nearest the odds at which a stop brings as much as it costs: an edge of the curve is
    where the runs that it was drawn from happen to lie.

    Parameters
    ----------
    cost : float
        How many rightly stopped runs it takes to make up for one that is stopped wrongly.
    """
    even = break_even(cost)
    best = max(found.points, key=lambda each: (each.gain(cost), -abs(each.odds - even)), default=None)
    return best if best is not None and best.gain(cost) > 0 else None


def held_out(asked: Questions, fuse: Fuse, cost: float, odds: Sequence[float] = ODDS) -> HeldOut | None:
    """Choose the odds on the older half of the runs, and see what they did in the newer half.

    Runs are judged as the fuse has it: unless by earlier ones only, by those of the other half too. None
    where the older half recommends none.
    """
    newer = np.arange(asked.steps.size) < asked.steps.size // 2
    chosen = recommended(backtest(asked, fuse, odds, ~newer), cost)
    if chosen is None:
        return None
    return HeldOut(chosen, backtest(asked, fuse, [chosen.odds], newer).points[0])


class Tried(NamedTuple):
    """All that is told of a fuse that was tried on runs that are over.

    Attributes
    ----------
    cost : float
        Of a false stop, in right stops.
    found : Backtest
        What it does at every percentage.
    best : Point or None
        The odds that are recommended.
    chosen : Point or None
        The odds that are looked at: those that were asked for, else the best.
    held : HeldOut or None
        What the older half of the runs recommends, in the newer half.
    bounded : bool
        As in :class:`~engine.questions.Questions`.
    """

    fuse: Fuse
    cost: float
    found: Backtest
    best: Point | None
    chosen: Point | None
    held: HeldOut | None
    bounded: bool


def tried(asked: Questions, fuse: Fuse, cost: float = COST, odds: float | None = None) -> Tried:
    """Try a fuse at every percentage, and at some odds if those are asked for."""
    found = backtest(asked, fuse)
    best = recommended(found, cost)
    chosen = best if odds is None else backtest(asked, fuse, [odds]).points[0]
    return Tried(fuse, cost, found, best, chosen, held_out(asked, fuse, cost), asked.bounded)


class Trials:
    """Backtests of the same runs, kept: who looks at a page asks for the same again and again.

    Attributes
    ----------
    tried, backtest : callable
        :func:`tried` and :func:`backtest` of these runs, whose arguments are to be hashable.
    """

    def __init__(self, asked: Questions) -> None:
        self.tried = lru_cache(KEPT)(partial(tried, asked))
        self.backtest = lru_cache(KEPT)(partial(backtest, asked))


class Total(NamedTuple):
    """How runs ended, of one agent or several: all that were asked about, and those that a fuse fires in."""

    runs: int = 0
    successes: int = 0
    stopped: int = 0
    wrongly: int = 0


def total(found: Iterable[Backtest]) -> Total:
    """Of backtests at one odds each, all runs together."""
    counts = [(each.runs, each.successes, each.points[0].stopped, each.points[0].wrongly) for each in found]
    return Total(*map(sum, zip(*counts, strict=True)))


def fuse_of(policy: Policy, earlier: bool = False) -> tuple[Fuse, float]:
    """What a policy's fuse goes by, and its odds."""
    fuse = Fuse(policy.foresight_min_support, policy.foresight_after_steps, earlier)
    return fuse, policy.min_success_odds


class Promise(NamedTuple):
    """A policy, and what it would have done at its own terms."""

    policy: Policy
    runs: int
    point: Point


def promises(trials: Trials, agent: str, policies: Iterable[Policy], earlier: bool) -> list[Promise]:
    """What the policies that hold for an agent would have done, each at its own terms."""
    made = list[Promise]()
    for policy in policies:
        if policy.agent in (None, agent):
            fuse, odds = fuse_of(policy, earlier)
            found = trials.backtest(fuse, (odds,))
            made.append(Promise(policy, found.runs, found.points[0]))
    return made


def pays_at_worst(point: Point, cost: float) -> bool:
    """Whether it gains something even if the share of false stops is at the upper bound of its interval."""
    return point.stopped > 0 and 1 - point.high > cost * point.high


class _Firings(NamedTuple):
    """When a fuse would first have fired: at odds over ``bound``, up to ``below``, so many steps taken."""

    run: Ints
    taken: Ints
    bound: Floats
    below: Floats


def _firings(asked: Questions, fuse: Fuse, which: Flags) -> _Firings:
    """Of every run, each moment at which the upper bound fell below all before it."""
    counts = (asked.support, asked.successes)
    support, successes = (asked.earlier_support, asked.earlier_successes) if fuse.earlier else counts
    taken = np.maximum(asked.since, fuse.after_steps)
    able = np.flatnonzero((support >= fuse.min_support) & (taken <= asked.until) & which[asked.run])
    run, bound = asked.run[able].astype(np.int64), wilson(successes[able], support[able])[1]
    before = _lowest_before(run, bound)
    falls = np.flatnonzero(bound < before)
    return _Firings(run[falls], taken[able][falls].astype(np.int64), bound[falls], before[falls])


def _lowest_before(run: Ints, bound: Floats) -> Floats:
    """The lowest bound before each of the same run, infinite before its first; runs stand together.

    The reach of each is doubled until it holds the whole run.
    """
    place = np.arange(run.size) - np.searchsorted(run, run)
    lowest, reach = np.full(run.size, np.inf), 1
    np.copyto(lowest[1:], bound[:-1], where=place[1:] > 0)
    while reach <= place.max(initial=0):
        inside = place[reach:] >= reach
        lowest[reach:] = np.where(inside, np.minimum(lowest[reach:], lowest[:-reach]), lowest[reach:])
        reach *= 2
    return lowest


def _point(asked: Questions, firings: _Firings, odds: float) -> Point:
    fires = (firings.bound < odds) & (odds <= firings.below)
    run, taken = firings.run[fires], firings.taken[fires]
    right = ~asked.won[run]
    stopped, rightly = run.size, int(right.sum())
    run, taken = run[right], taken[right]
    lead, told = asked.steps[run] - taken, asked.metered[run]
    spent = asked.spent[asked.first[run] + taken][told]
    low, high = wilson_one(stopped - rightly, stopped)
    return Point(
        odds=odds,
        stopped=stopped,
        rightly=rightly,
        wrongly=stopped - rightly,
        low=low,
        high=high,
        steps_saved=int(lead.sum()),
        tokens_saved=int(spent.sum()) if told.any() else None,
        metered=int(told.sum()),
        median_lead=float(np.median(lead)) if rightly else None,
    )
