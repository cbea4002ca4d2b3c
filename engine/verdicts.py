"""The verdict for one run: how runs that took its path ended.

A completed run is judged at its own node with itself left out; a live run's last token is
still open and is pooled (:mod:`engine.walk`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from engine.maps import BehaviourMap
from engine.paths import CUT, MARK, MAX_STEPS, MAX_TOKENS, Fold, Token, fold, parse_signature
from engine.runs import Outcome, Run, Source, View
from engine.statistics import wilson_one
from engine.walk import Index, Standing, Why, stand

MIN_HISTORY = 10
"""Earlier runs a verdict needs."""
MIN_BEST_STEP = 30
"""Earlier runs a next step needs to be called the best one."""
LIKELY_FAILURE_BELOW = 0.5
"""A likely failure's upper bound lies below this, and below the agent's base rate."""

Kind: TypeAlias = Literal["insufficient_history", "novel", "likely_failure", "on_track"]

_NAMED = 5


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
        The run's path, with the step that was named, if one was.
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
        By support (descending), then signature. For a live run what naming each gives.
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
    return _judge(map, run, fold(signatures(run, map.cohort.view)), live)


def judge_next(map: BehaviourMap, run: Run, signature: str) -> Verdict:
    """Judge "this path, then that step": a live run that has just begun the named step."""
    steps = [*signatures(run, map.cohort.view), signature]
    return _judge(map, run, fold(steps), live=True)


def signatures(run: Run, view: View) -> list[str]:
    """The run's signatures as a view shows them: ``tools`` leaves model steps out."""
    return [
        step.signature for step in run.steps if view == "all" or parse_signature(step.signature)[0] != "llm"
    ]


def _judge(map: BehaviourMap, run: Run, folds: tuple[Fold, ...], live: bool) -> Verdict:
    index = Index(map)
    alone = (0, 0) if live else _alone(index, run, folds)
    base = (map.totals.completed - alone[0], map.totals.successes - alone[1])
    trail = _trail(index, folds, live, alone)
    here = trail[-1]
    kind = _rule(index, here, base, alone)
    depths = tuple(_odds(fold.token, each) for fold, each in zip(folds, trail[1:], strict=False))
    steps = _next_steps(index, folds, live)
    low, high = wilson_one(here.successes, here.support)
    return Verdict(
        run_id=run.run_id,
        agent=run.agent,
        outcome=Outcome.UNKNOWN if live else run.outcome,
        source=None if live else run.source,
        live=live,
        path=tuple(fold.token for fold in folds),
        verdict=kind,
        successes=here.successes,
        support=here.support,
        rate=_rate(here.support, here.successes),
        low=low,
        high=high,
        base_rate=_rate(*base),
        sentence=_sentence(index, kind, here, [fold.token for fold in folds], base, alone),
        depths=depths,
        fell_most=_fell_most(depths),
        next_steps=steps,
        best_next_step=_best(steps),
    )


def _alone(index: Index, run: Run, folds: Sequence[Fold]) -> tuple[int, int]:
    """The run's own support and successes in the map; none unless held at that path and outcome."""
    map = index.map
    member = map.member(run.run_id)
    if member is None or map.member_outcome[member] != run.outcome:
        return 0, 0
    texts = [str(fold.token) for fold in folds]
    node = index.descend(texts)
    whole = bool(map.depth[node] == len(texts))
    if node != map.member_node[member] or whole != map.member_kept[member]:
        return 0, 0
    return 1, int(run.outcome == Outcome.SUCCESS)


def _trail(index: Index, folds: tuple[Fold, ...], live: bool, alone: tuple[int, int]) -> list[Standing]:
    """Where the path stood at the root and after each token; at the end, where it stands.

    From the first token that is missing on, all stand where it went missing.
    """
    read = folds[:-1] if folds[-1:] == (CUT,) else folds
    texts = [str(fold.token) for fold in read]
    trail = [_without(index, index.stand(()), alone)]
    for depth, item in enumerate(read, 1):
        is_open = live and depth == len(folds)
        here = index.stand(texts[: depth - 1], item.token) if is_open else index.stand(texts[:depth])
        trail.append(_without(index, here, alone) if trail[-1].why is Why.REACHED else trail[-1])
    if read != folds:
        trail.append(trail[-1]._replace(why=Why.MARK))
    return trail


def _without(index: Index, here: Standing, alone: tuple[int, int]) -> Standing:
    """A standing on the run's own path without the run: a node that this empties is missing."""
    if not here.nodes:
        return here
    support, successes = here.support - alone[0], here.successes - alone[1]
    if support or not here.depth:
        return here._replace(support=support, successes=successes)
    above = int(index.map.parent[here.node])
    return index.missing(above)


def _rule(index: Index, here: Standing, base: tuple[int, int], alone: tuple[int, int]) -> Kind:
    if not base[0] or here.why in (Why.MARK, Why.CUT):
        return "insufficient_history"
    if here.why is Why.ABSENT:
        return "novel" if _reached(index, here, alone) >= MIN_HISTORY else "insufficient_history"
    if here.support < MIN_HISTORY:
        return "insufficient_history"
    high = wilson_one(here.successes, here.support)[1]
    return "likely_failure" if high < min(base[1] / base[0], LIKELY_FAILURE_BELOW) else "on_track"


def _reached(index: Index, here: Standing, alone: tuple[int, int]) -> int:
    """Earlier runs that reached the node a missing token was wanted below."""
    return int(index.map.support[here.node]) - alone[0]


def _rate(support: int, successes: int) -> float | None:
    return successes / support if support else None


def _odds(token: Token, here: Standing) -> Odds:
    support, successes = (0, 0) if here.why is Why.MARK else (here.support, here.successes)
    return Odds(token, support, successes, _rate(support, successes), *wilson_one(successes, support))


def _fell_most(depths: Sequence[Odds]) -> int | None:
    falls = [
        (Fraction(before.successes, before.support) - Fraction(after.successes, after.support), -depth)
        for depth, (before, after) in enumerate(pairwise(depths), 2)
        if before.support >= MIN_HISTORY and after.support >= MIN_HISTORY
    ]
    fall, depth = max(falls, default=(0, 0))
    return -depth if fall > 0 else None


def _next_steps(index: Index, folds: tuple[Fold, ...], live: bool) -> tuple[NextStep, ...]:
    choices = [each for each in _choices(index, folds, live) if each[1].why is Why.REACHED]
    steps = [NextStep(name, n, won, won / n, *wilson_one(won, n)) for name, (*_, n, won) in choices]
    return tuple(sorted(steps, key=lambda step: (-step.support, step.signature)))


def _choices(index: Index, folds: tuple[Fold, ...], live: bool) -> Iterator[tuple[str, Standing]]:
    """Every signature the path can go on with, and where that would stand."""
    full = live and sum(fold.count for fold in folds) == MAX_STEPS
    if full or folds[-1:] == (CUT,):
        return
    if live and folds:
        again = Fold(folds[-1].signature, folds[-1].count + 1)
        yield again.signature, stand(index, (*folds[:-1], again), open_last=True)
    closed = stand(index, folds, open_last=False)
    if closed.why is Why.REACHED and len(folds) < MAX_TOKENS:
        map = index.map
        below = {map.tokens[map.token[child]].signature for child in index.below(closed.node).values()}
        for signature in below - {MARK}:
            yield signature, index.pool(closed.node, Token(signature, 0))


def _best(steps: Iterable[NextStep]) -> str | None:
    enough = [step for step in steps if step.support >= MIN_BEST_STEP]
    return max(enough, key=lambda step: step.low).signature if enough else None


def _sentence(
    index: Index,
    kind: Kind,
    here: Standing,
    path: Sequence[Token],
    base: tuple[int, int],
    alone: tuple[int, int],
) -> str:
    if not base[0]:
        return "No run of this agent has been completed yet, so there is nothing to judge by."
    if here.why is Why.MARK:
        return (
            f"This path goes on past what is read of a run ({MAX_TOKENS} tokens, {MAX_STEPS} steps); up to "
            f"there {_counts(here)}. Too little history to judge."
        )
    if here.why is Why.CUT:
        return (
            f"The map left out rare branches at this point to stay in its bound, so it cannot tell how runs "
            f"that took {path[here.depth]} here ended."
        )
    if here.why is Why.ABSENT:
        return _missing(index, here, path[here.depth], alone)
    comparison = f"{_counts(here)}, against {base[1] / base[0]:.1%} for all {base[0]} runs of this agent"
    if kind == "insufficient_history":
        return f"{_capital(comparison)}: too few to judge, a verdict needs {MIN_HISTORY}."
    if kind == "likely_failure":
        return f"{_capital(comparison)}: even the upper bound is below that and below 50%."
    return f"{_capital(comparison)}."


def _counts(here: Standing) -> str:
    if not here.support:
        return "0 earlier runs took this path"
    low, high = wilson_one(here.successes, here.support)
    return (
        f"{here.successes} of {here.support} earlier runs on this path succeeded "
        f"({here.successes / here.support:.1%}, 95% interval {low * 100:.1f}–{high * 100:.1f}%)"
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _missing(index: Index, here: Standing, step: Token, alone: tuple[int, int]) -> str:
    reached = _reached(index, here, alone)
    if reached < MIN_HISTORY:
        return (
            f"{reached} earlier runs reached this point and none took {step} here: "
            f"too few to judge, a verdict needs {MIN_HISTORY}."
        )
    map = index.map
    tokens = [
        str(map.tokens[map.token[child]])
        for child in map.children(here.node).tolist()
        if map.tokens[map.token[child]].signature != MARK
    ]
    rest = f" and {len(tokens) - _NAMED} more" if len(tokens) > _NAMED else ""
    went = f"; they went on with {', '.join(tokens[:_NAMED])}{rest}" if tokens else "; all of them ended here"
    return f"0 of {reached} earlier runs that reached this point took {step} next{went}."
