"""What policies would have done to runs that are over: asked before each call, each run by all the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from engine.answering import answers_before_calls
from engine.errors import UnknownRunError
from engine.fuses import Policy
from engine.maps import BehaviourMap
from engine.runs import Cohort, Outcome, Run
from engine.store import Store
from engine.walk import Index

MOST = 200
"""Runs replayed: the latest that are over, of several agents as many each."""


class Replay(NamedTuple):
    """How runs that are over ended, those that a policy's fuse fires in and all.

    Attributes
    ----------
    runs, successes : int
        Those that were asked about.
    fired, lost : int
        Those that it fires in, and how many of them succeeded.
    """

    runs: int = 0
    successes: int = 0
    fired: int = 0
    lost: int = 0


def replay(
    store: Store,
    tenant: str,
    policy: Policy,
    agents: Sequence[str],
    now_ns: int,
    index: Callable[[Cohort], Index | None],
    most: int = MOST,
) -> Replay:
    """Ask a policy about the latest runs that are in the maps of agents.

    Parameters
    ----------
    index : callable
        The nodes of a cohort's map, None where it is not built.
    """
    its = [agent for agent in agents if policy.agent in (None, agent)]
    found = Replay()
    for agent in its:
        cohort = Cohort(tenant, agent)
        nodes = index(cohort)
        if nodes is not None:
            runs = _latest(store, cohort, nodes.map, now_ns, -(-most // len(its)))
            found = _added(found, replayed(nodes, runs, policy))
    return found


def replayed(index: Index, runs: Iterable[Run], policy: Policy) -> Replay:
    """Ask a policy about runs that the map counts."""
    found = Replay()
    for run in runs:
        won, fires = run.outcome is Outcome.SUCCESS, would_fire(index, run, policy)
        found = _added(found, Replay(1, won, fires, won and fires))
    return found


def would_fire(index: Index, run: Run, policy: Policy) -> bool:
    """Whether the fuse fires before any call of a run, by all other runs."""
    return any(answer.lacking is None for answer in answers_before_calls(index, run, [policy]))


def _latest(store: Store, cohort: Cohort, behaviour: BehaviourMap, now_ns: int, most: int) -> Iterable[Run]:
    """The latest runs that the map counts, and counts as they are; one that goes meanwhile is passed over."""
    for row in store.runs(cohort, now_ns, most):
        member = behaviour.member(row.run_id)
        if member is None or behaviour.member_outcome[member] != row.outcome:
            continue
        try:
            yield store.run(cohort.tenant, row.run_id)
        except UnknownRunError:
            continue


def _added(one: Replay, other: Replay) -> Replay:
    return Replay(*(a + b for a, b in zip(one, other, strict=True)))
