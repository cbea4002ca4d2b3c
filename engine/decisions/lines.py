"""The lines of a decision trace out of a stream of any size: one is held at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from engine.decisions.audit import Numbered
from engine.decisions.schema import BadLine, parse

MAX_LINE_BYTES = 64 << 20
"""A longer line is passed over without being held."""
_PIECE_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"


def events(stream: BinaryIO) -> Iterator[Numbered]:
    """Each event, or why a line is none, with the number of its line; other types and blank lines pass.

    >>> import io
    >>> list(events(io.BytesIO(b'\\n{"type": "note"}\\r\\n{}')))
    [(3, BadLine('bad_record: type: missing'))]
    """
    is_empty = True
    number = 0
    for number, line in _lines(stream):
        if line.isspace() or not line:
            continue
        is_empty = False
        try:
            if len(line) > MAX_LINE_BYTES:
                raise BadLine("bad_json", f"the line is longer than {MAX_LINE_BYTES >> 20} MiB")
            event = parse(line)
        except BadLine as error:
            yield number, error
            continue
        if event is not None:
            yield number, event
    if is_empty:
        yield 1, BadLine("bad_json", "there is nothing in it")


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | bytearray]]:
    """Lines with their numbers; of one that is too long, its beginning."""
    number = 0
    while line := stream.readline(_PIECE_BYTES):
        number += 1
        line = line.removeprefix(_BOM) if number == 1 else line
        yield number, line if line.endswith(b"\n") else _to_its_end(line, stream)


def _to_its_end(begun: bytes, stream: BinaryIO) -> bytearray:
    """A line of several pieces, in place: joined at its end it would be there twice."""
    line = bytearray(begun)
    while piece := stream.readline(_PIECE_BYTES):
        if len(line) <= MAX_LINE_BYTES:
            line += piece
        if piece.endswith(b"\n"):
            break
    return line
