"""Events of decision traces as spans, so that they are kept, settled and forgotten like any other.

An event becomes a span of the scope ``forkmap.decisions`` in a trace of its run's own; nothing of
it is merged with another's, so events may arrive in any order and any number of batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, assert_never

import msgspec
from msgspec.structs import replace

from engine.conventions.table import (
    ARGUMENT_KEYS,
    DECISION_PREFIXES,
    DECISION_SCOPE,
    EVENT_ID_KEY,
    NAME_KEY,
    RESULT_BYTES_KEY,
    RESULT_OK_KEY,
    TICKET_KEYS,
    VERSION_KEYS,
)
from engine.conventions.values import text
from engine.decisions.outlining import Line, Outline, Start, outline, time_ns
from engine.decisions.schema import BadLine, Decision, Event, ToolCall, ToolResult
from engine.errors import InputError
from engine.paths import identifier
from engine.spans import Span, Status

MAX_ID_CHARACTERS = 256
RUN_KEY = "session.id"
KIND_KEY = "forkmap.kind"
TICKET_KEY, VERSION_KEY = TICKET_KEYS[0][0], VERSION_KEYS[0][0]
ARGUMENTS_KEY = ARGUMENT_KEYS[0][0]
_MAX_TIME_NS = 2**63 - 1


def span(number: int, line: Line | BadLine, known: Outline) -> Span:
    """The span that a line becomes.

    Its time is the event's and one nanosecond for every event of the run and the same time before
    it, so that lines of one second keep their order. An event whose id another had before is kept
    beside that under an id of its own; a copy becomes the same span again.

    Parameters
    ----------
    number : int
        The line, counted from 1.
    line : Event, Start or BadLine
    known : Outline
        Of everything that is read with it.

    Raises
    ------
    InputError
        It cannot be read or kept, with the reason.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> line = Start("run_91", datetime(2026, 1, 1, tzinfo=UTC), agent="repo-agent")
    >>> span(1, line, outline([])).attributes
    {'session.id': 'run_91', 'forkmap.kind': 'agent', 'forkmap.name': 'repo-agent'}
    """
    if isinstance(line, BadLine):
        raise InputError(line.detail)
    if isinstance(line, Start):
        return _root(line, known)
    span_id = known.again.get(number, line.span_id)
    if (place := known.places.get(span_id)) is None:
        raise InputError("it was written while the file was read: import the file again")
    run_id = known.runs[span_id]
    if not run_id:
        raise InputError(f"the parents of {line.span_id!r} form a ring, so that no run is named")
    _check_ids(span_id=line.span_id, parent_id=line.parent_id)
    _check_run(run_id)
    if line.span_id == run_id:
        raise InputError(f"span_id: {run_id!r} is the run itself")
    start_ns = _checked(time_ns(line.ts)) + place.before
    name, status, told = _told(line)
    is_twice = span_id != line.span_id and known.runs[line.span_id] == run_id
    original = {EVENT_ID_KEY: line.span_id} if is_twice else {}
    is_elsewhere = known.runs.get(line.parent_id, run_id) != run_id
    return Span(
        trace_id=trace_id(run_id),
        span_id=span_id,
        name=name,
        start_ns=start_ns,
        end_ns=start_ns,
        parent_id=place.parent_id if is_elsewhere else line.parent_id,
        status=status,
        scope=DECISION_SCOPE,
        attributes={RUN_KEY: run_id, **original, **told},
    )


def _root(start: Start, known: Outline) -> Span:
    """The span that a run's events hang from."""
    _check_run(start.run_id)
    start_ns = known.starts.get(start.run_id) if start.ts is None else time_ns(start.ts)
    if start_ns is None:
        raise InputError("ts: missing, and no event of the run is here to date it")
    is_agent = {KIND_KEY: "agent", NAME_KEY: start.agent} if start.agent else {KIND_KEY: "other"}
    more = {TICKET_KEY: start.ticket, VERSION_KEY: start.version}
    return Span(
        trace_id=trace_id(start.run_id),
        span_id=start.run_id,
        name=start.agent or "run",
        start_ns=_checked(start_ns),
        end_ns=start_ns,
        scope=DECISION_SCOPE,
        attributes={RUN_KEY: start.run_id, **is_agent} | {key: said for key, said in more.items() if said},
    )


def _told(event: Event) -> tuple[str, Status, dict[str, Any]]:
    """Name and status of an event's span, and the attributes that hold what the event says."""
    match event:
        case Decision():
            return "decision", Status.UNSET, {KIND_KEY: "other", **_decided(event)}
        case ToolCall():
            arguments = bytes(event.args).decode()
            return (
                event.tool,
                Status.UNSET,
                {KIND_KEY: "tool", NAME_KEY: event.tool, ARGUMENTS_KEY: arguments},
            )
        case ToolResult():
            status = Status.OK if event.ok else Status.ERROR
            told = {KIND_KEY: "other", RESULT_OK_KEY: event.ok, RESULT_BYTES_KEY: event.bytes}
            return "tool result", status, told
        case _:
            assert_never(event)


def _decided(decision: Decision) -> dict[str, Any]:
    """The public keys of a decision; a margin that is not given has none."""
    told = {
        "goal": decision.goal,
        "options": msgspec.json.encode(decision.options).decode(),
        "chosen": decision.chosen,
        "policy": decision.policy,
        "margin": decision.margin,
    }
    return {DECISION_PREFIXES[0] + field: value for field, value in told.items() if value is not None}


def _checked(at_ns: int) -> int:
    if not 0 < at_ns < _MAX_TIME_NS:
        raise InputError("ts: lies outside 1970 to 2262")
    return at_ns


def _check_ids(**ids: str) -> None:
    for name, each in ids.items():
        if len(each) > MAX_ID_CHARACTERS or not each.isprintable() or each.isspace():
            raise InputError(f"{name}: over {MAX_ID_CHARACTERS} characters, blank or not printable")


def _check_run(run_id: str) -> None:
    _check_ids(run=run_id)
    if text(run_id) != run_id:
        raise InputError("run: in quotes, or with blanks around it")


def spans(
    lines: Iterable[tuple[int, Line | BadLine]], run_id: str = ""
) -> Iterator[tuple[int, Span | InputError]]:
    """The spans of events that are all at hand, each with its line, or why it cannot be kept.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> call = ToolCall("c", "run_91", at, "search", msgspec.Raw(b"{}"))
    >>> [(number, found.name, found.start_ns) for number, found in spans([(7, call)])]
    [(7, 'search', 1767225600000000000)]
    """
    numbered = [(number, _of_run(line, run_id)) for number, line in lines]
    known = outline(numbered, run_id)
    for number, line in numbered:
        try:
            yield number, span(number, line, known)
        except InputError as error:
            yield number, error


def _of_run(line: Line | BadLine, run_id: str) -> Line | BadLine:
    """A start as the run's that all is said to be of."""
    return replace(line, run_id=run_id) if run_id and isinstance(line, Start) else line


def trace_id(run_id: str) -> str:
    """The trace that the events of a run are kept in.

    >>> trace_id("run_91")
    'fca8b31c14ffae399b76b6c49eca28ae'
    """
    return blake2b(identifier(run_id).encode(), digest_size=16).hexdigest()
