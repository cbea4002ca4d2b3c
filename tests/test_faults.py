"""What a running server survives: kills, a full disk, locks, and whatever clients send or fail to."""

from __future__ import annotations

import gzip
import resource
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from random import Random

import pytest

from engine.store.doctoring import examine
from engine.store.sqlite import open_store
from tests.exporting import body, get, post, span, trace_id
from tests.servers import Server, made, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and memory are asked of Linux")

KILLS = 20
IDLE = 1_200
"""Connections that say nothing; select() knows 1,024 files."""
READY_S = 30.0
"""How long a server may take to be ready again on a machine that is busy with other things."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path / "forkmap.sqlite")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that many faults are tried at: each must leave it fit for the next."""
    with serving(made(tmp_path_factory.mktemp("server") / "forkmap.sqlite")) as running:
        yield running


def kept(path: Path) -> Counter[str]:
    """How many spans are in the store, by trace id."""
    db = sqlite3.connect(path)
    query = "SELECT trace_id, count(*) FROM spans JOIN traces ON no = trace GROUP BY no"
    found = Counter(dict(db.execute(query).fetchall()))
    db.close()
    return found


class Exporter(threading.Thread):
    """Sends traces of 20 spans until told to stop, or until nobody answers."""

    def __init__(self, address: str, name: str) -> None:
        super().__init__()
        self.address, self.label, self.told = address, name, threading.Event()
        self.acknowledged, self.statuses = list[str](), Counter[int]()
        self.start()

    def run(self) -> None:
        number = 0
        while not self.told.is_set():
            trace, number = f"{self.label}-{number}", number + 1
            try:
                status = post(self.address, body(span(trace, each) for each in range(20))).status
            except (OSError, HTTPException):
                return
            self.statuses[status] += 1
            if status == 200:
                self.acknowledged.append(trace_id(trace))

    def stop(self) -> list[str]:
        """End it; the ids of the traces that were acknowledged."""
        self.told.set()
        self.join()
        return self.acknowledged


def test_twenty_kills_in_the_middle_of_intake_lose_nothing_that_was_acknowledged(path: Path) -> None:
    server, random = Server(path), Random(1)
    acknowledged: list[str] = []
    for number in range(KILLS):
        exporters = [Exporter(server.address, f"{number}{each}") for each in "abc"]
        time.sleep(random.uniform(0.05, 0.25))
        server.kill()
        acknowledged += [trace for exporter in exporters for trace in exporter.stop()]
        assert examine(path).findings == ()
        assert server.start() < READY_S
    server.stop()

    found = kept(path)
    assert len(acknowledged) >= KILLS
    assert {found[trace] for trace in acknowledged} == {20}
    assert set(found.values()) == {20}, "a request is kept whole or not at all"


# The disk


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """A file system of two megabytes, where this user may mount one."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(server: Server) -> list[str]:
    """Send until there is no more room; the ids of the traces that were acknowledged."""
    for number in range(1_000):
        answer = server.send([span(f"f{number}", each, text="x" * 1000) for each in range(20)])
        if answer.status != 200:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
            return [trace_id(f"f{each}") for each in range(number)]
    pytest.fail("the disk was never full")


def assert_all_kept(server: Server, acknowledged: list[str]) -> None:
    """Everything that was acknowledged is there, and more is taken."""
    assert server.send([span("more", 0)]).status == 200
    found = kept(server.path)
    assert {found[trace] for trace in acknowledged} == {20}
    assert server.shows("f0") and server.shows("more")
    assert examine(server.path).findings == ()


def test_a_disk_that_is_full_takes_nothing_loses_nothing_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk), serving(made(disk / "forkmap.sqlite")) as server:
        assert server.send([span("early", 0)]).status == 200 and server.shows("early")
        acknowledged = fill(server)
        assert len(acknowledged) > 10
        assert server.send([span("again", 0, text="x" * 1_000_000)]).status == 503
        assert server.shows("early")
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert_all_kept(server, acknowledged)


def test_a_file_that_may_not_grow_is_as_a_disk_that_is_full(path: Path) -> None:
    with serving(path, file_bytes=2 << 20) as server:
        acknowledged = fill(server)
        assert len(acknowledged) > 10
        assert server.process.pid is not None
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert_all_kept(server, acknowledged)


# Others at the store


def test_a_store_that_is_locked_is_told_within_seconds_and_read_meanwhile(server: Server) -> None:
    server.send([span("before", 0)])
    assert server.shows("before")
    other = sqlite3.connect(server.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    exporters = [Exporter(server.address, f"locked-{number}") for number in range(3)]
    time.sleep(1)
    assert get(server.address, "/readyz").status == 200
    assert server.shows("before")
    begun_s = time.monotonic()
    answer = server.send([span("locked", 0)])
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert 4 < time.monotonic() - begun_s < 15
    assert b"is busy" in answer.body
    other.execute("ROLLBACK")
    other.close()
    assert server.send([span("locked", 0)]).status == 200
    for exporter in exporters:
        exporter.stop()
        assert set(exporter.statuses) <= {200, 503} and exporter.statuses[200]


def test_two_servers_on_one_store_take_spans_and_show_what_the_other_took(path: Path) -> None:
    with ExitStack() as both:
        servers = [both.enter_context(serving(path)) for _ in range(2)]
        exporters = [Exporter(each.address, f"{n}") for n, each in enumerate(servers * 2)]
        for number, each in enumerate(servers):
            each.send([span("shared", number)])
        time.sleep(1)
        acknowledged = [trace for exporter in exporters for trace in exporter.stop()]
        assert all(exporter.statuses.keys() == {200} for exporter in exporters)
        assert servers[0].shows("1-0") and servers[1].shows("0-0")
        assert servers[0].shows("shared") and servers[1].shows("shared")
    found = kept(path)
    assert found.pop(trace_id("shared")) == 2
    assert found == dict.fromkeys(acknowledged, 20)
    assert examine(path).findings == ()


# What clients send


def test_a_gzip_bomb_is_refused_without_being_unpacked(server: Server) -> None:
    bomb = gzip.compress(bytes(64 << 20)) * 16
    server.peak_mb()
    before_mb = server.peak_mb()
    assert len(bomb) < 2 << 20
    assert post(server.address, bomb, Content_Encoding="gzip").status == 413
    assert server.peak_mb() - before_mb < 100
    assert server.send([span("after-bomb", 0)]).status == 200


def test_an_attribute_of_ten_megabytes_is_kept_and_its_run_shown(server: Server) -> None:
    text = "x" * 10_000_000
    assert server.send([span("large", 0, input=text)]).status == 200
    assert server.shows("large")
    store = open_store(server.path, read_only=True)
    (found,) = store.spans("default", trace_id("large"))
    store.close()
    assert found.attributes["input"] == text


def test_a_trace_of_a_hundred_thousand_spans_is_shown_within_seconds(server: Server) -> None:
    for first in range(0, 100_000, 10_000):
        spans = [span("huge", number, 0 if number else None) for number in range(first, first + 10_000)]
        assert server.send(spans).status == 200
    assert server.shows("huge")
    store = open_store(server.path, read_only=True)
    assert len(store.run("default", trace_id("huge")).steps) == 100_000
    store.close()


def test_parents_in_a_circle_hang_nothing(server: Server) -> None:
    circle = [span("circle", 0, 2), span("circle", 1, 0), span("circle", 2, 1), span("circle", 3, 3)]
    assert server.send(circle).status == 200
    assert server.shows("circle")
    store = open_store(server.path, read_only=True)
    steps = store.run("default", trace_id("circle")).steps
    store.close()
    assert [step.signature for step in steps] == ["tool:tool_0", "tool:tool_1", "tool:tool_2", "tool:tool_3"]


@contextmanager
def slow_clients(address: str, count: int) -> Iterator[None]:
    """Clients that have begun a request and do not go on, and some that do not read their answers."""
    host, _, port = address.partition(":")
    head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with ExitStack() as opened:
        for number in range(count):
            client = opened.enter_context(socket.create_connection((host, int(port))))
            whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50
            client.sendall(whole if number % 4 == 0 else head + b"Content-Length: 100000\r\n\r\n{")
        yield


def test_slow_clients_hold_nobody_up(server: Server) -> None:
    with slow_clients(server.address, 40):
        waits_s = []
        for number in range(20):
            begun_s = time.monotonic()
            assert server.send([span(f"quick-{number}", 0)]).status == 200
            waits_s.append(time.monotonic() - begun_s)
        assert server.shows("quick-0")
    assert sorted(waits_s)[10] < 2


def test_more_idle_connections_than_select_knows_keep_nobody_out(server: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * IDLE:
        pytest.skip(f"one process may open {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * IDLE), hard))
    host, _, port = server.address.partition(":")
    with ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(IDLE):
            opened.enter_context(socket.create_connection((host, int(port))))
        assert get(server.address, "/healthz").status == 200
        assert server.send([span("beside-idle", 0)]).status == 200


def test_whatever_was_sent_the_store_is_sound(server: Server) -> None:
    assert examine(server.path).findings == ()
