"""Making whatever a span holds fit the store.

Text that is not Unicode, integers beyond 64 bits and values MessagePack has no form for
are kept in the nearest form there is. Nothing is refused for its looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.runs import Step
from engine.spans import Event, Span

MAX_INTEGER = 2**63 - 1
"""Largest integer a column holds."""
MAX_DEPTH = 100
"""Levels of nesting kept of an attribute that is nested too deeply to be packed as it is."""


def plain(text: str) -> str:
    """Text as the store keeps it: a lone surrogate becomes U+FFFD.

    >>> plain("a\\ud800b")
    'a\ufffdb'
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def bounded(number: int, limit: int = MAX_INTEGER) -> int:
    """An integer as a column holds it, within 64 bits.

    >>> bounded(7), bounded(10**30) == MAX_INTEGER, bounded(-10**30) == -MAX_INTEGER
    (7, True, True)
    """
    return max(-limit, min(limit, number))


def fitted(span: Span) -> Span:
    """The span with every value in a form that can be packed; most spans need no change.

    >>> fitted(Span("t", "s", "n", 10**30, attributes={"big": 10**30, "\\ud800": 1})).attributes
    {'big': '1000000000000000000000000000000', '\ufffd': 1}
    """
    return Span(
        plain(span.trace_id),
        plain(span.span_id),
        plain(span.name),
        bounded(span.start_ns),
        None if span.end_ns is None else bounded(span.end_ns),
        None if span.parent_id is None else plain(span.parent_id),
        span.status,
        plain(span.scope),
        _fitted_items(span.attributes, MAX_DEPTH),
        _fitted_items(span.resource, MAX_DEPTH),
        tuple(_fitted_event(event) for event in span.events),
    )


def _fitted_event(event: Event) -> Event:
    time_ns = None if event.time_ns is None else bounded(event.time_ns)
    return Event(plain(event.name), time_ns, _fitted_items(event.attributes, MAX_DEPTH))


def _fitted_items(values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    return {plain(str(key)): _fitted_value(value, depth - 1) for key, value in values.items()}


def _fitted_value(value: object, depth: int) -> Any:
    if isinstance(value, bool | float | None):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else _integer_text(value)
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping | list | tuple) and depth <= 0:
        return "…"
    if isinstance(value, Mapping):
        return _fitted_items(value, depth)
    if isinstance(value, list | tuple):
        return [_fitted_value(item, depth - 1) for item in value]
    return plain(str(value))


def _integer_text(value: int) -> str:
    """Decimal where Python allows a text of that length, else hexadecimal."""
    try:
        return str(value)
    except ValueError:
        return hex(value)


def fitted_step(step: Step) -> Step:
    """The step with numbers whose differences fit 64 bits."""
    texts = {"signature": step.signature, "trace_id": step.trace_id, "span_id": step.span_id}
    numbers = (step.start_ns, step.end_ns, step.input_tokens, step.output_tokens)
    start_ns, end_ns, read, written = (n if n is None else bounded(n, MAX_INTEGER // 2) for n in numbers)
    return Step(
        **texts,
        start_ns=start_ns or 0,
        end_ns=end_ns,
        error=step.error,
        input_tokens=read,
        output_tokens=written,
    )
