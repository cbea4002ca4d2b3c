"""JSON documents out of a stream: one, one a line, or back to back; one is held at a time.

Top-level arrays are opened, so the elements of a long list stream too. A document that is cut
off or broken costs itself only: reading goes on at the next line that opens a document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from engine.errors import InputError

MAX_DOCUMENT_BYTES = 1 << 29
"""A document longer than this is refused."""
_PIECE_BYTES = 1 << 22
_BOM = b"\xef\xbb\xbf"

_STRING = rb'"(?:[^"\\\n]++|\\[^\n])*+"'
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+([{}\[\]])")
_OPEN_STRING = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb')*+"[^\n]*+\n')
_OPENING = re.compile(rb"\{\r?\n[ \t]|(\{[ \t]*" + _STRING + rb"\s*:)")
_BETWEEN = re.compile(rb"[\s,\[\]\x1e\0]*+")
_BETWEEN_LISTS = re.compile(rb"[\s,\x1e\0]*+")
_INDENT = re.compile(rb"[ \t]*+")
_decode = msgspec.json.Decoder().decode


def decode(text: bytes) -> Any:
    """One JSON value; what Python writes beyond the standard (NaN, lone surrogates) is read too.

    Bytes that are not UTF-8 become lone surrogates, which :func:`engine.ingest.attributes.plain` mends.

    Raises
    ------
    InputError
        With the parser's reason.

    Examples
    --------
    >>> decode(b'{"a": [1, NaN]}')
    {'a': [1, nan]}
    >>> decode(b'{"a": ')
    Traceback (most recent call last):
    engine.errors.InputError: not JSON: Expecting value at character 7
    """
    try:
        return _decode(text)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        return json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    except RecursionError:
        raise InputError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from None


def lines(stream: BinaryIO) -> Iterator[tuple[int, Any]]:
    """One JSON value a line, with its line number; a bad line is an :class:`InputError` value.

    >>> import io
    >>> [value for _, value in lines(io.BytesIO(b'{"a": 1}\\n\\nno\\n'))]
    [{'a': 1}, InputError('not JSON: Expecting value at character 1')]
    """
    number = 0
    while line := stream.readline(MAX_DOCUMENT_BYTES):
        number += 1
        text = line.removeprefix(_BOM).strip()
        if not text:
            continue
        try:
            yield number, decode(text)
        except InputError as error:
            yield number, error


class _Splitter:
    """Finds where documents begin and end; fed piece by piece, at most a line each."""

    def __init__(self, between: re.Pattern[bytes]) -> None:
        self._between = between
        self._buffer = bytearray()
        self._scanned = 0
        self._depth = 0

    @property
    def inside(self) -> bool:
        """Whether a document has begun and not ended."""
        return bool(self._buffer)

    def cut_by(self, line: bytes) -> bool:
        """Whether a line that opens an object or array shows the pending document to be cut off.

        It does where JSON allows no value to begin. Else, in indented JSON nothing inside a
        document stands as far left as its own bracket, and on one line, nothing inside a
        document begins with its own first key.
        """
        if line.lstrip().startswith((b"{", b"[")) and not self._buffer[-64:].rstrip().endswith(
            (b"[", b",", b":")
        ):
            return True
        opening = _OPENING.match(self._buffer)
        return opening is not None and line.startswith(opening.group(1) or b"{")

    def feed(self, piece: bytes) -> Iterator[bytes | InputError]:
        """Documents that end in this piece."""
        self._buffer += piece
        while self._buffer:
            if self._scanned == 0:
                del self._buffer[: _span_of(self._between, self._buffer)]
                if not self._buffer.startswith((b"{", b"[")):
                    yield from self._drop("not JSON: '{' was expected")
                    return
            end = self._end()
            if end is None:
                yield from self._unfinished()
                return
            document = bytes(self._buffer[:end])
            del self._buffer[:end]
            self._scanned = 0
            yield document

    def close(self) -> Iterator[InputError]:
        """What is left at the end of the stream."""
        yield from self._drop("the document is cut off")

    def _end(self) -> int | None:
        while match := _TO_BRACKET.match(self._buffer, self._scanned):
            self._scanned = match.end()
            self._depth += 1 if match.group(1) in b"{[" else -1
            if self._depth == 0:
                return self._scanned
        return None

    def _unfinished(self) -> Iterator[InputError]:
        if _OPEN_STRING.match(self._buffer, self._scanned):
            yield from self._drop("not JSON: a text that is not closed")
        elif len(self._buffer) > MAX_DOCUMENT_BYTES:
            yield from self._drop(f"the document is longer than {MAX_DOCUMENT_BYTES >> 20} MiB")

    def _drop(self, reason: str) -> Iterator[InputError]:
        if self._buffer:
            yield InputError(reason)
        self._buffer.clear()
        self._scanned = self._depth = 0


def _span_of(pattern: re.Pattern[bytes], text: bytearray) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def documents(stream: BinaryIO, flatten: bool = True) -> Iterator[tuple[int, Any]]:
    """JSON documents with the line each begins in; a bad one is an :class:`InputError` value.

    Parameters
    ----------
    stream : binary file
    flatten : bool
        Yield the elements of top-level arrays one by one.

    Examples
    --------
    >>> import io
    >>> list(documents(io.BytesIO(b'{"a": 1}{"a":\\n2}\\n[{"a": 3},\\n{"a": 4}]')))
    [(1, {'a': 1}), (1, {'a': 2}), (3, {'a': 3}), (4, {'a': 4})]
    """
    splitter = _Splitter(_BETWEEN if flatten else _BETWEEN_LISTS)
    line = begun = 1
    indent = b""
    fresh, skipping = True, False
    while piece := stream.readline(_PIECE_BYTES):
        if fresh:
            piece = piece.removeprefix(_BOM)
            inner = piece.removeprefix(indent)
            if splitter.inside and splitter.cut_by(inner):
                yield from ((begun, error) for error in splitter.close())
            skipping = skipping and inner[:1] not in (b"{", b"[")
        whole = piece.endswith(b"\n")
        if not skipping:
            if not splitter.inside:
                begun, indent = (
                    line,
                    piece[: _span_of(_INDENT, bytearray(piece))] if fresh else b"",
                )
            for found in _values(splitter, piece, fresh and whole):
                skipping = isinstance(found, InputError) and begun < line
                yield begun, found
                begun = line
        line += whole
        fresh = whole
    yield from ((begun, error) for error in splitter.close())


def _values(splitter: _Splitter, piece: bytes, try_line: bool) -> Iterator[Any]:
    if try_line and not splitter.inside and piece.startswith(b"{"):
        try:
            yield _decode(piece)
            return
        except (msgspec.MsgspecError, RecursionError):
            pass
    for document in splitter.feed(piece):
        try:
            yield document if isinstance(document, InputError) else decode(document)
        except InputError as error:
            yield error
