"""Fifty agents whose maps are wanted at once: the builder against building them one after the other.

``python -m benchmarks.builds``
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

from benchmarks.timing import print_table
from benchmarks.workload import steps
from dashboard.caching import open_cache
from engine import queries
from engine.builder import Maps, Ready
from engine.claims import claimed
from engine.metering import NoMeter
from engine.runs import ALL_TIME, Cohort
from engine.spans import Span
from engine.store.sqlite import open_store

AGENTS, RUNS, STEPS = 50, 1_000, 12
ROUNDS, PROCESSES = 3, 4
NOW_NS = 2 * 10**18
COHORTS = [Cohort("default", f"agent-{number:02}", ALL_TIME) for number in range(AGENTS)]


def spans(agent: str, seed: int) -> Iterator[Span]:
    """The runs of an agent."""
    made = steps(RUNS, STEPS, seed)
    columns = (column.tolist() for column in made[:4])
    for place, (run, signature, start_ns, end_ns) in enumerate(zip(*columns, strict=True)):
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": f"step_{signature}",
            "service.name": agent,
        }
        yield Span(f"{agent}-{run}", str(place), "call", start_ns, end_ns, attributes=about)


def filled(path: Path) -> None:
    """A settled store of all agents."""
    store = open_store(path, create=True)
    for seed, cohort in enumerate(COHORTS):
        store.append("default", [*spans(cohort.agent, seed)])
    store.settle("default")
    store.close()


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
        time.sleep(0.01)
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
    print_table(f"{AGENTS} agents want their maps at once ({RUNS} runs of {STEPS} steps each)", head, rows)


if __name__ == "__main__":
    main()
