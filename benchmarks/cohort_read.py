"""How fast a cohort is read out of a large store: ``python -m benchmarks.cohort_read [runs]``.

The store is made once, below ``benchmarks/.cache``, by the same code that settling uses to
write runs; then the 20,000 newest runs of its largest agent are read several times.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.ingest import SPANS_A_RUN, trace
from benchmarks.timing import best_s
from benchmarks.workload import steps
from engine.columns import paths_from_columns
from engine.growing import grow
from engine.queries import load_map
from engine.runs import ALL_TIME, SECOND_NS, Cohort, Outcome, Run, Source, Step, View
from engine.siblings import compare_siblings
from engine.statistics import wilson
from engine.store import Store, opening
from engine.store.keys import given_tenant
from engine.store.sqlite import open_store
from engine.store.writing import RunWriter

PLACE = Path(__file__).parent / ".cache"
START_NS = 1_750_000_000_000_000_000
AGENTS = ("returns", "returns", "returns", "billing", "search")
"""Three runs in five belong to the first agent."""
SHAPES = 2_000
ROUNDS = 15
RAW_SPANS = 1_000_000
"""Raw spans kept beside the runs."""


def shapes() -> list[tuple[Step, ...]]:
    """Step sequences of 5 to 60 steps: each step mostly follows from the one before, some repeat."""
    rng = np.random.default_rng(7)
    habit = rng.permuted(np.tile(np.arange(24), (24, 1)), axis=1)
    made = []
    for _ in range(SHAPES):
        at, steps = 0, []
        for number in range(int(rng.integers(5, 61))):
            start_ns = START_NS + number * SECOND_NS
            signature = f"{'llm' if at % 3 == 0 else 'tool'}:step_{at}"
            steps.append(Step(signature, start_ns, start_ns + 9, "t", f"{number:016x}", at == 5, 417, 52))
            at = int(habit[at, rng.choice(4, p=(0.80, 0.12, 0.05, 0.03))]) if rng.random() < 0.8 else at
        made.append(tuple(steps))
    return made


def runs(count: int) -> Iterator[Run]:
    """Runs that start one a second, in a shuffled order."""
    steps = shapes()
    rng = np.random.default_rng(8)
    for number in rng.permutation(count).tolist():
        run_id = f"{number * 0x9E3779B97F4A7C15 % 2**128:032x}"
        start_ns = START_NS + number * SECOND_NS
        yield Run(
            run_id,
            AGENTS[number % len(AGENTS)],
            "1.4.2",
            f"ticket-{number % 4_000}",
            start_ns,
            start_ns + 60 * SECOND_NS,
            Outcome(number % 7 % 3),
            Source.DECLARED if number % 3 else Source.INFERRED,
            steps[number % SHAPES],
            ("t",),
        )


def make(path: Path, count: int) -> None:
    """Fill a new store with runs."""
    opening.create(path)
    db = opening.connect(path, read_only=False)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN IMMEDIATE")
    writer = RunWriter(db, given_tenant(db, "default"))
    for done, run in enumerate(runs(count), 1):
        writer.write(run)
        if done % 50_000 == 0:
            db.execute("COMMIT")
            db.execute("BEGIN IMMEDIATE")
            print(f"\rmade {done:,} of {count:,} runs", end="", file=sys.stderr)
    db.execute("COMMIT")
    db.close()
    print(file=sys.stderr)


def keep_spans(path: Path) -> None:
    """Append raw spans of one more agent, so that reads happen beside a full table of them."""
    store = open_store(path)
    for first in range(0, RAW_SPANS // SPANS_A_RUN, 500):
        store.append("default", [span for number in range(first, first + 500) for span in trace(number)])
    store.settle("default")
    store.close()


def read_ms(store: Store, view: View, now_ns: int) -> list[float]:
    """Milliseconds of each read, the first one cold."""
    taken = []
    for _ in range(ROUNDS):
        started = perf_counter()
        store.paths(Cohort("default", AGENTS[0], ALL_TIME, view), now_ns)
        taken.append((perf_counter() - started) * 1e3)
    return taken


def main() -> None:
    """Print one line a view."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    path = PLACE / f"runs-{count}.sqlite"
    if not path.exists():
        started = perf_counter()
        make(path.with_suffix(".draft"), count)
        keep_spans(path.with_suffix(".draft"))
        path.with_suffix(".draft").rename(path)
        print(f"made in {perf_counter() - started:,.0f} s")
    store = open_store(path)
    now_ns = START_NS + count * SECOND_NS
    print(f"{count:,} runs beside {RAW_SPANS:,} raw spans, {path.stat().st_size / 1e6:,.0f} MB;")
    print("the newest 20,000 runs of one agent:")
    print("  view    runs    folds  first ms  median ms  best ms  peak MB")
    views: tuple[View, ...] = ("all", "tools")
    for view in views:
        paths = store.paths(Cohort("default", AGENTS[0], ALL_TIME, view), now_ns)
        first, *rest = read_ms(store, view, now_ns)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{view:>6} {len(paths.run_ids):>7,} {len(paths.code):>8,} {first:>9.1f} "
            f"{float(np.median(rest)):>10.1f} {min(rest):>8.1f} {peak_mb:>8,.0f}"
        )
    cohort = Cohort("default", AGENTS[0], ALL_TIME)
    map_s, behaviour = best_s(lambda: load_map(store, cohort, now_ns), ROUNDS)
    print(f"store to finished map, halves and statistics included: best {map_s * 1e3:.1f} ms")
    print(f"  ({len(behaviour):,} nodes, {behaviour.tested:,} branches tested)")
    store.close()
    statistics_alone()


def statistics_alone() -> None:
    """Time Fisher for every child with support, q, Wilson and entropy on some 50,000 nodes."""
    tree = grow(paths_from_columns(*steps(10_000, 20)))
    support = tree.through.sum(axis=(0, 1), dtype=np.int32)
    successes = tree.through[:, Outcome.SUCCESS].sum(axis=0, dtype=np.int32)

    def everything() -> int:
        wilson(successes, support)
        return compare_siblings(tree, support).tested

    best, tested = best_s(everything, ROUNDS)
    print(f"statistics of {support.size:,} nodes, {tested:,} tested: best {best * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
