"""Fifty agents whose maps are wanted at once: the builder against building them one after the other.

``python -m benchmarks.builds``
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

from msgspec.structs import replace

from benchmarks.cohort_read import runs
from benchmarks.timing import print_table
from dashboard.caching import open_cache
from engine import queries
from engine.builder import Maps, Ready
from engine.claims import claimed
from engine.metering import NoMeter
from engine.runs import ALL_TIME, Cohort
from engine.store import opening
from engine.store.keys import given_tenant
from engine.store.sqlite import open_store
from engine.store.writing import RunWriter

AGENTS, RUNS = 50, 2_000
ROUNDS, PROCESSES = 3, 4
NOW_NS = 2 * 10**18
COHORTS = [Cohort("default", f"agent-{number:02}", ALL_TIME) for number in range(AGENTS)]


def filled(path: Path) -> None:
    """A store of all agents, made by the same code that settling uses to write runs."""
    opening.create(path)
    db = opening.connect(path, read_only=False)
    db.execute("BEGIN IMMEDIATE")
    writer = RunWriter(db, given_tenant(db, "default"))
    for number, run in enumerate(runs(AGENTS * RUNS)):
        writer.write(replace(run, agent=COHORTS[number % AGENTS].agent))
    db.execute("COMMIT")
    db.close()


def one_after_the_other(path: Path) -> tuple[float, int]:
    """Seconds to build every map, without a builder or a cache; and how many were built."""
    store = open_store(path)
    queries.load_map(store, COHORTS[0], NOW_NS)
    begun_s = time.perf_counter()
    for cohort in COHORTS:
        queries.load_map(store, cohort, NOW_NS)
    taken_s = time.perf_counter() - begun_s
    store.close()
    return taken_s, AGENTS


class Counted(NoMeter):
    """A meter that counts builds."""

    builds = 0

    def count(self, name: str, by: int = 1, label: str = "") -> None:
        self.builds += by if (name, label) == ("builds", "ready") else 0


def by_the_builder(path: Path, place: str, barrier: Barrier | None = None) -> tuple[float, int]:
    """Seconds until every map that was asked for at once is there; and how many were built here."""
    store, meter = open_store(path), Counted()
    queries.load_map(store, COHORTS[0], NOW_NS)  # Loads what a first build loads.
    cache = open_cache(place, store)
    maps = Maps(store, cache, lambda: NOW_NS, claim=claimed(path), meter=meter)
    if barrier:
        barrier.wait()
    begun_s, wanted = time.perf_counter(), COHORTS
    while wanted := [cohort for cohort in wanted if not isinstance(maps.get(cohort), Ready)]:
        time.sleep(0.05)
    taken_s = time.perf_counter() - begun_s
    maps.close()
    store.close()
    return taken_s, meter.builds


def by_processes(path: Path, place: str) -> tuple[float, int]:
    """The same of several processes at one cache, each of which wants every map."""
    with multiprocessing.get_context("forkserver").Manager() as manager:
        barrier = manager.Barrier(PROCESSES)
        with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("forkserver")) as pool:
            done = [pool.submit(by_the_builder, path, place, barrier) for _ in range(PROCESSES)]
            taken_s, built = zip(*(each.result() for each in done), strict=True)
    return max(taken_s), sum(built)


def main() -> None:
    """Print the best of a few rounds, and the ratio to building without the builder."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        filled(path)
        fresh = (f"{folder}/cache-{number}" for number in count())
        ways: dict[str, Callable[[], tuple[float, int]]] = {
            "one after the other, without builder and cache": lambda: one_after_the_other(path),
            "builder, cache in memory": lambda: by_the_builder(path, "memory"),
            "builder, cache in files": lambda: by_the_builder(path, next(fresh)),
            f"builders of {PROCESSES} processes, cache in files": lambda: by_processes(path, next(fresh)),
        }
        best = {name: min(way() for _ in range(ROUNDS)) for name, way in ways.items()}
    without_s = next(iter(best.values()))[0]
    rows = [
        (name, str(built), f"{taken_s:.2f} s", f"{built / taken_s:.0f}", f"{without_s / taken_s:.2f}")
        for name, (taken_s, built) in best.items()
    ]
    head = ("way", "maps built", "until all are there", "maps a second", "throughput, ratio")
    print_table(f"{AGENTS} agents want their maps at once ({RUNS:,} runs each)", head, rows)


if __name__ == "__main__":
    main()
