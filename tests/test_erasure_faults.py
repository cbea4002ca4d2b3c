"""An erasure completes or never happened, whenever the server that is at it is killed or told to end."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from dashboard.cli import main
from engine.spans import Span
from engine.store.doctoring import examine
from engine.store.sqlite import open_store
from tests.servers import Server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked as on Linux")

RUNS, SPANS = 1_500, 12
OLD_NS, YOUNG_NS = 1_500_000_000 * 10**9, 1_900_000_000 * 10**9
BEFORE = "2020-01-01T00:00:00Z"


def spans_of(name: str, at_ns: int, count: int) -> list[Span]:
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    return [Span(name, f"{n}", "call", at_ns + n, at_ns + n + 1, attributes=call) for n in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of old runs and one young one."""
    place = tmp_path / "forkmap.sqlite"
    store = open_store(place, create=True)
    for first in range(0, RUNS, 500):
        numbers = range(first, first + 500)
        store.append("default", [each for n in numbers for each in spans_of(f"old-{n}", OLD_NS, SPANS)])
    store.append("default", spans_of("young", YOUNG_NS, 2))
    store.settle("default")
    store.close()
    return place


def ask(server: Server, method: str, name: str, body: object = None) -> Any:
    with closing(HTTPConnection(server.address, timeout=60)) as connection:
        connection.request(method, f"/api/v1/{name}", json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())


def begun(server: Server) -> threading.Thread:
    """Ask for an erasure, in a thread of one's own: nobody may answer."""

    def erase() -> None:
        with suppress(OSError, HTTPException, ValueError):
            ask(server, "POST", "erasures", {"by": "before", "time": BEFORE})

    thread = threading.Thread(target=erase)
    thread.start()
    return thread


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        (found,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(found)


def wait_until_some_went(path: Path) -> None:
    deadline_s = time.monotonic() + 30
    while count(path, "runs") == RUNS + 1:
        assert time.monotonic() < deadline_s
        time.sleep(0.002)


def is_done(server: Server) -> Any:
    """The receipt of the one erasure, once it is done."""
    deadline_s = time.monotonic() + 30
    while (receipt := ask(server, "GET", "erasures")["erasures"][0])["state"] == "pending":
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    return receipt


def assert_gone(path: Path, receipt: Any) -> None:
    counted = {name: receipt[name] for name in ("runs", "traces", "spans")}
    assert counted == {"runs": RUNS, "traces": RUNS, "spans": RUNS * SPANS}
    left = {table: count(path, table) for table in ("runs", "traces", "spans", "paths")}
    assert left == {"runs": 1, "traces": 1, "spans": 2, "paths": 2}
    assert examine(path).findings == ()


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_server_that_ends_in_the_middle_goes_on_when_it_is_started_again(path: Path, how: str) -> None:
    server = Server(path)
    asking = begun(server)
    wait_until_some_went(path)
    begun_s = time.monotonic()
    server.kill() if how == "kill" else server.stop()
    assert time.monotonic() - begun_s < 10
    asking.join()
    is_in_the_middle = count(path, "spans") > 2
    assert is_in_the_middle or how == "stop", "who is told to end may end the erasure first"
    assert examine(path).findings == ()

    server.start()
    receipt = is_done(server)
    server.stop()
    assert_gone(path, receipt)


def test_what_a_killed_server_left_is_ended_by_the_next_command(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(path)
    asking = begun(server)
    wait_until_some_went(path)
    server.kill()
    asking.join()
    assert main(["agents", "--store", str(path), "--all", "--json"]) == 0
    (agent,) = json.loads(capsys.readouterr().out)
    assert agent["completed"] == 1
    assert count(path, "spans") == 2


def test_whenever_it_is_killed_all_of_it_is_gone_afterwards_or_nothing(path: Path) -> None:
    server = Server(path)
    for delay_s in (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3):
        asking = begun(server)
        time.sleep(delay_s)
        server.kill()
        asking.join()
        assert examine(path).findings == ()
        server.start()
        if not ask(server, "GET", "erasures")["erasures"]:
            assert count(path, "spans") == RUNS * SPANS + 2
            continue
        assert_gone(path, is_done(server))
        break
    else:
        pytest.fail("it was never written down")
    server.stop()
