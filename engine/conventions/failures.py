"""What a failed call says of its failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.conventions.table import EXCEPTION_EVENT, EXCEPTION_KEYS, MESSAGE_KEYS
from engine.conventions.values import first
from engine.spans import Span


def failure(span: Span) -> str:
    """Type and message of the last exception a span recorded, else what its attributes say; "" for nothing.

    >>> from engine.spans import Event
    >>> said = {"exception.type": "KeyError", "exception.message": "order 417"}
    >>> failure(Span("t", "s", "call", 0, events=(Event("exception", attributes=said),)))
    'KeyError: order 417'
    >>> failure(Span("t", "s", "call", 0, attributes={"error.type": "timeout"}))
    'timeout'
    """
    recorded = (each.attributes for each in reversed(span.events) if each.name == EXCEPTION_EVENT)
    places = (*recorded, span.attributes)
    return next((said for said in map(_said, places) if said), "")


def _said(place: Mapping[str, Any]) -> str:
    kind, message = first(place, EXCEPTION_KEYS), first(place, MESSAGE_KEYS)
    return ": ".join(each for each in (kind, message) if each)
