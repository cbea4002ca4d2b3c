"""The runs of a built map as one table: narrowed, sorted and counted without asking the store again.

The table is made of the map's members, so every count agrees with the map it came from; what a map
does not hold of a run (version, ticket, times, steps) is read from the store as of the map's moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.growing import Flags, Ints
from engine.judging import KINDS, Verdicts, judge_live, judge_members
from engine.maps import BehaviourMap
from engine.narrowing import selected
from engine.paths import BUCKET_STARTS, MARK, Paths, Token, identifier, parse_signature
from engine.runs import Cohort, Outcome, Source
from engine.store import RunRow, Store, Wanted

OUTCOMES: Final = {
    "completed": (Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED),
    "success": (Outcome.SUCCESS,),
    "unsuccessful": (Outcome.FAILURE, Outcome.ABANDONED),
    "failure": (Outcome.FAILURE,),
    "abandoned": (Outcome.ABANDONED,),
    "live": (Outcome.UNKNOWN,),
}
"""What can be asked of how runs ended."""
SOURCES: Final = {"declared": Source.DECLARED, "rule": Source.RULE, "inferred": Source.INFERRED}
"""Where an outcome comes from; live runs have none."""
PLACES: Final = ("", "ended", "on", "beside")
"""How runs stand to a node: passed it, ended there, went on from it, or took another way before it."""
COLUMNS: Final = ("started", "took", "steps", "run", "outcome", "verdict", "version", "ticket")
"""What a table is sorted by, from the largest down behind a ``-``; ``took`` is until the last activity."""
NEWEST: Final = "-started"
PAGE: Final = 50
"""Runs on a page."""
UNJUDGED: Final = -1
"""In place of a verdict that is not known."""
_SINCE, _TRIES = 1_000, 3


class Filters(NamedTuple):
    """Which runs of a table are wanted; what is empty does not ask.

    Attributes
    ----------
    outcome : str
        One of :data:`OUTCOMES`.
    source : str
        One of :data:`SOURCES`.
    verdict : str
        One of :data:`engine.judging.KINDS`.
    version, ticket : str
        Exactly these.
    step : str
        A signature, or its name of whichever kind, that is on the path.
    token : str
        The text of a token that is on the path: a signature with its repeats, which have to be those.
    steps : int
        Steps it took at least.
    node : str
        Key of a node of the map.
    at : str
        How the runs stand to it: one of :data:`PLACES`.
    """

    outcome: str = ""
    source: str = ""
    verdict: str = ""
    version: str = ""
    ticket: str = ""
    step: str = ""
    steps: int = 0
    node: str = ""
    at: str = ""
    token: str = ""


EVERY: Final = Filters()


@dataclass(frozen=True, slots=True)
class Table:
    """A map's runs: completed ones, newest first, then live ones, newest first.

    Attributes
    ----------
    behaviour : BehaviourMap
        The map whose runs these are.
    run_ids : tuple of str, length runs
    versions, tickets : tuple, length runs
        Texts, or None.
    outcome : uint8, shape (runs,)
        :class:`~engine.runs.Outcome` in the map; UNKNOWN of a live run.
    source : uint8, shape (runs,)
        :class:`~engine.runs.Source` of the outcome.
    start_ns, last_ns : int64, shape (runs,)
        First start and latest activity; 0 of a run that is no longer in the store.
    steps : int32, shape (runs,)
        All steps, whatever the view.
    node : int32, shape (runs,)
        The deepest node of the map on its path.
    ended : bool, shape (runs,)
        Whether its path ends exactly there, and it is completed.
    marked : bool, shape (runs,)
        Whether its path ends with the mark ``…``.
    tokens : int32, shape (runs,)
        Tokens of its path, the mark included.
    verdict : int8, shape (runs,)
        Index into :data:`engine.judging.KINDS`, or -1.
    paths : Paths
        The paths, and in ``path`` each run's place in them or -1.
    """

    behaviour: BehaviourMap
    run_ids: tuple[str, ...]
    versions: tuple[str | None, ...]
    tickets: tuple[str | None, ...]
    outcome: NDArray[np.uint8]
    source: NDArray[np.uint8]
    start_ns: Ints
    last_ns: Ints
    steps: NDArray[np.int32]
    node: NDArray[np.int32]
    ended: Flags
    marked: Flags
    tokens: NDArray[np.int32]
    verdict: Verdicts
    paths: Paths
    path: Ints

    def __len__(self) -> int:
        return len(self.run_ids)


class Counts(NamedTuple):
    """How some runs stand: completed ones by outcome, and live ones."""

    successes: int
    failures: int
    abandoned: int
    live: int

    @property
    def completed(self) -> int:
        """Those that have an outcome."""
        return self.successes + self.failures + self.abandoned

    @property
    def runs(self) -> int:
        """All of them."""
        return self.completed + self.live


@dataclass(frozen=True, slots=True)
class Listing:
    """Makes tables of maps out of a store; two of one store are equal, so a table can be kept by it."""

    store: Store

    def __call__(self, behaviour: BehaviourMap) -> Table:
        """Read the table of a map's runs.

        A narrowed map says which runs it is of; these are picked, and nothing is asked of their steps again.
        """
        cohort = behaviour.cohort._replace(where="")
        bound = max(len(behaviour.run_ids), len(behaviour.live_run_ids), behaviour.narrowed_from) + _SINCE
        paths = self.store.paths(cohort, behaviour.now_ns, bound)
        if behaviour.cohort.where:
            members = {*behaviour.run_ids, *behaviour.live_run_ids}
            paths = selected(paths, np.array([run_id in members for run_id in paths.run_ids], bool))
        return tabulate(behaviour, paths, self._rows(behaviour, cohort))

    def _rows(self, behaviour: BehaviourMap, cohort: Cohort) -> dict[str, RunRow]:
        """What the store lists of the map's runs; others that came since are passed over."""
        wanted = {*behaviour.run_ids, *behaviour.live_run_ids}
        limit = max(len(wanted), behaviour.narrowed_from) + _SINCE
        found, page = dict[str, RunRow](), list[RunRow]()
        for _ in range(_TRIES):
            after = page[-1].place if page else None
            page = self.store.runs(cohort, behaviour.now_ns, limit, Wanted(after=after))
            found |= {row.run_id: row for row in page if row.run_id in wanted}
            if len(page) < limit or len(found) == len(wanted):
                break
        return found


def tabulate(behaviour: BehaviourMap, paths: Paths, rows: dict[str, RunRow]) -> Table:
    """Join a map's runs with their paths and with what the store lists of them.

    Parameters
    ----------
    behaviour : BehaviourMap
    paths : Paths
        Of the same cohort at the same moment; a run that is not among them has no steps.
    rows : dict
        By run id; a run that is not among them is no longer in the store.
    """
    run_ids = behaviour.run_ids + behaviour.live_run_ids
    completed = len(behaviour.run_ids)
    listed = [rows.get(run_id) for run_id in run_ids]
    places = {run_id: place for place, run_id in enumerate(paths.run_ids)}
    path = np.array([places.get(run_id, -1) for run_id in run_ids], np.int64)
    tokens = np.append(np.diff(paths.offset), 0).take(path).astype(np.int32)
    marked = np.append(_marked(paths), False).take(path)
    is_live = np.arange(len(run_ids)) >= completed
    node = np.concatenate([behaviour.member_node, behaviour.live_node]).astype(np.int32)
    verdict = np.full(len(run_ids), UNJUDGED, np.int8)
    verdict[:completed] = judge_members(behaviour, marked[:completed])
    going = np.flatnonzero(is_live & (path >= 0))
    verdict[going] = judge_live(behaviour, paths, path[going])
    live_outcome = np.full(len(run_ids) - completed, Outcome.UNKNOWN, np.uint8)
    told = behaviour.tickets + tuple(row and row.ticket for row in listed[completed:])
    return Table(
        behaviour=behaviour,
        run_ids=run_ids,
        versions=tuple(row and row.version for row in listed),
        tickets=told,
        outcome=np.concatenate([behaviour.member_outcome, live_outcome]),
        source=np.array([row.source if row else Source.INFERRED for row in listed], np.uint8),
        start_ns=np.array([row.start_ns if row else 0 for row in listed], np.int64),
        last_ns=np.array([row.last_ns if row else 0 for row in listed], np.int64),
        steps=np.array([row.steps if row else 0 for row in listed], np.int32),
        node=node,
        ended=~is_live & np.append(behaviour.member_kept, np.zeros(live_outcome.size, bool)),
        marked=marked,
        tokens=tokens,
        verdict=verdict,
        paths=paths,
        path=path,
    )


def _marked(paths: Paths) -> Flags:
    last = np.append(paths.code, 0)[paths.offset[1:] - 1]
    return np.asarray((last < 0) & (np.diff(paths.offset) > 0))


def judged_by(table: Table, other: Table) -> Table:
    """The table with the verdicts that another one has: a map's of the view that runs are judged in."""
    known = dict(zip(other.run_ids, other.verdict.tolist(), strict=True))
    verdict = np.array([known.get(run_id, UNJUDGED) for run_id in table.run_ids], np.int8)
    return replace(table, verdict=verdict)


def narrow(table: Table, wanted: Filters) -> Ints:
    """Places in the table of the runs that are wanted, in its order.

    Outcomes, sources, verdicts and places that are none match nothing.
    """
    fits = np.ones(len(table), bool)
    if wanted.outcome:
        fits &= np.isin(table.outcome, OUTCOMES.get(wanted.outcome, ()))
    if wanted.source:
        told = table.source == SOURCES.get(wanted.source, len(SOURCES))
        fits &= told & (table.outcome != Outcome.UNKNOWN)
    if wanted.verdict:
        fits &= table.verdict == (KINDS.index(wanted.verdict) if wanted.verdict in KINDS else len(KINDS))
    if wanted.version:
        fits &= _equal(table.versions, wanted.version)
    if wanted.ticket:
        fits &= _equal(table.tickets, identifier(wanted.ticket))
    if wanted.step:
        fits &= _took(table, wanted.step)
    if wanted.token:
        fits &= _holds(table, wanted.token)
    if wanted.steps:
        fits &= table.steps >= wanted.steps
    if wanted.node:
        fits &= _at(table, wanted.node, wanted.at)
    return np.flatnonzero(fits)


def _equal(texts: Iterable[str | None], wanted: str) -> Flags:
    return np.fromiter((text == wanted for text in texts), bool)


def _took(table: Table, step: str) -> Flags:
    """Whether a run has the step on its path, by signature or by name."""
    paths, step = table.paths, step.strip()
    codes = [
        code
        for code, signature in enumerate(paths.signatures)
        if step in (signature, parse_signature(signature)[1])
    ]
    return _on_path(table, np.isin(paths.code, [-1] if step == MARK else codes))


def _holds(table: Table, text: str) -> Flags:
    """Whether a run has the token of that text on its path."""
    paths = table.paths
    bucket = np.searchsorted(BUCKET_STARTS, paths.count, side="right") - 1
    hits = np.zeros(paths.code.size, bool)
    for code, signature in enumerate(paths.signatures):
        for each in range(len(BUCKET_STARTS)):
            if str(Token(signature, each)) == text:
                hits |= (paths.code == code) & (bucket == each)
    return _on_path(table, hits)


def _on_path(table: Table, hits: Flags) -> Flags:
    """Whether any token of a run's path is among those."""
    paths = table.paths
    before = np.concatenate([[0], np.cumsum(hits)])
    took = before[paths.offset[1:]] > before[paths.offset[:-1]]
    return np.asarray(np.append(took, False)[table.path])


def _at(table: Table, key: str, at: str) -> Flags:
    """Whether a run stands so to a node."""
    behaviour, node = table.behaviour, table.behaviour.find(key)
    if node is None or at not in PLACES:
        return np.zeros(len(table), bool)
    match at:
        case "ended":
            return np.asarray(table.ended & (table.node == node))
        case "on":
            return _went_on(table, node)
        case "beside":
            others = _went_on(table, int(behaviour.parent[node])) & ~_inside(table, node)
            return np.asarray(others & (node > 0))
    return _inside(table, node)


def _inside(table: Table, node: int) -> Flags:
    end = node + int(table.behaviour.size[node])
    return np.asarray((table.node >= node) & (table.node < end))


def _went_on(table: Table, node: int) -> Flags:
    """Completed runs that took a token after a node, whether the map kept it; ``…`` is none."""
    cut_here = table.marked & (table.tokens == int(table.behaviour.depth[node]) + 1)
    ended = table.ended & (table.node == node)
    return np.asarray(_inside(table, node) & ~ended & ~cut_here & (table.outcome != Outcome.UNKNOWN))


def ordered(table: Table, rows: Ints, sort: str = NEWEST) -> Ints:
    """Some of a table's runs sorted by a column; of equal ones the newest first, what is unknown last.

    Parameters
    ----------
    rows : int64
        Places in the table.
    sort : str
        One of :data:`COLUMNS`, behind a ``-`` from the largest down.
    """
    newest = rows[np.argsort(-table.start_ns[rows], kind="stable")]
    values = _values(table, sort.removeprefix("-"))
    known = [row for row in newest.tolist() if values[row] is not None]
    unknown = [row for row in newest.tolist() if values[row] is None]
    known.sort(key=lambda row: values[row], reverse=sort.startswith("-"))
    return np.array(known + unknown, np.int64)


def _values(table: Table, column: str) -> Sequence[Any]:
    columns: dict[str, Sequence[Any] | NDArray[Any]] = {
        "started": table.start_ns,
        "took": table.last_ns - table.start_ns,
        "steps": table.steps,
        "run": table.run_ids,
        "outcome": table.outcome,
        "verdict": table.verdict,
        "version": table.versions,
        "ticket": table.tickets,
    }
    found = columns[column]
    return found.tolist() if isinstance(found, np.ndarray) else found


def count(table: Table, rows: Ints | None = None) -> Counts:
    """How some of a table's runs stand, or all of them."""
    outcome = table.outcome if rows is None else table.outcome[rows]
    return Counts(*np.bincount(outcome, minlength=len(Outcome)).tolist())


def pages(runs: int) -> int:
    """How many pages so many runs take; one at least.

    >>> pages(0), pages(50), pages(51)
    (1, 1, 2)
    """
    return max(1, -(-runs // PAGE))
