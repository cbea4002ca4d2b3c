"""Span columns fold to the same paths as one run at a time."""

from __future__ import annotations

import re
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.columns import OPEN, paths_from_columns, paths_from_frame
from engine.errors import InputError
from engine.paths import CUT, Fold, Paths, fold
from engine.runs import Outcome, Source

SIGNATURES = ("tool:b", "llm:m", "tool:a")
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 6), st.booleans(), st.integers(0, 1)),
    max_size=40,
)


def columns(rows: list[tuple[int, int, int, bool, int]], runs: int) -> Paths:
    """Rows of (run, signature, start, error, depth); each step ends 1 ns after it starts."""
    run, signature, start, error, depth = (np.array([row[n] for row in rows], np.int64) for n in range(5))
    ids = [f"r{number}" for number in range(runs)]
    return paths_from_columns(
        run, signature, start, start + 1, error.astype(bool), SIGNATURES, ids, depth=depth
    )


@given(STEPS)
def test_columns_fold_as_single_runs_do(rows: list[tuple[int, int, int, bool, int]]) -> None:
    paths = columns(rows, 4)
    for run in range(4):
        own = sorted(
            (row for row in rows if row[0] == run), key=lambda row: (row[2], row[4], SIGNATURES[row[1]])
        )
        assert paths.folds(run) == fold(SIGNATURES[row[1]] for row in own)


@given(STEPS)
def test_the_order_of_rows_changes_nothing(rows: list[tuple[int, int, int, bool, int]]) -> None:
    shuffled = sorted(rows, key=repr)
    one, other = columns(rows, 4), columns(shuffled, 4)
    for field in fields(Paths):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_bounds_are_applied_as_for_single_runs() -> None:
    long, wide = [1] * 193, [0, 2] * 33
    rows = [(0, signature, at, False, 0) for at, signature in enumerate(long)]
    rows += [(1, signature, at, False, 0) for at, signature in enumerate(wide)]
    rows += [(2, 0, 0, False, 0)]
    paths = columns(rows, 4)
    assert paths.folds(0) == (Fold("llm:m", 192), CUT)
    assert paths.folds(1) == fold(SIGNATURES[each] for each in wide)
    assert paths.folds(1)[-1] == CUT
    assert (paths.folds(2), paths.folds(3)) == ((Fold("tool:b", 1),), ())


def test_times_too_far_apart_for_one_word_are_ordered_all_the_same() -> None:
    rows = [(0, 0, 2**62, False, 0), (0, 1, 5, False, 0), (1, 2, 0, False, 0)]
    assert columns(rows, 2).folds(0) == (Fold("llm:m", 1), Fold("tool:b", 1))


def test_the_outcome_is_that_of_the_step_that_ended_last() -> None:
    run = np.array([0, 0, 1, 1, 2, 3])
    end = np.array([9, 5, 7, 7, OPEN, 4])
    error = np.array([False, True, False, True, False, True])
    depth = np.array([1, 1, 1, 2, 1, 1])
    declared = np.array([3, 3, 3, 0], np.uint8)
    paths = paths_from_columns(
        run, run * 0, end * 0, end, error, SIGNATURES, list("abcd"), declared=declared, depth=depth
    )
    assert paths.outcome.tolist() == [Outcome.SUCCESS, Outcome.SUCCESS, Outcome.ABANDONED, Outcome.SUCCESS]
    assert paths.source.tolist() == [Source.INFERRED] * 3 + [Source.DECLARED]


def test_a_table_with_open_steps_and_declared_outcomes() -> None:
    frame = pd.DataFrame(
        {
            "run": ["x", "x", "y"],
            "signature": ["llm:m", "tool:a", "tool:a"],
            "start": pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-01"]),
            "end": pd.to_datetime(["NaT", "NaT", "2026-01-02"]),
            "error": [False, False, True],
            "outcome": ["success", "success", None],
        }
    )
    paths = paths_from_frame(frame)
    assert paths.run_ids == ("x", "y")
    assert paths.folds(0) == (Fold("llm:m", 1), Fold("tool:a", 1))
    assert paths.outcome.tolist() == [Outcome.SUCCESS, Outcome.FAILURE]


def table(**columns: object) -> pd.DataFrame:
    """Two steps of run x, an hour apart; given columns instead."""
    start = pd.to_datetime(["2026-01-01T10:00", "2026-01-01T11:00"])
    rows: dict[str, object] = {
        "run": ["x", "x"],
        "signature": ["llm:m", "tool:a"],
        "start": start,
        "end": start,
    }
    return pd.DataFrame({**rows, "error": [False, False], **columns})


def test_outcomes_are_read_as_the_attribute_is() -> None:
    assert paths_from_frame(table(outcome=[None, " FAILED "])).outcome.tolist() == [Outcome.FAILURE]
    assert paths_from_frame(table(outcome=["ok", "failure"])).outcome.tolist() == [Outcome.SUCCESS]


def test_times_may_carry_a_zone() -> None:
    zoned = pd.to_datetime(["2026-01-01T12:00+02:00", "2026-01-01T10:30+01:00"], utc=True)
    assert paths_from_frame(table(start=zoned)).folds(0) == (Fold("tool:a", 1), Fold("llm:m", 1))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"run": ["x", None]}, "the column 'run' is empty in row 1"),
        ({"signature": [None, "tool:a"]}, "the column 'signature' is empty in row 0"),
        ({"start": [pd.NaT, pd.NaT]}, "the column 'start' is empty in row 0"),
        ({"outcome": ["success", "meh"]}, "the outcome 'meh' in row 1 is none of "),
    ],
)
def test_what_cannot_be_read_is_said(columns: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        paths_from_frame(table(**columns))


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match="the table has no column 'error'"):
        paths_from_frame(table().drop(columns="error"))
