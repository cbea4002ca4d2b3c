"""Whether a difference holds where only runs of the same ticket, or of the same version, are compared.

A branch may end badly only because hard tickets, or a weak version, take it. So the same comparison is
made once more within tickets, within versions and within both: see :mod:`engine.stratified`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from engine.growing import Flags, Ints
from engine.maps import BehaviourMap
from engine.paths import MARK
from engine.runs import Outcome
from engine.siblings import ALPHA
from engine.stratified import Stratified, stratified

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
    dict_values([array([ 0,  1, -1,  0]), array([0, 1, 1, 0]), array([ 0,  3, -1,  0])])
    >>> columns([None, None], ["1", "1"])
    Columns(tickets=None, versions=None, both=None)
    """
    has_tickets = any(ticket is not None for ticket in tickets)
    has_versions = len(set(versions)) > 1
    ticket = _numbers(tickets) if has_tickets else None
    version = _numbers([each or "" for each in versions]) if has_versions else None
    if ticket is None or version is None:
        return Columns(ticket, version, None)
    both = np.where(ticket < 0, -1, ticket * (int(version.max()) + 1) + version)
    return Columns(ticket, version, both)


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
    return Strata(*(None if each is None else _within(each[runs], mine, won) for each in of))


def _within(stratum: Ints, mine: Flags, won: Flags) -> Stratified:
    """Compare within strata that are numbered anew where few of many occur."""
    if stratum.size and stratum.max() > stratum.size:
        known, numbered = np.unique(stratum, return_inverse=True)
        stratum = numbered - np.count_nonzero(known < 0)
    return stratified(stratum, mine, won)


def held(found: Stratified, worse: bool) -> Held:
    """Whether a difference holds within strata; where they are too few to show any, nobody can tell.

    >>> def found(p: float, difference: float, least: float) -> Stratified:
    ...     return Stratified(p, difference, -1.0, 1.0, 5, 20, 10, 5, least)
    >>> tried = found(0.01, -0.4, 0.0), found(0.2, -0.4, 0.0), found(0.4, -0.4, 0.1)
    >>> [held(each, worse=True).value for each in tried]
    ['holds', 'not shown', 'cannot tell']
    >>> held(found(0.01, 0.4, 0.0), worse=True).value
    'not shown'
    """
    if found.least >= ALPHA:
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
    if not nodes:
        return {}
    of = columns(behaviour.tickets, behaviour.versions)
    return {node: _evidence(behaviour, of, node) for node in nodes}


def evidence_of(behaviour: BehaviourMap, node: int) -> Evidence:
    """The evidence for one branch that was tested against its siblings."""
    return evidence(behaviour, [node])[node]


def _evidence(behaviour: BehaviourMap, of: Columns, node: int) -> Evidence:
    runs, mine = compared(behaviour, node)
    within = strata(of, runs, mine, behaviour.member_outcome[runs] == Outcome.SUCCESS)
    others, own = int(behaviour.sibling_support[node]), int(behaviour.support[node])
    gap = int(behaviour.successes[node]) * others - int(behaviour.sibling_successes[node]) * own
    return Evidence(float(behaviour.p[node]), float(behaviour.q[node]), within, worse=gap < 0)


def compared(behaviour: BehaviourMap, node: int) -> tuple[Ints, Flags]:
    """The members that a node and its siblings are compared by, and which of these took the node."""
    at, parent = behaviour.member_node, int(behaviour.parent[node])
    below = (at >= parent) & (at < parent + int(behaviour.size[parent]))
    runs = np.flatnonzero(below & ~((at == parent) & behaviour.member_stopped))
    end = at[runs]
    is_mark = np.array([token.signature == MARK for token in behaviour.tokens])
    runs = runs[~((behaviour.parent[end] == parent) & is_mark[behaviour.token[end]])]
    end = at[runs]
    return runs, (end >= node) & (end < node + int(behaviour.size[node]))
