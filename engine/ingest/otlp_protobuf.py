"""OTLP protobuf files: one ``TracesData``, or a sequence of them, each after its length.

A length is a varint, as OpenTelemetry's file exporter specification has it, or four bytes,
big-endian, as the Collector's file exporter writes. The envelope is walked here, field by field,
so that a span that does not parse costs itself only and a long file is never held whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    InstrumentationScope,
    KeyValue,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from engine.errors import InputError, TooLargeError
from engine.ingest.attributes import MAX_DEPTH, plain
from engine.ingest.limits import UNLIMITED, Limits, beyond
from engine.ingest.otlp_json import STATUS_MESSAGE
from engine.ingest.scalars import MAX_TIME_NS, cut, hex_id, time_ns
from engine.ingest.source import Found, Refused, Source
from engine.ingest.wire import Field, fields, frames, framing
from engine.spans import Event, Span, Status

_STATUS = {int(status): status for status in Status}
_OTHER_PARTS = 100
"""Parts of a message that need not be spans, nor hold any."""
_LARGE_BYTES = 1 << 20
_MOST_PARTS = 100_000
"""Attributes, events and links of a large span; one of more is made of next to nothing."""
_NO_ID = {size: bytes(size) for size in (8, 16)}


def looks_like(head: bytes) -> bool:
    """Whether a file that begins so is OTLP protobuf.

    >>> looks_like(bytes([0x0A, 2, 0x12, 0])), looks_like(bytes([4, 0x0A, 2, 0x12, 0])), looks_like(b"text")
    (True, True, False)
    """
    return framing(head) is not None


def read(source: Source) -> Iterator[Found]:
    """Spans of a file; the number counts messages, or the resources of a single message, from 1."""
    with source.open() as stream:
        layout = framing(stream.peek(64)[:64])  # type: ignore[attr-defined]
        if layout is None:
            yield 1, Refused("neither a trace export request nor a sequence of them")
            return
        read_frame = _resource_spans if layout == "single" else spans
        number = 0
        try:
            for number, frame in enumerate(frames(stream, layout), start=1):
                for found in read_frame(frame):
                    yield number, found
        except InputError as error:
            yield number + 1, Refused(error.reason)


def spans(message: bytes, limits: Limits = UNLIMITED) -> Iterator[Span | Refused]:
    """Spans of one ``ExportTraceServiceRequest`` (or ``TracesData``, which is the same on the wire).

    Raises
    ------
    TooLargeError
        It has so many parts that it must hold more spans than it may.
    """
    broken: list[Refused] = []
    for field in _parts(message, broken, limits):
        if field.number == 1:
            yield from _resource_spans(field.value, limits)
    yield from broken


def _parts(message: bytes, broken: list[Refused], limits: Limits) -> list[Field]:
    """The fields of a message up to the first that is broken; how many spans that costs nobody knows."""
    parts = []
    most = limits.max_spans + _OTHER_PARTS
    try:
        for field in fields(message):
            parts.append(field)
            if len(parts) > most:
                raise TooLargeError(f"the request has more than {most} parts")
    except TooLargeError:
        raise
    except InputError as error:
        broken.append(Refused(error.reason, None))
    return parts


def _resource_spans(message: bytes, limits: Limits = UNLIMITED) -> Iterator[Span | Refused]:
    reasons: list[str] = []
    broken: list[Refused] = []
    parts = _parts(message, broken, limits)
    resource: dict[str, Any] = {}
    for field in parts:
        if field.number == 1:
            resource |= _resource(field.value, reasons, limits)
    yield from map(Refused, reasons)
    for field in parts:
        if field.number == 2:
            yield from _scope_spans(field.value, resource, limits)
    yield from broken


def _scope_spans(message: bytes, resource: dict[str, Any], limits: Limits) -> Iterator[Span | Refused]:
    broken: list[Refused] = []
    parts = _parts(message, broken, limits)
    scope = "".join(_scope(field.value) for field in parts if field.number == 1)
    messages = (field.value for field in parts if field.number == 2)
    for number, data in enumerate(messages, start=1):
        reasons: list[str] = []
        lost = 0
        try:
            yield _span(_parsed(data), scope, resource, reasons, limits)
        except DecodeError:
            reasons, lost = ["it does not parse"], 1
        except InputError as error:
            reasons, lost = [error.reason], 1
        for reason in reasons:
            yield Refused(f"span {number} of scope {cut(scope, 80) or '?'}: {reason}", lost)
    yield from broken


def _resource(data: bytes, reasons: list[str], limits: Limits) -> dict[str, Any]:
    try:
        return _attributes(Resource.FromString(data).attributes, reasons, limits)
    except DecodeError:
        reasons.append("the resource is left out: it does not parse")
        return {}


def _scope(data: bytes) -> str:
    try:
        return InstrumentationScope.FromString(data).name
    except DecodeError:
        return ""


def _parsed(data: bytes) -> SpanMessage:
    """The span, unless it would be a hundred times as large in memory."""
    if len(data) > _LARGE_BYTES and sum(1 for _ in islice(fields(data), _MOST_PARTS + 1)) > _MOST_PARTS:
        raise InputError(f"it has more than {_MOST_PARTS} parts")
    return SpanMessage.FromString(data)


def _span(
    message: SpanMessage, scope: str, resource: dict[str, Any], reasons: list[str], limits: Limits
) -> Span:
    trace_id, span_id = _id(message.trace_id, 16), _id(message.span_id, 8)
    start_ns = _time(message.start_time_unix_nano)
    if trace_id is None or span_id is None or start_ns is None:
        missing = "trace_id" if trace_id is None else "span_id" if span_id is None else "start_time_unix_nano"
        raise InputError(f"{missing} is missing")
    status = Status.UNSET
    kept = _attributes(message.attributes, reasons, limits)
    if message.HasField("status"):
        status = _STATUS.get(message.status.code, status)
        if message.status.message:
            kept.setdefault(STATUS_MESSAGE, message.status.message)
    return Span(
        trace_id,
        span_id,
        message.name,
        start_ns,
        _time(message.end_time_unix_nano),
        _parent(message.parent_span_id, reasons),
        status,
        scope,
        kept,
        resource,
        tuple(_events(message, reasons, limits)) if message.events else (),
    )


def _id(value: bytes, size: int) -> str | None:
    """The usual id at once, any other as :func:`hex_id` judges it."""
    return value.hex() if len(value) == size and value != _NO_ID[size] else hex_id(value, size)


def _time(value: int) -> int | None:
    return value if 0 < value < MAX_TIME_NS else time_ns(value)


def _parent(value: bytes, reasons: list[str]) -> str | None:
    try:
        return _id(value, 8)
    except InputError as error:
        reasons.append(f"the parent is left out: {error.reason}")
        return None


def _events(message: SpanMessage, reasons: list[str], limits: Limits) -> Iterator[Event]:
    found, most = len(message.events), limits.max_attributes
    if found > most:
        reasons.append(beyond(found, most, "events"))
    for event in islice(message.events, most):
        time = event.time_unix_nano
        within = 0 < time < MAX_TIME_NS
        kept = _attributes(event.attributes, reasons, limits)
        yield Event(event.name, time if within else None, kept)


def _attributes(pairs: Any, reasons: list[str], limits: Limits) -> dict[str, Any]:
    kept = {}
    pair: KeyValue
    most = limits.max_attributes
    if len(pairs) > most:
        reasons.append(beyond(len(pairs), most, "attributes"))
    for pair in islice(pairs, most):
        try:
            # Nearly every value is text, and then nothing else need be asked.
            kept[pair.key] = pair.value.string_value or _value(pair.value)
        except InputError as error:
            reasons.append(f"attribute {cut(pair.key, 80)} is left out: {error.reason}")
    return kept


def _value(value: AnyValue, depth: int = 0) -> Any:
    if depth >= MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH}")
    which = value.WhichOneof("value")
    if which == "string_value":
        return value.string_value
    if which == "int_value":
        return value.int_value
    if which is None:
        return None
    if which == "array_value":
        return [_value(item, depth + 1) for item in value.array_value.values]
    if which == "kvlist_value":
        return {pair.key: _value(pair.value, depth + 1) for pair in value.kvlist_value.values}
    return plain(getattr(value, which))
