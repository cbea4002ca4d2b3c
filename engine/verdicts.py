"""The verdict for one run: how runs that took its path ended.

A completed run is judged at its own node with itself left out; a live run's last token is
still open and is pooled (:mod:`engine.walk`), and so is a step that is named next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from engine.history import MIN_HISTORY, History, history_of
from engine.maps import BehaviourMap
from engine.paths import CUT, MARK, MAX_STEPS, MAX_TOKENS, Fold, Token, fold, without_models
from engine.runs import Outcome, Run, Source, View
from engine.statistics import proportion, wilson_one
from engine.walk import Standing, Why
from engine.wording import sentence

MIN_BEST_STEP = 30
"""Earlier runs a next step needs to be called the best one."""
LIKELY_FAILURE_BELOW = 0.5
"""A likely failure's upper bound lies below this, and below the agent's base rate."""

Kind: TypeAlias = Literal["insufficient_history", "novel", "likely_failure", "on_track"]


class Odds(NamedTuple):
    """How the runs that came this far ended; ``rate`` is None where there are none."""

    token: Token
    support: int
    successes: int
    rate: float | None
    low: float
    high: float


class NextStep(NamedTuple):
    """How the runs that went on with a signature ended."""

    signature: str
    support: int
    successes: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the history says about one run.

    Attributes
    ----------
    outcome, source : Outcome, Source or None
        UNKNOWN and None while the run is live.
    path : tuple of Token
        The run's path, with the step that was named, if one was: that one is open, whatever
        the run.
    verdict : {"insufficient_history", "novel", "likely_failure", "on_track"}
    support, successes, rate, low, high
        Earlier completed runs where the path stands, their success rate (None without any) and
        its Wilson score interval.
    base_rate : float or None
        The agent's success rate; None without a completed run.
    sentence : str
        The verdict in words.
    depths : tuple of Odds
        The odds at each token of the path.
    fell_most : int or None
        Depth, counted from 1, at which the rate fell most from the depth before, both with at
        least 10 runs.
    next_steps : tuple of NextStep
        By support (descending), then signature. What naming each gives.
    best_next_step : str or None
        Highest Wilson lower bound among the next steps with at least 30 runs.
    """

    run_id: str
    agent: str
    outcome: Outcome
    source: Source | None
    live: bool
    path: tuple[Token, ...]
    verdict: Kind
    successes: int
    support: int
    rate: float | None
    low: float
    high: float
    base_rate: float | None
    sentence: str
    depths: tuple[Odds, ...]
    fell_most: int | None
    next_steps: tuple[NextStep, ...]
    best_next_step: str | None


def judge(map: BehaviourMap, run: Run, live: bool) -> Verdict:
    """Judge a run by its agent's map.

    Parameters
    ----------
    map : BehaviourMap
        Of the run's agent; the run is read in the map's view.
    run : Run
    live : bool
        Whether the run is still going, so that its last token is open.
    """
    folds = fold(signatures(run, map.cohort.view))
    return _judge(history_of(map, run, folds, live), run, live, folds, open_last=live)


def judge_next(map: BehaviourMap, run: Run, live: bool, signature: str) -> Verdict:
    """Judge "this path, then that step": what :func:`judge` may know, with the named step open."""
    steps = signatures(run, map.cohort.view)
    history = history_of(map, run, fold(steps), live)
    return _judge(history, run, live, fold([*steps, signature]), open_last=True)


def signatures(run: Run, view: View) -> list[str]:
    """The run's signatures as a view shows them."""
    found = [step.signature for step in run.steps]
    return without_models(found) if view == "tools" else found


def _judge(history: History, run: Run, live: bool, folds: tuple[Fold, ...], open_last: bool) -> Verdict:
    path = tuple(fold.token for fold in folds)
    trail = history.trail(folds, open_last)
    here = trail[-1]
    low, high = wilson_one(here.successes, here.support)
    verdict = rule(here.why, here.support, high, history.reached(here), history.base)
    depths = tuple(_odds(token, each) for token, each in zip(path, trail[1:], strict=True))
    steps = _next_steps(history, folds, open_last)
    support, successes = history.base
    return Verdict(
        run_id=run.run_id,
        agent=run.agent,
        outcome=Outcome.UNKNOWN if live else run.outcome,
        source=None if live else run.source,
        live=live,
        path=path,
        verdict=verdict,
        successes=here.successes,
        support=here.support,
        rate=proportion(here.successes, here.support),
        low=low,
        high=high,
        base_rate=proportion(successes, support),
        sentence=sentence(history, here, path, verdict),
        depths=depths,
        fell_most=_fell_most(depths),
        next_steps=steps,
        best_next_step=_best(steps),
    )


def rule(why: Why, support: int, high: float, reached: int, base: tuple[int, int]) -> Kind:
    """The verdict on a path.

    Parameters
    ----------
    why : Why
        How walking it ended.
    support, high
        Earlier runs where it stands, and the upper bound of their success rate.
    reached : int
        Earlier runs that reached the node below which it stands.
    base : tuple of int
        Completed runs of the cohort and how many of them succeeded.

    Examples
    --------
    >>> rule(Why.REACHED, 50, 0.21, 180, (180, 98)), rule(Why.ABSENT, 0, 1.0, 180, (180, 98))
    ('likely_failure', 'novel')
    """
    completed, successes = base
    if why is Why.REACHED and support >= MIN_HISTORY:
        is_low = high < LIKELY_FAILURE_BELOW and high < successes / completed
        return "likely_failure" if is_low else "on_track"
    return "novel" if why is Why.ABSENT and reached >= MIN_HISTORY else "insufficient_history"


def _odds(token: Token, here: Standing) -> Odds:
    support, successes = (0, 0) if here.why is Why.MARK else (here.support, here.successes)
    return Odds(token, support, successes, proportion(successes, support), *wilson_one(successes, support))


def _fell_most(depths: Sequence[Odds]) -> int | None:
    falls = [
        (Fraction(before.successes, before.support) - Fraction(after.successes, after.support), -depth)
        for depth, (before, after) in enumerate(pairwise(depths), 2)
        if before.support >= MIN_HISTORY and after.support >= MIN_HISTORY
    ]
    fall, depth = max(falls, default=(0, 0))
    return -depth if fall > 0 else None


def _next_steps(history: History, folds: tuple[Fold, ...], open_last: bool) -> tuple[NextStep, ...]:
    choices = [each for each in _choices(history, folds, open_last) if each[1].why is Why.REACHED]
    steps = [NextStep(name, n, won, won / n, *wilson_one(won, n)) for name, (*_, n, won) in choices]
    return tuple(sorted(steps, key=lambda step: (-step.support, step.signature)))


def _choices(history: History, folds: tuple[Fold, ...], open_last: bool) -> Iterator[tuple[str, Standing]]:
    """Every signature the path can go on with, and where that would stand."""
    full = open_last and sum(fold.count for fold in folds) == MAX_STEPS
    if full or folds[-1:] == (CUT,):
        return
    if open_last and folds:
        again = Fold(folds[-1].signature, folds[-1].count + 1)
        yield again.signature, history.stand((*folds[:-1], again), open_last=True)
    closed = history.stand(folds, open_last=False)
    if closed.why is Why.REACHED and len(folds) < MAX_TOKENS:
        map = history.index.map
        below = {map.tokens[map.token[child]].signature for child in map.children(closed.node).tolist()}
        for signature in below - {MARK}:
            yield signature, history.pool(closed.node, Token(signature, 0))


def _best(steps: Iterable[NextStep]) -> str | None:
    enough = [step for step in steps if step.support >= MIN_BEST_STEP]
    return max(enough, key=lambda step: step.low).signature if enough else None
