"""Forkmap's own JSON lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.conventions import OUTCOMES
from engine.ingest import Refusal, read_file
from engine.ingest.forkmap_jsonl import EVENT_FIELDS, EVENT_TYPES, OUTCOME_FIELDS, SPAN_FIELDS
from engine.runs import Declaration, Outcome
from engine.spans import Event, Span, Status
from tests.recordings import FORKMAP_OUTCOME, FORKMAP_SPAN

START_NS = 1_767_225_600_000_000_000
FORMATS_PAGE = Path(__file__).resolve().parents[1] / "docs" / "formats.md"

NO_RECORD = (
    'an object was expected whose "type" is one of span, outcome, decision, tool_call, tool_result, run'
)
SPAN = Span(
    trace_id="job-1",
    span_id="1",
    parent_id="0",
    name="search",
    start_ns=START_NS,
    end_ns=START_NS + 1_000_000_000,
    status=Status.ERROR,
    scope="desk",
    attributes={"forkmap.kind": "tool", "sizes": [1, 2.5, None]},
    resource={"service.name": "desk"},
    events=(Event("retry", START_NS + 500_000_000, {"try": 2}),),
)


def read(path: Path, *lines: Any) -> list[Any]:
    """Write lines (text as it is, anything else as JSON) and read them."""
    path = path / "runs.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return [
        (item.line, item.reason) if isinstance(item, Refusal) else item
        for item in read_file(path, format="forkmap")
    ]


def test_spans_and_outcomes(tmp_path: Path) -> None:
    assert read(tmp_path, FORKMAP_SPAN, "", FORKMAP_OUTCOME) == [
        SPAN,
        Declaration("job-1", Outcome.FAILURE, START_NS + 2_000_000_000, "review"),
    ]


def test_the_least_that_a_span_needs(tmp_path: Path) -> None:
    least = {"type": "span", "trace_id": "t", "span_id": "s", "start": START_NS}
    assert read(tmp_path, least) == [Span("t", "s", "", START_NS)]


@pytest.mark.parametrize(("name", "outcome"), OUTCOMES.items())
def test_synonyms_of_outcomes(tmp_path: Path, name: str, outcome: str) -> None:
    (declared,) = read(tmp_path, FORKMAP_OUTCOME | {"outcome": name.upper()})
    assert declared.outcome.name.lower() == outcome


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"type": "log"}, NO_RECORD),
        ({"trace_id": ""}, "trace_id is missing"),
        ({"trace_id": 5}, "trace_id is not text"),
        ({"span_id": "a\nb"}, "span_id is over 256 characters, or not printable"),
        ({"span_id": "a" * 257}, "span_id is over 256 characters, or not printable"),
        ({"start": None}, "start is missing"),
        ({"start": "yesterday"}, "start: 'yesterday' is not a time"),
        ({"start": 2**63 - 1}, "start: time 9223372036854775807 lies outside 1970 to 2262"),
        ({"end": -1}, "end: time -1 lies outside 1970 to 2262"),
        ({"status": "fine"}, "status is none of unset, ok, error"),
        ({"attributes": []}, "attributes is not an object"),
        ({"events": {}}, "events is not a list of objects"),
        ({"parent": "x"}, f"unknown field 'parent'; known: {', '.join(SPAN_FIELDS)}"),
    ],
)
def test_a_bad_span_is_refused_with_its_line(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    assert read(tmp_path, FORKMAP_SPAN, FORKMAP_SPAN | changes, FORKMAP_SPAN) == [SPAN, (2, reason), SPAN]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"run": None}, "run is missing"),
        ({"time": None}, "time is missing"),
        ({"outcome": "great"}, f"outcome 'great' is none of {', '.join(OUTCOMES)}"),
    ],
)
def test_a_bad_outcome_is_refused_with_its_line(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    assert read(tmp_path, FORKMAP_OUTCOME | changes, FORKMAP_SPAN) == [(1, reason), SPAN]


def test_a_line_that_is_no_json_is_refused_with_its_line(tmp_path: Path) -> None:
    cut_off = json.dumps(FORKMAP_SPAN)[:-1]
    assert read(tmp_path, cut_off, "[]", '{"a', FORKMAP_SPAN) == [
        (1, f"not JSON: Expecting ',' delimiter at character {len(cut_off) + 1}"),
        (2, NO_RECORD),
        (3, "not JSON: Unterminated string starting at character 2"),
        SPAN,
    ]


def test_a_bad_attribute_costs_itself(tmp_path: Path) -> None:
    span, refusal = read(tmp_path, json.dumps(FORKMAP_SPAN | {"attributes": {"score": float("nan"), "a": 1}}))
    assert span.attributes == {"a": 1}
    assert refusal == (1, "attribute score is left out: nan is not a finite number")


def test_a_huge_number_and_a_deep_nest_cost_no_more_than_themselves(tmp_path: Path) -> None:
    line = json.dumps(FORKMAP_SPAN | {"attributes": {"huge": 0, "deep": [], "a": 1}})
    line = line.replace('"huge": 0', f'"huge": {"9" * 10_000}').replace("[]", "[" * 10**5 + "]" * 10**5)
    span, refusal = read(tmp_path, line)
    assert span.attributes == {"huge": "9" * 10_000, "a": 1}
    assert refusal == (1, "attribute deep is left out: nested deeper than 32")


def test_the_documented_example_is_read_whole(tmp_path: Path) -> None:
    (example,) = re.findall(r"```jsonl\n(.*?)```", FORMATS_PAGE.read_text(), re.DOTALL)
    records = read(tmp_path, example)
    assert [type(record) for record in records] == [Span, Span, Span, Declaration]


def test_every_field_and_outcome_is_documented() -> None:
    page = FORMATS_PAGE.read_text()
    names = (*SPAN_FIELDS, *OUTCOME_FIELDS, *EVENT_FIELDS, *EVENT_TYPES, *OUTCOMES)
    assert [name for name in names if f"`{name}`" not in page] == []
