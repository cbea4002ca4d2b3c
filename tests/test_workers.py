"""``forkmap serve --workers``: processes that answer side by side, die, are replaced, and end together."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exporting import body, get, post, span, trace_id
from tests.servers import made

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")

COMMAND = [sys.executable, "-c", "import sys; from dashboard.cli import main; sys.exit(main())", "serve"]
WORKERS = 2
WAIT_S = 60.0


class Workers:
    """A server of several processes."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        command = [*COMMAND, "--port", str(port), "--store", str(made(folder / "runs.sqlite"))]
        command += ["--workers", str(WORKERS)]
        self.log = folder / "log"
        with self.log.open("w") as log:
            environment = os.environ | {"FORKMAP_CACHE": str(folder / "cache")}
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.until_ready()

    def until_ready(self) -> None:
        until_s = time.monotonic() + WAIT_S
        while True:
            try:
                if get(self.address, "/readyz").status == 200 and len(self.children()) == WORKERS + 2:
                    return
            except OSError:
                assert time.monotonic() < until_s and self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)

    def children(self) -> list[int]:
        """Ids of the processes it began: those that answer, one for checks, one that keeps the store up."""
        pid = self.process.pid
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def until_gone(self, pids: list[int]) -> None:
        """Wait until none of these processes lives."""
        until_s = time.monotonic() + WAIT_S
        while any(is_alive(pid) for pid in pids):
            assert time.monotonic() < until_s, self.log.read_text()
            time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs: one that ended and was not waited for is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_free(port: int) -> bool:
    """Whether nobody listens at a port."""
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            again.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    server = Workers(tmp_path)
    yield server
    server.process.kill()
    server.process.wait()


def test_each_process_answers_with_what_another_took_and_built(workers: Workers) -> None:
    sent = [f"run-{number}" for number in range(20)]
    assert [post(workers.address, body([span(name, 0)])).status for name in sent] == [200] * len(sent)
    for name in sent:
        assert get(workers.address, f"/api/v1/runs/{trace_id(name)}").status == 200
    until_s = time.monotonic() + WAIT_S
    statuses: list[int] = []
    while statuses[-20:] != [200] * 20:
        statuses.append(get(workers.address, "/api/v1/maps?agent=unknown&window=all").status)
        assert time.monotonic() < until_s
    counted = get(workers.address, "/metrics").body.decode()
    assert re.findall(r"^forkmap_spans_accepted_total (.*)", counted, re.M) == ["20.0"]
    assert re.findall(r'^forkmap_builds_total{result="ready"} (.*)', counted, re.M) == ["1.0"]


def test_one_that_dies_is_replaced_and_the_others_answer_meanwhile(workers: Workers) -> None:
    before = workers.children()
    os.kill(before[0], signal.SIGKILL)
    assert get(workers.address, "/healthz").status == 200
    until_s = time.monotonic() + WAIT_S
    while len(after := workers.children()) <= WORKERS + 1 or before[0] in after:
        assert time.monotonic() < until_s
        time.sleep(0.02)
    assert {*before[1:]} < {*after}
    assert f"process {before[0]} ended with -9; another takes its place" in workers.log.read_text()


CHECK = b"POST /api/v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 15\r\n\r\n" + b'{"run_id": "r"}'
HEALTHY = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def connected(workers: Workers, timeout_s: float = WAIT_S) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(workers.address.rpartition(":")[2])), timeout_s)


def answers(connection: socket.socket, count: int) -> list[bytes]:
    """Bodies of so many answers."""
    found: list[bytes] = []
    with connection.makefile("rb") as said:
        while len(found) < count:
            head = b"".join(iter(said.readline, b"\r\n"))
            length = re.search(rb"(?i)content-length: (\d+)", head)
            assert head.startswith(b"HTTP/1.1 200") and length, head
            found.append(said.read(int(length[1])))
    return found


def test_checks_are_answered_by_the_process_for_checks_alone(workers: Workers) -> None:
    checking = workers.children()[WORKERS]
    os.kill(checking, signal.SIGSTOP)
    for _ in range(5):
        with connected(workers, 0.3) as asking:
            asking.sendall(CHECK)
            with pytest.raises(TimeoutError):
                asking.recv(1)
        with connected(workers) as asking:
            asking.sendall(HEALTHY)
            assert answers(asking, 1) == [b"ok\n"]
    with connected(workers) as asking:
        asking.sendall(CHECK)
        os.kill(checking, signal.SIGCONT)
        assert b'"action":"allow"' in answers(asking, 1)[0]


def test_a_connection_that_was_passed_on_is_one_as_any(workers: Workers) -> None:
    with connected(workers) as asking:
        asking.sendall(CHECK + HEALTHY + CHECK + CHECK)
        first, healthy, *others = answers(asking, 4)
        assert healthy == b"ok\n" and {b'"action":"allow"' in each for each in (first, *others)} == {True}
        for part in (HEALTHY, CHECK[:30], CHECK[30:-3], CHECK[-3:], HEALTHY):
            asking.sendall(part)
            time.sleep(0.05)
        assert [len(each) > 10 for each in answers(asking, 3)] == [False, True, False]


@pytest.mark.parametrize(
    "data",
    [
        CHECK.replace(b": 15", b": " + b"1" * 5000),
        CHECK + b"GET http://[ HTTP/1.1\r\n\r\n",
        CHECK + CHECK.replace(b": 15", b": " + b"1" * 5000),
    ],
)
def test_what_cannot_be_read_ends_its_own_connection_alone(workers: Workers, data: bytes) -> None:
    with connected(workers) as asking:
        asking.sendall(data)
        with asking.makefile("rb") as said:
            assert b"HTTP/1.1 400 Bad Request\r\n" in said.read()
    with connected(workers) as asking:
        asking.sendall(CHECK)
        assert b'"action":"allow"' in answers(asking, 1)[0]
    assert "uncaptured" not in workers.log.read_text()


def test_checks_go_on_when_the_process_for_checks_dies(workers: Workers) -> None:
    before = workers.children()
    os.kill(before[WORKERS], signal.SIGKILL)
    for _ in range(20):
        with connected(workers) as asking:
            asking.sendall(CHECK)
            assert b'"action":"allow"' in answers(asking, 1)[0]
    assert before[WORKERS] not in workers.children()


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_all_end(workers: Workers, told: signal.Signals) -> None:
    children = workers.children()
    assert post(workers.address, body([span("run-1", 0)])).status == 200
    workers.process.send_signal(told)
    assert workers.process.wait(WAIT_S) == 0
    workers.until_gone(children)
    assert "Traceback" not in workers.log.read_text()
    assert not [*workers.log.parent.glob("runs.sqlite-wal")]  # The file alone is the store.


def test_told_to_end_while_one_is_begun_again_all_end(workers: Workers) -> None:
    children = workers.children()
    os.kill(children[0], signal.SIGKILL)
    while len(after := workers.children()) <= WORKERS + 1 or children[0] in after:
        time.sleep(0.01)
    (new,) = {*after} - {*children}
    os.kill(new, signal.SIGKILL)  # It lived too short: its successor is not begun yet.
    workers.until_gone([new])
    time.sleep(0.2)
    workers.process.terminate()
    assert workers.process.wait(WAIT_S) == 0
    workers.until_gone(children)
    assert "Traceback" not in workers.log.read_text()


def test_one_that_dies_is_replaced_even_without_the_folder_of_the_cache(workers: Workers) -> None:
    folder = workers.log.with_name("cache")
    shutil.rmtree(folder)
    folder.write_text("a file")
    before = workers.children()
    for pid in before[: WORKERS + 1]:
        os.kill(pid, signal.SIGKILL)
    workers.until_gone(before[: WORKERS + 1])
    workers.until_ready()
    with connected(workers) as asking:
        asking.sendall(CHECK)
        assert b'"action":"allow"' in answers(asking, 1)[0]
    assert "ended with 1;" not in workers.log.read_text()


def test_killed_none_is_left(workers: Workers) -> None:
    children = workers.children()
    workers.process.kill()
    workers.process.wait()
    workers.until_gone(children)
    until_s = time.monotonic() + WAIT_S
    while not is_free(int(workers.address.rpartition(":")[2])):
        assert time.monotonic() < until_s
        time.sleep(0.02)


def test_several_need_a_cache_that_they_share(tmp_path: Path) -> None:
    command = [*COMMAND, "--workers", "2", "--store", str(made(tmp_path / "runs.sqlite"))]
    environment = {name: value for name, value in os.environ.items() if name != "FORKMAP_CACHE"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WAIT_S)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "forkmap: several workers need a cache that they share: set FORKMAP_CACHE to the path of a folder,"
        " or to redis://HOST:PORT/NUMBER\n"
    )
