"""JSON documents out of a stream: one, one a line, or back to back; one is held at a time.

Top-level arrays are opened, so the elements of a long list stream too. A document that is cut
off or broken costs itself only: reading goes on at the next line that opens a document. One that
is too long is passed over without being held.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from engine.errors import InputError

MAX_RECORD_BYTES = 1 << 26
"""A document or line longer than this is refused."""
MAX_NESTING = 250
"""What is nested deeper is dropped; attributes may nest far less, in OTLP's way of writing too."""
_TOO_LONG = f"it is longer than {MAX_RECORD_BYTES >> 20} MiB"
_PIECE_BYTES = 1 << 22
_HEAD_BYTES = 4096
_TAIL_BYTES = 64
_MAX_DIGITS = 100
_BOM = b"\xef\xbb\xbf"

_IN_STRING = rb'(?:[^"\\\n]++|\\[^\n])*+'
_STRING = rb'"' + _IN_STRING + rb'"'
_TO_MARK = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb')*+(?:([{\[])|([}\]])|(")|\Z)')
_OPENS, _CLOSES, _QUOTES = 1, 2, 3
_TO_QUOTE = re.compile(_IN_STRING + rb'(["\n]|\\\n)?')
_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"' + _IN_STRING + rb'"?+)*+(?:([{\[])|([}\]]))')
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
        return _decode_python(text)
    except RecursionError:
        pass
    try:
        return _decode_python(_shallow(text))
    except RecursionError:
        raise InputError("nested too deeply") from None


def _decode_python(text: bytes) -> Any:
    try:
        return json.loads(text.decode("utf-8", "surrogateescape"), strict=False, parse_int=_integer)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise InputError(f"not JSON: {what} at character {error.pos + 1}") from None


def _integer(digits: str) -> int | str:
    """An integer; one far over 64 bits stays the text it would become."""
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


def _shallow(text: bytes) -> bytes:
    """JSON with null in place of whatever is nested too deeply."""
    kept: list[bytes] = []
    depth = begun = 0
    for match in _BRACKET.finditer(text):
        if match.lastindex == _OPENS:
            if depth == MAX_NESTING:
                kept += [text[begun : match.start(_OPENS)], b"null"]
            depth += 1
        else:
            depth -= 1
            if depth == MAX_NESTING:
                begun = match.end()
    return b"".join(kept) + text[begun:] if depth < MAX_NESTING else text


def lines(stream: BinaryIO) -> Iterator[tuple[int, Any]]:
    """One JSON value a line, with its line number; a bad line is an :class:`InputError` value.

    >>> import io
    >>> [value for _, value in lines(io.BytesIO(b'{"a": 1}\\n\\nno\\n'))]
    [{'a': 1}, InputError('not JSON: Expecting value at character 1')]
    """
    for number, text in texts(stream):
        try:
            yield number, text if isinstance(text, InputError) else decode(text)
        except InputError as error:
            yield number, error


def texts(stream: BinaryIO) -> Iterator[tuple[int, bytes | InputError]]:
    """The lines that hold something, as they are, with their numbers; one that is too long is an error.

    >>> import io
    >>> list(texts(io.BytesIO(b'{"a": 1}\\n\\nno\\n')))
    [(1, b'{"a": 1}'), (3, b'no')]
    """
    number = 0
    while line := stream.readline(MAX_RECORD_BYTES + 1):
        number += 1
        if len(line) > MAX_RECORD_BYTES:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_PIECE_BYTES)
            yield number, InputError(_TOO_LONG)
        elif text := line.removeprefix(_BOM).strip():
            yield number, text


class _Splitter:
    """Finds where documents begin and end; fed piece by piece, at most a line each.

    Each piece is looked at once. Of a document that is too long only the first and last bytes are
    held, which show whether it is cut off.
    """

    def __init__(self, between: re.Pattern[bytes]) -> None:
        self._between = between
        self._buffer = bytearray()
        self._start()
        self.lost = False

    def _start(self) -> None:
        self._scanned = self._depth = 0
        self._in_string = self._too_long = False

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
        if line.lstrip().startswith((b"{", b"[")) and not self._buffer[-_TAIL_BYTES:].rstrip().endswith(
            (b"[", b",", b":")
        ):
            return True
        opening = _OPENING.match(self._buffer, 0, _HEAD_BYTES)
        return opening is not None and line.startswith(opening.group(1) or b"{")

    def feed(self, piece: bytes) -> Iterator[bytes | InputError]:
        """Documents that end in this piece; ``lost`` says that the rest of its line means nothing."""
        self._buffer += piece
        self.lost = False
        while self._buffer:
            if self._scanned == 0:
                del self._buffer[: _span_of(self._between, self._buffer)]
                if not self._buffer.startswith((b"{", b"[")):
                    yield from self._drop("not JSON: '{' was expected")
                    return
            if not self._scan():
                yield from self._drop("not JSON: a text that is not closed")
            elif self._depth:
                self._shorten()
                return
            else:
                too_long = self._too_long or self._scanned > MAX_RECORD_BYTES
                yield InputError(_TOO_LONG) if too_long else bytes(self._buffer[: self._scanned])
                del self._buffer[: self._scanned]
                self._start()

    def close(self) -> Iterator[InputError]:
        """What is left at the end of the stream."""
        yield from self._drop("the document is cut off")

    def _scan(self) -> bool:
        """Go on to the document's end, or as far as there is; False at a text left open by its line."""
        if not self._scan_string():
            return False
        if not self._in_string:
            self._scan_brackets()
        return self._scan_string()

    def _scan_string(self) -> bool:
        if self._in_string and (match := _TO_QUOTE.match(self._buffer, self._scanned)):
            self._scanned = match.end()
            self._in_string = match.group(1) != b'"'
            return match.group(1) in (None, b'"')
        return True

    def _scan_brackets(self) -> None:
        depth, end = self._depth, self._scanned
        for match in _TO_MARK.finditer(self._buffer, self._scanned):
            mark, end = match.lastindex, match.end()
            if mark == _OPENS:
                depth += 1
            elif mark == _CLOSES:
                depth -= 1
                if depth == 0:
                    break
            elif mark == _QUOTES:
                self._in_string = True
                break
        self._depth, self._scanned = depth, end

    def _shorten(self) -> None:
        """Let go of the middle of a document that is too long."""
        self._too_long = self._too_long or len(self._buffer) > MAX_RECORD_BYTES
        excess = self._scanned - _HEAD_BYTES - _TAIL_BYTES
        if self._too_long and excess > 0:
            del self._buffer[_HEAD_BYTES : _HEAD_BYTES + excess]
            self._scanned -= excess

    def _drop(self, reason: str) -> Iterator[InputError]:
        if self._buffer:
            self.lost = True
            yield InputError(_TOO_LONG if self._too_long else reason)
        self._buffer.clear()
        self._start()


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
        if not skipping and (fresh or not splitter.lost):
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
