"""Whatever a span holds survives storing, in the nearest form there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.paths import CUT, Fold, identifier
from engine.runs import ALL_TIME, Cohort, Declaration, Outcome, Run, Source, Step
from engine.spans import Event, Span, Status
from engine.store import Appended, Store
from engine.store.fitting import MAX_INTEGER, fitted
from engine.store.packing import pack_span, pack_steps, unpack_span, unpack_steps
from engine.store.sqlite import open_store
from engine.store.words import pack_path, unpack_paths

T = TypeVar("T")
NOW = 2_000_000_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "runs.sqlite", create=True)
    yield opened
    opened.close()


ODD_TEXTS = ['it\'s "quoted"; DROP TABLE runs --', "a\0b", "\0", "", " ", "é\u2028🙂", "%_*?", "x" * 100_000]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_any_text_is_an_id_a_name_and_a_value(store: Store, text: str) -> None:
    span = Span(text, text, text, 1, 2, text, Status.OK, text, {text: [text]}, {text: text}, (Event(text),))

    assert store.append(text, [span]) == Appended(new=1)
    assert store.append(text, [span]) == Appended(unchanged=1)
    assert store.declare(text, [Declaration(text, Outcome.FAILURE, 3, text)]) == Appended(new=1)
    assert store.spans(text, text) == [span]
    assert store.run(text, text).outcome == Outcome.FAILURE
    [summary] = store.agents(text, ALL_TIME, NOW)
    assert store.paths(Cohort(text, summary.agent, ALL_TIME), NOW).run_ids == (identifier(text),)


def test_a_lone_surrogate_becomes_the_replacement_character_in_data_and_questions(store: Store) -> None:
    span = Span("t\ud800", "s\udfff", "n\ud800", 1, 2, attributes={"k\ud800": ["v\ud800"]})

    assert store.append("x\ud800", [span, Span("u", "s", "n", 1)]) == Appended(new=2)
    assert store.append("x\ud800", [span]) == Appended(unchanged=1)
    expected = Span("t\ufffd", "s\ufffd", "n\ufffd", 1, 2, attributes={"k\ufffd": ["v\ufffd"]})
    assert store.spans("x\ud800", "t\ud800") == [expected]
    assert store.find("x\ud800", "t\ud800") == ["t\ufffd"]


NESTED: list[Any] = []
for _ in range(100_000):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (2**64, str(2**64)),
        (-(2**64), str(-(2**64))),
        (2**64 - 1, 2**64 - 1),
        pytest.param(10**5000, hex(10**5000), id="huge"),
        (1.5, 1.5),
        (float("inf"), float("inf")),
        (True, True),
        (None, None),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_any_value_is_kept_in_the_nearest_form(store: Store, value: object, kept: object) -> None:
    store.append("default", [Span("t", "s", "n", 1, 2, attributes={"value": value, "other": [value]})])

    [span] = store.spans("default", "t")
    assert span.attributes == {"value": kept, "other": [kept]}
    assert fitted(span) == span


def test_nesting_without_end_is_cut(store: Store) -> None:
    assert store.append("default", [Span("t", "s", "n", 1, 2, attributes={"deep": NESTED})]) == Appended(
        new=1
    )

    [span] = store.spans("default", "t")
    text = repr(span.attributes["deep"])
    assert text == "[" * 99 + "'…'" + "]" * 99


def deeper(frames: int, ask: Callable[[], T]) -> T:
    """Ask from so many frames further down the stack."""
    return ask() if frames == 0 else deeper(frames - 1, ask)


def test_what_could_be_packed_can_be_read_from_further_down_the_stack(store: Store) -> None:
    for depth in range(800, 1000, 20):
        nested: list[Any] = []
        for _ in range(depth):
            nested = [nested]
        tenant = f"nested {depth}"
        store.append(tenant, [Span("t", "s", "n", 1, 2, attributes={"deep": nested})])

        assert deeper(200, partial(store.settle, tenant)) == {"t"}


def test_times_beyond_64_bits_are_held_at_the_edge(store: Store) -> None:
    store.append("default", [Span("t", "s", "n", -(10**30), 10**30)])

    assert store.spans("default", "t") == [Span("t", "s", "n", -MAX_INTEGER, MAX_INTEGER)]
    assert store.run("default", "t").start_ns == -MAX_INTEGER


values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
attributes = st.dictionaries(st.text(), values, max_size=4)
times_ns = st.integers(-MAX_INTEGER, MAX_INTEGER)
spans = st.builds(
    Span,
    st.text(),
    st.text(),
    st.text(),
    times_ns,
    st.none() | times_ns,
    st.none() | st.text(),
    st.sampled_from(Status),
    st.text(),
    attributes,
    attributes,
    st.lists(st.builds(Event, st.text(), st.none() | times_ns, attributes), max_size=2).map(tuple),
)


@given(spans)
def test_a_fitted_span_comes_back_as_it_was(span: Span) -> None:
    kept = fitted(span)

    assert unpack_span(kept.trace_id, kept.span_id, pack_span(kept)) == kept
    assert fitted(kept) == kept


steps = st.builds(
    Step,
    st.sampled_from(("llm:m", "tool:a", "tool:b")),
    times_ns,
    st.none() | times_ns,
    st.sampled_from(("t", "u")),
    st.text(max_size=3),
    st.booleans(),
    st.none() | st.integers(0, 2**40),
    st.none() | st.integers(0, 2**40),
)


@given(st.lists(steps.filter(lambda step: abs(step.start_ns) < 2**61 and abs(step.end_ns or 0) < 2**61)))
def test_steps_come_back_as_they_were(given_steps: list[Step]) -> None:
    assert unpack_steps(pack_steps(given_steps, ("t", "u"))) == (tuple(given_steps), ("t", "u"))


def test_a_step_beyond_64_bits_is_held_at_the_edge() -> None:
    wild = Step("tool:a", -(10**30), 10**30, "t", "s", False, 10**30, None)
    edge = MAX_INTEGER // 2

    assert unpack_steps(pack_steps([wild], ("t",)))[0] == (
        Step("tool:a", -edge, edge, "t", "s", False, edge, None),
    )


folds = st.lists(st.builds(Fold, st.sampled_from(("tool:a", "tool:b")), st.integers(1, 192)), max_size=4)
endings = st.tuples(st.sampled_from(Outcome), st.sampled_from(Source))


@given(st.lists(st.tuples(folds, st.booleans(), endings)))
def test_joined_paths_come_apart_again(rows: list[tuple[list[Fold], bool, tuple[Outcome, Source]]]) -> None:
    numbers = {"tool:a": 1, "tool:b": 2**24 - 2}
    paths = [[*path, CUT] if is_cut else path for path, is_cut, _ in rows]
    runs = [Run("b", "bot", None, None, 1, 2, *ending, (), ()) for *_, ending in rows]

    packed = unpack_paths(
        b"".join(pack_path(path, numbers, run) for path, run in zip(paths, runs, strict=True))
    )

    parts = [slice(*ends) for ends in zip(packed.offset[:-1], packed.offset[1:], strict=True)]
    assert [packed.number[part].tolist() for part in parts] == [
        [numbers.get(fold.signature, 0) for fold in path] for path in paths
    ]
    assert [packed.repeats[part].tolist() for part in parts] == [
        [fold.count for fold in path] for path in paths
    ]
    assert list(zip(packed.outcome.tolist(), packed.source.tolist(), strict=True)) == [e for *_, e in rows]
    assert packed.half.tolist() == [0] * len(rows)
