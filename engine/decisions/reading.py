"""The decision trace of a stored run, whichever way its spans came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from engine import conventions
from engine.conventions import DECISION_SCOPE, Kind
from engine.conventions.table import EVENT_ID_KEY, NAME_KEY, RESULT_OK_KEY
from engine.decisions.attributes import arguments, decision, prefix, size_bytes
from engine.decisions.audit import audit
from engine.decisions.menus import LOW_MARGIN
from engine.decisions.schema import BadLine, Decision, Event, ToolCall, ToolResult
from engine.decisions.trace import Finding, Trace, assemble
from engine.placing import Key, Placed, place
from engine.spans import Span, Status

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(run_id: str, spans: Iterable[Span], low_margin: float = LOW_MARGIN) -> Trace | None:
    """The decisions that the spans of a run tell of, audited; None if they tell of none.

    Parameters
    ----------
    run_id : str
    spans : iterable of Span
        All spans of its traces, in any order.
    low_margin : float
        Margins from 0 to below this are found.

    Returns
    -------
    Trace or None
        Its findings name the stored span they are about; their line is the place among the run's
        decisions and calls, counted from 1, and that of a result its call's.

    Examples
    --------
    >>> told = {"goal": "fix it", "options": '[{"tool": "edit"}]', "chosen": "edit", "policy": "rule"}
    >>> keys = {f"forkmap.decision.{key}": value for key, value in told.items()}
    >>> call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "edit"}
    >>> spans = [Span("t", "2", "", 2, 3, "1", attributes=call), Span("t", "1", "", 1, attributes=keys)]
    >>> trace = read("r", spans)
    >>> [(choice.chosen, [call.tool for call in choice.calls]) for choice in trace.choices], trace.findings
    ([('edit', ['edit'])], ())
    """
    placed = place(_once(list(spans)), conventions.read)
    prefixes = {found: said for found in placed if (said := prefix(found.span.attributes)) is not None}
    if not prefixes:
        return None
    told = list(_told(run_id, placed, prefixes))
    events = [each.event for each in told if not isinstance(each.event, BadLine)]
    ended = {found.span.span_id: _ended(found) for found in placed if _is_call(found)}
    return assemble(run_id, events, _findings(told, low_margin), ended)


def _once(spans: list[Span]) -> list[Span]:
    """The spans without events where any other tells of a decision, or each would count twice."""
    others = [span for span in spans if span.scope != DECISION_SCOPE]
    return others if any(prefix(span.attributes) is not None for span in others) else spans


class _Told(NamedTuple):
    """What a span tells of: an event, or why it is none; and its place among decisions and calls."""

    place: int
    span_id: str
    event: Event | BadLine


class _Hung(NamedTuple):
    """When a span begins, never before a decision or call above it, and the nearest decision there.

    Other spans begin as what they hang from: a run that is told of in pieces may begin in the last.
    """

    start_ns: int
    decision: str | None


def _findings(told: Sequence[_Told], low_margin: float) -> Iterator[Finding]:
    """What the audit finds, told of the stored spans."""
    lines = ((number, each.event) for number, each in enumerate(told))
    for finding in audit(lines, low_margin):
        about = told[finding.line]
        yield structs.replace(finding, line=about.place, span_id=about.span_id)


def _told(run_id: str, placed: Sequence[Placed], prefixes: Mapping[Placed, str]) -> Iterator[_Told]:
    """What the spans tell of, in order; of a call that two libraries tell of, the one with a decision."""
    hung = _hung(placed, prefixes)
    has_events = any(_is_call(found) and _is_event(found) for found in placed)
    places: dict[str, int] = {}
    last = 0
    for found in sorted(placed, key=lambda found: (hung[found].start_ns, found.depth, *found.order)):
        above = hung[found].decision
        event: Event | BadLine
        if found in prefixes:
            event = _decision(run_id, found, prefixes[found])
        elif _is_call(found) and (_is_event(found) or above is not None or not has_events):
            event = _call(run_id, found, above)
        elif _is_event(found) and RESULT_OK_KEY in found.span.attributes:
            event = _result(run_id, found)
        else:
            continue
        of_call = places.get(event.parent_id) if isinstance(event, ToolResult) else None
        last += of_call is None
        place = last if of_call is None else of_call
        places.setdefault(found.span.span_id, place)
        yield _Told(place, found.span.span_id, event)


def _hung(placed: Sequence[Placed], prefixes: Mapping[Placed, str]) -> dict[Placed, _Hung]:
    """Where each span hangs, found from above."""
    known = {_key(found): found for found in placed}
    hung: dict[Placed, _Hung] = {}
    for found in sorted(placed, key=lambda found: found.depth):
        span = found.span
        parent = known.get((span.trace_id, span.parent_id or "")) if found.depth else None
        start_ns, decision = hung[parent] if parent else (0, None)
        if parent and parent in prefixes:
            decision = parent.span.span_id
        if found in prefixes or _is_call(found) or RESULT_OK_KEY in span.attributes:
            start_ns = max(span.start_ns, start_ns)
        hung[found] = _Hung(start_ns, decision)
    return hung


def _key(found: Placed) -> Key:
    return found.span.trace_id, found.span.span_id


def _is_event(found: Placed) -> bool:
    return found.span.scope == DECISION_SCOPE


def _is_call(found: Placed) -> bool:
    return found.reading.kind is Kind.TOOL


def _id(span: Span) -> str:
    """The id of an event as it was written."""
    original = span.attributes.get(EVENT_ID_KEY)
    return original if isinstance(original, str) and original else span.span_id


def _moment(span: Span) -> datetime:
    return _EPOCH + timedelta(microseconds=span.start_ns // 1000)


def _decision(run_id: str, found: Placed, before: str) -> Decision | BadLine:
    span = found.span
    try:
        return decision(span.attributes, before, _id(span), span.parent_id or run_id, _moment(span))
    except BadLine as error:
        return error


def _call(run_id: str, found: Placed, above: str | None) -> ToolCall:
    """A call; an event hangs from what it says, any other span from the nearest decision above it."""
    span, tool = found.span, found.reading.name
    if _is_event(found) and isinstance(written := span.attributes.get(NAME_KEY), str):
        tool = written  # As long as what was chosen, which no reading shortens either.
    parent_id = span.parent_id if _is_event(found) else above
    return ToolCall(_id(span), parent_id or run_id, _moment(span), tool, arguments(span.attributes))


def _result(run_id: str, found: Placed) -> ToolResult:
    span = found.span
    is_ok = found.reading.status != Status.ERROR
    size = size_bytes(span.attributes) or 0
    return ToolResult(_id(span), span.parent_id or run_id, _moment(span), is_ok, size)


def _ended(found: Placed) -> tuple[bool | None, int | None]:
    """What came of a call as far as its own span tells: nothing, where that is an event."""
    is_over = found.span.end_ns is not None and not _is_event(found)
    is_ok = found.reading.status != Status.ERROR if is_over else None
    return is_ok, size_bytes(found.span.attributes)
