"""Which spans of a run are its steps, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from engine.conventions import Evaluation, Kind, Reading, read
from engine.spans import Span, Status

Key = tuple[str, str]


class Step(msgspec.Struct, frozen=True, array_like=True):
    """A model, tool or agent call of a run."""

    signature: str
    start_ns: int
    end_ns: int | None
    trace_id: str
    span_id: str
    error: bool
    input_tokens: int | None
    output_tokens: int | None


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


def place(spans: Iterable[Span], evaluation: Evaluation) -> list[Placed]:
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
            placed[at] = _below(None, known[at], evaluation)
        for at in reversed(hanging):
            placed[at] = _below(placed.get(_parent(known[at])), known[at], evaluation)
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


def _below(parent: Placed | None, span: Span, evaluation: Evaluation) -> Placed:
    reading = read(span, evaluation)
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


class _Call(NamedTuple):
    """A model call, with what the spans of the same call add to it."""

    placed: Placed
    name: str
    named: bool
    input_tokens: int | None
    output_tokens: int | None


def steps(ordered: Sequence[Placed]) -> tuple[Step, ...]:
    """The steps of a run, in order.

    Parameters
    ----------
    ordered : sequence of Placed
        All its spans, as :func:`place` orders them.
    """
    models = [found for found in ordered if found.reading.kind is Kind.LLM]
    calls = _once_across_scopes(_once(models)) if models else []
    others = (
        _Call(found, found.reading.name, True, None, None)
        for found in ordered
        if found.reading.kind is Kind.TOOL or (found.reading.kind is Kind.AGENT and not found.outermost)
    )
    made = [(call.placed.depth, _step(call)) for call in (*calls, *others)]
    made.sort(
        key=lambda item: (item[1].start_ns, item[0], item[1].signature, item[1].span_id, item[1].trace_id)
    )
    return tuple(step for _, step in made)


def _step(call: _Call) -> Step:
    span, reading = call.placed.span, call.placed.reading
    return Step(
        f"{reading.kind}:{call.name}",
        span.start_ns,
        span.end_ns,
        span.trace_id,
        span.span_id,
        reading.status == Status.ERROR,
        call.input_tokens,
        call.output_tokens,
    )


def _once(models: Sequence[Placed]) -> list[_Call]:
    """Model spans without those inside another, from which the outer one takes what it lacks."""
    calls: dict[Placed, _Call] = {}
    inner: list[tuple[Placed, Placed]] = []
    for found in models:
        top = found
        while top.caller is not None and top.caller.reading.kind is Kind.LLM:
            top = top.caller
        if top is found:
            reading = found.reading
            calls[found] = _Call(
                found, reading.name, reading.named, reading.input_tokens, reading.output_tokens
            )
        else:
            inner.append((top, found))
    for top, found in inner:
        calls[top] = _completed(calls[top], found.reading)
    return list(calls.values())


def _completed(call: _Call, inner: Reading) -> _Call:
    if not call.named and inner.named:
        call = call._replace(name=inner.name, named=True)
    if call.input_tokens is None and call.output_tokens is None:
        call = call._replace(input_tokens=inner.input_tokens, output_tokens=inner.output_tokens)
    return call


def _once_across_scopes(calls: list[_Call]) -> list[_Call]:
    """Model calls without those that another library also recorded, in a span around them."""
    if len({call.placed.span.scope for call in calls}) < 2:
        return calls
    ends: dict[str, dict[str, int]] = {}
    kept = []
    for call in sorted(calls, key=_widest_first):
        span = call.placed.span
        if not call.named or span.end_ns is None:
            kept.append(call)
            continue
        around = ends.setdefault(call.name, {})
        if all(scope == span.scope or end_ns < span.end_ns for scope, end_ns in around.items()):
            kept.append(call)
        around[span.scope] = max(around.get(span.scope, 0), span.end_ns)
    return kept


def _widest_first(call: _Call) -> tuple[int, int, tuple[int, int, str, str, str]]:
    span = call.placed.span
    return span.start_ns, -(span.end_ns or 0), call.placed.order
