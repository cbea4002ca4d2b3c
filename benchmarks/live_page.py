"""How long the page of runs in flight takes with 600 of them in a store of many runs.

``python -m benchmarks.live_page``
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
from dashboard.components import flights
from dashboard.service import Service
from dashboard.urls import Look
from engine.builder import Maps
from engine.fuses import Policy
from engine.runs import SECOND_NS
from engine.store.sqlite import open_store
from engine.triage import MOST, triage

RUNS = 100_000
NOW_NS = START_NS + (RUNS - 900) * SECOND_NS
"""When 600 runs are in flight: one begins a second, and of every third nobody says how it ended."""
POLICIES = tuple(
    Policy(name=f"odds-{odds}", min_success_odds=odds / 100, action="stop") for odds in (10, 30, 50)
)
ROUNDS = 10


def main() -> None:
    """Print what each part of an answer takes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        make(path, RUNS)
        store = open_store(path)
        store.set_policies("default", POLICIES)
        service = Service(store, Maps(store, open_cache(MEMORY, store), lambda: NOW_NS), lambda: NOW_NS)

        while triage(store, "default", POLICIES, NOW_NS, service.known).unbuilt:
            time.sleep(0.05)
        read_s, runs = best_s(lambda: store.live_runs("default", NOW_NS, MOST + 1), ROUNDS)
        found_s, found = best_s(lambda: triage(store, "default", POLICIES, NOW_NS, service.known), ROUNDS)
        lines_s, _ = best_s(lambda: flights.lines(found, NOW_NS), ROUNDS)
        page_s, body = best_s(lambda: encoded(service), ROUNDS)
        service.maps.close()
        store.close()
    parts = [
        ("runs in flight read", read_s),
        ("read, judged, asked about, in order", found_s),
        ("put into words", lines_s),
        (f"the page, {body / 1e3:,.0f} kB", page_s),
    ]
    rows = [(what, f"{taken_s * 1e3:,.0f}") for what, taken_s in parts]
    print_table(f"{min(len(runs), MOST)} runs in flight among {RUNS:,}", ("what", "ms"), rows)


def encoded(service: Service) -> int:
    """Bytes of the page as it is sent."""
    body = find_page(service, "/live", Look()).body.to_plotly_json()
    return len(msgspec.json.encode(body, enc_hook=lambda component: component.to_plotly_json()))


if __name__ == "__main__":
    main()
