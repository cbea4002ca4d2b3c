"""Fuses: whether a run may make its next call, by how the runs that went its way ended.

A policy limits the odds. Its fuse fires where the upper bound of the interval is below them:
so the history must be strong before anything is stopped, and where there is none nothing is.
A verdict compares a run with its agent; a fuse compares it with the policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from engine.foresight import Foresight, foresee
from engine.live import Live
from engine.paths import clean_name
from engine.walk import Index

MIN_SUPPORT = 30
"""Earlier runs a fuse needs where the path stands, unless its policy says otherwise."""
AFTER_STEPS = 3
"""Steps a run must have taken before a fuse may fire, unless its policy says otherwise."""
MAX_NAME = 100
"""Characters of a policy's name."""
MAX_POLICIES = 100
"""Policies of a tenant at most: a check asks every one."""
LARGEST = 10**9

Action: TypeAlias = Literal["allow", "warn", "stop"]
Mode: TypeAlias = Literal["enforce", "shadow"]
Name: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)", max_length=MAX_NAME, examples=["refunds"])
]
"""What a policy is called: it stands in an address as it is."""


class Terms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a policy asks for.

    Attributes
    ----------
    agent : str or None
        Whose runs it is asked about, cleaned as names of agents are; None is everybody's.
    min_success_odds : float
        In (0, 1]: the fuse fires where the upper bound of the interval is below.
    action : {"stop", "warn"}
    foresight_min_support : int
        Earlier runs it takes where the path stands, at least 1.
    foresight_after_steps : int
        Steps the run must have taken, at least 0; one that is named next is not taken yet.
    mode : {"enforce", "shadow"}
        In shadow its firings are written down, and nothing is stopped.
    """

    agent: Annotated[str, Meta(pattern=r"\S")] | None = None
    min_success_odds: Annotated[float, Meta(gt=0, le=1)]
    action: Literal["stop", "warn"]
    foresight_min_support: Annotated[int, Meta(ge=1, le=LARGEST)] = MIN_SUPPORT
    foresight_after_steps: Annotated[int, Meta(ge=0, le=LARGEST)] = AFTER_STEPS
    mode: Mode = "enforce"

    def __post_init__(self) -> None:
        if self.agent is not None:
            msgspec.structs.force_setattr(self, "agent", clean_name(self.agent))


class Policy(Terms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Terms under a name."""

    name: Name


class Fired(msgspec.Struct, frozen=True, gc=False):
    """A policy whose fuse fired, and what made it."""

    policy: Policy
    foresight: Foresight


class Asked(msgspec.Struct, frozen=True):
    """What all fuses together say.

    Attributes
    ----------
    path, named : Foresight
        Of the path as it stands; and with the step that was named, if one was.
    fired : tuple of Fired
        Every fuse that fired, those in shadow too; each once.
    """

    path: Foresight
    named: Foresight | None
    fired: tuple[Fired, ...]

    @property
    def acting(self) -> Fired | None:
        """The fuse whose action it is: the strongest of those that are enforced."""
        return _strongest([each for each in self.fired if each.policy.mode == "enforce"])

    @property
    def action(self) -> Action:
        """The strongest of the policies that are enforced."""
        return self.acting.policy.action if self.acting else "allow"

    @property
    def reason(self) -> str:
        """One sentence."""
        if acting := self.acting:
            return explain(acting)
        if shadow := _strongest(self.fired):
            return f"No fuse that is enforced fired; in shadow: {explain(shadow)}"
        return QUIET


class Firing(msgspec.Struct, frozen=True):
    """A line of the ledger: a fuse fired, and what it went by at that moment.

    Attributes
    ----------
    action : {"stop", "warn"}
        Of the policy; in ``shadow`` nothing came of it.
    next_step : str or None
        The step that was named, if the fuse fired because of it.
    steps : int
        Steps the run had taken.
    support, successes : int
        Earlier runs, and how many of them succeeded.
    odds : float
        What the policy asked for.
    """

    time_ns: int
    run_id: str
    agent: str
    policy: str
    action: Literal["stop", "warn"]
    mode: Mode
    next_step: str | None
    steps: int
    support: int
    successes: int
    odds: float
    reason: str


QUIET = "No fuse fired."


def ask(index: Index, live: Live, policies: Iterable[Policy], next_step: str | None = None) -> Asked:
    """Ask the policies whether a run may go on.

    Parameters
    ----------
    index : Index
        The map of the run's agent, view ``all``.
    live : Live
        The run; its last token is open, whatever became of it.
    policies : iterable of Policy
        Of those that fire one is named: one that stops before one that warns, then the one that asks for the
        lowest odds, then the first.
    next_step : str, optional
        Signature of the step it is about to take.
    """
    path = foresee(index, live)
    named = None if next_step is None else foresee(index, live, next_step)
    foresights = (path,) if named is None else (path, named)
    return Asked(
        path, named, tuple([each for policy in policies if (each := fired(policy, live, foresights))])
    )


def _strongest(fired: Sequence[Fired]) -> Fired | None:
    """The one to name: of those that stop, else of all, the one that fired though it asks for least."""
    return min(
        fired, key=lambda each: (each.policy.action != "stop", each.policy.min_success_odds), default=None
    )


def fired(policy: Policy, live: Live, foresights: Sequence[Foresight]) -> Fired | None:
    """The first that makes the policy's fuse fire, if one does."""
    for each in foresights:
        if each.high < policy.min_success_odds and _may_fire(policy, live, each):
            return Fired(policy, each)
    return None


def _may_fire(policy: Policy, live: Live, found: Foresight) -> bool:
    """Whether the policy is about this run, by now, and there is history enough."""
    its = policy.agent is None or policy.agent == live.agent
    enough = found.whole and found.support >= policy.foresight_min_support
    return its and enough and live.steps >= policy.foresight_after_steps


def written(fired: Fired, live: Live, time_ns: int) -> Firing:
    """The line of the ledger about a fuse that fired."""
    policy, found = fired.policy, fired.foresight
    return Firing(
        time_ns=time_ns,
        run_id=live.run_id,
        agent=live.agent,
        policy=policy.name,
        action=policy.action,
        mode=policy.mode,
        next_step=found.next_step,
        steps=live.steps,
        support=found.support,
        successes=found.successes,
        odds=policy.min_success_odds,
        reason=explain(fired),
    )


def explain(fired: Fired) -> str:
    """Why a fuse fired: counts, bound and limit.

    >>> found = Foresight("likely_failure", 50, 5, 0.043, 0.214, 180, 98, True, None)
    >>> explain(Fired(Policy(name="odds", min_success_odds=0.7, action="stop"), found))[:49]
    '5 of 50 earlier runs on this path succeeded: even'
    """
    policy, found = fired.policy, fired.foresight
    took = f"that went this way and took {found.next_step} next" if found.next_step else "on this path"
    high, odds = _apart(found.high, policy.min_success_odds)
    return (
        f"{found.successes:,} of {found.support:,} earlier runs {took} succeeded: even the upper bound, "
        f"{high}, is below the {odds} that policy {policy.name} asks for."
    )


def _apart(high: float, odds: float) -> tuple[str, str]:
    """Two different shares in percent, with as many digits as show that they differ.

    >>> _apart(0.2136, 0.7), _apart(0.69996, 0.7)
    (('21.4%', '70.0%'), ('69.996%', '70.000%'))
    """
    texts = ((f"{high:.{digits}%}", f"{odds:.{digits}%}") for digits in range(1, 16))
    return next(pair for pair in texts if pair[0] != pair[1])
