"""A verdict in words: counts first, then rate and interval, then what they are compared with."""

from __future__ import annotations

from engine.history import MIN_HISTORY, History
from engine.paths import MAX_STEPS, MAX_TOKENS, Token
from engine.statistics import wilson_one
from engine.walk import Standing, Why

_NAMED = 5
"""Tokens listed before the rest are only counted."""


def sentence(history: History, here: Standing, path: tuple[Token, ...], verdict: str) -> str:
    """Say why a path that stands there has that verdict."""
    if not history.base[0]:
        return (
            "No other run of this agent has been completed in this window, so there is nothing to judge by."
        )
    if here.why is Why.MARK:
        return (
            f"This path goes on past what is read of a run ({MAX_TOKENS} tokens, {MAX_STEPS} steps). Up to "
            f"there, {_counts(here)}; what came after cannot be judged."
        )
    if here.why is Why.CUT:
        return (
            "Rare branches were dropped at this point to keep the map within its bound, so how runs that "
            f"took {path[here.depth]} here ended is not known."
        )
    if here.why is Why.ABSENT:
        return _missing(history, here, path[here.depth])
    return _compared(history, here, verdict)


def _compared(history: History, here: Standing, verdict: str) -> str:
    support, successes = history.base
    whole = f"all {support:,} runs" if support > 1 else "the only other run"
    text = f"{_counts(here)}, against {successes / support:.1%} for {whole} of this agent"
    if verdict == "insufficient_history":
        return f"{text}: too few to judge, it takes {MIN_HISTORY}."
    if verdict == "likely_failure":
        return f"{text}: even the upper bound is below that and below 50%."
    return f"{text}."


def _counts(here: Standing) -> str:
    if not here.support:
        return "0 other runs took this path"
    low, high = wilson_one(here.successes, here.support)
    return (
        f"{here.successes:,} of {here.support:,} other runs on this path succeeded "
        f"({here.successes / here.support:.1%}, 95% interval {low * 100:.1f}–{high * 100:.1f}%)"
    )


def _missing(history: History, here: Standing, step: Token) -> str:
    text = f"0 of {history.reached(here):,} other runs that reached this point took {step} next"
    if history.reached(here) < MIN_HISTORY:
        return f"{text}: too few to judge, it takes {MIN_HISTORY}."
    tokens = [str(token) for token in history.went_on(here)]
    if not tokens:
        return f"{text}; none of them went on."
    rest = f" and {len(tokens) - _NAMED} more" if len(tokens) > _NAMED else ""
    return f"{text}; they went on with {', '.join(tokens[:_NAMED])}{rest}."
