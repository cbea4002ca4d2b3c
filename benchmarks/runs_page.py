"""How long the page of runs takes over 20,000 runs, first and once its table is kept.

``python -m benchmarks.runs_page``
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.cohort_read import START_NS, make
from benchmarks.timing import best_s, print_table
from dashboard.app import find_page
from dashboard.cache_place import MEMORY
from dashboard.caching import open_cache
from dashboard.exports import csv_lines
from dashboard.pages.runs import table_of
from dashboard.service import Service
from dashboard.urls import Look, parse
from engine.builder import Maps
from engine.listing import Listing, Table, narrow, ordered
from engine.queries import load_map
from engine.runs import ALL_TIME, SECOND_NS, Cohort
from engine.store.sqlite import open_store

RUNS = 20_000
AGENT = "returns"
"""Three runs in five are its."""
QUESTIONS = (
    "",
    "&outcome=failure&sort=steps&page=9",
    "&verdict=on_track&sort=-took",
    "&step=step_3&sort=ticket",
)


def main() -> None:
    """Print what each question takes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        make(path, RUNS * 5 // 3)
        store, now_ns = open_store(path), START_NS + RUNS * 2 * SECOND_NS
        service = Service(store, Maps(store, open_cache(MEMORY, store), lambda: now_ns), lambda: now_ns)
        behaviour = load_map(store, Cohort("default", AGENT, ALL_TIME), now_ns)
        table_s, table = best_s(lambda: Listing(store)(behaviour))
        lines = [("the table, made once a build", f"{len(table):,}", f"{table_s * 1e3:,.0f}")]
        while not isinstance(table_of(service, parse(f"?agent={AGENT}&window=all")), Table):
            time.sleep(0.05)
        for question in QUESTIONS:
            look = parse(f"?agent={AGENT}&window=all{question}")

            def page(look: Look = look) -> bytes:
                return msgspec.json.encode(
                    find_page(service, "/runs", look).body.to_plotly_json(), enc_hook=plain
                )

            taken_s, _ = best_s(page, 5)
            found = narrow(table, look.filters).size
            lines.append((f"page {question or 'of every run'}", f"{found:,}", f"{taken_s * 1e3:,.0f}"))
        rows = ordered(table, narrow(table, look.filters._replace(step="")))
        csv_s, written = best_s(lambda: sum(len(line) for line in csv_lines(table, rows)))
        lines.append((f"CSV, {written / 1e6:.1f} MB", f"{rows.size:,}", f"{csv_s * 1e3:,.0f}"))
        service.maps.close()
        store.close()
    print_table(f"{RUNS:,} runs", ("what", "runs", "ms"), lines)


def plain(component: object) -> object:
    """A component as the page is sent."""
    return component.to_plotly_json()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
