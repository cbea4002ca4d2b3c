"""Paths straight from span columns: a warehouse's table becomes a map without a store.

The columns hold one row a step, in any order; sorting, folding and reading the outcomes are
vectorised. :func:`paths_from_frame` takes a pandas table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.conventions import OUTCOMES
from engine.errors import InputError
from engine.growing import within
from engine.paths import MAX_STEPS, MAX_TOKENS, Paths, half
from engine.runs import Outcome, Source

Ints = NDArray[np.int64]
_BLOCK = 1 << 16
OPEN = np.iinfo(np.int64).min
"""Stands in an ``end_ns`` column for a step that has not ended."""


def paths_from_columns(
    run: NDArray[np.integer[Any]],
    signature: NDArray[np.integer[Any]],
    start_ns: Ints,
    end_ns: Ints,
    error: NDArray[np.bool_],
    signatures: Sequence[str],
    run_ids: Sequence[str],
    declared: NDArray[np.uint8] | None = None,
    depth: NDArray[np.integer[Any]] | None = None,
) -> Paths:
    """Order, fold and judge the steps of many runs.

    Parameters
    ----------
    run, signature : ndarray of int, shape (steps,)
        Indices into ``run_ids`` and ``signatures``.
    start_ns, end_ns : int64, shape (steps,)
        Nanoseconds since the epoch; :data:`OPEN` for a step that has not ended.
    error : bool, shape (steps,)
        Whether the step ended in an error.
    signatures, run_ids : sequence of str
        ``kind:name`` texts; ids of the runs.
    declared : uint8, shape (runs,), optional
        :class:`~engine.runs.Outcome` of each run, UNKNOWN where it is to be inferred from the
        step that ended last.
    depth : ndarray of int, shape (steps,), optional
        Depth of the step's span in its run; decides between equal times.

    Returns
    -------
    Paths
        Every run completed, in the order of ``run_ids``.
    """
    runs = len(run_ids)
    level = np.broadcast_to(np.int64(0), run.shape) if depth is None else depth.astype(np.int64)
    rank = np.argsort(np.argsort(np.array(signatures, dtype=object), kind="stable"))
    order = _in_start_order(run.astype(np.int64), start_ns, level, rank, signature, runs)
    steps = np.bincount(run, minlength=runs)
    code, count, offset = _folded(signature.take(order), steps)
    inferred = _inferred(run, end_ns, error, level, runs)
    stated = np.full(runs, Outcome.UNKNOWN, np.uint8) if declared is None else declared
    known = stated < Outcome.UNKNOWN
    return Paths(
        signatures=tuple(signatures),
        code=code.astype(np.int32),
        count=count.astype(np.uint8),
        offset=offset,
        outcome=np.where(known, stated, inferred).astype(np.uint8),
        source=np.where(known, Source.DECLARED, Source.INFERRED).astype(np.uint8),
        half=np.frombuffer(bytes(map(half, run_ids)), np.uint8),
        run_ids=tuple(run_ids),
        tickets=(None,) * runs,
        versions=(None,) * runs,
    )


def _in_start_order(
    run: Ints, start_ns: Ints, depth: Ints, rank: Ints, signature: NDArray[np.integer[Any]], runs: int
) -> Ints:
    """Steps by run, then start, depth and rank of the signature.

    Start relative to its run's first usually shares 64 bits with the run number, and sorting
    one such key is several times faster than sorting by four columns.
    """
    first = np.full(runs, np.iinfo(np.int64).max)
    np.minimum.at(first, run, start_ns)
    elapsed = start_ns - first.take(run)
    bits = int(elapsed.max(initial=0)).bit_length()
    if bits + runs.bit_length() > 62:
        return np.lexsort((rank.take(signature), depth, start_ns, run))
    key = (run << bits) | elapsed
    order, key = _sorted_in_blocks(key, run, runs)
    same = np.flatnonzero(key[1:] == key[:-1])
    if same.size:
        tied = np.union1d(same, same + 1)
        steps = order[tied]
        order[tied] = steps[np.lexsort((rank[signature[steps]], depth[steps], key[tied]))]
    return order


def _sorted_in_blocks(key: Ints, run: Ints, runs: int) -> tuple[Ints, Ints]:
    """Order of the keys, and the keys in it: a block of runs at a time, so that it fits a cache."""
    bits = min(16, (key.size // _BLOCK).bit_length())
    block = (run >> max(0, runs.bit_length() - bits)).astype(np.uint16)
    order = np.argsort(block, kind="stable")
    key = key.take(order)
    end = np.cumsum(np.bincount(block))
    for first, last in pairwise([0, *end.tolist()]):
        inside = np.argsort(key[first:last])
        order[first:last] = order[first:last].take(inside)
        key[first:last] = key[first:last].take(inside)
    return order, key


def _folded(signature: NDArray[np.integer[Any]], steps: Ints) -> tuple[NDArray[np.integer[Any]], Ints, Ints]:
    """Fold ordered steps (run after run) into codes, counts and offsets, bounds applied."""
    if steps.max(initial=0) > MAX_STEPS:
        signature = signature[within(steps) < MAX_STEPS]
    read = np.minimum(steps, MAX_STEPS)
    start = np.cumsum(read) - read
    fresh = np.ones(signature.size, bool)
    fresh[1:] = signature[1:] != signature[:-1]
    fresh[start[read > 0]] = True
    at = np.flatnonzero(fresh)
    count = np.diff(at, append=signature.size)
    folds = np.searchsorted(at, start + read) - np.searchsorted(at, start)
    cut = (steps > MAX_STEPS) | (folds > MAX_TOKENS)
    if not cut.any():
        return signature[at], count, np.concatenate([[0], np.cumsum(folds)])
    kept = within(folds) < MAX_TOKENS
    length = np.minimum(folds, MAX_TOKENS)
    marks = np.cumsum(length)[cut]
    offset = np.concatenate([[0], np.cumsum(length + cut)])
    return np.insert(signature[at][kept], marks, -1), np.insert(count[kept], marks, 0), offset


def _inferred(
    run: NDArray[np.integer[Any]], end_ns: Ints, error: NDArray[np.bool_], depth: Ints, runs: int
) -> NDArray[np.uint8]:
    """Status of the step that ended last; none ended: abandoned.

    Of several that ended together the shallowest counts, of these an error.
    """
    last = np.full(runs, OPEN)
    np.maximum.at(last, run, end_ns)
    final = np.flatnonzero((end_ns == last.take(run)) & (end_ns != OPEN))
    final = final[np.argsort(-2 * depth[final] + error[final], kind="stable")]
    outcome = np.full(runs, Outcome.ABANDONED, np.uint8)
    outcome[run[final]] = np.where(error[final], Outcome.FAILURE, Outcome.SUCCESS)
    return outcome


def paths_from_frame(frame: pd.DataFrame) -> Paths:
    """Paths from a pandas table of steps.

    Parameters
    ----------
    frame : DataFrame
        Columns ``run``, ``signature``, ``start`` and ``end`` (timestamps, UTC where they carry no
        zone; NaT in ``end`` while open) and ``error`` (bool); optionally ``depth`` and ``outcome``
        (what ``session.outcome`` may say; the first that a run states counts).

    Raises
    ------
    InputError
        A column is missing, a cell that must be filled is empty, or an outcome is none.

    Examples
    --------
    >>> frame = pd.DataFrame({
    ...     "run": ["a", "a"], "signature": ["tool:s", "llm:m"], "error": [False, False],
    ...     "start": pd.to_datetime([20, 10]), "end": pd.to_datetime([30, 15])})
    >>> paths = paths_from_frame(frame)
    >>> paths.folds(0), paths.outcome.tolist()
    ((Fold(signature='llm:m', count=1), Fold(signature='tool:s', count=1)), [0])
    """
    for name in ("run", "signature", "start", "end", "error"):
        if name not in frame:
            raise InputError(f"the table has no column {name!r}")
        if name != "end" and frame[name].isna().any():
            raise InputError(f"the column {name!r} is empty in row {int(frame[name].isna().argmax())}")
    run, run_ids = pd.factorize(frame["run"])
    code, signatures = pd.factorize(frame["signature"])
    return paths_from_columns(
        run,
        code,
        _nanoseconds(frame["start"]),
        _nanoseconds(frame["end"]),
        frame["error"].to_numpy(bool),
        [str(text) for text in signatures],
        [str(text) for text in run_ids],
        _declared(frame, run, len(run_ids)) if "outcome" in frame else None,
        frame["depth"].to_numpy(np.int64) if "depth" in frame else None,
    )


def _declared(frame: pd.DataFrame, run: NDArray[np.integer[Any]], runs: int) -> NDArray[np.uint8]:
    """Outcome of each run as its first row that states one has it; UNKNOWN where none does."""
    declared = np.full(runs, Outcome.UNKNOWN, np.uint8)
    stated = np.flatnonzero(frame["outcome"].notna())[::-1]
    for row in stated.tolist():
        text = str(frame["outcome"].iloc[row]).strip().lower()
        if text not in OUTCOMES:
            allowed = ", ".join(sorted(OUTCOMES))
            raise InputError(f"the outcome {text!r} in row {row} is none of {allowed}")
        declared[run[row]] = Outcome[OUTCOMES[text].upper()]
    return declared


def _nanoseconds(times: pd.Series[Any]) -> Ints:
    """Nanoseconds since the epoch, UTC; NaT is :data:`OPEN`, which is how pandas stores it."""
    zoneless = pd.to_datetime(times, utc=True).dt.tz_localize(None)
    return zoneless.astype("datetime64[ns]").to_numpy().astype(np.int64)
