"""Rules for outcomes, tried on the runs of a store before they are kept."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.rules import Rule, first_match
from engine.runs import Outcome, is_live
from engine.store import MAX_RUNS, Store

EXAMPLES = 20
"""Runs that are named of those that would change."""

MAX_S = 10.0
"""How long a trial takes; what is left then is not tried."""


class Change(NamedTuple):
    """How a run is held to have ended, and how it would be."""

    before: Outcome
    after: Outcome


class Changed(NamedTuple):
    """A run that would change."""

    run_id: str
    change: Change


class Trial(NamedTuple):
    """What rules would do.

    Attributes
    ----------
    runs : int
        Runs that nobody declared an outcome of: those that rules are for.
    live : int
        Of these, those still going; the rules will be asked once they are over.
    matched : tuple of int
        Of those over, how many each rule is the first to match.
    changes : tuple of (Change, int)
        How many outcomes would change, from what to what, most frequent first.
    examples : tuple of Changed
        The latest 20 of them.
    bounded : bool
        True if more runs exist than were tried, which are the latest: there were too many, or time ran out.
    """

    runs: int
    live: int
    matched: tuple[int, ...]
    changes: tuple[tuple[Change, int], ...]
    examples: tuple[Changed, ...]
    bounded: bool

    @property
    def changed(self) -> int:
        """How many outcomes would change."""
        return sum(count for _, count in self.changes)


def try_rules(
    store: Store,
    tenant: str,
    agent: str,
    rules: Sequence[Rule],
    now_ns: int,
    max_runs: int = MAX_RUNS,
    clock_s: Callable[[], float] = time.monotonic,
) -> Trial:
    """See what an agent's runs would be if these were its rules; nothing is written.

    The latest runs are tried, at most ``max_runs``, and none is begun after 10 seconds of ``clock_s``.
    """
    until_s = clock_s() + MAX_S
    matched, changes = [0] * len(rules), Counter[Change]()
    examples: list[Changed] = []
    tried = live = 0
    bounded = False
    for run in store.undeclared(tenant, agent, max_runs + 1):
        if tried == max_runs or clock_s() > until_s:
            bounded = True
            break
        tried += 1
        if is_live(run.source, run.last_ns, now_ns):
            live += 1
            continue
        place = first_match(rules, run)
        if place is not None:
            matched[place] += 1
        change = Change(run.outcome, run.inferred if place is None else rules[place].outcome)
        if change.before != change.after:
            changes[change] += 1
            if len(examples) < EXAMPLES:
                examples.append(Changed(run.run_id, change))
    return Trial(tried, live, tuple(matched), tuple(changes.most_common()), tuple(examples), bounded)


def summary(trial: Trial) -> str:
    """What was tried and what would change, in words.

    >>> summary(Trial(3, 1, (1,), ((Change(Outcome.SUCCESS, Outcome.FAILURE), 1),), (), False))
    'Of 3 runs that nobody declared an outcome of, 1 would change; 1 is live and is asked once over.'
    """
    latest = "the latest " if trial.bounded else ""
    runs = f"{latest}{trial.runs:,} runs that nobody declared an outcome of"
    asked = f"Of {runs}, {trial.changed:,} would change"
    live = f"{trial.live:,} {'is live and is' if trial.live == 1 else 'are live and are'} asked once over"
    bounds = f" There are more: a trial takes at most the latest {MAX_RUNS:,}, and {MAX_S:.0f} seconds."
    rest = bounds if trial.bounded else ""
    return f"{asked}; {live}.{rest}" if trial.live else f"{asked}.{rest}"
