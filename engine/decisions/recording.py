"""Events of decision traces as spans, so that they are kept, settled and forgotten like any other.

An event becomes a span of the scope ``forkmap.decisions`` in a trace of its run's own; nothing of
it is merged with another's, so events may arrive in any order and any number of batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, assert_never

import msgspec

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
from engine.decisions.schema import (
    BadLine,
    Decision,
    Event,
    Id,
    Time,
    ToolCall,
    ToolResult,
    kind_of,
    parse,
    said,
)
from engine.errors import InputError
from engine.paths import identifier
from engine.spans import Span, Status

MAX_ID_CHARACTERS = 256
RUN_KEY = "session.id"
KIND_KEY = "forkmap.kind"
TICKET_KEY, VERSION_KEY = TICKET_KEYS[0][0], VERSION_KEYS[0][0]
ARGUMENTS_KEY = ARGUMENT_KEYS[0][0]
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_TIME_NS = 2**63 - 1


class Start(msgspec.Struct, frozen=True, tag_field="type", tag="run", forbid_unknown_fields=True):
    """What is said of a run as a whole; no event, and its time is that of the earliest one.

    Attributes
    ----------
    ts : datetime or None
        When it began, where no event of the run is beside it.
    """

    run_id: Id
    ts: Time | None = None
    agent: Id | None = None
    ticket: Id | None = None
    version: Id | None = None


Line: TypeAlias = Event | Start
_decode_start = msgspec.json.Decoder(Start).decode


def read_line(line: bytes) -> Line | None:
    """The event, or the start of a run, that a line holds; None for a line of another type.

    Raises
    ------
    BadLine
        It is no JSON, or a field is missing, ill-typed or, of a start, unknown.

    Examples
    --------
    >>> read_line(b'{"type": "run", "run_id": "run_91", "agent": "repo-agent"}').agent
    'repo-agent'
    """
    event = parse(line)
    if event is None and kind_of(line) == "run":
        try:
            return _decode_start(line)
        except msgspec.ValidationError as error:
            raise BadLine("bad_record", said(error)) from None
    return event


class Place(NamedTuple):
    """Where the first event of an id stands, a digest of it, and its time."""

    line: int
    digest: str
    time_ns: int


class Outline(NamedTuple):
    """How the events that are read at once hang together.

    Attributes
    ----------
    places : mapping of str to Place
        By the id of an event.
    runs : mapping of str to str
        The run of each event; "" where its parents form a ring, so that none is named.
    starts : mapping of str to int
        When the earliest event of each run was, in nanoseconds.
    """

    places: Mapping[str, Place]
    runs: Mapping[str, str]
    starts: Mapping[str, int]


def outline(lines: Iterable[tuple[int, Line | BadLine]], run_id: str = "") -> Outline:
    """How events hang together: the run of one is its first ancestor that is no event.

    Parameters
    ----------
    lines : iterable of (int, Line or BadLine)
        Everything that is read at once, by its line. What hangs from a bad line goes on to its parent.
    run_id : str
        The run of all of them, whatever they hang from; "" if nobody says so.
    """
    places: dict[str, Place] = {}
    parents: dict[str, str] = {}
    for number, line in lines:
        match line:
            case BadLine(rest=rest):
                if rest.span_id and rest.parent_id:
                    parents.setdefault(rest.span_id, rest.parent_id)
            case Start():
                continue
            case _ if line.span_id not in places:
                places[line.span_id] = Place(number, _digest(line), _time_ns(line.ts))
                parents.setdefault(line.span_id, line.parent_id)
    runs = dict.fromkeys(places, run_id) if run_id else _runs(parents)
    starts: dict[str, int] = {}
    for span_id, place in places.items():
        run = runs[span_id]
        starts[run] = min(place.time_ns, starts.get(run, place.time_ns))
    return Outline(places, runs, starts)


def _runs(parents: Mapping[str, str]) -> dict[str, str]:
    """The first ancestor of each event that is no event itself; "" in a ring, and below one."""
    runs: dict[str, str] = {}
    for at in parents:
        climb: dict[str, None] = {}
        while at in parents and at not in runs and at not in climb:
            climb[at] = None
            at = parents[at]
        runs.update(dict.fromkeys(climb, "" if at in climb else runs.get(at, at)))
    return runs


def _digest(event: Event) -> str:
    return blake2b(msgspec.json.encode(event), digest_size=4).hexdigest()


def _time_ns(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND * 1000


def span(number: int, line: Line | BadLine, known: Outline) -> Span:
    """The span that a line becomes.

    Its time is the event's and one nanosecond for every line, so that lines of one second keep
    their order. An event whose id another had before is kept beside that under an id of its own; a
    copy becomes the same span again.

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
    >>> line = Start("run_91", datetime(2026, 1, 1, tzinfo=UTC), agent="repo-agent")
    >>> span(1, line, outline([])).attributes
    {'session.id': 'run_91', 'forkmap.kind': 'agent', 'forkmap.name': 'repo-agent'}
    """
    if isinstance(line, BadLine):
        raise InputError(line.detail)
    if isinstance(line, Start):
        return _root(line, known)
    run_id = known.runs[line.span_id]
    if not run_id:
        raise InputError(f"the parents of {line.span_id!r} form a ring, so that no run is named")
    _check_ids(span_id=line.span_id, parent_id=line.parent_id, run=run_id)
    first = known.places[line.span_id]
    digest = first.digest if first.line == number else _digest(line)
    again = digest != first.digest
    start_ns = _checked(_time_ns(line.ts)) + (number if again else first.line)
    name, status, told = _told(line)
    original = {EVENT_ID_KEY: line.span_id} if again else {}
    return Span(
        trace_id=trace_id(run_id),
        span_id=f"{line.span_id}~{digest}" if again else line.span_id,
        name=name,
        start_ns=start_ns,
        end_ns=start_ns,
        parent_id=line.parent_id,
        status=status,
        scope=DECISION_SCOPE,
        attributes={RUN_KEY: run_id, **original, **told},
    )


def _root(start: Start, known: Outline) -> Span:
    """The span that a run's events hang from."""
    _check_ids(run_id=start.run_id)
    time_ns = known.starts.get(start.run_id) if start.ts is None else _time_ns(start.ts)
    if time_ns is None:
        raise InputError("ts: missing, and no event of the run is here to date it")
    is_agent = {KIND_KEY: "agent", NAME_KEY: start.agent} if start.agent else {KIND_KEY: "other"}
    more = {TICKET_KEY: start.ticket, VERSION_KEY: start.version}
    return Span(
        trace_id=trace_id(start.run_id),
        span_id=start.run_id,
        name=start.agent or "run",
        start_ns=_checked(time_ns),
        end_ns=time_ns,
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


def _checked(time_ns: int) -> int:
    if not 0 < time_ns < _MAX_TIME_NS:
        raise InputError("ts: lies outside 1970 to 2262")
    return time_ns


def _check_ids(**ids: str) -> None:
    for name, text in ids.items():
        if len(text) > MAX_ID_CHARACTERS or not text.isprintable() or text.isspace():
            raise InputError(f"{name}: over {MAX_ID_CHARACTERS} characters, blank or not printable")


def spans(
    lines: Iterable[tuple[int, Line | BadLine]], run_id: str = ""
) -> Iterator[tuple[int, Span | InputError]]:
    """The spans of events that are all at hand, each with its line, or why it cannot be kept.

    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> call = ToolCall("c", "run_91", at, "search", msgspec.Raw(b"{}"))
    >>> [(number, found.name, found.start_ns) for number, found in spans([(7, call)])]
    [(7, 'search', 1767225600000000007)]
    """
    numbered = list(lines)
    known = outline(numbered, run_id)
    for number, line in numbered:
        try:
            yield number, span(number, line, known)
        except InputError as error:
            yield number, error


def trace_id(run_id: str) -> str:
    """The trace that the events of a run are kept in.

    >>> trace_id("run_91")
    'fca8b31c14ffae399b76b6c49eca28ae'
    """
    return blake2b(identifier(run_id).encode(), digest_size=16).hexdigest()
