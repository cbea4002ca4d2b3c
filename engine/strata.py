"""Whether a difference holds where only runs of the same ticket, or of the same version, are compared.

A branch may end badly only because hard tickets, or a weak version, take it. So the same comparison is
made once more within tickets, within versions and within both: see :mod:`engine.stratified`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from engine.growing import Flags, Ints
from engine.maps import BehaviourMap
from engine.paths import MARK
from engine.runs import Outcome
from engine.siblings import ALPHA
from engine.stratified import Stratified, parted, pool, stratified

Label: TypeAlias = Literal["confirmed", "significant", "may be chance"]
"""How far a difference is shown; each claims less than the one before."""


class Held(Enum):
    """What a comparison within strata shows."""

    HOLDS = "holds"
    NOT_SHOWN = "not shown"
    CANNOT_TELL = "cannot tell"


class Columns(NamedTuple):
    """The numbers of each run's ticket, version, and both together; -1 for none.

    None as a whole where no run carries a ticket, or where there are not two versions.
    """

    tickets: Ints | None
    versions: Ints | None
    both: Ints | None


class Strata(NamedTuple):
    """A comparison within tickets, within versions, and within both; None as in :class:`Columns`."""

    tickets: Stratified | None
    versions: Stratified | None
    both: Stratified | None


class Evidence(NamedTuple):
    """All that speaks for a branch being worse, or better, than its siblings.

    Attributes
    ----------
    p, q : float
        Fisher's exact test over all runs, and its q-value.
    strata : Strata
        The same comparison within strata.
    worse : bool
        Whether the branch is said to be worse; else better.
    """

    p: float
    q: float
    strata: Strata
    worse: bool

    @property
    def label(self) -> Label:
        """How far it is shown."""
        return label(self.q, self.strata, self.worse)


def columns(tickets: Sequence[str | None], versions: Sequence[str | None]) -> Columns:
    """Number the strata of runs that carry these tickets and versions.

    A run without a ticket shares none. Runs without a version are as of one more version, if others have one.

    >>> columns(["t", "u", None, "t"], ["1", None, None, "1"])._asdict().values()
    dict_values([array([ 0,  1, -1,  0]), array([0, 1, 1, 0]), array([ 0,  1, -1,  0])])
    >>> columns([None, None], ["1", "1"])
    Columns(tickets=None, versions=None, both=None)
    """
    has_tickets = any(ticket is not None for ticket in tickets)
    has_versions = len(set(versions)) > 1
    ticket = _numbers(tickets) if has_tickets else None
    version = _numbers([each or "" for each in versions]) if has_versions else None
    if ticket is None or version is None:
        return Columns(ticket, version, None)
    pairs = zip(tickets, versions, strict=True)
    return Columns(ticket, version, _numbers([pair if pair[0] is not None else None for pair in pairs]))


def _numbers(values: Sequence[Hashable | None]) -> Ints:
    """A number for each value in the order in which they appear, -1 for None."""
    known: dict[Hashable | None, int] = {}
    for value in values:
        if value is not None:
            known.setdefault(value, len(known))
    known[None] = -1
    return np.fromiter(map(known.__getitem__, values), np.int64, len(values))


def strata(of: Columns, runs: Ints, mine: Flags, won: Flags) -> Strata:
    """Compare two sides within strata.

    Parameters
    ----------
    of : Columns
        The strata of all runs.
    runs : ndarray of int64, shape (compared,)
        Which of them are compared.
    mine, won : ndarray of bool, shape (compared,)
        Whether each of these is on my side, and whether it succeeded.
    """
    return Strata(*(None if each is None else stratified(each[runs], mine, won) for each in of))


def held(found: Stratified, worse: bool) -> Held:
    """Whether a difference holds within strata; where they are too few to show any, nobody can tell.

    >>> def found(p: float, difference: float, least: float) -> Stratified:
    ...     return Stratified(p, difference, -1.0, 1.0, 5, 20, 10, 5, least, 1.0)
    >>> tried = found(0.01, -0.4, 0.0), found(0.2, -0.4, 0.0), found(0.4, -0.4, 0.1)
    >>> [held(each, worse=True).value for each in tried]
    ['holds', 'not shown', 'cannot tell']
    >>> held(found(0.01, 0.4, 0.0), worse=True).value
    'not shown'
    """
    least = found.least_low if worse else found.least_high
    if min(found.p, least) >= ALPHA:
        return Held.CANNOT_TELL
    sign = -1 if worse else 1
    return Held.HOLDS if found.p < ALPHA and sign * found.difference > 0 else Held.NOT_SHOWN


def label(q: float, within: Strata, worse: bool) -> Label:
    """How far a difference is shown.

    Confirmed: it stands when all tests are allowed for, holds within tickets, and where there are several
    versions within these and within both together: a version that takes the branch more often on the very
    tickets where it does worse passes the first two. Without tickets nothing is confirmed.
    """
    if q >= ALPHA:
        return "may be chance"
    asked = within if within.versions else (within.tickets,)
    is_held = all(each is not None and held(each, worse) is Held.HOLDS for each in asked)
    return "confirmed" if is_held else "significant"


def evidence(behaviour: BehaviourMap, nodes: Sequence[int] | None = None) -> dict[int, Evidence]:
    """The evidence for branches that were tested against their siblings, by node.

    Without ``nodes`` it is that for every fatal and every golden fork of the map.
    """
    if nodes is None:
        nodes = np.flatnonzero(behaviour.fork | behaviour.golden).tolist()
    parent, of = behaviour.parent, columns(behaviour.tickets, behaviour.versions)
    by_parent = groupby(sorted(nodes, key=lambda node: parent[node]), lambda node: int(parent[node]))
    return {node: found for above, below in by_parent for node, found in _below(behaviour, of, above, below)}


def _below(
    behaviour: BehaviourMap, of: Columns, parent: int, nodes: Iterable[int]
) -> Iterator[tuple[int, Evidence]]:
    """The evidence for children of one parent, whose runs are counted once for all."""
    runs = compared(behaviour, parent)
    end, won = behaviour.member_node[runs], behaviour.member_outcome[runs] == Outcome.SUCCESS
    pools = [None if each is None else pool(each[runs], won) for each in of]
    for node in nodes:
        mine = np.flatnonzero((end >= node) & (end < node + int(behaviour.size[node])))
        within = Strata(*(None if each is None else parted(each, mine) for each in pools))
        others, own = int(behaviour.sibling_support[node]), int(behaviour.support[node])
        gap = int(behaviour.successes[node]) * others - int(behaviour.sibling_successes[node]) * own
        yield node, Evidence(float(behaviour.p[node]), float(behaviour.q[node]), within, worse=gap < 0)


def compared(behaviour: BehaviourMap, parent: int) -> Ints:
    """The members by which a node's children are compared: those that took one of them."""
    at = behaviour.member_node
    below = (at >= parent) & (at < parent + int(behaviour.size[parent]))
    runs = np.flatnonzero(below & ~((at == parent) & behaviour.member_stopped))
    cut = [
        child
        for child in behaviour.children(parent).tolist()
        if behaviour.tokens[behaviour.token[child]].signature == MARK
    ]
    return runs[~np.isin(at[runs], cut)]
