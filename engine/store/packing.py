"""How values lie in the store: a span's body, a run's steps, a path's words.

Whatever a span holds is made to fit: text that is not Unicode, integers beyond 64 bits,
values MessagePack has no form for. Nothing is refused for its looks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.paths import Fold, half
from engine.runs import Run, Step
from engine.spans import Event, Span, Status

MAX_INTEGER = 2**63 - 1
"""Largest integer a column holds."""
MAX_DEPTH = 100
"""Levels of nesting kept of an attribute that is nested too deeply to be packed as it is."""


class Body(msgspec.Struct, frozen=True, array_like=True):
    """A span without what its key holds."""

    name: str
    start_ns: int
    end_ns: int | None
    parent_id: str | None
    status: Status
    scope: str
    attributes: dict[Any, Any]
    resource: dict[Any, Any]
    events: tuple[Event, ...]


class Steps(msgspec.Struct, frozen=True, array_like=True):
    """A run's steps, each text written once.

    A step is (signature index, start after the first step's, duration or None, trace
    index, span id, error, input tokens, output tokens).
    """

    origin_ns: int
    signatures: tuple[str, ...]
    trace_ids: tuple[str, ...]
    steps: tuple[tuple[int, int, int | None, int, str, bool, int | None, int | None], ...]


MAX_SIGNATURES = 2**24 - 2
"""Largest signature number a path's word holds."""

_END = 0xFFFFFF00
_ENCODER = msgspec.msgpack.Encoder(order="deterministic", enc_hook=str)
_BODY = msgspec.msgpack.Decoder(Body)
_STEPS = msgspec.msgpack.Decoder(Steps)


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


def pack_span(span: Span) -> bytes:
    """The body of a span, the same bytes for equal spans whatever the order of their keys."""
    return _ENCODER.encode(
        (
            span.name,
            span.start_ns,
            span.end_ns,
            span.parent_id,
            span.status,
            span.scope,
            span.attributes,
            span.resource,
            span.events,
        )
    )


def unpack_span(trace_id: str, span_id: str, body: bytes) -> Span:
    """The span again."""
    kept = _BODY.decode(body)
    return Span(
        trace_id,
        span_id,
        kept.name,
        kept.start_ns,
        kept.end_ns,
        kept.parent_id,
        kept.status,
        kept.scope,
        kept.attributes,
        kept.resource,
        kept.events,
    )


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


def pack_steps(steps: Sequence[Step], trace_ids: Iterable[str]) -> bytes:
    """A run's steps and the ids of its traces."""
    try:
        return _pack_steps(steps, trace_ids)
    except OverflowError:
        return _pack_steps([_fitted_step(step) for step in steps], trace_ids)


def _pack_steps(steps: Sequence[Step], trace_ids: Iterable[str]) -> bytes:
    origin_ns = steps[0].start_ns if steps else 0
    signatures = {text: index for index, text in enumerate(dict.fromkeys(s.signature for s in steps))}
    traces = {text: i for i, text in enumerate(dict.fromkeys((*trace_ids, *(s.trace_id for s in steps))))}
    packed = [
        (
            signatures[step.signature],
            step.start_ns - origin_ns,
            None if step.end_ns is None else step.end_ns - step.start_ns,
            traces[step.trace_id],
            step.span_id,
            step.error,
            step.input_tokens,
            step.output_tokens,
        )
        for step in steps
    ]
    return _ENCODER.encode((origin_ns, tuple(signatures), tuple(traces), packed))


def _fitted_step(step: Step) -> Step:
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


def unpack_steps(blob: bytes) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """The steps and the trace ids again."""
    kept = _STEPS.decode(blob)
    steps = []
    for signature, after_ns, duration_ns, trace, span_id, error, read, written in kept.steps:
        start_ns = kept.origin_ns + after_ns
        end_ns = None if duration_ns is None else start_ns + duration_ns
        where = kept.trace_ids[trace], span_id
        steps.append(Step(kept.signatures[signature], start_ns, end_ns, *where, error, read, written))
    return tuple(steps), kept.trace_ids


class PackedPaths(NamedTuple):
    """Many paths as columns: signature number and count of each fold, then what each run has."""

    number: NDArray[np.uint32]
    repeats: NDArray[np.uint8]
    offset: NDArray[np.int64]
    outcome: NDArray[np.uint8]
    source: NDArray[np.uint8]
    half: NDArray[np.uint8]


def pack_path(folds: Sequence[Fold], numbers: Mapping[str, int], run: Run) -> bytes:
    """A path as little-endian uint32 words.

    A fold is ``signature number << 8 | count``, the mark 0. The last word says that the
    path ends (24 one bits) and how: half, source and outcome, two bits each. So many paths
    can be joined into one blob and parted again.
    """
    words = [numbers[item.signature] << 8 | item.count if item.count else 0 for item in folds]
    end = _END | half(run.run_id) << 4 | run.source << 2 | run.outcome
    return struct.pack(f"<{len(words) + 1}I", *words, end)


def unpack_paths(blob: bytes) -> PackedPaths:
    """Any number of packed paths, joined, as columns.

    >>> unpack_paths(bytes.fromhex("0301000000000000" "12ffffff" "01ffffff")).offset.tolist()
    [0, 2, 2]
    """
    words: NDArray[np.uint32] = np.frombuffer(blob, "<u4").astype(np.uint32, copy=False)
    is_end = words >= _END
    ends = np.flatnonzero(is_end)
    kind = words[ends].astype(np.uint8)
    folds = words[~is_end]
    offset = np.zeros(len(ends) + 1, np.int64)
    offset[1:] = ends - np.arange(len(ends))
    two = np.uint8(3)
    return PackedPaths(
        folds >> np.uint32(8),
        folds.astype(np.uint8),
        offset,
        kind & two,
        kind >> np.uint8(2) & two,
        kind >> np.uint8(4) & two,
    )
