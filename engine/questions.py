"""What fuses have to go by before each call of runs that are over: how all the other runs there ended.

A run stands at one place of the map for a stretch of its calls: where its closed tokens led it, with a last
token, still open, that has filled a bucket. Whoever ever stood there is in the counts; a fuse that is told
the next step asks about the place it leads to, so every stretch begins one call early.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.growing import Flags, Ints, within
from engine.maps import MAX_NODES
from engine.paths import BUCKET_STARTS, MAX_STEPS, MAX_TOKENS
from engine.runs import LIVE_NS, Outcome, Run, Source, Step

Numbers = NDArray[np.int32]
_BUCKETS = len(BUCKET_STARTS)


@dataclass(frozen=True, slots=True)
class Questions:
    """The stretches of runs that are over, run after run, each in order.

    Attributes
    ----------
    run : int32, shape (stretches,)
        Whose it is.
    since, until : int32, shape (stretches,)
        Before which calls a fuse is asked about it: steps taken then, both included; none if ``until`` is
        less.
    support, successes : int32, shape (stretches,)
        Other runs that stood there, and how many of them succeeded.
    earlier_support, earlier_successes : int32, shape (stretches,)
        Of these, the runs that were over before this one began.
    steps : int32, shape (runs,)
        Steps of each run, those past the bounds of a path too.
    won : bool, shape (runs,)
        Whether it succeeded.
    source : uint8, shape (runs,)
        :class:`~engine.runs.Source` of its outcome.
    metered : bool, shape (runs,)
        Whether any of its steps tells what tokens of a model it took.
    spent : int64, shape (steps,)
        Tokens that a run took from each of its steps on to its end, run after run.
    first : int64, shape (runs,)
        Where each run's begin in ``spent``.
    bounded : bool
        Whether a map of these runs would drop rare branches: where it does, fuses say nothing.
    """

    run: Numbers
    since: Numbers
    until: Numbers
    support: Numbers
    successes: Numbers
    earlier_support: Numbers
    earlier_successes: Numbers
    steps: Numbers
    won: Flags
    source: NDArray[np.uint8]
    metered: Flags
    spent: Ints
    first: Ints
    bounded: bool


def questions(runs: Iterable[Run], max_nodes: int = MAX_NODES) -> Questions:
    """What would have been asked before each call of these runs, all of them over; each is read and let go.

    Parameters
    ----------
    max_nodes : int
        Nodes that their map keeps at most, the root included.

    Examples
    --------
    >>> from engine.steps import Step
    >>> step = Step("tool:a", 0, 1, "t", "s", False, None, None)
    >>> run = Run("r", "bot", None, None, 0, 2, Outcome.SUCCESS, Source.DECLARED, (step, step), ("t",))
    >>> asked = questions([run, run])
    >>> asked.since.tolist(), asked.until.tolist(), asked.support.tolist()
    ([0, 0, 1, 0, 0, 1], [0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 1, 1])
    """
    found = _read(runs)
    won, steps = found.won > 0, found.steps
    folds = _folded(found.code, np.minimum(steps, MAX_STEPS))
    stood, nodes = _stretches(folds, int(found.code.max(initial=0)) + 1, steps.size)
    last = np.append(stood.run[1:] != stood.run[:-1], True)[: stood.run.size]
    until = np.where(last, stood.left, np.append(stood.entered[1:], 0)[: last.size] - 1)
    support, successes = _others(stood, won)
    earlier_support, earlier_successes = _earlier(stood, won, found)
    metered, spent, first = _spent(found.tokens, steps)
    return Questions(
        run=stood.run.astype(np.int32),
        since=np.maximum(stood.entered - 1, 0).astype(np.int32),
        until=np.minimum(until, steps[stood.run] - 1).astype(np.int32),
        support=support,
        successes=successes,
        earlier_support=earlier_support,
        earlier_successes=earlier_successes,
        steps=steps.astype(np.int32),
        won=won,
        source=found.source.astype(np.uint8),
        metered=metered,
        spent=spent,
        first=first,
        bounded=nodes > max_nodes,
    )


class _Read(NamedTuple):
    """What counts of each run; the signature of each step that is read, and the tokens of each step."""

    won: Ints
    source: Ints
    steps: Ints
    start_ns: Ints
    over_ns: Ints
    code: Ints
    tokens: Ints


def _read(runs: Iterable[Run]) -> _Read:
    """Read run after run: all of them with all their steps would take gigabytes."""
    codes = defaultdict[str, int](count().__next__)
    rows, code, tokens = array("q"), array("q"), array("q")
    for run in runs:
        code.extend([codes[step.signature] for step in run.steps[:MAX_STEPS]])
        tokens.extend(map(_tokens, run.steps))
        won = run.outcome == Outcome.SUCCESS
        rows.extend((won, run.source, len(run.steps), run.start_ns, _over_ns(run)))
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return _Read._make([*columns, np.array(code, np.int64), np.array(tokens, np.int64)])


def _over_ns(run: Run) -> int:
    """When it was over: with its last activity if somebody declared how it ended, else 15 minutes later."""
    return run.last_ns + LIVE_NS * (run.source != Source.DECLARED)


class _Folds(NamedTuple):
    """The folds of all paths: whose, at which depth, of which signature, how often, after how many steps."""

    run: Ints
    depth: Ints
    code: Ints
    times: Ints
    before: Ints


def _folded(code: Ints, steps: Ints) -> _Folds:
    """Fold the steps that are read of each run; of more than 64 tokens the first."""
    run, at = np.repeat(np.arange(steps.size), steps), within(steps)
    fresh = np.flatnonzero((at == 0) | np.append(True, code[1:] != code[:-1])[: code.size])
    run, before = run[fresh], at[fresh]
    folds = np.bincount(run, minlength=steps.size)
    found = _Folds(run, within(folds), code[fresh], np.diff(fresh, append=code.size), before)
    return _Folds(*(column[found.depth < MAX_TOKENS] for column in found))


class _Stretches(NamedTuple):
    """Where runs stood: a number of the place, whose it is, from how many steps on.

    ``left``: how many steps of the whole run are read.
    """

    place: Ints
    run: Ints
    entered: Ints
    left: Ints


def _stretches(folds: _Folds, signatures: int, runs: int) -> tuple[_Stretches, int]:
    """Every place that every run stood at, in order, and how many nodes the paths have."""
    node, nodes = np.zeros(runs, np.int64), 1
    below = np.empty(folds.run.size, np.int64)
    bucket = np.searchsorted(BUCKET_STARTS, folds.times, side="right") - 1
    order = np.argsort(folds.depth, kind="stable")
    for here in np.split(order, np.cumsum(np.bincount(folds.depth))[:-1]):
        run = folds.run[here]
        below[here] = node[run] * signatures + folds.code[here]
        known, number = np.unique(below[here] * _BUCKETS + bucket[here], return_inverse=True)
        node[run] = nodes + number
        nodes += known.size
    fold = np.repeat(np.arange(bucket.size), bucket + 1)
    open_bucket = within(bucket + 1)
    entered = folds.before[fold] + np.array(BUCKET_STARTS)[open_bucket]
    taken = np.bincount(folds.run, weights=folds.times, minlength=runs).astype(np.int64)
    roots = np.arange(runs)
    run = np.concatenate([roots, folds.run[fold]])
    places = np.concatenate([np.full(runs, -1), below[fold] * _BUCKETS + open_bucket])
    in_order = np.argsort(run, kind="stable")
    place = np.unique(places, return_inverse=True)[1]
    after = np.concatenate([np.zeros(runs, np.int64), entered])
    run = run[in_order]
    return _Stretches(place[in_order], run, after[in_order], taken[run]), nodes


def _others(stood: _Stretches, won: Flags) -> tuple[Numbers, Numbers]:
    """Other runs that stood at each place, and how many of them succeeded; none stands anywhere twice."""
    support = np.bincount(stood.place) if stood.place.size else stood.place
    successes = np.bincount(stood.place, weights=won[stood.run], minlength=support.size).astype(np.int32)
    others = support[stood.place] - 1
    return others.astype(np.int32), successes[stood.place] - won[stood.run].astype(np.int32)


def _earlier(stood: _Stretches, won: Flags, read: _Read) -> tuple[Numbers, Numbers]:
    """As :func:`_others`, of the runs that were over before each began."""
    order = np.argsort(read.over_ns, kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    over_by = np.searchsorted(read.over_ns[order], read.start_ns)
    base = stood.place * (order.size + 1)
    by_key = np.argsort(base + rank[stood.run])
    run, base = stood.run[by_key], base[by_key]  # Neighbours ask about neighbours: that is quick.
    end = np.searchsorted(base + rank[run], base + over_by[run])
    support = np.bincount(stood.place, minlength=1)
    begin = (np.cumsum(support) - support)[stood.place[by_key]]
    before = np.append(0, np.cumsum(won[run]))
    earlier, successes = np.empty((2, by_key.size), np.int32)
    earlier[by_key], successes[by_key] = end - begin, before[end] - before[begin]
    return earlier, successes


def _spent(tokens: Ints, steps: Ints) -> tuple[Flags, Ints, Ints]:
    """Whether a run tells of tokens; how many it took from each step to its end; where its steps begin."""
    run = np.repeat(np.arange(steps.size), steps)
    metered = np.bincount(run, weights=tokens >= 0, minlength=steps.size) > 0
    first = np.cumsum(steps) - steps
    until = np.append(0, np.cumsum(np.maximum(tokens, 0)))
    return metered, until[(first + steps)[run]] - until[:-1], first


def _tokens(step: Step) -> int:
    """Tokens that a step took; -1 where that is not told."""
    if step.input_tokens is None and step.output_tokens is None:
        return -1
    return (step.input_tokens or 0) + (step.output_tokens or 0)
