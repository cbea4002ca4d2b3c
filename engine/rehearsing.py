"""What policies would do now to the runs in flight: asked as a check asks, and nothing written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from engine.errors import UnknownRunError
from engine.fuses import Asked, Fired, Policy, ask
from engine.live import so_far
from engine.runs import ALL_TIME, Cohort, Outcome, Run
from engine.store import RunRow, Store, Wanted
from engine.walk import Index

MOST = 500
"""Runs in flight asked about at a time."""


class Caught(NamedTuple):
    """A run in flight that a policy's fuse would fire in."""

    run_id: str
    agent: str
    fired: Fired


class Rehearsal(NamedTuple):
    """What policies would do to the runs in flight that are theirs.

    Attributes
    ----------
    caught : mapping
        By policy: the runs its fuse would fire in, those whose interval ends lowest first.
    asked : mapping
        By agent: how many of its runs in flight were asked about.
    left_out : mapping
        By agent: how many were not, as there are too many, or its map is not there.
    unbuilt : tuple of str
        Agents whose map is not there.
    """

    caught: Mapping[str, tuple[Caught, ...]] = {}
    asked: Mapping[str, int] = {}
    left_out: Mapping[str, int] = {}
    unbuilt: tuple[str, ...] = ()

    def about(self, policy: Policy) -> tuple[int, int]:
        """How many runs in flight that are a policy's were asked about, and how many were not.

        >>> found = Rehearsal(asked={"desk": 6, "shop": 2}, left_out={"shop": 1})
        >>> found.about(Policy(name="low", agent="desk", min_success_odds=0.5, action="stop"))
        (6, 0)
        """

        def its(counts: Mapping[str, int]) -> int:
            return sum(count for agent, count in counts.items() if policy.agent in (None, agent))

        return its(self.asked), its(self.left_out)


def ask_about(index: Index, run: Run, policies: Sequence[Policy]) -> Asked:
    """What fuses say of a run as far as it was read, its last step taken to be going on still."""
    signatures = (step.signature for step in run.steps)
    return ask(index, so_far(run.run_id, run.agent, signatures, run.last_ns), policies)


def rehearse(
    store: Store,
    tenant: str,
    policies: Sequence[Policy],
    now_ns: int,
    index: Callable[[Cohort], Index | None],
    most: int = MOST,
) -> Rehearsal:
    """Ask policies about every run in flight that is theirs.

    Parameters
    ----------
    index : callable
        The nodes of a cohort's map, None where it is not built.
    most : int
        Runs asked about at most, of each agent the latest.
    """
    theirs = {policy.agent for policy in policies}
    in_flight = {
        each.agent: each.unknown
        for each in store.agents(tenant, ALL_TIME, now_ns)
        if each.unknown and not theirs.isdisjoint((None, each.agent))
    }
    built = {agent: found for agent in in_flight if (found := index(Cohort(tenant, agent)))}
    asked, hits = dict.fromkeys(in_flight, 0), list[Caught]()
    for agent, nodes in built.items():
        for run in _runs(store, Cohort(tenant, agent, ALL_TIME), now_ns, most - sum(asked.values())):
            asked[agent] += 1
            fired = ask_about(nodes, run, policies).fired
            hits += [Caught(run.run_id, agent, each) for each in fired]
    hits.sort(key=lambda caught: caught.fired.foresight.high)
    caught = {
        policy.name: tuple(each for each in hits if each.fired.policy.name == policy.name)
        for policy in policies
    }
    left_out = {agent: max(0, count - asked[agent]) for agent, count in in_flight.items()}
    return Rehearsal(caught, asked, left_out, tuple(agent for agent in in_flight if agent not in built))


def _runs(store: Store, cohort: Cohort, now_ns: int, limit: int) -> Iterator[Run]:
    """The latest runs in flight; one that goes meanwhile is passed over."""
    rows: list[RunRow] = store.runs(cohort, now_ns, limit, Wanted(Outcome.UNKNOWN)) if limit > 0 else []
    for row in rows:
        try:
            yield store.run(cohort.tenant, row.run_id)
        except UnknownRunError:
            continue
