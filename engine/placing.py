"""Where each span of a run stands: what it hangs from, how deep, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from engine.conventions import Kind, Reading
from engine.spans import Span

Key = tuple[str, str]
"""Trace id and span id."""


class Placed(msgspec.Struct, frozen=True, eq=False):
    """A span in its run.

    Attributes
    ----------
    depth : int
        Ancestors it has in the run; 0 for a root, for an absent parent and in a cycle.
    caller : Placed or None
        The nearest span above it that is a model, tool or agent call.
    outermost : bool
        Whether no agent span is above it.
    """

    span: Span
    reading: Reading
    depth: int
    caller: Placed | None
    outermost: bool

    @property
    def order(self) -> tuple[int, int, str, str, str]:
        """What a run's spans are ordered by."""
        span, reading = self.span, self.reading
        return span.start_ns, self.depth, f"{reading.kind}:{reading.name}", span.span_id, span.trace_id


def place(spans: Iterable[Span], read: Callable[[Span], Reading]) -> list[Placed]:
    """Read every span of a run, find what it hangs from, and put them in order.

    A span given twice counts once: the last copy, unless that is open and an earlier one has ended.
    """
    known: dict[Key, Span] = {}
    for span in spans:
        key = span.trace_id, span.span_id
        if span.end_ns is not None or key not in known or known[key].end_ns is None:
            known[key] = span
    placed: dict[Key, Placed] = {}
    for key in known:
        hanging, ring = _climb(key, known, placed)
        for at in ring:
            placed[at] = _below(None, known[at], read(known[at]))
        for at in reversed(hanging):
            placed[at] = _below(placed.get(_parent(known[at])), known[at], read(known[at]))
    return sorted(placed.values(), key=lambda found: found.order)


def _parent(span: Span) -> Key:
    return span.trace_id, span.parent_id or ""


def _climb(key: Key, known: Mapping[Key, Span], placed: Mapping[Key, Placed]) -> tuple[list[Key], list[Key]]:
    """The span and all above it that have no place yet, upwards, and the cycle this ends in, if any."""
    climb: dict[Key, None] = {}
    while key in known and key not in placed and key not in climb:
        climb[key] = None
        key = _parent(known[key])
    hanging = list(climb)
    top = hanging.index(key) if key in climb else len(hanging)
    return hanging[:top], hanging[top:]


def _below(parent: Placed | None, span: Span, reading: Reading) -> Placed:
    if parent is None:
        return Placed(span, reading, 0, None, True)
    kind = parent.reading.kind
    return Placed(
        span,
        reading,
        parent.depth + 1,
        parent.caller if kind is Kind.OTHER else parent,
        parent.outermost and kind is not Kind.AGENT,
    )
