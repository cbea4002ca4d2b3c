"""The span as it arrives: one timed operation of one trace.

A span is kept exactly as its exporter sent it; what its attributes *mean* is read by
:mod:`engine.conventions`, so that a better reading needs no new import.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec


class Status(IntEnum):
    """OpenTelemetry's span status."""

    UNSET = 0
    OK = 1
    ERROR = 2


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that happened inside a span."""

    name: str
    time_ns: int | None = None
    attributes: dict[str, Any] = {}


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """One operation. Identity inside a tenant: ``(trace_id, span_id)``.

    Attributes
    ----------
    start_ns, end_ns : int
        Nanoseconds since the Unix epoch, UTC; ``end_ns`` is None while the span is open.
    attributes, resource : dict
        Plain JSON values: str, bool, int, float, list, dict or None.
    scope : str
        Name of the instrumentation library.
    """

    trace_id: str
    span_id: str
    name: str
    start_ns: int
    end_ns: int | None = None
    parent_id: str | None = None
    status: Status = Status.UNSET
    scope: str = ""
    attributes: dict[str, Any] = {}
    resource: dict[str, Any] = {}
    events: tuple[Event, ...] = ()
