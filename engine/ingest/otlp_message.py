"""One message of OTLP protobuf at a time, parsed by ``opentelemetry-proto``, into the engine's values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from engine.errors import InputError
from engine.ingest.attributes import MAX_DEPTH, plain
from engine.ingest.limits import Limits, beyond
from engine.ingest.otlp_json import STATUS_MESSAGE
from engine.ingest.scalars import MAX_TIME_NS, cut, hex_id, time_ns
from engine.ingest.wire import fields
from engine.spans import Event, Span, Status

_LARGE_BYTES = 1 << 20
_MOST_PARTS = 100_000
"""Attributes, events and links of a large span; one of more is made of next to nothing."""
_STATUS = {int(status): status for status in Status}
_NO_ID = {size: bytes(size) for size in (8, 16)}


def resource(data: bytes, reasons: list[str], limits: Limits) -> dict[str, Any]:
    """The attributes of a ``Resource``; what cannot be read is named in ``reasons``."""
    try:
        return _attributes(Resource.FromString(data).attributes, reasons, limits)
    except DecodeError:
        reasons.append("the resource is left out: it does not parse")
        return {}


def scope(data: bytes) -> str:
    """The name of an ``InstrumentationScope``."""
    try:
        return InstrumentationScope.FromString(data).name
    except DecodeError:
        return ""


def span(data: bytes, scope: str, resource: dict[str, Any], reasons: list[str], limits: Limits) -> Span:
    """A ``Span``; what of it cannot be read is left out and named in ``reasons``.

    Raises
    ------
    InputError
        It cannot be kept.
    """
    message = _parsed(data)
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


def _parsed(data: bytes) -> SpanMessage:
    """The message, unless it would be a hundred times as large in memory."""
    if len(data) > _LARGE_BYTES and sum(1 for _ in islice(fields(data), _MOST_PARTS + 1)) > _MOST_PARTS:
        raise InputError(f"it has more than {_MOST_PARTS} parts")
    try:
        return SpanMessage.FromString(data)
    except DecodeError:
        raise InputError("it does not parse") from None


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
