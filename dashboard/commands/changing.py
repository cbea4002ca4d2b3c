"""``forkmap compare``: what changed at a moment, at a marker, or from one version to another."""

from __future__ import annotations

from argparse import Namespace

from rich.console import Group, RenderableType

from dashboard.commands.terminal import shown
from dashboard.components import words
from dashboard.urls import write_time
from engine.changes import Moment, Split, Versions, versions
from engine.changes.ranking import Change, Findings, Parting
from engine.changes.wording import (
    caveats,
    explain,
    headline,
    parting,
    summary,
    told_within_tickets,
    whole_within_tickets,
)
from engine.errors import ForkmapError
from engine.queries import Bounds
from engine.runs import Cohort
from engine.splitting import load_changes
from engine.store import Store

LISTED = 10
"""Forks that are shown: those at which most changed."""


def load(store: Store, cohort: Cohort, now_ns: int, bounds: Bounds, asked: Namespace) -> Findings:
    """Compare the sides that are asked for.

    Raises
    ------
    ForkmapError
        No run of a version completed; with those that there are.
    """
    found = load_changes(store, cohort, _split(store, asked), now_ns, bounds)
    if asked.versions and not found.changes.support[:, 0].min():
        there = versions(store.paths(cohort, now_ns, bounds.max_runs).versions)
        known = ", ".join(version for version, _ in there[:10]) or "none"
        raise ForkmapError(f"{headline(found.changes)} Versions of these runs: {known}")
    return found


def _split(store: Store, asked: Namespace) -> Split:
    """What parts the sides.

    Raises
    ------
    ForkmapError
        No marker of the agent has that name, or both versions are the same.
    """
    if asked.since is not None:
        return Moment(asked.since)
    if asked.marker is None:
        before, after = asked.versions
        if before == after:
            raise ForkmapError(f"--versions needs two: both are {before!r}")
        return Versions(before, after)
    found = store.markers(asked.tenant, asked.agent)
    named = [each for each in found if each.name == asked.marker]
    if not named:
        known = ", ".join(dict.fromkeys(each.name for each in found[:10]))
        others = f"these are: {known}" if known else "there is none"
        raise ForkmapError(f"no marker of {asked.agent!r} is called {asked.marker!r}; {others}")
    return Moment(named[0].time_ns)


def report(found: Findings) -> RenderableType:
    """The whole, each change in a sentence, and the forks at which most changed."""
    split, cohort = found.changes.split, found.changes.behaviour.cohort
    moment = f"before and since {write_time(split.at_ns)}" if isinstance(split, Moment) else ""
    about = [cohort.agent, words.window(cohort.window), moment, words.quoted(cohort.where)]
    parts = [
        shown(" · ".join(filter(None, about)), style="bold"),
        *map(shown, caveats(found.changes)),
        shown(headline(found.changes)),
        shown(whole_within_tickets(found)),
        shown(summary(found.changes, found.ranked)),
        *(shown(_change(each, split)) for each in found.ranked),
    ]
    if found.partings:
        parts.append(shown("\nForks at which most changed:", style="bold"))
    parts += [shown(_fork(each)) for each in found.partings[:LISTED]]
    more = len(found.partings) - LISTED
    return Group(*parts, *[shown(f"{more:,} more; --json lists them all.")] * (more > 0))


def _change(each: Change, split: Split) -> str:
    within = told_within_tickets(each.tickets, each.grew) if each.tickets else ""
    return f"- {' '.join(part for part in (explain(each, split), within) if part)}"


def _fork(each: Parting) -> str:
    return f"- {' → '.join(map(str, each.path)) or 'the start'}: {parting(each)}"
