"""The client asks and heeds; whatever a server does to it, it answers in time, and then ``allow``."""

from __future__ import annotations

import asyncio
import json
import pickle
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from engine import forkmap_client
from engine.forkmap_client import Answer, Client, Stopped

FORESIGHT = {"verdict": "likely_failure", "support": 50, "successes": 5, "low": 0.04, "high": 0.21}
STOP = {
    "action": "stop",
    "reason": "5 of 50 such runs succeeded, 21.4% at most.",
    "policy": "refunds",
    "foresight": FORESIGHT,
    "map_age_s": 12.5,
    "as_of": "2026-01-01T00:00:00Z",
}
ALLOW = STOP | {"action": "allow", "reason": "No policy says otherwise.", "policy": None}
WARN = STOP | {"action": "warn"}
HANGS_S = 20.0
"""How long a server that hangs would; far more than any check may take."""
SOON_S = 2.0
"""What a check with a time-out of 0.2 s is given on a machine that is busy."""

Serve = Callable[[socket.socket], None]


@contextmanager
def serving(serve: Serve) -> Iterator[str]:
    """URL of a server that does this with each connection, in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(32) as connections:
        opened: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    opened.append(listening.accept()[0])
                except OSError:
                    return
                connections.submit(_served, serve, opened[-1])

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for connection in opened:
                _end(connection)


def _served(serve: Serve, connection: socket.socket) -> None:
    try:
        serve(connection)
    except OSError:
        pass
    finally:
        _end(connection)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def asked(connection: socket.socket) -> dict[str, Any] | None:
    """The next request on a connection: its head's lines under ``head``, and its body's fields."""
    held = b""
    while b"\r\n\r\n" not in held:
        if not (got := connection.recv(65536)):
            return None
        held += got
    head, _, body = held.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    (length,) = (int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length"))
    while len(body) < length:
        body += connection.recv(65536)
    return {"head": lines[:-1], **json.loads(body)}


def http(document: Any, status: str = "200 OK", *headers: str) -> bytes:
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""
    return "\r\n".join(head).encode() + body


def saying(*sent: bytes) -> Serve:
    """Answer every request of a connection by these bytes, piece by piece."""

    def serve(connection: socket.socket) -> None:
        while asked(connection) is not None:
            for piece in sent:
                connection.sendall(piece)

    return serve


def then_closing(*sent: bytes) -> Serve:
    """Answer one request by these bytes and close."""

    def serve(connection: socket.socket) -> None:
        asked(connection)
        for piece in sent:
            connection.sendall(piece)

    return serve


def dripping(sent: bytes) -> Serve:
    """Answer byte by byte, each within the time-out, all of it long after."""

    def serve(connection: socket.socket) -> None:
        asked(connection)
        for place in range(len(sent)):
            connection.sendall(sent[place : place + 1])
            time.sleep(0.05)

    return serve


def hanging(connection: socket.socket) -> None:
    """Take a request and say nothing until the other side has left."""
    asked(connection)
    connection.settimeout(HANGS_S)
    connection.recv(1)


def never_ending(connection: socket.socket) -> None:
    asked(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b" " * 65536)


def test_an_answer_is_what_the_server_said() -> None:
    with serving(saying(http(STOP | {"more": 1}))) as url, Client(url, timeout_s=SOON_S) as client:
        answer = client.check("run-7")
    assert answer == Answer(
        action="stop",
        reason="5 of 50 such runs succeeded, 21.4% at most.",
        policy="refunds",
        foresight=FORESIGHT,
        map_age_s=12.5,
        as_of="2026-01-01T00:00:00Z",
        fault=None,
        document=STOP | {"more": 1},
    )


def test_what_is_asked() -> None:
    requests: list[Any] = []

    def serve(connection: socket.socket) -> None:
        while (request := asked(connection)) is not None:
            requests.append(request)
            connection.sendall(http(ALLOW))

    with serving(serve) as url:
        with Client(f"{url}/below/", key="fmk_x", timeout_s=SOON_S) as client:
            assert client.check("r/1 é", next_step="tool:x").fault is None
            assert client.check(lambda: "r2").fault is None
        host = url.removeprefix("http://")
    head = ["POST /below/api/v1/check HTTP/1.1", f"Host: {host}", "X-Api-Key: fmk_x"]
    head += ["Content-Type: application/json"]
    assert requests == [
        {"head": head, "run_id": "r/1 é", "next_step": "tool:x"},
        {"head": head, "run_id": "r2"},
    ]


def test_a_stop_is_raised_where_wanted_and_nothing_else_is() -> None:
    with serving(saying(http(STOP))) as url, Client(url, timeout_s=SOON_S) as client:
        answer = client.check("r")
    with pytest.raises(Stopped, match=r"5 of 50 such runs succeeded, 21\.4% at most\.") as raised:
        answer.raise_for_stop()
    assert raised.value.answer is answer
    copied = pickle.loads(pickle.dumps(raised.value))
    assert (type(copied), copied.answer) == (Stopped, answer)
    with serving(saying(http(WARN))) as url, Client(url, timeout_s=SOON_S) as client:
        assert client.check("r").raise_for_stop().action == "warn"


GARBAGE = {
    "no HTTP": (saying(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "BadStatusLine: SSH-2.0-OpenSSH_9.2"),
    "no JSON": (
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ),
    "no object": (saying(http(["stop"])), "ValueError: the answer is no JSON object"),
    "too deep": (
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"[" * 200_000),
        "RecursionError: ",
    ),
    "no such action": (
        saying(http(STOP | {"action": "explode"})),
        "ValueError: the answer's action is 'explode'",
    ),
    "a stop without a reason": (
        saying(http({"action": "stop"})),
        "ValueError: the answer's reason is None",
    ),
    "no foresight": (
        saying(http(STOP | {"foresight": [1]})),
        "ValueError: the answer's foresight is [1]",
    ),
    "an error": (saying(http(STOP, "500 Internal Server Error")), "ValueError: HTTP 500"),
    "a problem": (
        saying(http({"detail": "The store does not answer."}, "503 Service Unavailable")),
        "ValueError: HTTP 503: The store does not answer.",
    ),
    "somewhere else": (saying(http(STOP, "302 Found", "Location: /signin")), "ValueError: HTTP 302"),
    "nothing": (then_closing(), "RemoteDisconnected: Remote end closed connection without response"),
    "closed in the head": (
        then_closing(b"HTTP/1.1 200 OK\r\nContent-Le"),
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ),
    "closed in the body": (then_closing(http(STOP)[:-20]), "ValueError: the answer broke off"),
    "closed in the body, behind what looks whole": (
        then_closing(http(STOP).replace(b"Content-Length: ", b"Content-Length: 1")),
        "ValueError: the answer broke off",
    ),
    "too long": (
        saying(http(STOP | {"reason": "x" * forkmap_client.MAX_ANSWER_BYTES})),
        "ValueError: the answer is too long",
    ),
    "without end": (never_ending, "ValueError: the answer is too long"),
    "a head without end": (
        saying(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200),
        "HTTPException: got more than 100 headers",
    ),
}


@pytest.mark.parametrize("case", GARBAGE)
def test_what_is_no_answer_means_allow(case: str) -> None:
    serve, fault = GARBAGE[case]
    with serving(serve) as url, Client(url, timeout_s=SOON_S) as client:
        for _ in range(3):
            answer = client.check("r")
            assert answer.fault is not None
            assert (answer.action, answer.fault[: len(fault)]) == ("allow", fault)


SLOW: dict[str, Serve] = {
    "hanging": hanging,
    "dripping": dripping(http(STOP)),
    "dripping a head": dripping(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 90),
    "asking to go on": saying(*[b"HTTP/1.1 100 Continue\r\n\r\n"]),
    "stopping in the body": saying(http(STOP)[:-20]),
}


@pytest.mark.parametrize("case", SLOW)
def test_what_is_too_slow_means_allow_in_time(case: str) -> None:
    with serving(SLOW[case]) as url, Client(url) as client:
        for _ in range(2):
            begun_s = time.monotonic()
            answer = client.check("r")
            assert 0.2 <= time.monotonic() - begun_s < SOON_S
            assert (answer.action, answer.fault) == ("allow", "no answer within 0.2 s")


def test_nobody_there_means_allow() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", timeout_s=SOON_S) as client:
        answer = client.check("r")
    assert (answer.action, (answer.fault or "").partition(":")[0]) == ("allow", "ConnectionRefusedError")


def test_a_server_that_takes_no_connection_means_allow_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        with socket.create_connection(address), Client(f"http://127.0.0.1:{address[1]}") as client:
            begun_s = time.monotonic()
            answers = [client.check("r") for _ in range(2)]
            assert time.monotonic() - begun_s < 2 * SOON_S
    assert {(answer.action, answer.fault) for answer in answers} == {("allow", "no answer within 0.2 s")}


def test_an_address_that_does_not_answer_leaves_time_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = socket.SOCK_STREAM
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, serving(saying(http(ALLOW))) as url:
        port = int(url.rpartition(":")[2])
        places = [
            (9999, stream, 0, "", ("of a family that this machine does not know", port)),
            (socket.AF_INET, stream, 0, "", full.getsockname()),
            (socket.AF_INET, stream, 0, "", ("127.0.0.1", port)),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
        with socket.create_connection(full.getsockname()), Client("http://host", timeout_s=SOON_S) as client:
            assert client.check("r").fault is None


def test_a_name_that_nobody_resolves_in_time_means_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for, answered = [], threading.Event()

    def never(*asked: object, **_: object) -> list[object]:
        asked_for.append(asked)
        answered.wait(HANGS_S)
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", never)
    with Client("http://forkmap.example") as client:
        begun_s = time.monotonic()
        answers = [client.check("r") for _ in range(3)]
        assert time.monotonic() - begun_s < 3 * SOON_S
        assert {(answer.action, answer.fault) for answer in answers} == {("allow", "no answer within 0.2 s")}
        assert asked_for == [("forkmap.example", 80)], "one look-up at a time, however many wait"
        answered.set()
        client.timeout_s = SOON_S
        assert client.check("r").fault == "gaierror: no such host"


@pytest.mark.parametrize("wrong", [None, 7, object(), "\ud800"])
def test_a_run_id_that_is_none_means_allow(wrong: Any) -> None:
    refusing = saying(http({"detail": "run_id: Expected `str`"}, "400 Bad Request"))
    with serving(refusing) as url, Client(url, timeout_s=SOON_S) as client:
        answer = client.check(wrong)
        assert (answer.action, answer.fault is None) == ("allow", False)


def test_a_run_that_cannot_be_told_means_allow() -> None:
    def no_run() -> str:
        raise LookupError("no run is under way")

    with serving(saying(http(STOP))) as url, Client(url, timeout_s=SOON_S) as client:
        answer = client.check(no_run)
    assert (answer.action, answer.fault) == ("allow", "LookupError: no run is under way")


@pytest.mark.parametrize("url", ["127.0.0.1:8050", "ftp://host", "http://", "http://host:port"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match=r"is no address like|Port could not be cast"):
        Client(url)


def test_a_key_that_would_be_another_header_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="the end of a line"):
        Client("http://host", key="fmk_x\r\nX-Other: y")


def test_the_log_tells_of_the_first_fault_of_a_row(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([http(STOP, "503 Busy"), http(STOP, "503 Busy"), http(ALLOW), http(ALLOW, "500 Oh")])

    def serve(connection: socket.socket) -> None:
        while asked(connection) is not None:
            connection.sendall(next(answers))

    with serving(serve) as url, Client(url, timeout_s=SOON_S) as client:
        for _ in range(4):
            client.check("r")
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "Forkmap does not answer (ValueError: HTTP 503): calls are allowed",
        "Forkmap does not answer (ValueError: HTTP 500): calls are allowed",
    ]


REFUSALS = {
    "a wrong key": (
        http({"detail": "This key does not work."}, "401 Unauthorized"),
        "HTTP 401: This key does not work.",
    ),
    "a key of another role": (http({"detail": "x" * 1000}, "403 Forbidden"), f"HTTP 403: {'x' * 300}"),
    "no such question": (
        http({"detail": "run_id: missing."}, "400 Bad Request"),
        "HTTP 400: run_id: missing.",
    ),
    "without a sentence": (http({"detail": [1]}, "404 Not Found"), "HTTP 404"),
    "no problem": (http("what?", "404 Not Found"), "HTTP 404"),
    "no JSON": (b"HTTP/1.1 413 Too long\r\nContent-Length: 2\r\n\r\nno", "HTTP 413"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_told_from_silence_in_the_servers_own_words(
    case: str, caplog: pytest.LogCaptureFixture
) -> None:
    sent, fault = REFUSALS[case]
    with serving(saying(sent)) as url, Client(url, timeout_s=SOON_S) as client:
        assert client.check("r") == Answer(
            "allow", "Forkmap refused to answer, so the call is allowed.", fault=fault
        )
    assert [record.getMessage() for record in caplog.records] == [
        f"Forkmap refuses to answer ({fault}): calls are allowed"
    ]


def test_a_fault_that_lasts_is_warned_of_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forkmap_client, "WARN_AGAIN_S", 0.1)
    with serving(saying(http(STOP, "401 Unauthorized"))) as url, Client(url, timeout_s=SOON_S) as client:
        client.check("r")
        time.sleep(0.2)
        client.check("r")
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2


# --- connections --------------------------------------------------------------------------------------


class Counted:
    """Answers every question with the run it is about, and knows on which connections they came."""

    def __init__(self) -> None:
        self.connections = count()
        self.came: list[tuple[int, str]] = []

    def __call__(self, connection: socket.socket) -> None:
        number = next(self.connections)
        while (request := asked(connection)) is not None:
            self.came.append((number, request["run_id"]))
            connection.sendall(http(ALLOW | {"reason": request["run_id"]}))


def test_a_connection_is_kept() -> None:
    server = Counted()
    with serving(server) as url, Client(url, timeout_s=SOON_S) as client:
        assert [client.check(run).reason for run in "abc"] == ["a", "b", "c"]
        client.close()
        assert client.check("d").reason == "d"
    assert server.came == [(0, "a"), (0, "b"), (0, "c"), (1, "d")]


def test_a_connection_that_its_server_closes_is_replaced() -> None:
    polite, curt = then_closing(http(ALLOW, "200 OK", "Connection: close")), then_closing(http(ALLOW))
    for serve in (polite, curt):
        with serving(serve) as url, Client(url, timeout_s=SOON_S) as client:
            assert [client.check("r").fault for _ in range(5)] == [None] * 5


def test_a_chunked_answer_is_understood() -> None:
    body = json.dumps(ALLOW).encode()
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    with serving(saying(head, chunks)) as url, Client(url, timeout_s=SOON_S) as client:
        assert [client.check("r").fault for _ in range(3)] == [None] * 3


def test_threads_get_their_own_answers() -> None:
    server = Counted()
    runs = [f"run-{number}" for number in range(400)]
    with serving(server) as url, Client(url, timeout_s=20) as client, ThreadPoolExecutor(8) as threads:
        assert [answer.reason for answer in threads.map(client.check, runs)] == runs
    assert len({connection for connection, _ in server.came}) <= 8


FORKING = """
import os, sys
from engine.forkmap_client import Client
client = Client(sys.argv[1], timeout_s=5)
client.check("parent")
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    client.check("parent again")
else:
    client.check("child")
"""


def test_a_process_that_was_forked_has_connections_of_its_own() -> None:
    server = Counted()
    with serving(server) as url:
        subprocess.run([sys.executable, "-c", FORKING, url], check=True)
    assert server.came == [(0, "parent"), (1, "child"), (0, "parent again")]


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl, which makes the certificate, is missing"
)
def test_a_secure_server_is_asked_and_one_that_nobody_vouches_for_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = tmp_path / "localhost.pem"
    making = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    making += " -addext subjectAltName=DNS:localhost -keyout - -out -"
    pem.write_bytes(subprocess.run(making.split(), check=True, capture_output=True).stdout)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            saying(http(ALLOW))(secured)

    with serving(serve) as url:
        secure = url.replace("http://127.0.0.1", "https://localhost")
        with Client(secure, timeout_s=SOON_S) as client:
            assert "certificate verify failed" in (client.check("r").fault or "")
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        with Client(secure, timeout_s=SOON_S) as client:
            assert [client.check("r").fault for _ in range(3)] == [None] * 3


def test_a_secure_server_that_does_not_shake_hands_means_allow_in_time() -> None:
    with serving(hanging) as url, Client(url.replace("http", "https")) as client:
        begun_s = time.monotonic()
        assert client.check("r").fault == "no answer within 0.2 s"
        assert time.monotonic() - begun_s < SOON_S


# --- what asks before it is called --------------------------------------------------------------------


def guarded(client: Client, called: list[str]) -> Callable[[str], str]:
    @client.guarded(lambda: "run-7")
    def issue_refund(order: str) -> str:
        """Give the money back."""
        called.append(order)
        return f"{order}: refunded"

    return issue_refund


def guarded_async(client: Client, called: list[str]) -> Callable[[str], str]:
    @client.guarded("run-7", "tool:issue_refund")
    async def refund(order: str) -> str:
        called.append(order)
        return f"{order}: refunded"

    return lambda order: asyncio.run(refund(order))


GUARDED = pytest.mark.parametrize("guard", [guarded, guarded_async])
Guard = Callable[[Client, list[str]], Callable[[str], str]]


@GUARDED
def test_what_is_guarded_is_not_called_where_the_answer_is_stop(guard: Guard) -> None:
    requests, called = [], list[str]()

    def serve(connection: socket.socket) -> None:
        while (request := asked(connection)) is not None:
            requests.append((request["run_id"], request["next_step"]))
            connection.sendall(http(STOP))

    with serving(serve) as url, Client(url, timeout_s=SOON_S) as client:
        with pytest.raises(Stopped) as stopped:
            guard(client, called)("A-17")
        assert (called, requests) == ([], [("run-7", "tool:issue_refund")])
        assert stopped.value.answer.policy == "refunds"


@GUARDED
@pytest.mark.parametrize("answer", [http(ALLOW), http(WARN), b"hello"])
def test_what_is_guarded_is_called_where_it_is_anything_else(
    guard: Guard, answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[str] = []
    with serving(then_closing(answer)) as url, Client(url, timeout_s=SOON_S) as client:
        assert guard(client, called)("A-17") == "A-17: refunded"
    assert called == ["A-17"]
    said = {http(ALLOW): [], http(WARN): ["5 of 50 such runs succeeded, 21.4% at most."]}
    assert [record.getMessage() for record in caplog.records] == said.get(
        answer, ["Forkmap does not answer (BadStatusLine: hello): calls are allowed"]
    )


def test_what_is_guarded_keeps_its_name() -> None:
    function = guarded(Client("http://host"), [])
    assert (function.__name__, function.__doc__) == ("issue_refund", "Give the money back.")


def test_asking_does_not_hold_up_the_event_loop() -> None:
    async def ask(client: Client) -> tuple[list[Answer], int]:
        checks = asyncio.gather(*(client.acheck("r") for _ in range(4)))
        turns = 0
        while not checks.done():
            await asyncio.sleep(0.01)
            turns += 1
        return await checks, turns

    with serving(hanging) as url, Client(url, timeout_s=0.5) as client:
        answers, turns = asyncio.run(ask(client))
    assert {(answer.action, answer.fault) for answer in answers} == {("allow", "no answer within 0.5 s")}
    assert turns > 5


def test_what_the_page_shows_of_the_client_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[1] / "docs" / "fuses.md").read_text()
    shown = page.partition("```python\n")[2].partition("```")[0]
    shown = shown.replace("from forkmap_client", "from engine.forkmap_client")
    with serving(saying(http(STOP))) as url:
        names: dict[str, Any] = {}
        exec(shown.replace("http://127.0.0.1:8050", url).replace("timeout_s=0.2", "timeout_s=2"), names)
        names["fuse"].close()
    assert capsys.readouterr().out == (
        f"stop {STOP['reason']} refunds {FORESIGHT} None\nnot refunded: refunds\n"
    )


def test_one_file_is_enough(tmp_path: Path) -> None:
    copied = tmp_path / "forkmap_client.py"
    shutil.copy(forkmap_client.__file__, copied)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import forkmap_client as f; "
    with serving(saying(http(STOP))) as url:
        program += f"print(f.__file__, f.Client({url!r}, timeout_s={SOON_S}).check('r').action)"
        alone = [sys.executable, "-I", "-S", "-W", "error", "-c", program]
        done = subprocess.run(alone, check=True, capture_output=True, text=True)
    assert done.stdout == f"{copied} stop\n"
