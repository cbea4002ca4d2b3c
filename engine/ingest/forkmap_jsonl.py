"""Forkmap's own JSON lines: spans, outcomes and events of decision traces, one a line.

``docs/formats.md`` describes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

from engine.conventions import OUTCOMES
from engine.decisions.recording import span
from engine.decisions.schema import TYPES
from engine.errors import InputError
from engine.ingest import events
from engine.ingest.attributes import attributes
from engine.ingest.documents import decode, texts
from engine.ingest.scalars import cut, scrub, time_ns
from engine.ingest.source import Found, Refused, Source
from engine.paths import replace_controls
from engine.runs import Declaration, Outcome
from engine.spans import Event, Span, Status

SPAN_FIELDS = (
    "type",
    "trace_id",
    "span_id",
    "parent_id",
    "name",
    "start",
    "end",
    "status",
    "scope",
    "attributes",
    "resource",
    "events",
)
RECORD_TYPES = ("span", "outcome")
EVENT_TYPES = (*TYPES, "run")
OUTCOME_FIELDS = ("type", "run", "outcome", "time", "by")
EVENT_FIELDS = ("name", "time", "attributes")
MAX_ID_CHARACTERS = 256
_STATUS_NAMES = {"unset": Status.UNSET, "ok": Status.OK, "error": Status.ERROR}


def read(source: Source) -> Iterator[Found]:
    """What the lines of a file hold, with their numbers; beside events, lines of other types pass."""
    outline = cache(partial(events.outline_of, source))
    with source.open() as stream:
        for number, text in texts(stream):
            reasons: list[str] = []
            try:
                if isinstance(text, InputError):
                    raise text
                value = decode(text)
                kind = value.get("type") if isinstance(value, Mapping) else None
                if kind in EVENT_TYPES and (line := events.line_of(text)):
                    yield number, span(number, line, outline())
                elif kind in RECORD_TYPES or not isinstance(kind, str) or not outline().places:
                    yield number, record(value, reasons)
            except InputError as error:
                reasons = [error.reason]
            yield from ((number, Refused(reason)) for reason in reasons)


def record(value: Any, reasons: list[str]) -> Span | Declaration:
    """The span or outcome that a line holds; lost attributes are named in ``reasons``.

    Raises
    ------
    InputError
        If the line as a whole cannot be kept.

    Examples
    --------
    >>> record({"type": "outcome", "run": "r1", "outcome": "Failed", "time": "2026-01-01T00:00:00Z"}, [])
    Declaration(run_id='r1', outcome=<Outcome.FAILURE: 1>, time_ns=1767225600000000000, by='')
    """
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind == "span":
        return _span(_known(value, SPAN_FIELDS), reasons)
    if kind == "outcome":
        return _outcome(_known(value, OUTCOME_FIELDS))
    known = ", ".join((*RECORD_TYPES, *EVENT_TYPES))
    raise InputError(f'an object was expected whose "type" is one of {known}')


def _known(value: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    for name in value:
        if name not in names:
            raise InputError(f"unknown field {cut(name, 60)!r}; known: {', '.join(names)}")
    return value


def _span(value: Mapping[str, Any], reasons: list[str]) -> Span:
    return Span(
        trace_id=_id(value, "trace_id"),
        span_id=_id(value, "span_id"),
        name=_text(value, "name"),
        start_ns=_time(value, "start"),
        end_ns=_optional_time(value, "end"),
        parent_id=_id(value, "parent_id") if value.get("parent_id") else None,
        status=_status(value.get("status")),
        scope=_text(value, "scope"),
        attributes=_attributes(value, "attributes", reasons),
        resource=_attributes(value, "resource", reasons),
        events=tuple(_events(value, reasons)),
    )


def _outcome(value: Mapping[str, Any]) -> Declaration:
    name = _text(value, "outcome")
    outcome = OUTCOMES.get(name.lower())
    if outcome is None:
        raise InputError(f"outcome {cut(name, 60)!r} is none of {', '.join(OUTCOMES)}")
    run = replace_controls(_text(value, "run").strip())
    if not run:
        raise InputError("run is missing")
    return Declaration(run, Outcome[outcome.upper()], _time(value, "time"), _text(value, "by"))


def _id(value: Mapping[str, Any], name: str) -> str:
    text = _text(value, name)
    if not text:
        raise InputError(f"{name} is missing")
    if len(text) > MAX_ID_CHARACTERS or not text.isprintable():
        raise InputError(f"{name} is over {MAX_ID_CHARACTERS} characters, or not printable")
    return text


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise InputError(f"{name} is not text")
    return scrub(text)


def _time(value: Mapping[str, Any], name: str) -> int:
    time = _optional_time(value, name)
    if time is None:
        raise InputError(f"{name} is missing")
    return time


def _optional_time(value: Mapping[str, Any], name: str) -> int | None:
    try:
        return time_ns(value.get(name))
    except InputError as error:
        raise InputError(f"{name}: {error.reason}") from None


def _status(value: Any) -> Status:
    if value is None:
        return Status.UNSET
    if not isinstance(value, str) or value.lower() not in _STATUS_NAMES:
        raise InputError(f"status is none of {', '.join(_STATUS_NAMES)}")
    return _STATUS_NAMES[value.lower()]


def _attributes(value: Mapping[str, Any], name: str, reasons: list[str]) -> dict[str, Any]:
    item = value.get(name)
    if item is not None and not isinstance(item, Mapping):
        raise InputError(f"{name} is not an object")
    return attributes(item, reasons)


def _events(value: Mapping[str, Any], reasons: list[str]) -> Iterator[Event]:
    events = value.get("events")
    if events is None:
        return
    if not isinstance(events, list) or not all(isinstance(event, Mapping) for event in events):
        raise InputError("events is not a list of objects")
    for event in events:
        _known(event, EVENT_FIELDS)
        yield Event(
            _text(event, "name"),
            _optional_time(event, "time"),
            _attributes(event, "attributes", reasons),
        )
