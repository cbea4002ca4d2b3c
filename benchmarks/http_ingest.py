"""How fast spans are taken in over HTTP, beside other servers: ``python -m benchmarks.http_ingest``.

Four exporters send the same requests of 512 spans to each server in turn, each the next one as
soon as it is answered. What counts is what the database holds when the time is over, not what
was acknowledged. Then Forkmap goes on to a million spans, is killed, and starts again.
"""

from __future__ import annotations

import argparse
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from benchmarks import sending, servers
from benchmarks.otlp_batches import SPANS
from benchmarks.servers import Server
from benchmarks.timing import print_table

PLACE = Path(__file__).resolve().parent / ".cache"
"""On a disk, as a temporary folder of the system may not be."""
MANY = 1_000_000


class Taken(NamedTuple):
    """What a server made of the time it was given."""

    server: str
    acknowledged: int
    stored: int
    refused: int
    seconds: float
    memory_mb: float

    @property
    def stored_a_second(self) -> float:
        return self.stored / self.seconds


def contest(server: Server, seconds: float) -> Taken:
    """Send for some seconds, then count at once."""
    with server.running() as group:
        sent = sending.send(server.port, count(1), seconds, server.headers)
        stored = server.stored()
        memory_mb = servers.memory_mb(group)
    return Taken(server.name, sent.taken * SPANS, stored, sent.refused, sent.seconds, memory_mb)


def row(taken: Taken, own: Taken) -> tuple[str, ...]:
    """A line of the table, against Forkmap's own."""
    ratio = f"{own.stored_a_second / taken.stored_a_second:,.1f} ×" if taken.stored else "it stored none"
    return (
        taken.server,
        f"{taken.acknowledged / taken.seconds:,.0f}",
        f"{taken.stored_a_second:,.0f}",
        f"{taken.stored:,}",
        f"{taken.refused:,}",
        f"{taken.memory_mb:,.0f}",
        ratio,
    )


def million(server: Server, spans: int) -> tuple[str, ...]:
    """A million spans, a kill, a start: spans/s, memory, size, seconds to be ready, spans found again."""
    requests = -(-spans // SPANS)
    with server.running() as group:
        sent = sending.send(server.port, iter(range(1, requests + 1)), float("inf"))
        memory_mb = servers.memory_mb(group)
    begun = perf_counter()
    with server.running():
        ready_s = perf_counter() - begun
        found = server.stored()
    size_mb = sum(file.stat().st_size for file in server.database.parent.iterdir()) / 2**20
    return (
        f"{sent.taken * SPANS:,}",
        f"{sent.taken * SPANS / sent.seconds:,.0f}",
        f"{memory_mb:,.0f}",
        f"{size_mb:,.0f}",
        f"{ready_s:.1f}",
        f"{found:,}",
    )


def _peers(place: Path, bin_folder: Path | None) -> list[Server]:
    if bin_folder is None:
        return []
    found = bin_folder.resolve()
    return [servers.phoenix(place / "phoenix", found), servers.mlflow(place / "mlflow", found)]


def main() -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, help="the bin folder where phoenix and mlflow are installed")
    parser.add_argument("--seconds", type=float, default=20, help="how long each server is sent to")
    parser.add_argument("--spans", type=int, default=MANY, help="spans of the second table")
    asked = parser.parse_args()
    PLACE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=PLACE) as folder:
        measure(Path(folder), asked.peers, asked.seconds, asked.spans)


def measure(place: Path, peers: Path | None, seconds: float, spans: int) -> None:
    own = contest(servers.forkmap(place / "forkmap"), seconds)
    others = [contest(peer, seconds) for peer in _peers(place, peers)]
    print_table(
        f"Spans by HTTP: {sending.EXPORTERS} exporters, requests of {SPANS} spans, {seconds:g} s each",
        ("server", "acknowledged/s", "stored/s", "stored", "refused", "memory MB", "Forkmap stores"),
        [row(taken, own) for taken in (own, *others)],
    )
    print_table(
        "Forkmap with many spans; then killed, and started again",
        ("acknowledged", "spans/s", "memory MB", "store MB", "ready again in s", "found again"),
        [million(servers.forkmap(place / "many"), spans)],
    )


if __name__ == "__main__":
    main()
