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
        read_frame = _lone_resource_spans if layout == "single" else spans
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
        It has more parts than it may.
    """
    broken: list[Refused] = []
    request = _Request(limits)
    for field in request.parts(message, broken):
        if field.number == 1:
            yield from _resource_spans(field.value, request)
    yield from broken


class _Request:
    """Takes the messages of a request apart, as long as it has no more parts in all than it may."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._left = limits.max_parts

    def parts(self, message: bytes, broken: list[Refused]) -> list[Field]:
        """The fields of a message up to the first that is broken; how many spans that costs nobody knows."""
        parts = []
        try:
            for field in islice(fields(message), self._left + 1):
                parts.append(field)  # noqa: PERF402
        except InputError as error:
            broken.append(Refused(error.reason, None))
        self._left -= len(parts)
        if self._left < 0:
            raise TooLargeError(f"the request has more than {self.limits.max_parts} parts")
        return parts


def _lone_resource_spans(message: bytes) -> Iterator[Span | Refused]:
    return _resource_spans(message, _Request(UNLIMITED))


def _resource_spans(message: bytes, request: _Request) -> Iterator[Span | Refused]:
    reasons: list[str] = []
    broken: list[Refused] = []
    parts = request.parts(message, broken)
    resource: dict[str, Any] = {}
    for field in parts:
        if field.number == 1:
            resource |= otlp_message.resource(field.value, reasons, request.limits)
    yield from map(Refused, reasons)
    for field in parts:
        if field.number == 2:
            yield from _scope_spans(field.value, resource, request)
    yield from broken


def _scope_spans(message: bytes, resource: dict[str, Any], request: _Request) -> Iterator[Span | Refused]:
    broken: list[Refused] = []
    parts = request.parts(message, broken)
    scope = "".join(otlp_message.scope(field.value) for field in parts if field.number == 1)
    messages = (field.value for field in parts if field.number == 2)
    for number, data in enumerate(messages, start=1):
        reasons: list[str] = []
        lost = 0
        try:
            yield otlp_message.span(data, scope, resource, reasons, request.limits)
        except InputError as error:
            reasons, lost = [error.reason], 1
        for reason in reasons:
            yield Refused(f"span {number} of scope {cut(scope, 80) or '?'}: {reason}", lost)
    yield from broken
