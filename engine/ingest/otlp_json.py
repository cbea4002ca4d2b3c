"""OTLP JSON: trace export requests, and the shapes of it that are found in the wild.

Read besides the standard: snake_case names, base64 ids, status as a name, attributes as a plain
object, a list of requests, a request's inner parts on their own, and single spans as the
OpenTelemetry SDKs print them (``context`` or ``spanContext``, ISO times).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from engine.errors import InputError, TooLargeError
from engine.ingest.attributes import attributes
from engine.ingest.documents import documents
from engine.ingest.limits import UNLIMITED, Limits, beyond
from engine.ingest.scalars import hex_id, optional_text, scrub, short, time_ns
from engine.ingest.source import Found, Refused, Source
from engine.spans import Event, Span, Status

RESOURCE_SPANS = ("resourceSpans", "resource_spans", "batches")
SCOPE_SPANS = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
)
SPAN_ID = ("spanId", "span_id")
CONTEXT = ("spanContext", "span_context", "context")
_OTHER_SIGNALS = {
    "resourceLogs",
    "resource_logs",
    "resourceMetrics",
    "resource_metrics",
    "resourceProfiles",
}
_KNOWN = {*RESOURCE_SPANS, *SCOPE_SPANS, *SPAN_ID, *CONTEXT, "spans"}
_SCOPE = (
    "scope",
    "instrumentationScope",
    "instrumentation_scope",
    "instrumentationLibrary",
    "instrumentation_library",
)
_TRACE_ID = ("traceId", "trace_id")
_PARENT = ("parentSpanId", "parent_span_id", "parentId", "parent_id")
_START = ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time")
_END = ("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")
_EVENT_TIME = ("timeUnixNano", "time_unix_nano", "time", "timestamp")
_STATUS = ("code", "status_code", "statusCode")
_MESSAGE = ("message", "description")
_STATUS_NAMES = {"UNSET": Status.UNSET, "OK": Status.OK, "ERROR": Status.ERROR}
STATUS_MESSAGE = "otel.status_description"
"""Attribute that carries the message of a span's status."""

_T = TypeVar("_T")


class _Raw(NamedTuple):
    """A span as decoded, with what its envelope says of it."""

    span: Mapping[str, Any]
    scope: str
    resource: dict[str, Any]


def read(source: Source) -> Iterator[Found]:
    """Spans of a file; the number is the line the span's document begins in."""
    with source.open() as stream:
        for line, document in documents(stream):
            if isinstance(document, InputError):
                yield line, Refused(document.reason)
            else:
                for found in spans(document):
                    yield line, found


def spans(document: Any, limits: Limits = UNLIMITED) -> Iterator[Span | Refused]:
    """Spans of one export request, and what had to be left out of it.

    Raises
    ------
    TooLargeError
        It has more groups of spans than it may have spans.

    Examples
    --------
    >>> span = {"traceId": "0A" * 16, "spanId": "0b" * 8, "name": "chat", "startTimeUnixNano": "1"}
    >>> first, second = spans({"scopeSpans": [{"scope": {"name": "s"}, "spans": [span, {}]}]})
    >>> first.trace_id, first.start_ns, first.scope
    ('0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a', 1, 's')
    >>> second
    Refused(reason='span 2: traceId is missing', spans=1)
    """
    if not isinstance(document, dict):
        yield Refused("an object of spans was expected", None)
    elif document.keys() & _OTHER_SIGNALS or not document:
        return
    elif not document.keys() & _KNOWN:
        yield Refused("no resourceSpans in this object", None)
    else:
        number = 0
        for item in _walk(document, limits):
            number += isinstance(item, _Raw)
            yield from (item,) if isinstance(item, Refused) else _convert(number, item, limits)


def _convert(number: int, raw: _Raw, limits: Limits) -> Iterator[Span | Refused]:
    reasons: list[str] = []
    lost = 0
    try:
        yield _span(raw, reasons, limits)
    except InputError as error:
        reasons, lost = [error.reason], 1
    for reason in reasons:
        yield Refused(f"span {number}: {reason}", lost)


def _walk(document: Mapping[str, Any], limits: Limits) -> Iterator[_Raw | Refused]:
    """Every span of a document, however much of the envelope is there."""
    if document.keys() & set(RESOURCE_SPANS):
        for block in _groups(document, RESOURCE_SPANS, limits):
            yield from (block,) if isinstance(block, Refused) else _walk_block(block, limits)
    elif document.keys() & {*SCOPE_SPANS, "spans"}:
        yield from _walk_block(document, limits)
    else:
        yield from _walk_block({**document, "spans": [document]}, limits)


def _walk_block(block: Mapping[str, Any], limits: Limits) -> Iterator[_Raw | Refused]:
    reasons: list[str] = []
    resource = block.get("resource")
    given = resource.get("attributes") if isinstance(resource, dict) else None
    shared = attributes(given, reasons, limits.max_attributes)
    yield from (Refused(f"resource: {reason}") for reason in reasons)
    groups = _groups(block, SCOPE_SPANS, limits) if block.keys() & set(SCOPE_SPANS) else [block]
    for group in groups:
        if isinstance(group, Refused):
            yield group
            continue
        scope = _scope(group)
        for span in _objects(group, ("spans",)):
            yield span if isinstance(span, Refused) else _Raw(span, scope, shared)


def _groups(parent: Mapping[str, Any], names: tuple[str, ...], limits: Limits) -> list[Any]:
    """The objects of a list field that each hold spans: of these there are no more than of spans."""
    found = _objects(parent, names)
    if len(found) > limits.max_spans:
        raise TooLargeError(f"the request holds more than {limits.max_spans} {names[0]}")
    return found


def _objects(parent: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    """The objects of a list field; whatever is not an object is replaced by a refusal."""
    items = _first(parent, names)
    if items is None:
        return []
    if not isinstance(items, list):
        return [Refused(f"{names[0]} is not a list", None)]
    wrong = Refused(f"an entry of {names[0]} is not an object", 1 if names[0] == "spans" else None)
    return [item if isinstance(item, dict) else wrong for item in items]


def _first(item: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if (value := item.get(name)) is not None:
            return value
    return None


def _scope(group: Mapping[str, Any]) -> str:
    scope = _first(group, _SCOPE)
    return _text(scope.get("name") if isinstance(scope, dict) else scope)


def _text(value: Any) -> str:
    return scrub(value) if isinstance(value, str) else ""


def _span(raw: _Raw, reasons: list[str], limits: Limits) -> Span:
    item = raw.span
    context = _first(item, CONTEXT)
    ids = context if isinstance(context, dict) else item
    kept = attributes(item.get("attributes"), reasons, limits.max_attributes)
    status = item.get("status")
    if message := _text(_first(status, _MESSAGE) if isinstance(status, dict) else None):
        kept.setdefault(STATUS_MESSAGE, message)
    return Span(
        trace_id=_required(hex_id(_first(ids, _TRACE_ID), 16), "traceId"),
        span_id=_required(hex_id(_first(ids, SPAN_ID), 8), "spanId"),
        name=_text(item.get("name")),
        start_ns=_required(time_ns(_first(item, _START)), "startTimeUnixNano"),
        end_ns=time_ns(_first(item, _END)),
        parent_id=_parent(item, reasons),
        status=_status(status, reasons),
        scope=raw.scope,
        attributes=kept,
        resource=raw.resource,
        events=tuple(_events(item, reasons, limits.max_attributes)),
    )


def _required(value: _T | None, name: str) -> _T:
    if value is None:
        raise InputError(f"{name} is missing")
    return value


def _parent(item: Mapping[str, Any], reasons: list[str]) -> str | None:
    try:
        return hex_id(_first(item, _PARENT), 8)
    except InputError as error:
        reasons.append(f"the parent is left out: {error.reason}")
        return None


def _status(value: Any, reasons: list[str]) -> Status:
    """Status from ``{code}``, a number, or a name with or without its prefix."""
    code = _first(value, _STATUS) if isinstance(value, dict) else value
    if code is None or code == "":
        return Status.UNSET
    name = (optional_text(code) or "?").upper().removeprefix("STATUSCODE.").removeprefix("STATUS_CODE_")
    if name in _STATUS_NAMES:
        return _STATUS_NAMES[name]
    if name in {"0", "1", "2"}:
        return Status(int(name))
    reasons.append(f"the status is left out: {short(code)} is none")
    return Status.UNSET


def _events(item: Mapping[str, Any], reasons: list[str], most: int) -> Iterator[Event]:
    found = _objects(item, ("events",))
    if len(found) > most:
        reasons.append(beyond(len(found), most, "events"))
    for raw in found[:most]:
        if isinstance(raw, Refused):
            reasons.append(raw.reason)
            continue
        try:
            time = time_ns(_first(raw, _EVENT_TIME))
        except InputError as error:
            reasons.append(f"the time of an event is left out: {error.reason}")
            time = None
        yield Event(_text(raw.get("name")), time, attributes(raw.get("attributes"), reasons, most))
