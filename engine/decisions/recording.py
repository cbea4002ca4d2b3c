"""Events of decision traces as spans, so that they are kept, settled and forgotten like any other.

An event becomes a span of the scope ``forkmap.decisions`` in a trace of its run's own; nothing of
it is merged with another's, so events may arrive in any order and any number of batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import msgspec

from engine.conventions.table import (
    AGENT_KEY,
    DECISION_SCOPE,
    EVENT_ID_KEY,
    RESULT_BYTES_KEY,
    RESULT_OK_KEY,
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
from engine.spans import Span, Status

MAX_ID_CHARACTERS = 256
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
    """Where the first event of an id stands, what it hangs from, and a digest of it."""

    line: int
    parent_id: str
    digest: str


class Outline(NamedTuple):
    """How the events of one file hang together.

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


def outline(lines: Iterable[tuple[int, Line]], run_id: str = "") -> Outline:
    """How events hang together: the run of one is its first ancestor that is no event.

    Parameters
    ----------
    lines : iterable of (int, Line)
        Everything that is read at once, by its line.
    run_id : str
        The run of all of them, whatever they hang from; "" if nobody says so.
    """
    raise NotImplementedError


def span(number: int, line: Line, known: Outline) -> Span:
    """The span that a line becomes.

    Raises
    ------
    InputError
        It cannot be kept, with the reason.
    """
    raise NotImplementedError


def spans(lines: Iterable[tuple[int, Line]], run_id: str = "") -> Iterator[tuple[int, Span | InputError]]:
    """The spans of events that are all at hand, each with its line, or why it cannot be kept."""
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
    ''
    """
    return blake2b(run_id.encode(), digest_size=16).hexdigest()
