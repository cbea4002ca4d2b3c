"""What it takes to narrow 20,000 runs by an expression: ``python -m benchmarks.narrowing``.

Each line is one expression: how many runs match, reading their paths, the finished map, the list of its
runs, and the first page of a list over HTTP; the first line is the map of all of them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cohort_read import START_NS, make
from benchmarks.timing import best_s, print_table
from engine.listing import Listing
from engine.queries import load_map
from engine.runs import ALL_TIME, SECOND_NS, Cohort
from engine.store import Store
from engine.store.sqlite import open_store

RUNS = 20_000
AGENT = "returns"
"""Three runs in five are its."""
EXPRESSIONS = (
    "",
    "ticket:ticket-1*",
    "tool:step_5",
    "error(*)",
    "step_5 .. !step_7",
    "step_5 x2 .. !step_7 $",
    "(step_5 > llm:*) x2 or ^ step_1",
    "nothing",
)


def line(store: Store, where: str, now_ns: int) -> tuple[str, ...]:
    """What one expression takes, in milliseconds."""
    cohort = Cohort("default", AGENT, ALL_TIME, where=where)
    paths_s, paths = best_s(lambda: store.paths(cohort, now_ns))
    map_s, behaviour = best_s(lambda: load_map(store, cohort, now_ns))
    table_s, _ = best_s(lambda: Listing(store)(behaviour))
    rows_s, _ = best_s(lambda: store.runs(cohort, now_ns, 101))
    taken = (f"{each_s * 1e3:,.0f}" for each_s in (paths_s, map_s, table_s, rows_s))
    return f"`{where}`" if where else "all", f"{len(paths.run_ids):,}", *taken


def main() -> None:
    """Print one line an expression."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        make(path, RUNS * 5 // 3 + 1)
        store, now_ns = open_store(path), START_NS + RUNS * 2 * SECOND_NS
        lines = [line(store, where, now_ns) for where in EXPRESSIONS]
        store.close()
    head = ("expression", "runs", "paths ms", "map ms", "list ms", "first 100 rows ms")
    print_table(f"{RUNS:,} runs", head, lines)


if __name__ == "__main__":
    main()
