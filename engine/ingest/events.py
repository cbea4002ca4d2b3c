"""Events of decision traces: lines of a file or of a request, into spans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import BinaryIO, NamedTuple

from engine.decisions import recording
from engine.decisions.outlining import Line, Outline, outline, read_line
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
    """

    spans: list[Span]
    refusals: list[tuple[int, str]]


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
    Events(spans=[], refusals=[(2, 'run_id: missing')])
    """
    if body.count(b"\n") >= limits.max_spans:
        raise TooLargeError(f"the request holds more than {limits.max_spans} lines")
    if body.count(b"{") + body.count(b"[") > limits.max_containers:
        raise TooLargeError(f"the request holds more than {limits.max_containers} objects and lists")
    lines = ((number, _line(text)) for number, text in texts(BytesIO(body)))
    found = list(recording.spans(((number, line) for number, line in lines if line is not None), run_id))
    spans = [each for _, each in found if isinstance(each, Span)]
    refusals = [(number, each.reason) for number, each in found if isinstance(each, InputError)]
    return Events(spans, refusals)


def _line(text: bytes | InputError) -> Line | BadLine | None:
    line = line_of(text)
    if line is None and isinstance(text, bytes) and (elsewhere := ELSEWHERE.get(kind_of(text))):
        return BadLine("bad_record", elsewhere)
    return line


def line_of(text: bytes | InputError) -> Line | BadLine | None:
    """The event, or start of a run, that a line holds, or why it cannot be read; None for another type."""
    if isinstance(text, InputError):
        return BadLine("bad_json", text.reason)
    try:
        return read_line(text)
    except BadLine as error:
        return error


def outline_of(source: Source) -> Outline:
    """How the events of a file hang together, as far as it can be read."""
    found = outline(())
    with suppress(*READ_ERRORS), source.open(quiet=True) as stream:
        found = outline(_lines(stream))
    return found


def _lines(stream: BinaryIO) -> Iterator[tuple[int, Line | BadLine]]:
    for number, text in texts(stream):
        if (line := line_of(text)) is not None:
            yield number, line
