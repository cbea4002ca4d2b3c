"""Four exporters that send as fast as they are answered, each over a connection of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import NamedTuple

from benchmarks import otlp_batches

EXPORTERS = 4
_TIMEOUT_S = 120


class Sent(NamedTuple):
    """What was sent: requests answered with 200, with anything else, and the seconds it took."""

    taken: int
    refused: int
    seconds: float


def send(port: int, numbers: Iterator[int], seconds: float, headers: str = "") -> Sent:
    """Send the requests of these numbers until they, or the seconds, are over."""
    begun = time.perf_counter()
    turn = threading.Lock()

    def export(exporter: int) -> list[int]:
        statuses = []
        with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as connection:
            while time.perf_counter() - begun < seconds:
                with turn:
                    number = next(numbers, None)
                if number is None:
                    break
                statuses.append(_post(connection, otlp_batches.request(number), headers))
        return statuses

    with ThreadPoolExecutor(EXPORTERS) as exporters:
        statuses = list(chain.from_iterable(exporters.map(export, range(EXPORTERS))))
    taken = statuses.count(200)
    return Sent(taken, len(statuses) - taken, time.perf_counter() - begun)


def _post(connection: socket.socket, body: bytes, headers: str) -> int:
    """Send one request and read its answer whole; the connection is kept."""
    head = (
        "POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-protobuf\r\n"
        f"Content-Length: {len(body)}\r\n{headers}\r\n"
    )
    connection.sendall(head.encode() + body)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += _received(connection)
    top, _, rest = answer.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in top.lower().split(b"\r\n") if line.startswith(b"content-length:")
    )
    while len(rest) < length:
        rest += _received(connection)
    return int(top.split(b" ", 2)[1])


def _received(connection: socket.socket) -> bytes:
    if not (some := connection.recv(65536)):
        raise ConnectionError("the server hung up")
    return some
