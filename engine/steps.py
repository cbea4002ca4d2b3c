"""Which spans of a run are its steps, each call counted once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from engine.conventions import DECISION_SCOPE, Kind, Reading
from engine.placing import Placed
from engine.spans import Status


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
        for found in (*_tools(ordered), *filter(_is_other_agent, ordered))
    )
    results = _results(ordered)
    made = [
        (call.placed.depth, _step(call, results.get(call.placed, call.placed))) for call in (*calls, *others)
    ]
    made.sort(key=_order)
    return tuple(step for _, step in made)


def _tools(ordered: Sequence[Placed]) -> list[Placed]:
    """The tool calls; events of a decision trace are none where anything else tells of the calls."""
    tools = [found for found in ordered if found.reading.kind is Kind.TOOL]
    return [found for found in tools if found.span.scope != DECISION_SCOPE] or tools


def _results(ordered: Sequence[Placed]) -> dict[Placed, Placed]:
    """By the call of a decision trace, the event that completes it: the first with a status under it."""
    return {
        found.caller: found
        for found in reversed(ordered)
        if found.span.scope == DECISION_SCOPE
        and found.caller is not None
        and found.caller.span.span_id == found.span.parent_id
        and found.reading.kind is Kind.OTHER
        and found.reading.status != Status.UNSET
    }


def _is_other_agent(found: Placed) -> bool:
    """Whether it is the span of an agent that this run's agent called."""
    if found.reading.kind is not Kind.AGENT or found.outermost or found.caller is None:
        return False
    return not (found.reading.wrapper and found.caller.reading.kind is Kind.AGENT)


def _order(item: tuple[int, Step]) -> tuple[int, int, str, str, str]:
    depth, step = item
    return step.start_ns, depth, step.signature, step.span_id, step.trace_id


def _step(call: _Call, end: Placed) -> Step:
    span, reading = call.placed.span, call.placed.reading
    return Step(
        f"{reading.kind}:{call.name}",
        span.start_ns,
        end.span.end_ns,
        span.trace_id,
        span.span_id,
        end.reading.status == Status.ERROR,
        call.input_tokens,
        call.output_tokens,
    )


def _once(models: Sequence[Placed]) -> list[_Call]:
    """Model spans without those inside another, from which the outer one takes what it lacks."""
    calls: dict[Placed, _Call] = {}
    inner: list[tuple[Placed, Placed]] = []
    tops: dict[Placed, Placed] = {}
    for found in models:
        top = _outermost(found, tops)
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


def _outermost(found: Placed, tops: dict[Placed, Placed]) -> Placed:
    """The outermost of the model spans around one; what is found on the way is remembered."""
    way = []
    top = found
    while top not in tops and top.caller is not None and top.caller.reading.kind is Kind.LLM:
        way.append(top)
        top = top.caller
    top = tops.get(top, top)
    tops.update(dict.fromkeys(way, top))
    return top


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
    latest: dict[str, tuple[tuple[int, str], ...]] = {}
    kept = []
    for call in sorted(calls, key=_widest_first):
        span = call.placed.span
        if not call.named or span.end_ns is None:
            kept.append(call)
            continue
        around = latest.get(call.name, ())
        if all(scope == span.scope or end_ns < span.end_ns for end_ns, scope in around):
            kept.append(call)
        latest[call.name] = _latest_two(around, span.end_ns, span.scope)
    return kept


def _latest_two(ends: tuple[tuple[int, str], ...], end_ns: int, scope: str) -> tuple[tuple[int, str], ...]:
    """The latest ends of two scopes, after one more end: of any scope, the latest of another is there.

    >>> _latest_two(((9, "a"), (5, "b")), 7, "c"), _latest_two(((9, "a"), (5, "b")), 4, "a")
    (((9, 'a'), (7, 'c')), ((9, 'a'), (5, 'b')))
    """
    others = [each for each in ends if each[1] != scope]
    own = max([end_ns, *(each[0] for each in ends if each[1] == scope)])
    return tuple(sorted([*others, (own, scope)], reverse=True)[:2])


def _widest_first(call: _Call) -> tuple[int, int, tuple[int, int, str, str, str]]:
    span = call.placed.span
    return span.start_ns, -(span.end_ns or 0), call.placed.order
