"""Events of decision traces: lines of a file or of a request, into spans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import BinaryIO, NamedTuple

from engine.decisions import recording
from engine.decisions.recording import Line, Outline, outline, read_line
from engine.decisions.schema import BadLine, kind_of
from engine.errors import InputError, TooLargeError
from engine.ingest.documents import texts
from engine.ingest.limits import LIMITS, Limits
from engine.ingest.source import READ_ERRORS, Source
from engine.spans import Span

ELSEWHERE = {
    "span": "spans are sent to /v1/traces",
    "outcome": "outcomes are sent to /api/v1/runs/{id}/outcome",
}
"""Types of lines that a file may hold and a request of events may not."""


class Events(NamedTuple):
    """What a request of events brought.

    Attributes
    ----------
    refusals : list of (int, str)
        Lines that were refused, and why.
    runs : list of str
        The runs that the spans belong to.
    """

    spans: list[Span]
    refusals: list[tuple[int, str]]
    runs: list[str]


def read(body: bytes, run_id: str = "", limits: Limits = LIMITS) -> Events:
    """The events of a request, as spans; a line that cannot be kept costs itself only.

    Parameters
    ----------
    body : bytes
        JSON, an object a line. Lines of other types pass.
    run_id : str
        The run of all of them; "" if what they hang from says it.
    limits : Limits

    Raises
    ------
    TooLargeError
        It holds too many lines, or objects and lists.

    Examples
    --------
    >>> read(b'{"type": "note"}\\n{"type": "run"}')
    Events(spans=[], refusals=[(2, 'run_id: missing')], runs=[])
    """
    if body.count(b"\n") >= limits.max_spans:
        raise TooLargeError(f"the request holds more than {limits.max_spans} lines")
    if body.count(b"{") + body.count(b"[") > limits.max_containers:
        raise TooLargeError(f"the request holds more than {limits.max_containers} objects and lists")
    lines: list[tuple[int, Line]] = []
    refusals: list[tuple[int, str]] = []
    for number, text in texts(BytesIO(body)):
        try:
            if (line := _line(text)) is not None:
                lines.append((number, line))
        except InputError as error:
            refusals.append((number, error.reason))
    found = list(recording.spans(lines, run_id))
    refusals += [(number, each.reason) for number, each in found if isinstance(each, InputError)]
    spans = [each for _, each in found if isinstance(each, Span)]
    runs = dict.fromkeys(span.attributes[recording.RUN_KEY] for span in spans)
    return Events(spans, sorted(refusals), list(runs))


def line_of(text: bytes | InputError) -> Line | None:
    """The event, or start of a run, that a line holds; None for another type.

    Raises
    ------
    InputError
        It cannot be read, with the reason.
    """
    if isinstance(text, InputError):
        raise text
    try:
        return read_line(text)
    except BadLine as error:
        raise InputError(error.detail) from None


def _line(text: bytes | InputError) -> Line | None:
    line = line_of(text)
    if line is None and isinstance(text, bytes) and (elsewhere := ELSEWHERE.get(kind_of(text))):
        raise InputError(elsewhere)
    return line


def outline_of(source: Source) -> Outline:
    """How the events of a file hang together, as far as it can be read."""
    found = outline(())
    with suppress(*READ_ERRORS), source.open(quiet=True) as stream:
        found = outline(_events(stream))
    return found


def _events(stream: BinaryIO) -> Iterator[tuple[int, Line]]:
    for number, text in texts(stream):
        with suppress(InputError):
            if (line := line_of(text)) is not None:
                yield number, line
