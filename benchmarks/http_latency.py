"""How long small questions take over HTTP while spans come in: ``python -m benchmarks.http_latency``.

A real server; four clients in a process of their own, each over a connection that it keeps, each
asking again as soon as it is answered; exporters in another. An answer's time is from the first
byte sent to the last received. To ask something else too, add a :class:`Question`.
"""

from __future__ import annotations

import argparse
import re
import selectors
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np

from benchmarks import otlp_batches, sending, servers
from benchmarks.otlp_batches import SPANS
from benchmarks.servers import Server
from benchmarks.timing import print_table
from engine.ingest.limits import LIMITS
from engine.ingest.request import read
from engine.keys import DEFAULT_TENANT, Role, mint
from engine.store.sqlite import open_store

PLACE = Path(__file__).resolve().parent / ".cache"
CLIENTS = 4
FULL = float("inf")
RATES = (0.0, 2_000.0, FULL)
"""Spans a second that come in meanwhile; the last is as fast as they are taken."""
WARM_S = 0.5
"""How long the exporters and the clients run before answers count."""
_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")


class Question(NamedTuple):
    """What the clients ask; with a body it is sent by POST, as JSON."""

    name: str
    path: str
    body: bytes | None = None

    def request(self, key: str) -> bytes:
        """The bytes of the request."""
        method = "GET" if self.body is None else "POST"
        body = self.body or b""
        head = f"{method} {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key}\r\n"
        about = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        return f"{head}{about}\r\n".encode() + body


RUN = "0000000001-0"
"""A run of the first request of spans, which :func:`prepared` puts into the store."""
QUESTIONS = (Question("healthz", "/healthz"), Question("run", f"/api/v1/runs/{RUN}"))


class Measured(NamedTuple):
    """What one question met.

    Attributes
    ----------
    times_s : list of float
        How long each answer took.
    sent : float
        Spans a second that were acknowledged meanwhile.
    """

    times_s: list[float]
    sent: float


def prepared(place: Path, workers: int = 1) -> tuple[Server, str]:
    """A server over a store that holds some runs, and a key to it."""
    server = servers.forkmap(place)
    store = open_store(server.database, create=True)
    key, shown = mint(DEFAULT_TENANT, Role.ADMIN, "benchmark", time.time_ns())
    store.add_key(key)
    store.append(DEFAULT_TENANT, read(otlp_batches.request(1), "protobuf", LIMITS).spans)
    store.settle(DEFAULT_TENANT)
    store.close()
    return by(workers, server), shown


def by(workers: int, server: Server) -> Server:
    """A server of so many processes; several share a cache beside their store."""
    if workers == 1:
        return server
    command = (*server.command, "--workers", str(workers))
    return server._replace(command=command, environment={"FORKMAP_CACHE": f"{server.database.parent}/cache"})


def measure(server: Server, key: str, question: Question, rate: float, seconds: float) -> Measured:
    """Ask for some seconds, while spans come in at a rate; what came in before is settled by then."""
    settled(server.database)
    port = server.port
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        sender = processes.submit(export, port, key, rate, seconds + 2 * WARM_S)
        times_s = processes.submit(ask, port, question.request(key), seconds)
        return Measured(times_s.result(), sender.result())


def settled(database: Path) -> None:
    """Wait until the server has settled what it took."""
    store = open_store(database)
    while store.unsettled():
        time.sleep(0.2)
    store.close()


def export(port: int, key: str, rate: float, seconds: float) -> float:
    """Send batches from this process; spans a second that were acknowledged."""
    if not rate:
        return 0.0
    numbers = count(int(time.time() * 100) % 2**31)
    due = numbers if rate == FULL else paced(numbers, rate / SPANS)
    sent = sending.send(port, due, seconds, f"X-API-Key: {key}\r\n")
    return sent.taken * SPANS / sent.seconds


def paced(numbers: Iterator[int], a_second: float) -> Iterator[int]:
    """Numbers, each when it is due."""
    begun_s = perf_counter()
    for at, number in enumerate(numbers):
        time.sleep(max(0.0, begun_s + at / a_second - perf_counter()))
        yield number


def ask(port: int, request: bytes, seconds: float) -> list[float]:
    """Ask over every connection at once, from this process; how long each answer took, in seconds."""
    clients = [Client(socket.create_connection(("127.0.0.1", port), 60), request) for _ in range(CLIENTS)]
    with selectors.DefaultSelector() as ready:
        for client in clients:
            ready.register(client.connection, selectors.EVENT_READ, client)
        end_s = perf_counter() + WARM_S + seconds
        while perf_counter() < end_s:
            for found, _ in ready.select(1):
                found.data.receive()
    for client in clients:
        client.connection.close()
    return [took_s for client in clients for at_s, took_s in client.answers if at_s > end_s - seconds]


class Client:
    """Asks the same over one connection, again as soon as it is answered."""

    def __init__(self, connection: socket.socket, request: bytes) -> None:
        self.connection, self._request = connection, request
        self.answers: list[tuple[float, float]] = []
        self._ask()

    def _ask(self) -> None:
        self._answer, self._begun_s = b"", perf_counter()
        self.connection.sendall(self._request)

    def receive(self) -> None:
        """Take what has come; once that is all of the answer, note its time and ask again."""
        self._answer += self.connection.recv(65536)
        head, ended, body = self._answer.partition(b"\r\n\r\n")
        announced = _LENGTH.search(head)
        if not (ended and announced) or len(body) < int(announced[1]):
            return
        now_s = perf_counter()
        if b" 200 " not in head[:13]:
            raise ConnectionError(self._answer.decode())
        self.answers.append((now_s, now_s - self._begun_s))
        self._ask()


def row(question: Question, rate: float, measured: Measured) -> tuple[str, ...]:
    """A line of the table."""
    p50, p99 = np.percentile(measured.times_s, (50, 99)) * 1000
    asked = "full speed" if rate == FULL else f"{rate:,.0f}"
    answers = f"{len(measured.times_s):,}"
    return question.name, asked, f"{measured.sent:,.0f}", answers, f"{p50:.2f}", f"{p99:.2f}"


HEAD = ("question", "spans/s sent", "spans/s taken", "answers", "p50 ms", "p99 ms")


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="how long each question is asked")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--rates", type=float, nargs="*", default=RATES, help="spans/s sent meanwhile")
    asked = parser.parse_args()
    PLACE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=PLACE) as folder:
        server, key = prepared(Path(folder), asked.workers)
        with server.running():
            rows = [
                row(question, rate, measure(server, key, question, rate, asked.seconds))
                for question in QUESTIONS
                for rate in asked.rates
            ]
    print_table(f"Small questions by HTTP: {CLIENTS} clients, workers: {asked.workers}", HEAD, rows)


if __name__ == "__main__":
    main()
