"""Files of recorded runs into a store, batch by batch; every good record is kept, every bad one is named."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

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

    imported: int = 0
    unchanged: int = 0
    refusals: tuple[Refusal, ...] = ()
    runs: int = 0
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
    return deque(importing(store, tenant, files, format, agent, ticket, watch), 1)[0]


def importing(
    store: Store,
    tenant: str,
    files: Sequence[Path],
    format: str | None = None,
    agent: str | None = None,
    ticket: str | None = None,
    watch: Watch = lambda file: None,
) -> Iterator[Imported]:
    """As :func:`import_files`: what was done so far, after each batch; the last one is all of it.

    Who stops in between leaves the rest unread; what is written stays.
    """
    done, traces, declared = Imported(), set[str](), dict[str, str]()
    found = _read(files, format, agent, ticket, watch)
    try:
        while batch := list(islice(found, BATCH)):
            done = _refusing(done, [each for each in batch if isinstance(each, Refusal)])
            spans = [each for each in batch if isinstance(each, Span)]
            outcomes = [each for each in batch if isinstance(each, Declaration)]
            traces.update(each.trace_id for each in spans)
            for wrote in _write(store, tenant, spans, outcomes):
                new, unchanged = done.imported + wrote.new + wrote.changed, done.unchanged + wrote.unchanged
                done = done._replace(imported=new, unchanged=unchanged)
            declared.update((identifier(each.run_id), each.run_id) for each in outcomes)
            yield done
    except StoreError as error:
        done = done._replace(fault=str(error))
    yield _folded(done, store, tenant, traces, declared)


def _refusing(done: Imported, left_out: Sequence[Refusal]) -> Imported:
    return done._replace(
        refused=done.refused + len(left_out),
        unreadable=done.unreadable + sum(each.line == 0 for each in left_out),
        refusals=(done.refusals + tuple(left_out))[:NAMED],
    )


def _folded(
    done: Imported, store: Store, tenant: str, traces: set[str], declared: dict[str, str]
) -> Imported:
    """Fold what came into runs, and count them."""
    with suppress(StoreError):  # Then it is counted as far as it is folded.
        store.settle(tenant)
    try:
        told = {name for each in declared.values() for name in (each, each.replace("-", "").lower())}
        runs = store.runs_of(tenant, traces | told, declared)
        waiting = tuple(store.waiting(tenant, declared.values()))
    except StoreError as error:
        return done._replace(fault=done.fault or str(error))
    return done._replace(runs=len(runs), waiting=waiting)


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
