"""OTLP protobuf files: one ``TracesData``, or a sequence of them, each after its length.

A length is a varint, as OpenTelemetry's file exporter specification has it, or four bytes,
big-endian, as the Collector's file exporter writes. The envelope is walked here, field by field,
so that a span that does not parse costs itself only and a long file is never held whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from engine.errors import InputError, TooLargeError
from engine.ingest import otlp_message
from engine.ingest.limits import UNLIMITED, Limits
from engine.ingest.scalars import cut
from engine.ingest.source import Found, Refused, Source
from engine.ingest.wire import Field, fields, frames, framing
from engine.spans import Span

_OTHER_PARTS = 100
"""Parts of a message that need not be spans, nor hold any."""


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
        for field in islice(fields(message), most + 1):
            parts.append(field)  # noqa: PERF402
    except InputError as error:
        broken.append(Refused(error.reason, None))
    if len(parts) > most:
        raise TooLargeError(f"the request has more than {most} parts")
    return parts


def _resource_spans(message: bytes, limits: Limits = UNLIMITED) -> Iterator[Span | Refused]:
    reasons: list[str] = []
    broken: list[Refused] = []
    parts = _parts(message, broken, limits)
    resource: dict[str, Any] = {}
    for field in parts:
        if field.number == 1:
            resource |= otlp_message.resource(field.value, reasons, limits)
    yield from map(Refused, reasons)
    for field in parts:
        if field.number == 2:
            yield from _scope_spans(field.value, resource, limits)
    yield from broken


def _scope_spans(message: bytes, resource: dict[str, Any], limits: Limits) -> Iterator[Span | Refused]:
    broken: list[Refused] = []
    parts = _parts(message, broken, limits)
    scope = "".join(otlp_message.scope(field.value) for field in parts if field.number == 1)
    messages = (field.value for field in parts if field.number == 2)
    for number, data in enumerate(messages, start=1):
        reasons: list[str] = []
        lost = 0
        try:
            yield otlp_message.span(data, scope, resource, reasons, limits)
        except InputError as error:
            reasons, lost = [error.reason], 1
        for reason in reasons:
            yield Refused(f"span {number} of scope {cut(scope, 80) or '?'}: {reason}", lost)
    yield from broken
