"""Moments at which something was changed, as a deploy."""

from __future__ import annotations

import msgspec

from dashboard.documents import Count, Time, rfc3339
from engine import store


class Marker(msgspec.Struct, frozen=True):
    """When something was changed, and whose runs it concerns: an agent's, or everybody's (null)."""

    number: Count
    name: str
    time: Time
    agent: str | None


class Markers(msgspec.Struct, frozen=True):
    """Markers, the latest first."""

    markers: list[Marker]


def marker(found: store.Marker) -> Marker:
    """A marker for programs."""
    return Marker(found.number, found.name, rfc3339(found.time_ns), found.agent)
