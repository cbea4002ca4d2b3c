"""The lines of a trace, and how they hang together: which run each event belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import msgspec

from engine.decisions.schema import BadLine, Event, Id, Time, kind_of, parse, said

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    """What an event hangs from, a digest of it, its time, and how many of its run and time come before."""

    parent_id: str
    digest: bytes
    time_ns: int
    before: int = 0


class Outline(NamedTuple):
    """How the events that are read at once hang together.

    Attributes
    ----------
    places : mapping of str to Place
        By the id that an event is kept under: its own, unless another event had it before.
    again : mapping of int to str
        The ids that events are kept under which are not their own, by line.
    runs : mapping of str to str
        The run of each event, by the same id; "" where its parents form a ring, so that none is named.
    starts : mapping of str to int
        When the earliest event of each run was, in nanoseconds.
    """

    places: Mapping[str, Place]
    again: Mapping[int, str]
    runs: Mapping[str, str]
    starts: Mapping[str, int]


def outline(lines: Iterable[tuple[int, Line | BadLine]], run_id: str = "") -> Outline:
    """How events hang together: the run of one is its first ancestor that is no event.

    Of events that share an id, others hang from the last one before them.

    Parameters
    ----------
    lines : iterable of (int, Line or BadLine)
        Everything that is read at once, by its line. What hangs from a bad line goes on to its parent.
    run_id : str
        The run of all of them, whatever they hang from; "" if nobody says so.

    Examples
    --------
    >>> result = b'{"type": "tool_result", "span_id": "r", "parent_id": "c", "ok": true, "bytes": 2'
    >>> outline([(1, read_line(result + b', "ts": "2026-01-01T00:00:00Z"}'))]).runs
    {'r': 'c'}
    """
    places: dict[str, Place] = {}
    again: dict[int, str] = {}
    others: dict[str, dict[bytes, str]] = {}
    latest: dict[str, str] = {}
    parents: dict[str, str] = {}
    for number, line in lines:
        match line:
            case BadLine(rest=rest):
                if rest.span_id and rest.parent_id:
                    parents.setdefault(rest.span_id, latest.get(rest.parent_id, rest.parent_id))
            case Start():
                continue
            case _:
                parent_id = latest.get(line.parent_id, line.parent_id)
                place = Place(parent_id, _digest(line, parent_id), time_ns(line.ts))
                first = places.setdefault(line.span_id, place)
                if first.digest != place.digest:
                    known = others.setdefault(line.span_id, {})
                    again[number] = known.setdefault(place.digest, f"{line.span_id}~{len(known) + 2}")
                    places.setdefault(again[number], place)
                span_id = again.get(number, line.span_id)
                parents.setdefault(span_id, parent_id)
                if again:
                    latest[line.span_id] = span_id
    runs = dict.fromkeys(places, run_id) if run_id else _runs(parents)
    starts: dict[str, int] = {}
    seen: Counter[tuple[str, int]] = Counter()
    for span_id, place in places.items():
        run = runs[span_id]
        starts[run] = min(place.time_ns, starts.get(run, place.time_ns))
        places[span_id] = place._replace(before=seen[run, place.time_ns])
        seen[run, place.time_ns] += 1
    return Outline(places, again, runs, starts)


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


def _digest(event: Event, parent_id: str) -> bytes:
    """What tells an event from another of the same id; never kept, since it is one of secrets too."""
    return blake2b(msgspec.json.encode((event, parent_id)), digest_size=8).digest()


def time_ns(moment: datetime) -> int:
    """A time in nanoseconds since 1970.

    >>> time_ns(datetime(1970, 1, 1, 0, 0, 1, 5, UTC))
    1000005000
    """
    return (moment - _EPOCH) // _MICROSECOND * 1000
