"""Fatal forks, golden forks and hotspots: where runs die, where they are saved, and where they scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.maps import BehaviourMap
from engine.paths import MARK, Token
from engine.runs import Outcome
from engine.siblings import ALPHA, FORK_GAP_POINTS, MIN_SUPPORT
from engine.walk import may_become

_SMALLEST_P = 1e-300


class Fork(NamedTuple):
    """A branch whose runs end significantly worse than its siblings', or significantly better.

    ``failure`` is a run that did not succeed, ``success`` one that did. One of them took the branch
    (of a fatal fork the failure, of a golden one the success), the other another way from the same
    point; of the same ticket where there are such.
    """

    node: int
    key: str
    path: tuple[Token, ...]
    support: int
    successes: int
    rate: float
    low: float
    high: float
    sibling_support: int
    sibling_successes: int
    sibling_rate: float
    p: float
    q: float
    runs_lost: float
    failure: str | None
    success: str | None

    @property
    def runs_gained(self) -> float:
        """Runs that succeeded beyond what the siblings' rate makes of them: negative at a fatal fork."""
        return -self.runs_lost


class Hotspot(NamedTuple):
    """A node after which runs scatter: what they took next, with its support."""

    node: int
    key: str
    path: tuple[Token, ...]
    visits: int
    entropy_bits: float
    options: tuple[tuple[Token, int], ...]


def forks(behaviour: BehaviourMap) -> tuple[Fork, ...]:
    """Fatal forks of a map, by the runs they cost (descending), then p."""
    found = [fork_at(behaviour, node) for node in np.flatnonzero(behaviour.fork).tolist()]
    return tuple(sorted(found, key=lambda fork: (-fork.runs_lost, fork.p, fork.node)))


def golden_forks(behaviour: BehaviourMap) -> tuple[Fork, ...]:
    """Golden forks of a map, by the runs they gained (descending), then p."""
    found = [fork_at(behaviour, node) for node in np.flatnonzero(behaviour.golden).tolist()]
    return tuple(sorted(found, key=lambda fork: (-fork.runs_gained, fork.p, fork.node)))


def fork_at(behaviour: BehaviourMap, node: int) -> Fork:
    """The fatal or golden fork at a node that is flagged as one."""
    support, successes = int(behaviour.support[node]), int(behaviour.successes[node])
    others = int(behaviour.sibling_support[node])
    others_won = int(behaviour.sibling_successes[node])
    failure, success = _examples(behaviour, node)
    return Fork(
        node=node,
        key=behaviour.key_text(node),
        path=behaviour.path(node),
        support=support,
        successes=successes,
        rate=successes / support,
        low=float(behaviour.low[node]),
        high=float(behaviour.high[node]),
        sibling_support=others,
        sibling_successes=others_won,
        sibling_rate=others_won / others,
        p=float(behaviour.p[node]),
        q=float(behaviour.q[node]),
        runs_lost=support * (others_won / others) - successes,
        failure=failure,
        success=success,
    )


def _examples(behaviour: BehaviourMap, node: int) -> tuple[str | None, str | None]:
    """A run that did not succeed and one that did: one took the branch, the other another way."""
    parent = int(behaviour.parent[node])
    won = behaviour.member_outcome == Outcome.SUCCESS
    through = _inside(behaviour, node)
    elsewhere = _inside(behaviour, parent) & ~through & (behaviour.member_node != parent)
    elsewhere &= ~_marked(behaviour, parent)
    lost_at, won_at = (elsewhere, through) if behaviour.golden[node] else (through, elsewhere)
    failed = np.flatnonzero(lost_at & ~won).tolist()
    succeeded = np.flatnonzero(won_at & won).tolist()
    by_ticket = {behaviour.tickets[member]: member for member in reversed(succeeded)}
    for member in failed:
        ticket = behaviour.tickets[member]
        if ticket is not None and ticket in by_ticket:
            return behaviour.run_ids[member], behaviour.run_ids[by_ticket[ticket]]
    return (
        behaviour.run_ids[failed[0]] if failed else None,
        behaviour.run_ids[succeeded[0]] if succeeded else None,
    )


def _inside(behaviour: BehaviourMap, node: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    at = behaviour.member_node
    return np.asarray((at >= node) & (at < node + int(behaviour.size[node])))


def _marked(behaviour: BehaviourMap, parent: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Members that were cut right after the parent."""
    marks = [child for child in behaviour.children(parent) if _token(behaviour, child).signature == MARK]
    return np.isin(behaviour.member_node, marks)


def _token(behaviour: BehaviourMap, node: int) -> Token:
    return behaviour.tokens[int(behaviour.token[node])]


def hotspots(behaviour: BehaviourMap) -> tuple[Hotspot, ...]:
    """Hotspots of a map, by visits that went on (descending), then entropy."""
    found = [_hotspot(behaviour, node) for node in np.flatnonzero(behaviour.hotspot).tolist()]
    return tuple(sorted(found, key=lambda spot: (-spot.visits, -spot.entropy_bits, spot.node)))


def _hotspot(behaviour: BehaviourMap, node: int) -> Hotspot:
    options = tuple(
        (_token(behaviour, child), int(behaviour.support[child]))
        for child in behaviour.children(node).tolist()
        if _token(behaviour, child).signature != MARK
    )
    visits, bits = int(behaviour.went_on[node]), float(behaviour.entropy_bits[node])
    return Hotspot(node, behaviour.key_text(node), behaviour.path(node), visits, bits, options)


def compared(p: float) -> str:
    """A p- or q-value with its sign, to two figures or as many as tell it from the threshold.

    What lies near the end of what a float holds is only bounded.

    >>> compared(0.0312), compared(0.04998), compared(2.2e-14), compared(0.0)
    ('= 0.031', '= 0.04998', '= 2.2e-14', '< 1e-300')
    """
    if p < _SMALLEST_P:
        return f"< {_SMALLEST_P}"
    rounded = (f"{p:.{figures}g}" for figures in range(2, 18))
    return f"= {next(text for text in rounded if (float(text) < ALPHA) == (p < ALPHA))}"


def nodes_along(behaviour: BehaviourMap, path: Sequence[Token], open_last: bool) -> list[int]:
    """The map's nodes along a path, as far as the map holds it.

    An open last token stands at the lowest bucket it may become, as live runs do on the map.
    """
    nodes: list[int] = []
    for place, token in enumerate(path, 1):
        children = behaviour.children(nodes[-1] if nodes else 0).tolist()
        below = {str(behaviour.tokens[behaviour.token[child]]): child for child in children}
        wanted = may_become(token) if open_last and place == len(path) else [str(token)]
        found = [below[text] for text in wanted if text in below]
        if not found:
            break
        nodes.append(found[0])
    return nodes


def forks_along(behaviour: BehaviourMap, path: Sequence[Token], open_last: bool) -> tuple[Fork, ...]:
    """The fatal forks that a path takes, earliest first."""
    nodes = nodes_along(behaviour, path, open_last)
    return tuple(fork_at(behaviour, node) for node in nodes if behaviour.fork[node])


def forks_between(behaviour: BehaviourMap, one: str, other: str) -> dict[str, Fork]:
    """The forks, fatal and golden, by which two completed runs part, by the run that took it."""
    members = [behaviour.member(run_id) for run_id in (one, other)]
    lines = [_line(behaviour, member) for member in members if member is not None]
    if len(lines) < 2:
        return {}
    shared = sum(1 for a, b in zip(*lines, strict=False) if a == b)
    if min(map(len, lines)) == shared:
        return {}  # One stopped where the other went on.
    nodes = {run_id: line[shared] for run_id, line in zip((one, other), lines, strict=True)}
    return {
        run_id: fork_at(behaviour, node)
        for run_id, node in nodes.items()
        if behaviour.fork[node] or behaviour.golden[node]
    }


def _line(behaviour: BehaviourMap, member: int) -> list[int]:
    """The nodes that a member passed, from the root on."""
    nodes, node = list[int](), int(behaviour.member_node[member])
    while node >= 0:
        nodes.append(node)
        node = int(behaviour.parent[node])
    return nodes[::-1]


def explain(fork: Fork) -> str:
    """A fatal or golden fork in one sentence: counts, then rate and interval, then the comparison."""
    return (
        f"{fork.successes} of {fork.support} runs that took {fork.path[-1]} here succeeded "
        f"({fork.rate:.1%}, 95% interval {fork.low * 100:.1f}–{fork.high * 100:.1f}%), against "
        f"{fork.sibling_successes} of {fork.sibling_support} ({fork.sibling_rate:.1%}) that went another "
        f"way from the same point; Fisher p {compared(fork.p)}, q {compared(fork.q)}."
    )


def explain_hotspot(spot: Hotspot) -> str:
    """A hotspot in one sentence."""
    taken = ", ".join(f"{token} {support}" for token, support in spot.options[:3])
    more = f" and {len(spot.options) - 3} more" if len(spot.options) > 3 else ""
    ways = f"{len(spot.options)} ways ({taken}{more})"
    return f"{spot.visits} runs went on in {ways}: {spot.entropy_bits:.2f} bits."


def summary(behaviour: BehaviourMap) -> str:
    """What the map says about fatal forks, and why if there are none."""
    found = int(behaviour.fork.sum())
    if found:
        return f"{found} fatal fork{'s' if found > 1 else ''} among {behaviour.tested} branches tested."
    if not behaviour.totals.completed:
        return "No completed runs yet: nothing to compare."
    if not behaviour.tested:
        return (
            f"No branch could be tested: nowhere do a branch and its siblings have {MIN_SUPPORT} completed "
            "runs each."
        )
    if behaviour.impossible == behaviour.tested:
        return (
            f"No fatal fork is possible: all {behaviour.tested} branches tested have siblings that succeed "
            f"under {FORK_GAP_POINTS}%, so none can lie {FORK_GAP_POINTS} points below them."
        )
    aside = f"; {behaviour.impossible} of them could not be one" if behaviour.impossible else ""
    return (
        f"No fatal forks: of {behaviour.tested} branches tested none ends {FORK_GAP_POINTS} points worse "
        f"than its siblings with p < {ALPHA}{aside}."
    )
