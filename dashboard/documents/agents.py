"""Who ran, and how it ended: counts of runs and the base rate they make."""

from __future__ import annotations

from typing import Any

import msgspec

from dashboard.documents import Count, Rate, Time, drawn, rfc3339
from engine.maps import Totals
from engine.statistics import wilson_one
from engine.store import AgentSummary


class Counts(msgspec.Struct, frozen=True):
    """Runs by how they ended and who says so; the base rate is null without a completed run."""

    completed: Count
    successes: Count
    failures: Count
    abandoned: Count
    unknown: Count
    declared: Count
    by_rule: Count
    inferred: Count
    base_rate: Rate | None
    low: Rate
    high: Rate


class Agent(msgspec.Struct, frozen=True):
    """How the runs of one agent of a tenant ended inside a window."""

    tenant: str
    agent: str
    completed: Count
    successes: Count
    failures: Count
    abandoned: Count
    unknown: Count
    declared: Count
    by_rule: Count
    inferred: Count
    base_rate: Rate | None
    low: Rate
    high: Rate


class ListedAgent(Agent, frozen=True):
    """How the runs of one agent ended inside a window, and when its latest run ever began."""

    latest_run: Time


class Agents(msgspec.Struct, frozen=True):
    """A page of the agents, by name; ``next`` is what ``after`` takes for the page that follows."""

    agents: list[ListedAgent]
    next: str | None


def base_rate(counts: AgentSummary | Totals) -> dict[str, Any]:
    """The base rate of counts (None without a completed run) and its interval.

    >>> found = base_rate(Totals(2, 1, 1, 0, 0, 0, 0, 2, 0, 0, ()))
    >>> found["base_rate"], round(found["low"], 2), round(found["high"], 2)
    (0.5, 0.09, 0.91)
    """
    low, high = wilson_one(counts.successes, counts.completed)
    rate = counts.successes / counts.completed if counts.completed else None
    return {"base_rate": rate, "low": low, "high": high}


def agent(summary: AgentSummary) -> Agent:
    """An agent for whoever asks the command."""
    return drawn(Agent, summary, **base_rate(summary))


def listed_agent(summary: AgentSummary) -> ListedAgent:
    """An agent for whoever asks the API."""
    return drawn(ListedAgent, summary, **base_rate(summary), latest_run=rfc3339(summary.last_ns))
