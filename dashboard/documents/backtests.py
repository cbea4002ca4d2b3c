"""What a fuse would have done to runs that are over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from dashboard.documents import Count, Rate, drawn
from dashboard.documents.fuses import PolicyTally
from engine.backtest import Point, Promise
from engine.backtest import Tried as Trial
from engine.store import Tally


class Stopped(msgspec.Struct, frozen=True):
    """What it would have done at some odds; low and high bound the share of wrongly stopped runs.

    Steps, tokens and the lead (steps before the end, by the median) are those of rightly stopped runs, of
    which ``metered`` tell of tokens. The gain is counted in right stops.
    """

    min_success_odds: Rate
    stopped: Count
    rightly: Count
    wrongly: Count
    low: Rate
    high: Rate
    steps_saved: Count
    tokens_saved: Count | None
    metered: Count
    median_lead: Annotated[float, Meta(ge=0)] | None
    gain: float


class HeldOut(msgspec.Struct, frozen=True):
    """Odds that the older half of the runs recommends, and what they did in the newer half."""

    older: Stopped
    newer: Stopped


class Promised(msgspec.Struct, frozen=True):
    """A policy of the agent, what it would have done at its own terms, and the ledger of the agent's runs."""

    policy: str
    backtest: Stopped
    ledger: list[PolicyTally]


class Backtest(msgspec.Struct, frozen=True):
    """What a fuse would have done at every percentage; ``unasked`` runs no odds stop.

    ``chosen`` are the odds that were asked for, else those that are recommended. ``bounded``: the map of
    these runs drops rare branches, where a fuse says nothing.
    """

    runs: Count
    successes: Count
    declared: Count
    by_rule: Count
    inferred: Count
    unasked: Count
    bounded: bool
    chosen: Stopped | None
    recommended: Stopped | None
    held_out: HeldOut | None
    curve: list[Stopped]
    policies: list[Promised]


def backtest(tried: Trial, promises: Sequence[Promise] = (), tallies: Sequence[Tally] = ()) -> Backtest:
    """A backtest for programs, with what policies promised and how that was kept."""

    def stopped(point: Point) -> Stopped:
        return drawn(Stopped, point, min_success_odds=point.odds, gain=point.gain(tried.cost))

    held = tried.held and HeldOut(stopped(tried.held.chosen), stopped(tried.held.after))
    return drawn(
        Backtest,
        tried.found,
        bounded=tried.bounded,
        chosen=tried.chosen and stopped(tried.chosen),
        recommended=tried.best and stopped(tried.best),
        held_out=held,
        curve=[stopped(each) for each in tried.found.points],
        policies=[
            Promised(
                each.policy.name,
                stopped(each.point),
                [drawn(PolicyTally, tally) for tally in tallies if tally.policy == each.policy.name],
            )
            for each in promises
        ],
    )
