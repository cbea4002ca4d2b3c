"""Runs in flight, lowest estimate first: what their agents' maps say of them, and which fuses would fire."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from engine.backoff import Backoff, expect
from engine.foresight import Foresight, standing
from engine.fuses import Fired, Policy, ask
from engine.live import Live, so_far
from engine.paths import Token
from engine.runs import Cohort, Run
from engine.store import Store
from engine.walk import Index, may_become

MOST = 500
"""Runs in flight looked at: the most recently active."""


class Known(NamedTuple):
    """What is known of an agent: its map's nodes, and the estimate of success at each."""

    nodes: Index
    backoff: Backoff


class Passed(NamedTuple):
    """A fatal fork on a run's path: how deep, its token, and the node's key."""

    depth: int
    token: Token
    key: str


class InFlight(NamedTuple):
    """A run in flight.

    Attributes
    ----------
    found : Foresight or None
        What the map of its agent says; None while that is not there.
    estimate : float or None
        Its odds by :mod:`engine.backoff`, in [0, 1]: to rank by, however few earlier runs took its path.
        None while the map is not there, or holds no completed run.
    fork : Passed or None
        The last fatal fork on its path.
    fired : tuple of Fired
        Fuses that would fire, those in shadow too.
    """

    run: Run
    live: Live
    found: Foresight | None = None
    estimate: float | None = None
    fork: Passed | None = None
    fired: tuple[Fired, ...] = ()


class Triage(NamedTuple):
    """Runs in flight, in order.

    Attributes
    ----------
    more : bool
        Whether there are more than were looked at.
    unbuilt : tuple of str
        Agents whose map is not there.
    """

    runs: tuple[InFlight, ...] = ()
    more: bool = False
    unbuilt: tuple[str, ...] = ()


def triage(
    store: Store,
    tenant: str,
    policies: Sequence[Policy],
    now_ns: int,
    known: Callable[[Cohort], Known | None],
    agent: str | None = None,
    most: int = MOST,
) -> Triage:
    """Look at every run in flight, or at those of one agent.

    Parameters
    ----------
    policies : sequence of Policy
        Asked as before a call; nothing is written down.
    known : callable
        What is known of a cohort, None where its map is not built.
    most : int
        Runs looked at: the most recently active.
    """
    latest = store.live_runs(tenant, now_ns, most + 1, agent)
    runs = latest[:most]
    built = {name: known(Cohort(tenant, name)) for name in sorted({run.agent for run in runs})}
    seen = [see(run, built[run.agent], policies) for run in runs]
    unbuilt = tuple(name for name, each in built.items() if each is None)
    return Triage(tuple(sorted(seen, key=urgency)), len(latest) > most, unbuilt)


def see(run: Run, known: Known | None, policies: Sequence[Policy]) -> InFlight:
    """What is known of a run in flight by its agent's map."""
    live = so_far(run.run_id, run.agent, (step.signature for step in run.steps), run.last_ns)
    if known is None:
        return InFlight(run, live)
    index, behaviour = known.nodes, known.nodes.map
    asked = ask(index, live, policies)
    estimate = expect(known.backoff, behaviour, standing(index, live)) if behaviour.totals.completed else None
    return InFlight(run, live, asked.path, estimate, fork_passed(index, live), asked.fired)


def urgency(each: InFlight) -> tuple[bool, float, int, str]:
    """Its rank: by its estimated odds, what has none last; of equals the most recently active."""
    return each.estimate is None, each.estimate or 0.0, -each.run.last_ns, each.run.run_id


def fork_passed(index: Index, live: Live) -> Passed | None:
    """The last fatal fork on a path; an open token stands at the lowest bucket it may become."""
    behaviour = index.map
    for node in _back(index, live):
        if behaviour.fork[node]:
            token = behaviour.tokens[behaviour.token[node]]
            return Passed(int(behaviour.depth[node]), token, behaviour.key_text(node))
    return None


def _back(index: Index, live: Live) -> Iterator[int]:
    """The map's nodes along a path, from the last it holds back to the first."""
    node, whole = index.descend(live.closed)
    if whole and live.last is not None and not live.cut:
        below = index.below(node)
        yield from [below[text] for text in may_become(live.last) if text in below][:1]
    while node > 0:
        yield node
        node = int(index.map.parent[node])
