"""``forkmap outcomes``: how runs ended, from the files where people keep it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import RenderableType

from dashboard.commands.terminal import shown
from dashboard.components import words
from engine.errors import InputError
from engine.importing import NAMED
from engine.ingest import Refusal
from engine.ingest.outcomes import Told, read_outcomes
from engine.ingest.source import READ_ERRORS, Source, describe
from engine.runs import Declaration
from engine.store import Appended, Store

STDIN = Path("-")
BATCH = 5_000
"""Outcomes that are written at a time."""


class Taken(NamedTuple):
    """What became of the rows.

    Attributes
    ----------
    refusals : tuple of Refusal
        The first of those there were; a file of which nothing could be read is one, at line 0.
    refused, unreadable : int
        Refusals there were; files of which nothing could be read.
    runs : int
        Runs that the rows speak of.
    waiting : tuple of str
        Ids of those that no span has been seen of.
    """

    new: int
    unchanged: int
    refusals: tuple[Refusal, ...]
    refused: int
    unreadable: int
    runs: int
    waiting: tuple[str, ...]


def tell(store: Store, tenant: str, files: Sequence[Path], now_ns: int) -> Taken:
    """Keep the outcomes of files.

    A row without a time says what holds now: of several for one run the last counts, and it is
    kept only if whoever says so said otherwise last. So telling a file twice changes nothing.
    """
    rows = [each for file in files for each in _read(file)]
    told = [each for each in rows if isinstance(each, Told)]
    timeless = {(each.run_id, each.by): each for each in told if each.time_ns is None}
    dated = [each for each in told if each.time_ns is not None]
    done = [
        *_declare(store, tenant, dated, now_ns, repeat=True),
        *_declare(store, tenant, list(timeless.values()), now_ns, repeat=False),
    ]
    new = sum(each.new for each in done)
    names = dict.fromkeys(each.run_id for each in told)
    refusals = [each for each in rows if isinstance(each, Refusal)]
    return Taken(
        new,
        len(told) - new,
        tuple(refusals[:NAMED]),
        len(refusals),
        sum(each.line == 0 for each in refusals),
        len(names),
        tuple(store.waiting(tenant, names)),
    )


def _declare(
    store: Store, tenant: str, told: Sequence[Told], now_ns: int, repeat: bool
) -> Iterator[Appended]:
    declarations: list[Declaration] = [each.declaration(now_ns) for each in told]
    for first in range(0, len(declarations), BATCH):
        yield store.declare(tenant, declarations[first : first + BATCH], repeat)


def _read(file: Path) -> Iterator[Told | Refusal]:
    name, by = ("standard input",) * 2 if file == STDIN else (str(file), file.name)
    try:
        yield from read_outcomes(contents(file), name, by)
    except InputError as error:
        yield Refusal(name, error.line, error.reason)
    except READ_ERRORS as error:
        yield Refusal(name, 0, describe(error))


def contents(file: Path) -> bytes:
    """All of a file, decompressed; ``-`` is the standard input."""
    if file == STDIN:
        return sys.stdin.buffer.read()
    with Source(file).open() as stream:
        return stream.read()


def document(done: Taken) -> dict[str, object]:
    """What became of the rows, as JSON values."""
    return {
        "imported": done.new,
        "unchanged": done.unchanged,
        "refused": done.refused,
        "refusals": [{"file": r.file, "line": r.line, "reason": r.reason} for r in done.refusals],
        "runs": done.runs,
        "waiting": list(done.waiting),
    }


def table(done: Taken) -> RenderableType:
    """What became of the rows, in a sentence."""
    counts = f"{done.new:,} new, {done.unchanged:,} unchanged, {done.refused:,} refused"
    return shown(f"Outcomes: {counts}; {words.count(done.runs, 'run')}.")
