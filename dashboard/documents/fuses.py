"""What fuses ask, what they say before a call, and the ledger of what they did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dashboard.documents import Count, OutcomeWord, Rate, SourceWord, Time, drawn, rfc3339
from engine import fuses
from engine.checks import Checked
from engine.fuses import MAX_POLICIES, Action, Mode, Policy
from engine.store import Recorded
from engine.store import Tally as Tally
from engine.verdicts import Kind


class Policies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All policies of a tenant; their names differ."""

    policies: Annotated[list[Policy], Meta(max_length=MAX_POLICIES)]


class StepForesight(msgspec.Struct, frozen=True):
    """What became of earlier runs that went this way and took the step that was named."""

    signature: str
    verdict: Kind
    successes: Count
    support: Count
    rate: Rate | None
    low: Rate
    high: Rate


class Foresight(msgspec.Struct, frozen=True):
    """What became of earlier runs that went this way, and its verdict; likewise with the next step."""

    verdict: Kind
    successes: Count
    support: Count
    rate: Rate | None
    low: Rate
    high: Rate
    base_rate: Rate | None
    next_step: StepForesight | None


class Check(msgspec.Struct, frozen=True):
    """Whether a run may go on; ``policy`` is the one whose action it is.

    Without a map, or without the run, there is no foresight, and the call is allowed.
    """

    action: Action
    reason: str
    foresight: Foresight | None
    policy: str | None
    map_age_s: Annotated[float, Meta(ge=0)] | None
    as_of: Time | None


class Firing(msgspec.Struct, frozen=True):
    """A fuse fired; the outcome is null if the run is not there any more, its source if there is none."""

    number: Count
    time: Time
    run_id: str
    agent: str
    policy: str
    action: Literal["stop", "warn"]
    mode: Mode
    next_step: str | None
    steps: Count
    successes: Count
    support: Count
    min_success_odds: Rate
    reason: str
    outcome: OutcomeWord | None
    outcome_source: SourceWord | None


class PolicyTally(msgspec.Struct, frozen=True):
    """How the runs ended that a policy's fuse fired in; those that nobody says it of are told apart.

    Successes are false alarms: declared, or by a rule. An inferred one is none yet, as a run that heeded a
    stop after a good step looks like one too.
    """

    policy: str
    action: Literal["stop", "warn"]
    mode: Mode
    runs: Count
    successes: Count
    failures: Count
    abandoned: Count
    inferred_successes: Count
    inferred_failures: Count
    inferred_abandoned: Count
    unknown: Count


class Firings(msgspec.Struct, frozen=True):
    """A page of the ledger, newest first; ``next`` is what ``after`` takes for the page that follows.

    The tally is of all lines that were asked for, on whichever page.
    """

    firings: list[Firing]
    tally: list[PolicyTally]
    next: int | None


def check(checked: Checked) -> Check:
    """An answer to a run that asks before its next call."""
    asked = checked.asked
    return Check(
        action=checked.action,
        reason=checked.reason,
        foresight=None if asked is None else _foresight(asked),
        policy=asked.acting.policy.name if asked and asked.acting else None,
        map_age_s=checked.map_age_s,
        as_of=None if checked.as_of_ns is None else rfc3339(checked.as_of_ns),
    )


def _foresight(asked: fuses.Asked) -> Foresight:
    named = asked.named
    step = None if named is None else drawn(StepForesight, named, signature=named.next_step)
    return drawn(Foresight, asked.path, next_step=step)


def firings(lines: Sequence[Recorded], tally: Sequence[Tally], more: bool) -> Firings:
    """A page of the ledger, and the tally of all pages."""
    return Firings(
        [_firing(line) for line in lines],
        [drawn(PolicyTally, each) for each in tally],
        lines[-1].number if more else None,
    )


def _firing(line: Recorded) -> Firing:
    return drawn(
        Firing,
        line.firing,
        number=line.number,
        time=rfc3339(line.firing.time_ns),
        min_success_odds=line.firing.odds,
        outcome=None if line.outcome is None else line.outcome.name.lower(),
        outcome_source=None if line.source is None else line.source.name.lower(),
    )
