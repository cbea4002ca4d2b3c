"""The short way to a check: it says what the route says, and leaves to it all that is not usual."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flask import Response
from werkzeug.test import Client

from dashboard.api.shortcut import Shortcut
from dashboard.app import create_app
from dashboard.auth.failures import LIMIT
from engine import demo
from engine.keys import Role, mint
from engine.store.sqlite import open_store

NOW_S = 1_800_000_000


class Ways:
    """A server over the demo, and how often its checks took the long way."""

    def __init__(self, place: Path, keyed: bool) -> None:
        store = open_store(place / "demo.sqlite", create=True)
        demo.load(store, "default")
        self.shown: dict[str, str] = {}
        for role in Role if keyed else ():
            key, self.shown[role] = mint("default", role, "", NOW_S)
            store.add_key(key)
        server = create_app(store).server
        assert isinstance(server.wsgi_app, Shortcut)
        self.short, self.long_ways = Client(server, Response), 0
        route = server.wsgi_app._onward

        def counted(environ: Any, start: Any) -> Any:
            self.long_ways += 1
            return route(environ, start)

        server.wsgi_app._onward = counted
        self.long = Client(counted, Response)

    def ask(self, way: Client, body: bytes, role: str = "", **how: Any) -> Any:
        headers = {"X-API-Key": self.shown.get(role, role)} if role else {}
        about: dict[str, Any] = {"content_type": "application/json", "headers": headers, **how}
        return way.post("/api/v1/check", data=body, environ_base={"REMOTE_ADDR": "127.0.0.1"}, **about)


@pytest.fixture
def ways(tmp_path: Path) -> Ways:
    return Ways(tmp_path, keyed=True)


def heads(response: Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name != "Content-Length"}


@pytest.mark.parametrize("run_id", ["live-doomed-0", "live-novel-0", "nobody's"])
@pytest.mark.parametrize("next_step", [None, "tool:search_orders", "search_orders", "?"])
def test_both_ways_say_the_same(ways: Ways, run_id: str, next_step: str | None) -> None:
    body = json.dumps({"run_id": run_id, "next_step": next_step}).encode()
    long, short = ways.ask(ways.long, body, "ingest"), ways.ask(ways.short, body, "ingest")
    assert ways.long_ways == 1
    assert (short.status_code, heads(short)) == (long.status_code, heads(long)) and short.status_code == 200
    drop = ("as_of", "map_age_s", "reason", "foresight")  # a map may come in between
    assert {k: v for k, v in short.json.items() if k not in drop} == {
        k: v for k, v in long.json.items() if k not in drop
    }
    assert short.json.keys() == long.json.keys()


@pytest.mark.parametrize(
    ("body", "role", "status"),
    [
        (b"{", "ingest", 400),
        (b'{"run_id": ""}', "ingest", 400),
        (b'{"run_id": "r", "more": 1}', "ingest", 400),
        (b'{"run_id": "\xff"}', "ingest", 400),
        (b'{"run_id": "r", "next_step": ' + b"[" * 5000, "ingest", 400),
        (b'{"run_id": "' + b"r" * 20_000 + b'", "more": 1}', "ingest", 400),
        (b'{"run_id": "r"}', "read", 403),
        (b'{"run_id": "r"}', "fmk_000000000000_wrong", 401),
        (b'{"run_id": "r"}', "", 401),
    ],
)
def test_what_is_refused_is_refused_by_the_route(ways: Ways, body: bytes, role: str, status: int) -> None:
    short = ways.ask(ways.short, body, role)
    assert ways.long_ways == 1
    long = ways.ask(ways.long, body, role)
    assert (short.status_code, short.json) == (long.status_code, long.json)
    assert short.status_code == status and short.content_type == "application/problem+json"


def test_a_query_is_refused_and_get_is_not_for_it(ways: Ways) -> None:
    body = b'{"run_id": "r"}'
    assert ways.ask(ways.short, body, "ingest", query_string="a=1").status_code == 400
    assert ways.short.get("/api/v1/check", headers={"X-API-Key": ways.shown["read"]}).status_code == 405


def test_a_wrong_key_is_counted_once(ways: Ways) -> None:
    asked = [ways.ask(ways.short, b'{"run_id": "r"}', "fmk_000000000000_wrong") for _ in range(LIMIT + 1)]
    assert [each.status_code for each in asked] == [401] * LIMIT + [429]


def test_without_a_key_this_machine_asks_the_short_way(tmp_path: Path) -> None:
    ways = Ways(tmp_path, keyed=False)
    assert ways.ask(ways.short, b'{"run_id": "live-doomed-0"}').status_code == 200
    assert ways.long_ways == 0
    assert ways.ask(ways.short, b'{"run_id": "r"}', base_url="http://evil.example").status_code == 421
