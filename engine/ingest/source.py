"""A file to import: opened as plain bytes, whatever its compression, and named by its content."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from engine.errors import InputError
from engine.runs import Declaration
from engine.spans import Span

HEAD_BYTES = 1 << 20
"""Bytes looked at to tell the format."""
READ_ERRORS = (OSError, EOFError, zlib.error)
"""What reading a file can raise: the disk, or a damaged gzip stream."""
_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER_BYTES = 1 << 18


class Refused(NamedTuple):
    """Why a record, or a part of one, was left out.

    Attributes
    ----------
    spans : int or None
        Spans lost with it: 0 if it is a part of one that was kept, None if nobody can tell.
    """

    reason: str
    spans: int | None = 0


Found = tuple[int, Span | Declaration | Refused]
"""A line (or record) number counted from 1, and what stood there."""

Progress = Callable[[int], None]


class _Counted(io.RawIOBase):
    """An unbuffered file that reports how far it has been read."""

    def __init__(self, file: io.FileIO, progress: Progress | None) -> None:
        self._file = file
        self._progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        size = self._file.readinto(buffer)
        if self._progress is not None:
            self._progress(self._file.tell())
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


class _UpToDamage(io.RawIOBase):
    """A stream that ends where it cannot be read on; ``damage`` is why."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self.damage: BaseException | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            return self._stream.readinto1(buffer)
        except READ_ERRORS as error:
            self.damage = self.damage or error
            return 0


@dataclass(frozen=True, slots=True)
class Source:
    """A file to import.

    Attributes
    ----------
    path : Path
        Where it is; ``name`` is its text.
    progress : callable or None
        Told the number of bytes of the file read so far, as it is read.
    """

    path: Path
    progress: Progress | None = None

    @property
    def name(self) -> str:
        """How reports call the file."""
        return str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without ``.gz`` and its extension."""
        return self.path.name.removesuffix(".gz").rsplit(".", 1)[0]

    @contextmanager
    def open(self, quiet: bool = False) -> Iterator[BinaryIO]:
        """The content, decompressed if it begins as gzip does.

        Where it cannot be read on it ends; the error is raised on leaving, so that whatever
        comes before the damage is read first.
        """
        with (
            _Counted(io.FileIO(self.path), None if quiet else self.progress) as raw,
            unpacked(raw) as content,
        ):
            yield content

    def head(self) -> bytes:
        """The first bytes, about 1 MiB, or what there is before the file cannot be read on.

        Raises
        ------
        InputError
            If there is nothing to read: no file, no permission, a directory, an empty file.
        """
        head = bytearray()
        try:
            if self.path.exists() and not self.path.is_file():
                raise InputError("this is not a regular file", self.name)
            with self.open(quiet=True) as stream:
                while len(head) < HEAD_BYTES and (piece := stream.read1(HEAD_BYTES)):  # type: ignore[attr-defined]
                    head += piece
        except READ_ERRORS as error:
            if not head:
                raise InputError(describe(error), self.name) from error
        if not head.strip() or not head.strip(b"\0"):
            raise InputError("the file is empty", self.name)
        return bytes(head)

    def digest(self) -> str:
        """16 hex digits that name the content, compressed or not, as far as it can be read."""
        digest = blake2b(digest_size=8)
        with suppress(*READ_ERRORS), self.open(quiet=True) as stream:
            while chunk := stream.read1(1 << 16):  # type: ignore[attr-defined]
                digest.update(chunk)
        return digest.hexdigest()


@contextmanager
def unpacked(raw: io.RawIOBase) -> Iterator[BinaryIO]:
    """The content of a file or pipe, as :meth:`Source.open` gives it; the file stays open."""
    stream = io.BufferedReader(raw, _BUFFER_BYTES)
    try:
        packed = stream.peek(2)[:2] == _GZIP_MAGIC
        content = _UpToDamage(gzip.GzipFile(fileobj=stream) if packed else stream)
        with io.BufferedReader(content, _BUFFER_BYTES) as buffered:
            yield cast(BinaryIO, buffered)
        if content.damage:
            raise content.damage
    finally:
        stream.detach()


def describe(error: BaseException, what: str = "it") -> str:
    """A read error in words.

    >>> describe(FileNotFoundError(2, "No such file or directory"))
    'it cannot be read: No such file or directory'
    >>> describe(EOFError(), "the rest")
    'the rest cannot be read: the compressed data is cut off'
    """
    if isinstance(error, EOFError):
        words = "the compressed data is cut off"
    elif isinstance(error, gzip.BadGzipFile | zlib.error):
        words = "the compressed data is damaged, or something else follows it"
    else:
        words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{what} cannot be read: {words}"
