"""``forkmap import``: files into a store; every good record is kept, every bad one is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from engine.errors import InputError
from engine.ingest import Record, Refusal, read_file
from engine.runs import Declaration
from engine.spans import Span
from engine.store import Store

BATCH = 5_000
"""Records that are written at a time."""

Watch = Callable[[Path], Callable[[int], None] | None]
"""Gives what is told how far a file has been read; None if nobody watches."""


class Imported(NamedTuple):
    """What an import did.

    Attributes
    ----------
    imported, unchanged : int
        Records that are new or changed something; records that were there already.
    refusals : tuple of Refusal
        What was left out, and why; a file of which nothing could be read is one, at line 0.
    runs : int
        Runs that the imported records belong to.
    unreadable : int
        Files of which nothing could be read.
    """

    imported: int
    unchanged: int
    refusals: tuple[Refusal, ...]
    runs: int
    unreadable: int


def import_files(
    store: Store,
    tenant: str,
    files: Sequence[Path],
    format: str | None = None,
    agent: str | None = None,
    watch: Watch = lambda file: None,
) -> Imported:
    """Write what files hold into the store, batch by batch, then fold it into runs.

    Of copies of one span the last counts, as far as a batch reaches; two differing copies further
    apart replace each other at every import of the file.

    Raises
    ------
    StoreError
        The store cannot be written to; batches written before are kept.
    """
    imported = unchanged = unreadable = 0
    refusals: list[Refusal] = []
    store.settle(tenant)  # What others left to be folded does not count as imported.
    for file in files:
        try:
            found = read_file(file, format, agent, watch(file))
        except InputError as error:
            refusals.append(Refusal(str(file), error.line, error.reason))
            unreadable += 1
            continue
        while batch := list(islice(found, BATCH)):
            refusals += [each for each in batch if isinstance(each, Refusal)]
            new, same = _write(store, tenant, [each for each in batch if not isinstance(each, Refusal)])
            imported, unchanged = imported + new, unchanged + same
    return Imported(imported, unchanged, tuple(refusals), len(store.settle(tenant)), unreadable)


def _write(store: Store, tenant: str, records: Sequence[Record]) -> tuple[int, int]:
    """Write a batch; how many records changed something, and how many did not."""
    spans = [each for each in records if isinstance(each, Span)]
    declared = [each for each in records if isinstance(each, Declaration)]
    done = store.append(tenant, spans), store.declare(tenant, declared)
    return sum(each.new + each.changed for each in done), sum(each.unchanged for each in done)


@contextmanager
def progress_bar(console: Console, files: Sequence[Path]) -> Iterator[Watch]:
    """A bar over the bytes of the files, where somebody sees it."""
    if not console.is_terminal:
        yield lambda file: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:

        def watch(file: Path) -> Callable[[int], None]:
            size = file.stat().st_size if file.is_file() else 0
            task = progress.add_task(escape(file.name), total=size)
            return lambda done: progress.update(task, completed=done)

        yield watch
