"""The protobuf wire format, as far as it takes to part a file into messages and a message into fields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, Literal, NamedTuple

from engine.errors import InputError

MAX_FRAME_BYTES = 1 << 29
"""A message longer than this is refused."""
_RESOURCE_SPANS = 0x0A
_INNER_TAGS = (b"\x0a", b"\x12", b"\x1a")
_READ_BYTES = 1 << 20

Framing = Literal["single", "varint", "uint32"]
"""One message, or messages that each follow their length: a varint, or four bytes big-endian."""


class Field(NamedTuple):
    """A length-delimited field: its number and its bytes."""

    number: int
    value: bytes


def framing(head: bytes) -> Framing | None:
    """How messages are laid out in a file that begins so, or None if it is no protobuf of spans.

    >>> [framing(bytes([*size, 10, 2, 18, 0])) for size in ([], [4], [0, 0, 0, 4])]
    ['single', 'varint', 'uint32']
    """
    if _begins(head, 0, MAX_FRAME_BYTES):
        return "single"
    with suppress(InputError):
        size, at = _varint(head, 0)
        if size <= MAX_FRAME_BYTES and _begins(head, at, size):
            return "varint"
    size = int.from_bytes(head[:4], "big")
    return "uint32" if size <= MAX_FRAME_BYTES and _begins(head, 4, size) else None


def _begins(head: bytes, at: int, size: int) -> bool:
    """Whether a message of this size could begin here: with resource spans that begin as they do."""
    with suppress(InputError):
        if head[at : at + 1] == b"\n":
            inner, begun = _varint(head, at + 1)
            left = size - (begun - at)
            if inner == 0 or head[begun : begun + 1] not in _INNER_TAGS:
                return inner == 0 <= left
            innermost, end = _varint(head, begun + 1)
            return inner <= left and innermost <= inner - (end - begun)
    return False


def frames(stream: BinaryIO, layout: Framing) -> Iterator[bytes]:
    """The messages of a file one by one; of a single message, its ``resource_spans``.

    Raises
    ------
    InputError
        Where the file is cut off, or goes on with something else.
    """
    while prefix := stream.read(4 if layout == "uint32" else 1):
        if layout == "uint32":
            size = int.from_bytes(_exactly(stream, 4 - len(prefix), prefix), "big")
        elif layout == "varint":
            size = _stream_varint(stream, prefix)
        elif prefix[0] == _RESOURCE_SPANS:
            size = _stream_varint(stream, stream.read(1))
        else:
            raise InputError(
                f"byte {prefix[0]:#04x} where resource spans were expected; the rest is not read"
            )
        if size > MAX_FRAME_BYTES:
            raise InputError(f"a message of {size} bytes is too long; the rest is not read")
        yield _exactly(stream, size)


def _exactly(stream: BinaryIO, size: int, begun: bytes = b"") -> bytes:
    """``size`` more bytes, read in pieces so that a false length claims no memory."""
    data = bytearray(begun)
    end = len(begun) + size
    while len(data) < end:
        piece = stream.read(min(_READ_BYTES, end - len(data)))
        if not piece:
            raise InputError(f"the file is cut off: {end} bytes were announced, {len(data)} are there")
        data += piece
    return bytes(data)


def _stream_varint(stream: BinaryIO, begun: bytes) -> int:
    data = begun
    while data and data[-1] & 0x80 and len(data) < 10:
        data += stream.read(1) or b"\0"
    return _varint(data, 0)[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A base-128 integer and the index after it."""
    if at < len(data) and (only := data[at]) < 0x80:
        return only, at + 1
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise InputError("not protobuf: a length that does not end")


def fields(message: bytes) -> Iterator[Field]:
    """The length-delimited fields of a message; others are passed over."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire_type = tag & 7
        if wire_type == 2:
            size, at = _varint(message, at)
        elif wire_type == 0:
            size = _varint(message, at)[1] - at
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise InputError(f"not protobuf: wire type {wire_type}")
        if at + size > len(message):
            raise InputError("not protobuf: a field that is longer than its message")
        if wire_type == 2:
            yield Field(tag >> 3, message[at : at + size])
        at += size
