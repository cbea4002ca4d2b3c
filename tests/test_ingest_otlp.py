"""OTLP as JSON and as protobuf, standard and as found in the wild."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from engine.ingest import Refusal, otlp_json, otlp_protobuf, read_file
from engine.ingest.source import Refused
from engine.spans import Event, Span, Status
from tests.recordings import OTLP

EXPECTED = Span(
    trace_id="5b8efff798038103d269b633813fc60c",
    span_id="eee19b7ec3c1b174",
    name="execute_tool search",
    start_ns=1_700_000_000_000_000_001,
    end_ns=1_700_000_000_500_000_000,
    parent_id="eee19b7ec3c1b173",
    status=Status.ERROR,
    scope="demo.instrumentation",
    attributes={
        "gen_ai.tool.name": "search",
        "tries": 2,
        "ids": [7],
        "args": {"exact": True},
        "otel.status_description": "timed out",
    },
    resource={"service.name": "desk"},
    events=(Event("exception", 1_700_000_000_400_000_000, {"exception.type": "Timeout"}),),
)


def request(**changes: Any) -> dict[str, Any]:
    """The recording with some fields of its span changed; None takes a field away."""
    document = copy.deepcopy(OTLP)
    span = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span |= changes
    for name in [name for name, value in changes.items() if value is None]:
        del span[name]
    return document


def one(document: Any) -> Span:
    (span,) = otlp_json.spans(document)
    assert isinstance(span, Span)
    return span


def test_the_standard_form() -> None:
    assert one(OTLP) == EXPECTED


def snake(value: Any) -> Any:
    """Every field name in snake_case."""
    if isinstance(value, list):
        return [snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): snake(item)
        for name, item in value.items()
    }


def test_snake_case_names() -> None:
    assert one(snake(OTLP)) == EXPECTED


@pytest.mark.parametrize(
    "start",
    [
        1_700_000_000_000_000_001,
        "1700000000000000001",
        {"low": (EXPECTED.start_ns & 0xFFFFFFFF) - 2**32, "high": EXPECTED.start_ns >> 32},
        [1_700_000_000, 1],
        {"seconds": "1700000000", "nanos": 1},
        "2023-11-14T22:13:20.000000001Z",
        "2023-11-14T23:13:20.000000001+01:00",
        "2023-11-14 22:13:20.000000001",
    ],
)
def test_times_in_every_shape(start: Any) -> None:
    assert one(request(startTimeUnixNano=start)) == EXPECTED


@pytest.mark.parametrize(
    "write",
    [str.upper, lambda text: f"0x{text}", lambda text: base64.b64encode(bytes.fromhex(text)).decode()],
)
def test_ids_become_lower_hex(write: Any) -> None:
    ids = {"traceId": EXPECTED.trace_id, "spanId": EXPECTED.span_id, "parentSpanId": EXPECTED.parent_id}
    assert one(request(**{name: write(text) for name, text in ids.items()})) == EXPECTED


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR", "ERROR", "Error"])
def test_status_as_number_or_name(code: Any) -> None:
    assert one(request(status={"code": code, "message": "timed out"})) == EXPECTED


@pytest.mark.parametrize("parent", ["", "0000000000000000", None])
def test_no_parent(parent: Any) -> None:
    assert one(request(parentSpanId=parent)).parent_id is None


@pytest.mark.parametrize("end", ["0", 0, "", None])
def test_an_open_span_has_no_end(end: Any) -> None:
    assert one(request(endTimeUnixNano=end)).end_ns is None


def test_inner_parts_stand_on_their_own() -> None:
    block = OTLP["resourceSpans"][0]
    assert one(block) == EXPECTED
    assert one({"batches": [block]}) == EXPECTED
    assert one({**block["scopeSpans"][0], "resource": block["resource"]}) == EXPECTED
    assert (
        one(
            {
                **block["scopeSpans"][0]["spans"][0],
                "scope": {"name": EXPECTED.scope},
                "resource": block["resource"],
            }
        )
        == EXPECTED
    )


def test_a_span_as_an_sdk_prints_it() -> None:
    printed = {
        "name": "chat",
        "context": {"trace_id": "0x" + "0a" * 16, "span_id": "0x" + "0b" * 8, "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": "0x" + "0c" * 8,
        "start_time": "2026-01-01T00:00:00.000001Z",
        "end_time": "2026-01-01T00:00:01Z",
        "status": {"status_code": "UNSET"},
        "attributes": {"gen_ai.operation.name": "chat", "stop": ["end"]},
        "events": [{"name": "e", "timestamp": "2026-01-01T00:00:00Z", "attributes": {}}],
        "resource": {"attributes": {"service.name": "desk"}, "schema_url": ""},
    }
    assert one(printed) == Span(
        "0a" * 16,
        "0b" * 8,
        "chat",
        1_767_225_600_000_001_000,
        1_767_225_601_000_000_000,
        "0c" * 8,
        attributes={"gen_ai.operation.name": "chat", "stop": ["end"]},
        resource={"service.name": "desk"},
        events=(Event("e", 1_767_225_600_000_000_000),),
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"traceId": ""}, "span 1: traceId is missing"),
        ({"traceId": "0" * 32}, "span 1: traceId is missing"),
        ({"spanId": "xyz"}, "span 1: id 'xyz' is not 8 bytes in hex or base64"),
        ({"startTimeUnixNano": None}, "span 1: startTimeUnixNano is missing"),
        ({"startTimeUnixNano": "-5"}, "span 1: time '-5' lies outside 1970 to 2262"),
        ({"startTimeUnixNano": 2**63}, "span 1: time 9223372036854775808 lies outside 1970 to 2262"),
        ({"startTimeUnixNano": float("nan")}, "span 1: nan is not a time"),
        ({"endTimeUnixNano": "soon"}, "span 1: 'soon' is not a time"),
        ({"endTimeUnixNano": True}, "span 1: True is not a time"),
    ],
)
def test_a_span_without_identity_or_time_is_refused(changes: dict[str, Any], reason: str) -> None:
    assert list(otlp_json.spans(request(**changes))) == [Refused(reason, 1)]


DEEP: dict[str, Any] = {"stringValue": "x"}
for _ in range(100):
    DEEP = {"arrayValue": {"values": [DEEP]}}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"intValue": "many"}, "'many' is not a number"),
        ({"stringValue": 5}, "{'stringValue': 5} is not an OTLP value"),
        ({"doubleValue": "NaN"}, "nan is not a finite number"),
        ({"doubleValue": float("-inf")}, "-inf is not a finite number"),
        (DEEP, "nested deeper than 32"),
    ],
)
def test_a_bad_attribute_costs_itself(value: Any, reason: str) -> None:
    attributes = [{"key": "bad", "value": value}, {"key": "good", "value": {"boolValue": False}}]
    span, refused = otlp_json.spans(request(attributes=attributes, status=None))
    assert isinstance(span, Span)
    assert span.attributes == {"good": False}
    assert refused == Refused(f"span 1: attribute bad is left out: {reason}")


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"attributes": "a=1"}, ["attributes are left out: 'a=1' is not a list"]),
        ({"attributes": [{"value": {}}]}, ["an attribute without a key is left out: {}"]),
        ({"parentSpanId": "p"}, ["the parent is left out: id 'p' is not 8 bytes in hex or base64"]),
        ({"status": {"code": "BAD"}}, ["the status is left out: 'BAD' is none"]),
        ({"events": [7]}, ["an entry of events is not an object"]),
        ({"events": [{"timeUnixNano": "x"}]}, ["the time of an event is left out: 'x' is not a time"]),
    ],
)
def test_a_bad_part_is_named_and_the_span_kept(changes: dict[str, Any], reasons: list[str]) -> None:
    span, *refused = otlp_json.spans(request(**changes))
    assert isinstance(span, Span)
    assert refused == [Refused(f"span 1: {reason}") for reason in reasons]


def test_integers_over_64_bits_and_lone_surrogates_can_be_stored() -> None:
    attributes = [
        {"key": "big", "value": {"intValue": str(2**70)}},
        {"key": "text", "value": {"stringValue": "a\ud800"}},
        {"key": "none", "value": {}},
        {"key": "bytes", "value": {"bytesValue": "AAE="}},
    ]
    assert one(request(attributes=attributes, status=None)).attributes == {
        "big": str(2**70),
        "text": "a\ufffd",
        "none": None,
        "bytes": "AAE=",
    }


def test_other_signals_are_passed_over_and_other_objects_refused() -> None:
    assert list(otlp_json.spans({"resourceLogs": []})) == []
    assert list(otlp_json.spans({})) == []
    assert list(otlp_json.spans({"a": 1})) == [Refused("no resourceSpans in this object", None)]
    assert list(otlp_json.spans([])) == [Refused("an object of spans was expected", None)]
    assert list(otlp_json.spans({"resourceSpans": {}})) == [Refused("resourceSpans is not a list", None)]


@pytest.mark.parametrize("separator", ["", "\n", "\n\n"])
def test_a_file_of_several_documents(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "spans.json"
    path.write_text(separator.join([json.dumps(OTLP), json.dumps(OTLP, indent=1), json.dumps([OTLP, OTLP])]))
    assert list(read_file(path)) == [EXPECTED] * 4


def test_a_bad_line_is_named_and_the_others_kept(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(f"{json.dumps(OTLP)}\n{json.dumps(OTLP)[:-8]}\n{json.dumps(OTLP)}\n")
    assert list(read_file(path)) == [EXPECTED, Refusal(str(path), 2, "the document is cut off"), EXPECTED]


# --- protobuf ---


def message(document: dict[str, Any] = OTLP) -> bytes:
    """The document as protobuf."""
    document = copy.deepcopy(document)
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return json_format.ParseDict(document, TracesData()).SerializeToString()


def varint(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7) if value > 0x7F else bytes([value])


FRAMINGS = {
    "single": lambda *messages: b"".join(messages),
    "varint": lambda *messages: b"".join(varint(len(each)) + each for each in messages),
    "uint32": lambda *messages: b"".join(len(each).to_bytes(4, "big") + each for each in messages),
}


@pytest.mark.parametrize("framing", FRAMINGS)
def test_protobuf_says_the_same_as_json(tmp_path: Path, framing: str) -> None:
    path = tmp_path / "spans.pb"
    path.write_bytes(FRAMINGS[framing](message(), message()))
    assert list(read_file(path)) == [EXPECTED, EXPECTED]


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_protobuf_file_that_is_cut_off_gives_what_was_whole(tmp_path: Path, framing: str) -> None:
    path = tmp_path / "spans.pb"
    path.write_bytes(FRAMINGS[framing](message(), message())[:-3])
    size = len(message()) - (3 if framing == "single" else 0)
    reason = f"the file is cut off: {size} bytes were announced, {size - 3} are there"
    assert list(read_file(path)) == [EXPECTED, Refusal(str(path), 2, reason)]


def test_a_protobuf_span_that_does_not_parse_costs_itself() -> None:
    document = copy.deepcopy(OTLP)
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.append(copy.deepcopy(spans[0]) | {"name": "broken"})
    data = message(document).replace(b"broken", b"\xff\xfe\xfd\xfc\xfb\xfa")
    assert list(otlp_protobuf.spans(data)) == [
        EXPECTED,
        Refused("span 2 of scope demo.instrumentation: it does not parse", 1),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"traceId": ""}, "trace_id is missing"),
        ({"spanId": "00" * 8}, "span_id is missing"),
        ({"startTimeUnixNano": "0"}, "start_time_unix_nano is missing"),
        ({"startTimeUnixNano": str(2**63)}, "time 9223372036854775808 lies outside 1970 to 2262"),
    ],
)
def test_a_protobuf_span_without_identity_or_time_is_refused(changes: dict[str, Any], reason: str) -> None:
    assert list(otlp_protobuf.spans(message(request(**changes)))) == [
        Refused(f"span 1 of scope demo.instrumentation: {reason}", 1)
    ]


def test_what_is_not_protobuf_is_refused() -> None:
    assert list(otlp_protobuf.spans(b"\xff" * 20)) == [
        Refused("not protobuf: a length that does not end", None)
    ]
    assert list(otlp_protobuf.spans(b"\x0b")) == [Refused("not protobuf: wire type 3", None)]
