"""``forkmap audit``: what is wrong with decision traces in files of any size."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from os.path import isfile  # Path.is_file raises where a name is too long or may not be looked at.
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO, cast

from rich.console import Console

from dashboard.commands.importing import progress_bar
from dashboard.commands.telling import STDIN
from dashboard.commands.terminal import is_plain, plain
from engine.decisions import wording
from engine.decisions.audit import Link, findings, order
from engine.decisions.lines import events
from engine.decisions.spilling import Spilled
from engine.decisions.trace import Finding, Kind
from engine.ingest.source import READ_ERRORS, Progress, Source, describe, unpacked

STDIN_NAME = "standard input"
TASTE = frozenset({Kind.LOW_MARGIN, Kind.NOT_TOP, Kind.LONG_GOAL})
"""Findings that may be meant: warnings where others are errors."""


class Found(NamedTuple):
    """A finding, and which of the files it is in, counted from 0."""

    file: int
    line: int
    place: int
    kind: str
    detail: str
    span_id: str

    @property
    def finding(self) -> Finding:
        """The finding itself."""
        return Finding(self.line, Kind(self.kind), self.detail, self.span_id)


class Unread(NamedTuple):
    """A file that could not be read, or not to its end, and why."""

    file: str
    reason: str


class Audited(NamedTuple):
    """What is wrong with some files.

    Attributes
    ----------
    files : tuple of str
        How each is called.
    found : Spilled of Found
        By file and line.
    """

    files: tuple[str, ...]
    found: Spilled[Found]
    unread: tuple[Unread, ...]


Write = Callable[[Audited, TextIO], None]


@contextmanager
def audit(files: Sequence[Path], low_margin: float, console: Console) -> Iterator[Audited]:
    """Audit files, ``-`` for the standard input; the console shows how far it is, if it can."""
    names = tuple(STDIN_NAME if file == STDIN else str(file) for file in files)
    unread: list[Unread] = []
    with closing(Spilled(Found, "file, line, place")) as found:
        with progress_bar(console, [*filter(isfile, files)]) as watch:
            for number, file in enumerate(files):
                try:
                    for each in _audit(file, low_margin, watch(file) if isfile(file) else None):
                        row = Found(number, *order(each), each.kind.value, each.detail, each.span_id)
                        found.append(row)
                except READ_ERRORS as error:
                    unread.append(Unread(names[number], describe(error)))
        yield Audited(names, found, tuple(unread))


def _audit(file: Path, low_margin: float, progress: Progress | None) -> Iterator[Finding]:
    with closing(Spilled(Link, "id, line, role")) as links, _open(file, progress) as stream:
        yield from findings(events(stream), low_margin, links)


@contextmanager
def _open(file: Path, progress: Progress | None) -> Iterator[BinaryIO]:
    raw = cast(io.RawIOBase, sys.stdin.buffer)
    with unpacked(raw) if file == STDIN else Source(file, progress).open() as stream:
        yield stream


def text(audited: Audited, out: TextIO) -> None:
    """A finding a line, its file in a fourth column if there are several; then how many there are."""
    several = len(audited.files) > 1
    for each in audited.found:
        row = [each.kind, f"L{each.line}", each.detail, *([audited.files[each.file]] if several else [])]
        out.write("\t".join(map(plain, row)) + "\n")
    out.write(f"finding_count\t{len(audited.found)}\n")


def document(audited: Audited, out: TextIO) -> None:
    """The same as one JSON value, a finding a line."""
    out.write('{"findings": [')
    for number, each in enumerate(audited.found):
        fields = {"file": audited.files[each.file], "line": each.line, "kind": each.kind}
        fields |= {"detail": each.detail, "span_id": each.span_id}
        out.write(f"{',' if number else ''}\n{json.dumps(fields)}")
    unread = json.dumps([each._asdict() for each in audited.unread])
    out.write(f'\n], "finding_count": {len(audited.found)}, "unread": {unread}}}\n')


def github(audited: Audited, out: TextIO) -> None:
    """The same as annotations that GitHub shows beside the lines of a change."""
    for each in audited.found:
        level = "warning" if each.kind in TASTE else "error"
        file = _escaped(audited.files[each.file], ":,")
        sentence = _escaped(wording.finding(each.finding))
        out.write(f"::{level} file={file},line={each.line},title={each.kind}::{sentence}\n")
    out.write(f"finding_count\t{len(audited.found)}\n")


FORMATS: dict[str, Write] = {"text": text, "json": document, "github": github}
"""How findings are written, by the name of the format."""


def _escaped(value: str, more: str = "") -> str:
    """A text in an annotation.

    >>> _escaped("50%: a,b", ":,")
    '50%25%3A a%2Cb'
    """
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c if is_plain(c) else "\ufffd" for c in value)
