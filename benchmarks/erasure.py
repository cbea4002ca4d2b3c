"""How long it takes to erase one run out of many: ``python -m benchmarks.erasure [runs]``.

The store is that of :mod:`benchmarks.cohort_read`, made once and copied here; each run is erased from
the copy as a server does it, while another thread appends batches of spans and times them.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from benchmarks.cohort_read import AGENTS, PLACE, RAW_SPANS, START_NS, keep_spans, make
from benchmarks.ingest import trace
from engine.erasing import Erasing
from engine.runs import SECOND_NS, Cohort, Window
from engine.selections import Before, ByAttribute, ByRun, ByTicket, Selection
from engine.store import Store
from engine.store.sqlite import open_store

TIMES = 20
ARRIVING = 10_000_000
"""Number of the first trace that arrives meanwhile: the store holds none of so high a number."""


class Writer(threading.Thread):
    """Appends a trace at a time, a hundred a second, and notes how long each had to wait."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store, self._told, self.waits_s = store, threading.Event(), list[float]()

    def run(self) -> None:
        number = ARRIVING
        while not self._told.wait(0.01):
            number += 1
            spans = [*trace(number)]
            begun_s = time.perf_counter()
            self._store.append("default", spans)
            self.waits_s.append(time.perf_counter() - begun_s)

    def stop(self) -> float:
        """End it; the longest wait in seconds."""
        self._told.set()
        self.join()
        return max(self.waits_s, default=0.0)


def erased(store: Store, *selections: Selection) -> tuple[list[float], list[int], float]:
    """Seconds and runs of each erasure, and the longest wait of whoever wrote meanwhile."""
    erasing = Erasing(store, lambda tenant, shared: None, time.time_ns)
    writer = Writer(store)
    writer.start()
    taken_s, runs = [], []
    for selection in selections:
        begun_s = time.perf_counter()
        receipt = erasing.erase("default", selection, wait_s=3600)
        taken_s.append(time.perf_counter() - begun_s)
        assert receipt.done_ns is not None
        runs.append(receipt.runs)
    return taken_s, runs, writer.stop()


def some_runs(store: Store, runs: int) -> list[str]:
    """Ids of runs from all over the store's time."""
    found = []
    for start_ns in range(START_NS, START_NS + runs * SECOND_NS, runs // TIMES * SECOND_NS):
        cohort = Cohort("default", AGENTS[0], Window(start_ns, start_ns + 9 * SECOND_NS))
        found += [row.run_id for row in store.runs(cohort, start_ns, limit=1)]
    return found


def report(what: str, store: Store, *selections: Selection) -> None:
    taken_s, runs, wait_s = erased(store, *selections)
    middle_s = sorted(taken_s)[len(taken_s) // 2]
    print(
        f"{what:<28} {len(taken_s):>3} {sum(runs):>8,} {middle_s * 1e3:>10,.0f} {max(taken_s) * 1e3:>10,.0f}"
        f" {wait_s * 1e3:>10,.0f}",
        flush=True,
    )


def main() -> None:
    """Print a line a kind of erasure."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    made = PLACE / f"runs-{count}.sqlite"
    if not made.exists():
        make(made.with_suffix(".draft"), count)
        keep_spans(made.with_suffix(".draft"))
        made.with_suffix(".draft").rename(made)
    with TemporaryDirectory(dir=PLACE) as folder:
        path = Path(folder) / "copy.sqlite"
        shutil.copyfile(made, path)
        store = open_store(path)
        store.settle("default")
        with sqlite3.connect(path) as db:
            (runs,) = db.execute("SELECT count(*) FROM runs").fetchone()
        db.close()
        print(f"a store of {runs:,} runs and {RAW_SPANS:,} raw spans, {path.stat().st_size / 1e6:,.0f} MB;")
        print("spans arrive meanwhile, a trace a hundredth of a second")
        print("erased                       times   runs  median ms     max ms  longest wait of a writer, ms")
        report("a run", store, *map(ByRun, some_runs(store, count)))
        report("a run of a trace", store, *(ByRun(next(trace(number)).trace_id) for number in range(TIMES)))
        report("a ticket's 250 runs", store, *(ByTicket(f"ticket-{number}") for number in range(3)))
        user = [replace(span, attributes={"user.id": "u-7"}) for span in trace(ARRIVING)]
        store.append("default", user)
        report("a user's runs", store, ByAttribute("user.id", "u-7"))
        report("the oldest tenth", store, Before(START_NS + count // 10 * SECOND_NS))
        begun_s = time.perf_counter()
        store.vacuum(time.time_ns())
        print(f"vacuum: {time.perf_counter() - begun_s:,.1f} s, {path.stat().st_size / 1e6:,.0f} MB now")
        store.close()


if __name__ == "__main__":
    main()
