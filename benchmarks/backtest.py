"""How long a backtest of 20,000 runs takes, read in the background and tried while somebody waits.

``python -m benchmarks.backtest``
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cohort_read import AGENTS, START_NS, make
from benchmarks.timing import best_s, print_table
from dashboard.app import find_page
from dashboard.cache_place import MEMORY
from dashboard.caching import open_cache
from dashboard.service import Service
from dashboard.urls import parse
from engine.answering import answers_before_calls
from engine.backtest import Fuse, backtest, tried
from engine.builder import Maps, Ready
from engine.fuses import Policy
from engine.queries import load_map, load_questions
from engine.questions import questions
from engine.runs import ALL_TIME, SECOND_NS, Cohort
from engine.store.sqlite import open_store
from engine.walk import Index

RUNS = 20_000
ONE_BY_ONE = 500
"""Runs that are asked one by one, as a fuse is, to compare with."""


def main() -> None:
    """Print what each part takes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        make(path, RUNS * 5 // 3 + 2)
        store, now_ns = open_store(path), START_NS + RUNS * 3 * SECOND_NS
        cohort = Cohort("default", AGENTS[0], ALL_TIME)
        map_s, behaviour = best_s(lambda: load_map(store, cohort, now_ns))
        read_s, runs = best_s(lambda: [*store.histories(cohort, now_ns)])
        made_s, asked = best_s(lambda: questions(runs))
        whole_s, _ = best_s(lambda: load_questions(store, cohort, now_ns))
        lines = [
            ("the map, to compare with", f"{len(behaviour.run_ids):,}", map_s),
            ("runs read with all their steps", f"{len(runs):,}", read_s),
            (f"questions made: {asked.run.size:,} stretches", f"{asked.steps.size:,}", made_s),
            ("both, in the background", f"{asked.steps.size:,}", whole_s),
        ]
        for fuse in (Fuse(), Fuse(earlier=True)):
            taken_s, found = best_s(lambda fuse=fuse: backtest(asked, fuse), 7)  # type: ignore[misc]
            by = "earlier runs" if fuse.earlier else "all others"
            lines.append((f"100 odds, judged by {by}", f"{found.runs:,}", taken_s))
        lines.append(
            (
                "with what is recommended, and held out",
                f"{RUNS:,}",
                best_s(lambda: tried(asked, Fuse()), 7)[0],
            )
        )
        service = Service(store, Maps(store, open_cache(MEMORY, store), lambda: now_ns), lambda: now_ns)
        while not isinstance(service.maps.questions(cohort), Ready):
            time.sleep(0.05)
        look = parse(f"?agent={AGENTS[0]}&window=all")
        lines.append(
            (
                "the page, asked for again",
                f"{RUNS:,}",
                best_s(lambda: find_page(service, "/backtest", look), 7)[0],
            )
        )
        policy = Policy(name="one", min_success_odds=0.5, action="stop")
        index = Index(behaviour)
        slow_s, _ = best_s(
            lambda: [answers_before_calls(index, run, [policy]) for run in runs[:ONE_BY_ONE]], 1
        )
        lines.append(("one odds, run by run as a fuse asks", f"{ONE_BY_ONE:,}", slow_s))
        service.maps.close()
        store.close()
    rows = [(what, count, f"{taken_s * 1e3:,.0f}") for what, count, taken_s in lines]
    print_table(f"Backtest of {RUNS:,} runs", ("what", "runs", "ms"), rows)


if __name__ == "__main__":
    main()
