"""Decision traces out of stored spans, in every shape that their attributes come in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from engine.conventions.table import ARGUMENT_KEYS
from engine.decisions.reading import read
from engine.decisions.schema import Option
from engine.decisions.trace import Call, Choice, Finding, Kind, Trace
from engine.ingest.attributes import attributes
from engine.spans import Span, Status
from tests.test_ingest_fuzz import values

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
START_NS = 1_767_268_800_000_000_000
SECOND_NS = 10**9
MENU = [{"tool": "search", "score": 0.8, "reason": "look first"}, {"tool": "edit", "score": 0.3}]
OPTIONS = (Option("search", 0.8, "look first"), Option("edit", 0.3))
SAID = {"goal": "add a test", "chosen": "search", "policy": "argmax", "margin": 0.5}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}


def span(number: int, at: int, parent: int | None, attributes: Mapping[str, Any], **facts: Any) -> Span:
    start_ns = START_NS + at * SECOND_NS
    times: dict[str, Any] = {"start_ns": start_ns, "end_ns": start_ns + SECOND_NS}
    parent_id = None if parent is None else str(parent)
    return Span("t", str(number), "span", parent_id=parent_id, attributes=dict(attributes), **times | facts)


def decided(prefix: str = "forkmap.decision.", **said: Any) -> dict[str, Any]:
    """The attributes of a decision."""
    told = {"options": json.dumps(MENU), **SAID, **said}
    return {f"{prefix}{field}": value for field, value in told.items() if value is not None}


def trace_of(*spans: Span) -> Trace:
    trace = read("job", spans)
    assert trace is not None
    return trace


def found(trace: Trace) -> list[tuple[int, str, str, str]]:
    return [(each.line, each.kind.value, each.detail, each.span_id) for each in trace.findings]


CALL = Call("2", START + timedelta(seconds=1), "search", Raw(b'{"query":"date"}'), True, 842)
CHOICE = Choice("1", START, "add a test", OPTIONS, "search", "argmax", 0.5, (CALL,))
WHOLE = Trace("job", (CHOICE,))
FLAT = {
    "options.0.tool": "search",
    "options.0.score": 0.8,
    "options.0.reason": "look first",
    "options.1.tool": "edit",
    "options.1.score": 0.3,
}
SHAPES: dict[str, dict[str, Any]] = {
    "JSON text": {},
    "objects": {"options": MENU},
    "texts of objects": {"options": [json.dumps(option) for option in MENU]},
    "keys of their own": {"options": None, **FLAT},
    "keys of OpenInference's kind": {
        "options": None,
        **{
            key.replace("options.0.", "options.0.option.").replace("options.1.", "options.1.option."): value
            for key, value in FLAT.items()
        },
    },
    "JSON text of other names": {
        "options": json.dumps([MENU[0], {"name": "edit", "score": 0.3, "cost": {"usd": 1}}])
    },
    "the names of OpenInference": {
        "options": [
            {"tool.name": option["tool"], **{k: v for k, v in option.items() if k != "tool"}}
            for option in MENU
        ]
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("prefix", "more"),
    [
        ("forkmap.decision.", {}),
        ("gen_ai.decision.", {}),
        ("decision.", {"openinference.span.kind": "DECISION"}),
    ],
)
def test_a_decision_and_its_call(shape: str, prefix: str, more: dict[str, Any]) -> None:
    call = TOOL | {"gen_ai.tool.call.arguments": '{"query": "date"}', "forkmap.result.bytes": 842}
    decision = span(1, 0, 0, decided(prefix, **SHAPES[shape]) | more)
    agent = span(0, 0, None, {"gen_ai.operation.name": "invoke_agent"})
    assert trace_of(span(2, 1, 1, call), decision, agent) == WHOLE


@pytest.mark.parametrize("options", [["search", "edit"], '["search", "edit"]'])
def test_names_of_tools_make_a_menu_without_scores(options: Any) -> None:
    trace = trace_of(span(1, 0, None, decided(options=options, margin=None)), span(2, 1, 1, TOOL))
    assert trace.choices[0].options == (Option("search"), Option("edit"))
    assert trace.findings == ()


@pytest.mark.parametrize(
    "attributes", [{}, {"decision.chosen": "search"}, {"openinference.span.kind": "DECISION"}, TOOL]
)
def test_without_the_keys_of_a_decision_there_is_none(attributes: dict[str, Any]) -> None:
    assert read("job", [span(1, 0, None, attributes)]) is None


@pytest.mark.parametrize(
    ("said", "kind", "detail"),
    [
        ({"options": json.dumps(MENU)[:20]}, "bad_json", "options: Input data was truncated"),
        ({"options": "[NaN]"}, "bad_json", "options: JSON is malformed: invalid character (byte 1)"),
        ({"options": "[" * 10_000}, "bad_json", "options: nested too deeply"),
        ({"options": None}, "bad_record", "options: missing"),
        ({"options": 7}, "bad_record", "options: expected `array`, got `int`"),
        (
            {"options": [{"tool": "search", "score": "0.8"}]},
            "bad_record",
            "options[0].score: expected `float | null`, got `str`",
        ),
        (
            {"options": '[{"tool": "search", "score": 1e999}]'},
            "bad_record",
            "options[0].score: number out of range",
        ),
        ({"options": [["search"]]}, "bad_record", "options[0]: expected `object`, got `array`"),
        ({"goal": None}, "bad_record", "goal: missing"),
        ({"chosen": 7}, "bad_record", "chosen: expected `str`, got `int`"),
        ({"policy": None}, "bad_record", "policy: missing"),
        ({"margin": "0.5"}, "bad_record", "margin: expected `int | float | null`, got `str`"),
    ],
)
def test_broken_attributes_are_a_finding_and_the_rest_still_counts(
    said: dict[str, Any], kind: str, detail: str
) -> None:
    good = span(3, 2, None, decided()), span(4, 3, 3, TOOL)
    trace = trace_of(span(1, 0, None, decided(**said)), span(2, 1, 1, TOOL), *good)
    assert [choice.span_id for choice in trace.choices] == ["3"]
    assert found(trace) == [(1, kind, detail, "1")]


def test_a_call_hangs_from_the_nearest_decision_above_it() -> None:
    nested = span(4, 3, 3, decided()), span(5, 4, 4, {"gen_ai.operation.name": "chat"}), span(6, 5, 5, TOOL)
    trace = trace_of(span(1, 0, None, decided()), span(2, 1, 1, {}), span(3, 2, 2, TOOL), *nested)
    assert [(choice.span_id, [call.span_id for call in choice.calls]) for choice in trace.choices] == [
        ("1", ["3"]),
        ("4", ["6"]),
    ]


def test_a_call_without_a_decision_is_loose_and_found() -> None:
    trace = trace_of(span(1, 0, None, decided()), span(2, 1, 1, TOOL), span(3, 2, None, TOOL))
    assert [call.span_id for call in trace.loose] == ["3"]
    assert found(trace) == [(3, "missing_decision", "search", "3")]


def test_what_comes_of_a_call_is_what_its_span_says() -> None:
    calls = [
        span(2, 1, 1, TOOL, status=Status.ERROR),
        span(3, 2, 1, TOOL | {"gen_ai.tool.status": "error"}),
        span(4, 3, 1, TOOL, end_ns=None),
        span(5, 4, 1, TOOL | {"output.value": "é"}),
    ]
    trace = trace_of(span(1, 0, None, decided()), *calls)
    assert [(call.ok, call.size_bytes) for call in trace.choices[0].calls] == [
        *((False, None), (False, None), (None, None), (True, 2))
    ]


@pytest.mark.parametrize("key", [key for key, _ in ARGUMENT_KEYS])
@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ('{"limit": 1.50, "q": ["é"]}', '{"limit":1.50,"q":["é"]}'),
        ({"q": "x"}, '{"q":"x"}'),
        ("all of it", '"all of it"'),
        ("{'q': 1}", "\"{'q': 1}\""),
        (7, "7"),
    ],
)
def test_arguments_are_read_in_every_convention(key: str, value: Any, arguments: str) -> None:
    trace = trace_of(span(1, 0, None, decided()), span(2, 1, 1, TOOL | {key: value}))
    assert bytes(trace.choices[0].calls[0].args).decode() == arguments


def test_events_are_ordered_by_start_and_no_child_comes_before_its_parent() -> None:
    early = span(2, -5, 1, TOOL)
    later = (
        span(3, 1, None, decided(chosen="edit", margin=-0.5)),
        span(4, 2, 3, TOOL | {"gen_ai.tool.name": "edit"}),
    )
    trace = trace_of(*later, early, span(1, 0, None, decided()))
    assert [choice.span_id for choice in trace.choices] == ["1", "3"]
    assert [(each.kind.value, each.span_id) for each in trace.findings] == [
        ("time_reversed", "2"),
        ("not_top", "3"),
    ]


def test_the_line_of_a_finding_is_the_place_among_decisions_and_calls() -> None:
    noise = span(9, 0, None, {"gen_ai.operation.name": "chat"})
    tied = decided(margin=0.0, options=[{"tool": "search", "score": 0.3}, {"tool": "edit", "score": 0.3}])
    trace = trace_of(noise, span(1, 1, None, decided()), span(2, 2, 1, TOOL), span(3, 3, None, tied))
    assert trace.findings == (
        Finding(3, Kind.UNCONSUMED_DECISION, "3", "3"),
        Finding(3, Kind.LOW_MARGIN, "0", "3"),
    )


def test_a_margin_is_low_below_what_is_asked_for() -> None:
    spans = [span(1, 0, None, decided()), span(2, 1, 1, TOOL)]
    traces = [read("job", spans, low_margin) for low_margin in (0.5, 0.6)]
    assert [[each.kind.value for each in trace.findings] for trace in traces if trace] == [[], ["low_margin"]]


def test_of_a_call_that_the_tracing_tells_of_too_the_one_with_a_decision_counts() -> None:
    scope = "forkmap.decisions"
    event = {"forkmap.kind": "tool", "forkmap.name": "search"}
    spans = [span(1, 0, None, decided(), scope=scope), span(2, 1, 1, event, scope=scope)]
    trace = trace_of(*spans, span(3, 1, None, TOOL))
    assert ([call.span_id for call in trace.choices[0].calls], trace.loose) == (["2"], ())


def test_a_cycle_of_parents_hangs_nothing() -> None:
    trace = trace_of(span(1, 0, 2, decided()), span(2, 1, 1, TOOL))
    assert len(trace.choices) == 1


KEYS = st.sampled_from(
    [
        *(
            f"{prefix}{field}"
            for prefix in ("forkmap.decision.", "decision.")
            for field in (*SAID, "options")
        ),
        *("forkmap.decision.options.0.tool", "forkmap.decision.options.x", "gen_ai.decision.goal"),
        *("openinference.span.kind", "gen_ai.operation.name", "gen_ai.tool.call.arguments"),
        *("forkmap.event.id", "forkmap.result.ok", "forkmap.result.bytes"),
    ]
)
WORDS = st.sampled_from(["DECISION", "execute_tool", "[]", json.dumps(MENU), "search", 0.5, True])
ANY = st.builds(
    span,
    st.integers(0, 3),
    st.integers(-1, 3),
    st.none() | st.integers(0, 4),
    st.dictionaries(KEYS, WORDS | values, max_size=8).map(lambda sent: attributes(sent, [])),
)
"""Spans as they are kept, of whatever was sent."""


@given(st.lists(ANY, max_size=5), st.sampled_from(["", "forkmap.decisions"]))
def test_whatever_the_attributes_hold_is_read(spans: list[Span], scope: str) -> None:
    good = (
        replace(span(7, 9, None, decided()), trace_id="good"),
        replace(span(8, 10, 7, TOOL), trace_id="good"),
    )
    trace = trace_of(*(replace(each, scope=scope) for each in spans), *good)
    assert trace.choices[-1].span_id == "7"
