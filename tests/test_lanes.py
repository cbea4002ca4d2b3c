"""Quick requests wait for no others, and a small answer comes in one piece."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import pytest
from flask import Flask, Response
from waitress import wasyncore

from dashboard.lanes import LONG_AT_ONCE, PIECE_BYTES, QUICK_WAITING, Channel, serving
from dashboard.passing import BEGINNING, Passage, is_passed, passage
from dashboard.urls import HEALTHY, IMPORT, READY

THREADS = 2
SHORT, LONG = b"x" * 1000, b"x" * (PIECE_BYTES + 1)
WAIT_S = 30.0


@contextmanager
def served(paths: Mapping[str, Callable[[], bytes | Response]]) -> Iterator[Callable[..., socket.socket]]:
    """A server of some paths; what asks it for one, over a connection of its own."""
    app, ending = Flask("served"), threading.Event()
    for path, answer in paths.items():
        app.add_url_rule(path, path, answer)
    listener = socket.create_server(("127.0.0.1", 0))
    server = serving(app, THREADS, sockets=[listener], max_request_body_size=101, file_bytes=1_000)

    def run() -> None:
        while not ending.is_set():
            wasyncore.loop(0.02, use_poll=True, map=server._map, count=1)

    def ask(line: str, headers: str = "") -> socket.socket:
        connection = socket.create_connection(listener.getsockname(), WAIT_S)
        connection.sendall(f"{line} HTTP/1.1\r\nHost: here\r\n{headers}\r\n".encode())
        return connection

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield ask
    finally:
        ending.set()
        thread.join()
        server.task_dispatcher.shutdown()
        wasyncore.close_all(server._map)


def test_a_quick_request_is_answered_while_every_other_thread_is_busy() -> None:
    let_go, begun = threading.Event(), threading.Semaphore(0)

    def slow() -> bytes:
        begun.release()
        let_go.wait(WAIT_S)
        return b"slow"

    with served({"/slow": slow, HEALTHY: lambda: b"quick"}) as ask:
        waiting = [ask("GET /slow") for _ in range(THREADS)]
        assert all(begun.acquire(timeout=WAIT_S) for _ in waiting)
        with ask(f"GET {HEALTHY}") as quick:
            assert quick.recv(4096).endswith(b"\r\n\r\nquick")
        let_go.set()
        for connection in waiting:
            with connection:
                assert connection.recv(4096).endswith(b"\r\n\r\nslow")


def test_only_where_files_are_sent_a_body_may_be_as_long_as_one() -> None:
    with served({"/other": lambda: b"taken", IMPORT: lambda: b"taken"}) as ask:
        for path, size, status in (
            *[("/other", 100, 200), ("/other", 101, 413)],
            *[(IMPORT, 1_000, 200), (IMPORT, 1_001, 413), ("/other", 101, 413)],
        ):
            with ask(f"GET {path}", f"Content-Length: {size}\r\n") as connection:
                connection.sendall(b"x" * size)
                assert f" {status} " in connection.recv(4096).decode().partition("\r\n")[0]


def test_only_so_many_files_come_in_at_once() -> None:
    """One that is not whole holds its place until its connection ends."""
    with served({IMPORT: lambda: b"taken"}) as ask:
        coming = [ask(f"GET {IMPORT}", "Content-Length: 900\r\n") for _ in range(LONG_AT_ONCE)]
        with ask(f"GET {IMPORT}", "Content-Length: 3\r\n") as refused:
            assert b"Too many files are sent at once" in refused.recv(4096)
        for connection in coming[1:]:
            connection.close()
        with coming[0] as first:
            first.sendall(b"x" * 900)
            assert first.recv(4096).endswith(b"taken")
        answered = b""
        while not answered.endswith(b"taken"):
            with ask(f"GET {IMPORT}", "Content-Length: 3\r\n") as again:
                again.sendall(b"abc")
                answered = again.recv(4096)


def test_a_quick_request_that_is_slow_keeps_few_others_waiting() -> None:
    let_go, begun = threading.Event(), threading.Semaphore(0)

    def slow() -> bytes:
        begun.release()
        let_go.wait(WAIT_S)
        return b"slow"

    with served({READY: slow, HEALTHY: lambda: b"quick"}) as ask, ask(f"GET {READY}") as held:
        assert begun.acquire(timeout=WAIT_S)
        waiting = [ask(f"GET {HEALTHY}") for _ in range(QUICK_WAITING + 1)]
        answered, _, _ = select.select(waiting, [], [], WAIT_S)
        assert len(answered) == 1
        let_go.set()
        for connection in [held, *waiting]:
            with connection:
                assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK")


def test_a_small_answer_comes_with_its_head_and_any_is_whole() -> None:
    def parts() -> Response:
        return Response([b"in ", b"parts"], headers={"Content-Length": "8"})

    paths: dict[str, Callable[[], bytes | Response]]
    paths = {"/short": lambda: SHORT, "/long": lambda: LONG, "/parts": parts, "/empty": lambda: b""}
    with served(paths) as ask:
        for line, body in (
            ("GET /short", SHORT),
            ("GET /long", LONG),
            ("GET /parts", b"in parts"),
            ("GET /empty", b""),
            ("HEAD /short", b""),
        ):
            with ask(line) as connection:
                answer = connection.recv(PIECE_BYTES)
                assert line != "GET /short" or answer.endswith(SHORT)
                while len(answer.partition(b"\r\n\r\n")[2]) < len(body):
                    answer += connection.recv(PIECE_BYTES)
                head, _, came = answer.partition(b"\r\n\r\n")
                assert (head[:15], came) == (b"HTTP/1.1 200 OK", body)


@contextmanager
def taking(held: int) -> Iterator[tuple[Any, Passage]]:
    """A server that takes what is passed on, and holds so many connections; its loop is the caller's."""
    way = passage()
    with closing(way.give), socket.create_server(("127.0.0.1", 0)) as listener:
        server = serving(Flask("taking"), 1, take=way.take, sockets=[listener], connection_limit=3 + held)
        try:
            yield server, way
        finally:
            server.task_dispatcher.shutdown()
            wasyncore.close_all(server._map)


def turn(server: Any) -> None:
    for _ in range(5):
        wasyncore.loop(0.02, use_poll=True, map=server._map, count=1)


def test_no_more_are_taken_than_a_server_may_hold() -> None:
    with taking(held=2) as (server, way):
        passed = [socket.create_connection(server.socket.getsockname()) for _ in range(4)]
        for each in passed:
            with each:
                assert is_passed(way.give, each, BEGINNING)
        turn(server)
        assert len(server.active_channels) == 2


def test_one_that_cannot_be_read_does_not_end_the_taking(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(channel: Channel, data: bytes) -> bool:
        raise RuntimeError(data)

    with taking(held=9) as (server, way):
        for fails in (True, False):
            with monkeypatch.context() as patch, socket.create_connection(server.socket.getsockname()) as one:
                if fails:
                    patch.setattr(Channel, "received", fail)
                assert is_passed(way.give, one, BEGINNING)
                turn(server)
        assert len(server.active_channels) == 1
