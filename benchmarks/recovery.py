"""What a store costs once it is large, and after a kill: ``python -m benchmarks.recovery``.

First the waits of many writers at one store. Then a server takes a million spans, is killed
right after the last was acknowledged, and starts again; what was not settled by then is settled
for the first question. At last the store is looked over, and its older half removed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from time import perf_counter
from urllib.request import urlopen

from benchmarks import sending, servers
from benchmarks.ingest import START_NS
from benchmarks.otlp_batches import SPANS
from benchmarks.servers import Server
from benchmarks.timing import print_table
from engine import retention
from engine.spans import Span
from engine.store.sqlite import open_store

PLACE = Path(__file__).resolve().parent / ".cache" / "recovery"
MANY = 1_000_000
CROWDS = ((1, 8), (4, 1), (4, 8))
"""Processes, and threads of each, that write to one store at once."""
BATCH = 200
_TEXT = {"text": "x" * 200}


def write(path: Path, name: str, threads: int, seconds: float) -> list[float]:
    """Append batches from some threads of this process; how long each append took, in seconds."""
    store, waits_s = open_store(path), list[float]()
    until_s = perf_counter() + seconds

    def work(thread: int) -> None:
        number = 0
        while (begun_s := perf_counter()) < until_s:
            trace, number = f"{name}-{thread}-{number}", number + 1
            store.append("default", [Span(trace, f"s{n}", "n", n, n, attributes=_TEXT) for n in range(BATCH)])
            waits_s.append(perf_counter() - begun_s)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    store.close()
    return waits_s


def crowd(processes: int, threads: int, seconds: float) -> tuple[str, ...]:
    """The waits of writers of some processes at once: their number, median, 99 % and worst."""
    path = PLACE / f"{processes}-{threads}.sqlite"
    open_store(path, create=True).close()
    arguments = [str(path), str(threads), str(seconds)]
    command = [sys.executable, "-m", "benchmarks.recovery", "--write"]
    started = [
        subprocess.Popen([*command, str(number), *arguments], stdout=subprocess.PIPE, text=True)
        for number in range(processes)
    ]
    waits_s = sorted(wait for each in started for wait in json.loads(each.communicate()[0]))
    shown = (waits_s[len(waits_s) // 2], waits_s[len(waits_s) * 99 // 100], waits_s[-1])
    return str(processes), str(threads), f"{len(waits_s):,}", *(f"{wait * 1e3:,.0f}" for wait in shown)


def million(server: Server, spans: int) -> list[tuple[str, ...]]:
    """Lines of what a large store costs."""
    requests = -(-spans // SPANS)
    with server.running() as group:
        sent = sending.send(server.port, iter(range(1, requests + 1)), float("inf"))
        taken_mb = servers.memory_mb(group)
    log_mb = server.database.with_name(server.database.name + "-wal").stat().st_size / 2**20
    begun_s = perf_counter()
    with server.running() as group:
        ready_s = perf_counter() - begun_s
        asked_s = perf_counter()
        urlopen(f"http://127.0.0.1:{server.port}/go?q=nothing", timeout=600).close()
        first_s = perf_counter() - asked_s
        asked_s = perf_counter()
        urlopen(f"http://127.0.0.1:{server.port}/go?q=nothing", timeout=600).close()
        second_s = perf_counter() - asked_s
        settled_mb = servers.memory_mb(group)
    return [
        ("spans acknowledged, then killed", f"{sent.taken * SPANS:,}"),
        ("found again", f"{server.stored():,}"),
        ("memory after them", f"{taken_mb:,.0f} MB"),
        ("log at the kill", f"{log_mb:,.0f} MB"),
        ("ready again after", f"{ready_s:.1f} s"),
        ("first answer", f"{first_s:.1f} s"),
        ("second answer", f"{second_s * 1e3:.0f} ms"),
        ("memory then", f"{settled_mb:,.0f} MB"),
    ]


def look_over(database: Path) -> list[tuple[str, ...]]:
    """What ``forkmap doctor`` takes and finds."""
    begun_s = perf_counter()
    program = str(Path(sys.executable).with_name("forkmap"))
    command = [program, "doctor", "--json", "--store", str(database)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    findings = json.loads(done.stdout)["findings"]
    return [("forkmap doctor", f"{perf_counter() - begun_s:.1f} s, {len(findings)} findings")]


def remove_half(database: Path) -> list[tuple[str, ...]]:
    """What it takes to remove the older half, and the longest that a writer then waits."""
    store, done = open_store(database), threading.Event()
    waits_s = [0.0]

    def write_on() -> None:
        number = 0
        while not done.wait(0.02):
            begun_s, number = perf_counter(), number + 1
            store.append("default", [Span(f"now-{number}", "s", "n", START_NS * 2)])
            waits_s.append(perf_counter() - begun_s)

    writer = threading.Thread(target=write_on)
    writer.start()
    begun_s = perf_counter()
    store.settle("default")
    settled_s, begun_s = perf_counter() - begun_s, perf_counter()
    removed = retention.expire(store, _middle_ns(database))
    taken_s = perf_counter() - begun_s
    done.set()
    writer.join()
    store.close()
    return [
        ("settling what was left", f"{settled_s:.1f} s"),
        ("removing the older half", f"{removed.spans:,} spans in {taken_s:.1f} s"),
        ("longest wait of a writer meanwhile", f"{max(waits_s) * 1e3:.0f} ms"),
    ]


def _middle_ns(database: Path) -> int:
    db = sqlite3.connect(database)
    (number,) = db.execute("SELECT count(*) / 2 FROM runs").fetchone()
    (last_ns,) = db.execute(
        "SELECT last_ns FROM runs ORDER BY last_ns LIMIT 1 OFFSET ?", (number,)
    ).fetchone()
    db.close()
    return int(last_ns)


def main() -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=MANY)
    parser.add_argument("--seconds", type=float, default=6, help="how long each crowd writes")
    parser.add_argument("--write", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.write:
        name, path, threads, seconds = asked.write
        print(json.dumps(write(Path(path), name, int(threads), float(seconds))))
        return
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    print_table(
        f"Writers at one store, durable batches of {BATCH} spans: how long an append takes",
        ("processes", "threads each", "appends", "median ms", "99 % ms", "worst ms"),
        [crowd(*each, asked.seconds) for each in CROWDS],
    )
    server = servers.forkmap(PLACE / "large")
    lines = million(server, asked.spans) + look_over(server.database)
    print_table("A large store", ("what", "measured"), lines + remove_half(server.database))
    shutil.rmtree(PLACE)


if __name__ == "__main__":
    main()
