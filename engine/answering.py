"""What each fuse says of one run, and why one that does not fire does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from engine.foresight import Foresight, foresee
from engine.fuses import Policy
from engine.live import Live, so_far
from engine.paths import MAX_STEPS
from engine.runs import Outcome, Run
from engine.statistics import wilson_one
from engine.walk import Index

Lacking: TypeAlias = Literal["agent", "steps", "path", "support", "odds"]
"""What a fuse asks for and does not have: a run of its agent, enough steps, a path that is read to its
end, enough earlier runs, odds as bad as that."""


class Answer(NamedTuple):
    """What one policy's fuse says.

    Attributes
    ----------
    steps : int
        Steps the run had taken when it was asked.
    found : Foresight
        What it goes by.
    lacking : Lacking or None
        None if it fires.
    """

    policy: Policy
    steps: int
    found: Foresight
    lacking: Lacking | None


def lacking(policy: Policy, live: Live, found: Foresight) -> Lacking | None:
    """The first thing a fuse asks for and does not have; None if it fires."""
    if policy.agent not in (None, live.agent):
        return "agent"
    if live.steps < policy.foresight_after_steps:
        return "steps"
    if not found.whole:
        return "path"
    if found.support < policy.foresight_min_support:
        return "support"
    return None if found.high < policy.min_success_odds else "odds"


def answers(
    index: Index, live: Live, policies: Iterable[Policy], next_step: str | None = None
) -> list[Answer]:
    """What fuses say of a run as it stands, and with its next step if that is named.

    Parameters
    ----------
    index : Index
        The map of the run's agent, view ``all``.
    next_step : str, optional
        Signature of the step it is about to take.
    """
    asked = [foresee(index, live), *([foresee(index, live, next_step)] if next_step else [])]
    return in_order(_answer(policy, live, asked) for policy in policies)


def answers_before_calls(index: Index, run: Run, policies: Iterable[Policy]) -> list[Answer]:
    """What fuses would have said of a run that is over, asked before each call, by all other runs.

    Of each policy: the first time it fires, else the last time it is asked; nothing of a run without steps.
    """
    found: dict[str, Answer] = {}
    waiting = list(policies)
    for live, asked in _before_calls(index, run):
        found |= {policy.name: _answer(policy, live, asked) for policy in waiting}
        waiting = [policy for policy in waiting if found[policy.name].lacking]
        if not waiting:
            break
    return in_order(found.values())


def _before_calls(index: Index, run: Run) -> Iterator[tuple[Live, list[Foresight]]]:
    """The run before each of its calls, and what is foreseen of its path and of that call."""
    signatures = [step.signature for step in run.steps[: MAX_STEPS + 1]]
    member, won = index.map.member(run.run_id), run.outcome is Outcome.SUCCESS
    counted = member is not None and index.map.member_outcome[member] == run.outcome
    for taken, next_step in enumerate(signatures):
        live = so_far(run.run_id, run.agent, signatures[:taken])
        asked = [foresee(index, live), foresee(index, live, next_step)]
        yield live, [without(each, won) for each in asked] if counted else asked


def _answer(policy: Policy, live: Live, asked: Sequence[Foresight]) -> Answer:
    """By the first that makes the fuse fire, else by the last."""
    fires = (each for each in asked if lacking(policy, live, each) is None)
    found = next(fires, asked[-1])
    return Answer(policy, live.steps, found, lacking(policy, live, found))


def without(found: Foresight, won: bool) -> Foresight:
    """What is foreseen once a run that went this way is left out of it.

    >>> found = Foresight("on_track", 31, 30, 0.8, 1.0, 180, 98, True, None)
    >>> left = without(found, won=True)
    >>> left.support, left.successes
    (30, 29)
    """
    support = max(0, found.support - 1)
    successes = min(support, max(0, found.successes - won))
    low, high = wilson_one(successes, support)
    return replace(found, support=support, successes=successes, low=low, high=high)


def in_order(found: Iterable[Answer]) -> list[Answer]:
    """Those that fire first: what is enforced before what is in shadow, and what stops before what warns."""

    def rank(each: Answer) -> tuple[bool, bool, bool]:
        return each.lacking is not None, each.policy.mode != "enforce", each.policy.action != "stop"

    return sorted(found, key=rank)
