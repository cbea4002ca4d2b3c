"""What the machine leaves of a quick answer: ``python -m benchmarks.http_floor``.

A server of a single loop that computes for a quarter of a millisecond a question, about as long as a
check takes over HTTP, and does nothing else; asked as :mod:`benchmarks.http_latency` asks.
"""

from __future__ import annotations

import selectors
import socket
from multiprocessing import get_context
from time import perf_counter

import numpy as np

from benchmarks.http_latency import CLIENTS, Question, ask
from benchmarks.timing import print_table

COMPUTES_S = (0.0, 0.00025)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\n" + b"x" * 600


def serve(listener: socket.socket, computes_s: float) -> None:
    """Answer whoever connects, until killed."""
    listener.setblocking(False)
    with selectors.DefaultSelector() as ready:
        ready.register(listener, selectors.EVENT_READ)
        while True:
            for found, _ in ready.select():
                if found.fileobj is listener:
                    ready.register(listener.accept()[0], selectors.EVENT_READ)
                elif not answered(found.fileobj, computes_s):
                    ready.unregister(found.fileobj)


def answered(connection: object, computes_s: float) -> bool:
    """Answer a question of a connection; False once it has ended."""
    assert isinstance(connection, socket.socket)
    try:
        asked = connection.recv(65536)
    except ConnectionError:
        asked = b""
    end_s = perf_counter() + computes_s
    while perf_counter() < end_s:
        pass
    if asked:
        connection.send(ANSWER)
    return bool(asked)


def main() -> None:
    """Measure and print the table."""
    rows = []
    for computes_s in COMPUTES_S:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            context = get_context("fork")
            server = context.Process(target=serve, args=(listener, computes_s), daemon=True)
            server.start()
            times_s = ask(listener.getsockname()[1], Question("check", "/api/v1/check", b"{}").request(""), 4)
            server.kill()
        p50, p99 = np.percentile(times_s, (50, 99)) * 1000
        rows.append((f"{computes_s * 1000:.2f}", f"{len(times_s):,}", f"{p50:.2f}", f"{p99:.2f}"))
    print_table(
        f"A loop that answers {CLIENTS} clients", ("computes ms", "answers", "p50 ms", "p99 ms"), rows
    )


if __name__ == "__main__":
    main()
