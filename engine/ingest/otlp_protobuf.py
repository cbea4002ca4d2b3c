"""OTLP protobuf files: one ``TracesData``, or a sequence of them, each after its length.

A length is a varint, as OpenTelemetry's file exporter specification has it, or four bytes,
big-endian, as the Collector's file exporter writes. The envelope is walked here, field by field,
so that a span that does not parse costs itself only and a long file is never held whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    InstrumentationScope,
    KeyValue,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from engine.errors import InputError
from engine.ingest.otlp_json import STATUS_MESSAGE
from engine.ingest.source import Found, Refused, Source
from engine.ingest.values import MAX_DEPTH, cut, hex_id, plain, time_ns
from engine.spans import Event, Span, Status

MAX_FRAME_BYTES = 1 << 29
"""A message longer than this is refused."""
_RESOURCE_SPANS = 0x0A
_INNER_TAGS = (0x0A, 0x12, 0x1A)
_READ_BYTES = 1 << 20


class _Field(NamedTuple):
    number: int
    value: bytes


def looks_like(head: bytes) -> bool:
    """Whether a file that begins so is OTLP protobuf.

    >>> looks_like(bytes([0x0A, 2, 0x12, 0])), looks_like(bytes([4, 0x0A, 2, 0x12, 0])), looks_like(b"text")
    (True, True, False)
    """
    return _framing(head) is not None


def read(source: Source) -> Iterator[Found]:
    """Spans of a file; the number counts messages, or the resources of a single message, from 1."""
    with source.open() as stream:
        framing = _framing(stream.peek(64)[:64])  # type: ignore[attr-defined]
        if framing is None:
            yield 1, Refused("neither a trace export request nor a sequence of them")
            return
        number = 0
        try:
            for number, frame in enumerate(_frames(stream, framing), start=1):
                for found in (
                    spans(frame) if framing != "single" else _resource_spans(frame)
                ):
                    yield number, found
        except InputError as error:
            yield number + 1, Refused(error.reason)


def spans(message: bytes) -> Iterator[Span | Refused]:
    """Spans of one ``ExportTraceServiceRequest`` (or ``TracesData``, which is the same on the wire)."""
    try:
        for field in _fields(message):
            if field.number == 1:
                yield from _resource_spans(field.value)
    except InputError as error:
        yield Refused(error.reason)


def _framing(head: bytes) -> str | None:
    """How messages are laid out in a file that begins so: single, varint, uint32 or None."""
    try:
        if head[:1] == b"\n":
            size, at = _varint(head, 1)
            if size == 0 or (at < len(head) and head[at] in _INNER_TAGS):
                return "single"
        size, at = _varint(head, 0)
        if 0 < size <= MAX_FRAME_BYTES and head[at : at + 1] == b"\n":
            return "varint"
    except InputError:
        pass
    if 0 < int.from_bytes(head[:4], "big") <= MAX_FRAME_BYTES and head[4:5] == b"\n":
        return "uint32"
    return None


def _frames(stream: BinaryIO, framing: str) -> Iterator[bytes]:
    while prefix := stream.read(4 if framing == "uint32" else 1):
        if framing == "uint32":
            size = int.from_bytes(_exactly(stream, 4 - len(prefix), prefix), "big")
        elif framing == "varint":
            size = _stream_varint(stream, prefix)
        elif prefix[0] == _RESOURCE_SPANS:
            size = _stream_varint(stream, stream.read(1))
        else:
            raise InputError(
                f"byte {prefix[0]:#04x} where resource spans were expected; the rest is not read"
            )
        if size > MAX_FRAME_BYTES:
            raise InputError(
                f"a message of {size} bytes is too long; the rest is not read"
            )
        yield _exactly(stream, size)


def _exactly(stream: BinaryIO, size: int, begun: bytes = b"") -> bytes:
    """``size`` more bytes, read in pieces so that a false length claims no memory."""
    data = bytearray(begun)
    end = len(begun) + size
    while len(data) < end:
        piece = stream.read(min(_READ_BYTES, end - len(data)))
        if not piece:
            raise InputError(
                f"the file is cut off: {end} bytes were announced, {len(data)} are there"
            )
        data += piece
    return bytes(data)


def _stream_varint(stream: BinaryIO, begun: bytes) -> int:
    data = begun
    while data and data[-1] & 0x80 and len(data) < 10:
        data += stream.read(1) or b"\0"
    return _varint(data, 0)[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A base-128 integer and the index after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise InputError("not protobuf: a length that does not end")


def _fields(message: bytes) -> Iterator[_Field]:
    """The length-delimited fields of a message; others are passed over."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire_type = tag & 7
        if wire_type == 2:
            size, at = _varint(message, at)
        elif wire_type == 0:
            size = _varint(message, at)[1] - at
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise InputError(f"not protobuf: wire type {wire_type}")
        if at + size > len(message):
            raise InputError("not protobuf: a field that is longer than its message")
        if wire_type == 2:
            yield _Field(tag >> 3, message[at : at + size])
        at += size


def _resource_spans(message: bytes) -> Iterator[Span | Refused]:
    try:
        fields = list(_fields(message))
    except InputError as error:
        yield Refused(error.reason)
        return
    reasons: list[str] = []
    resource: dict[str, Any] = {}
    for field in fields:
        if field.number == 1:
            resource |= _resource(field.value, reasons)
    yield from (Refused(f"resource: {reason}") for reason in reasons)
    for field in fields:
        if field.number == 2:
            yield from _scope_spans(field.value, resource)


def _scope_spans(message: bytes, resource: dict[str, Any]) -> Iterator[Span | Refused]:
    try:
        fields = list(_fields(message))
    except InputError as error:
        yield Refused(error.reason)
        return
    scope = "".join(_scope(field.value) for field in fields if field.number == 1)
    raw = (field.value for field in fields if field.number == 2)
    for number, data in enumerate(raw, start=1):
        reasons: list[str] = []
        try:
            yield _span(SpanMessage.FromString(data), scope, resource, reasons)
        except DecodeError:
            reasons = ["it does not parse"]
        except InputError as error:
            reasons = [error.reason]
        yield from (
            Refused(f"span {number} of scope {scope or '?'}: {reason}")
            for reason in reasons
        )


def _resource(data: bytes, reasons: list[str]) -> dict[str, Any]:
    try:
        return _attributes(Resource.FromString(data).attributes, reasons)
    except DecodeError:
        reasons.append("it does not parse")
        return {}


def _scope(data: bytes) -> str:
    try:
        return InstrumentationScope.FromString(data).name
    except DecodeError:
        return ""


def _span(
    message: SpanMessage, scope: str, resource: dict[str, Any], reasons: list[str]
) -> Span:
    trace_id, span_id = hex_id(message.trace_id, 16), hex_id(message.span_id, 8)
    start_ns = time_ns(message.start_time_unix_nano)
    if trace_id is None or span_id is None or start_ns is None:
        missing = (
            "trace_id"
            if trace_id is None
            else "span_id"
            if span_id is None
            else "start_time_unix_nano"
        )
        raise InputError(f"{missing} is missing")
    kept = _attributes(message.attributes, reasons)
    if message.status.message:
        kept.setdefault(STATUS_MESSAGE, message.status.message)
    code = int(message.status.code)
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        name=message.name,
        start_ns=start_ns,
        end_ns=time_ns(message.end_time_unix_nano),
        parent_id=_parent(message.parent_span_id, reasons),
        status=Status(code) if code in (0, 1, 2) else Status.UNSET,
        scope=scope,
        attributes=kept,
        resource=resource,
        events=tuple(
            Event(
                event.name,
                _event_time(event.time_unix_nano),
                _attributes(event.attributes, reasons),
            )
            for event in message.events
        ),
    )


def _parent(value: bytes, reasons: list[str]) -> str | None:
    try:
        return hex_id(value, 8)
    except InputError as error:
        reasons.append(f"the parent is left out: {error.reason}")
        return None


def _event_time(value: int) -> int | None:
    return value if 0 < value < 2**63 else None


def _attributes(pairs: Any, reasons: list[str]) -> dict[str, Any]:
    kept = {}
    pair: KeyValue
    for pair in pairs:
        try:
            kept[pair.key] = _value(pair.value)
        except InputError as error:
            reasons.append(f"attribute {cut(pair.key, 80)} is left out: {error.reason}")
    return kept


def _value(value: AnyValue, depth: int = 0) -> Any:
    if depth >= MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH}")
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "array_value":
        return [_value(item, depth + 1) for item in value.array_value.values]
    if which == "kvlist_value":
        return {
            pair.key: _value(pair.value, depth + 1)
            for pair in value.kvlist_value.values
        }
    return plain(getattr(value, which))
