"""``forkmap import``: files into a store; every good record is kept, every bad one is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from engine.errors import InputError, StoreError
from engine.ingest import Record, Refusal, read_file
from engine.paths import identifier
from engine.runs import Declaration
from engine.spans import Span
from engine.store import Appended, Store

BATCH = 5_000
"""Records that are written at a time."""
NAMED = 10_000
"""Refusals that are named, the first; the rest are counted."""

Watch = Callable[[Path], Callable[[int], None] | None]
"""Gives what is told how far a file has been read; None if nobody watches."""


class Imported(NamedTuple):
    """What an import did.

    Attributes
    ----------
    imported, unchanged : int
        Records that are new or changed something; records that were there already.
    refusals : tuple of Refusal
        What was left out, and why; a file of which nothing could be read is one, at line 0. The first
        :data:`NAMED` of them.
    runs : int
        Runs that the records belong to, changed or not.
    refused : int
        How many refusals there were.
    unreadable : int
        Files of which nothing could be read.
    waiting : tuple of str
        Ids of runs that outcomes were declared for and no span has been seen of, in order.
    fault : str
        Why the store took no more; "" if it took everything.
    """

    imported: int
    unchanged: int
    refusals: tuple[Refusal, ...]
    runs: int
    refused: int = 0
    unreadable: int = 0
    waiting: tuple[str, ...] = ()
    fault: str = ""


def import_files(
    store: Store,
    tenant: str,
    files: Sequence[Path],
    format: str | None = None,
    agent: str | None = None,
    ticket: str | None = None,
    watch: Watch = lambda file: None,
) -> Imported:
    """Write what files hold into the store, batch by batch, then fold it into runs.

    Of copies of one span the last counts, as far as a batch reaches; two differing copies further
    apart replace each other at every import of the file. Where the store fails, batches written
    before are kept and counted.
    """
    imported = unchanged = refused = unreadable = 0
    refusals: list[Refusal] = []
    traces: set[str] = set()
    declared: dict[str, str] = {}
    fault = ""
    found = _read(files, format, agent, ticket, watch)
    try:
        while batch := list(islice(found, BATCH)):
            left_out = [each for each in batch if isinstance(each, Refusal)]
            refused += len(left_out)
            unreadable += sum(each.line == 0 for each in left_out)
            refusals += left_out[: NAMED - len(refusals)]
            spans = [each for each in batch if isinstance(each, Span)]
            outcomes = [each for each in batch if isinstance(each, Declaration)]
            traces.update(each.trace_id for each in spans)
            for done in _write(store, tenant, spans, outcomes):
                imported += done.new + done.changed
                unchanged += done.unchanged
            declared.update((identifier(each.run_id), each.run_id) for each in outcomes)
    except StoreError as error:
        fault = str(error)
    try:
        told = {name for each in declared.values() for name in (each, each.replace("-", "").lower())}
        runs = store.runs_of(tenant, traces | told, declared)
        waiting = tuple(store.waiting(tenant, declared.values()))
    except StoreError as error:
        runs, waiting, fault = set(), (), fault or str(error)
    return Imported(imported, unchanged, tuple(refusals), len(runs), refused, unreadable, waiting, fault)


def _read(
    files: Sequence[Path], format: str | None, agent: str | None, ticket: str | None, watch: Watch
) -> Iterator[Record | Refusal]:
    for file in files:
        try:
            yield from read_file(file, format, agent, ticket, watch(file))
        except InputError as error:
            yield Refusal(str(file), error.line, error.reason)


def _write(
    store: Store, tenant: str, spans: Sequence[Span], outcomes: Sequence[Declaration]
) -> Iterator[Appended]:
    yield store.append(tenant, spans)
    yield store.declare(tenant, outcomes)


def document(done: Imported) -> dict[str, object]:
    """What an import did, as JSON values."""
    return {
        "imported": done.imported,
        "unchanged": done.unchanged,
        "refused": done.refused,
        "refusals": [{"file": r.file, "line": r.line, "reason": r.reason} for r in done.refusals],
        "runs": done.runs,
    }


@contextmanager
def progress_bar(console: Console, files: Sequence[Path]) -> Iterator[Watch]:
    """A bar over the bytes of the files, where somebody sees it."""
    if not console.is_terminal:
        yield lambda file: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:

        def watch(file: Path) -> Callable[[int], None]:
            size = 0
            with suppress(OSError):  # Reading the file will say what is wrong with it.
                size = file.stat().st_size
            task = progress.add_task(escape(file.name), total=size)
            return lambda done: progress.update(task, completed=done)

        yield watch
