"""How soon a check knows of a span, and what that costs who takes spans in: ``python -m benchmarks.guard``.

One process sends a span of one run now and then and notes when each was acknowledged. Others
each ask for that run every half millisecond: how much later is the span known?
Meanwhile nothing else comes, or 30,000 spans a second do, kept by the process that asks or by another.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain, count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.ingest import SPANS_A_RUN, trace
from benchmarks.timing import print_table
from engine.guard import Guard
from engine.spans import Span
from engine.store import Store
from engine.store.sqlite import open_store

PLACE = Path(__file__).parent / ".cache" / "guard"
SENT = 200
"""Spans whose way is timed."""
RATE = 30_000
BATCH = 1_000
"""Spans a second, and in each request, that come meanwhile."""
HELD_UP = 200_000
"""Spans kept as fast as they can be, with a guard beside and without."""
RUN_ID = "probe"
WARM_UP_S, LIMIT_S = 1.0, 60.0
ROUNDS = 3
ASKED_S = 0.005
"""Pause between two questions about the runs that come."""


class Asked(NamedTuple):
    """What one who asks saw: when each span was first known, and how long each answer took."""

    known_ns: list[int]
    took_s: list[float]


def probe(number: int) -> Span:
    """A call of the run that is asked for."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"tool_{number % 7}"}
    start_ns = time.time_ns()
    return Span(RUN_ID, f"{number:016x}", "step", start_ns, start_ns + 1, attributes=attributes)


def send(path: Path) -> list[int]:
    """Send the spans, one at a time and at no steady beat; when each was acknowledged."""
    store, chance, acked_ns = open_store(path), random.Random(1), []
    time.sleep(2 * WARM_UP_S)
    for number in range(SENT):
        store.append("default", [probe(number)])
        acked_ns.append(time.time_ns())
        time.sleep(chance.uniform(0.02, 0.06))
    store.close()
    return acked_ns


def ask(path: Path, rate: int) -> Asked:
    """Ask for the run until all its spans are known, keeping spans of others beside."""
    store = open_store(path)
    guard = Guard(store, time.time_ns)
    guard.start()
    seen, until_s = Asked([], []), time.monotonic() + LIMIT_S
    with keeping(store, rate):
        while len(seen.known_ns) < SENT and time.monotonic() < until_s:
            begun_s = time.perf_counter()
            live = guard.live("default", RUN_ID)
            took_s, now_ns = time.perf_counter() - begun_s, time.time_ns()
            if live is not None:
                seen.known_ns.extend([now_ns] * (live.steps - len(seen.known_ns)))
                seen.took_s.append(took_s)
            time.sleep(0.0005)
    guard.close()
    store.close()
    return seen


@contextmanager
def keeping(store: Store, rate: int) -> Iterator[None]:
    """Keep so many spans a second in a thread until left."""
    told = threading.Event()
    thread = threading.Thread(target=keep, args=(store, rate, told), daemon=True)
    if rate:
        thread.start()
    yield
    told.set()
    if rate:
        thread.join()


def keep(store: Store, rate: int, told: threading.Event) -> None:
    """Keep batches at a rate; one that comes late is made up for."""
    made = chain.from_iterable(trace(number) for number in count(random.randrange(2**40)))
    next_s = time.monotonic()
    while not told.wait(max(0.0, next_s - time.monotonic())):
        store.append("default", list(islice(made, BATCH)))
        next_s += BATCH / rate


def keep_beside(path: Path, rate: int, seconds: float) -> None:
    """Keep spans at a rate in a process of its own."""
    store = open_store(path)
    with keeping(store, rate):
        time.sleep(seconds)
    store.close()


def case(title: str, askers: int, rate: int, beside: int) -> tuple[str, ...]:
    """The row of one case: ``rate`` kept by each that asks, ``beside`` by a process of its own."""
    path = fresh_store()
    with ProcessPoolExecutor(askers + 2, get_context("spawn")) as processes:
        if beside:
            processes.submit(keep_beside, path, beside, 2 * WARM_UP_S + SENT * 0.05)
        asking = [processes.submit(ask, path, rate) for _ in range(askers)]
        acked_ns = processes.submit(send, path).result()
        seen = [each.result() for each in asking]
    late_ms = [
        (known - acked) / 1e6 for each in seen for known, acked in zip(each.known_ns, acked_ns, strict=False)
    ]
    took_us = [took * 1e6 for each in seen for took in each.took_s]
    shown = (
        *(f"{value:.1f}" for value in np.percentile(late_ms, (50, 99, 100))),
        *(f"{value:.1f}" for value in np.percentile(took_us, (50, 90, 99))),
    )
    return title, f"{len(late_ms)} of {askers * SENT}", *shown


class Kept(NamedTuple):
    """How fast spans were kept, and the processor time each took, that of the guard beside included."""

    a_second: float
    cpu_us: float


def kept(is_followed: bool, pause_s: float | None) -> Kept:
    """Keep spans as fast as can be, beside a guard and beside one who asks it about the runs that come."""
    store = open_store(fresh_store())
    spans = [span for number in range(HELD_UP // SPANS_A_RUN) for span in trace(number)]
    batches = [spans[at : at + BATCH] for at in range(0, len(spans), BATCH)]
    guard, latest, told = Guard(store, time.time_ns), [spans[0].trace_id], threading.Event()
    asking = threading.Thread(target=ask_about, args=(guard, latest, pause_s, told), daemon=True)
    if is_followed:
        guard.start()
        asking.start()
    begun_s, cpu_s = time.perf_counter(), time.process_time()
    for batch in batches:
        store.append("default", batch)
        latest[0] = batch[0].trace_id
    taken_s, cpu_s = time.perf_counter() - begun_s, time.process_time() - cpu_s
    told.set()
    if is_followed:
        asking.join()
    guard.close()
    store.close()
    return Kept(len(spans) / taken_s, cpu_s / len(spans) * 1e6)


def ask_about(guard: Guard, latest: list[str], pause_s: float | None, told: threading.Event) -> None:
    """Ask for the latest run again and again, or never."""
    while not told.wait(pause_s):
        guard.live("default", latest[0])


def fresh_store() -> Path:
    """The path of an empty store."""
    shutil.rmtree(PLACE, ignore_errors=True)
    open_store(PLACE / "spans.sqlite", create=True).close()
    return PLACE / "spans.sqlite"


def main() -> None:
    """Print both tables."""
    rows = [
        case("nothing", 1, 0, 0),
        case(f"{RATE:,} spans/s, same process", 1, RATE, 0),
        case(f"{RATE:,} spans/s, another process", 1, 0, RATE),
        case("nothing; 3 processes ask", 3, 0, 0),
    ]
    late, took = (f"{what} p50" for what in ("known after ms", "asking µs"))
    head = ("meanwhile", "spans", late, "p99", "max", took, "p90", "p99")
    print_table(f"From a span's acknowledgement to a check that knows it ({SENT} spans)", head, rows)
    beside = {"no guard": (False, None), "one nobody asks": (True, None), "one asked": (True, ASKED_S)}
    rounds = [[kept(*each) for each in beside.values()] for _ in range(ROUNDS)]
    rows = [
        (name, f"{max(each.a_second for each in of):,.0f}", f"{min(each.cpu_us for each in of):.1f}")
        for name, of in zip(beside, zip(*rounds, strict=True), strict=True)
    ]
    title = f"Spans kept flat out, {BATCH:,} a batch; the best of {ROUNDS} rounds"
    print_table(title, ("guard beside", "spans/s", "processor µs a span"), rows)
    shutil.rmtree(PLACE)


if __name__ == "__main__":
    main()
