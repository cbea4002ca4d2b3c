"""How a span's body and a run's steps lie in the store: as MessagePack arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from engine.runs import Step
from engine.sequences import Taken
from engine.spans import Event, Span, Status
from engine.store.fitting import fitted, fitted_step


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


class Beginning(msgspec.Struct, frozen=True, array_like=True):
    """The first of a run's :class:`Steps`, read without the others."""

    origin_ns: int
    signatures: tuple[str, ...]


_ENCODER = msgspec.msgpack.Encoder(order="deterministic", enc_hook=str)
_BODY = msgspec.msgpack.Decoder(Body)
_STEPS = msgspec.msgpack.Decoder(Steps)
_SIGNATURES = msgspec.msgpack.Decoder(Beginning)


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
    """The span again; one nested so deeply that it could be packed but not read here is cut."""
    try:
        return _span(trace_id, span_id, _BODY.decode(body))
    except RecursionError:
        with ThreadPoolExecutor(1) as fresh_stack:
            return fitted(_span(trace_id, span_id, fresh_stack.submit(_BODY.decode, body).result()))


def _span(trace_id: str, span_id: str, kept: Body) -> Span:
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


def pack_steps(steps: Sequence[Step], trace_ids: Iterable[str]) -> bytes:
    """A run's steps and the ids of its traces."""
    try:
        return _pack_steps(steps, trace_ids)
    except OverflowError:
        return _pack_steps([fitted_step(step) for step in steps], trace_ids)


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


def unpack_signatures(blob: bytes) -> tuple[str, ...]:
    """The signatures of packed steps, each once."""
    return _SIGNATURES.decode(blob).signatures


def unpack_taken(blob: bytes) -> Taken:
    """What an expression asks of packed steps."""
    kept = _STEPS.decode(blob)
    return Taken(kept.signatures, [step[0] for step in kept.steps], [step[5] for step in kept.steps])


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
