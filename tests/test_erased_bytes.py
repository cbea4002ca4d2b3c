"""After an erasure nothing that a run was known by is in any byte: of the store, caches, pages, exports.

The same search finds each of its ids in each of these places before.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.app import CHECKS, ERASING, PAGES, Settings, create_app
from dashboard.cli import main
from dashboard.components.shell import POLL_MS
from engine import erasing
from engine.runs import Declaration, Outcome
from engine.spans import Span
from engine.store import Store
from engine.store.sqlite import open_store
from tests.searching import holds

RUN, TRACE, TICKET = "chat-5e1ab07c9d3f", "7c0ffee1a2b3c4d5e6f708192a3b4c5d", "ticket-93be40f1d7"
USER, SPAN = "user-8d2a61c0e4", "0badc0de5a17f00d"
ERASED = (RUN, TRACE, TICKET, USER, SPAN)
"""What the run is known by, and what its spans hold: each is in no other run."""
CODE = (ModuleType, FunctionType, BuiltinFunctionType, CodeType, FrameType, type)
TABLES = erasing._TEXTS
HOUR_NS = 3600 * 10**9


def span(trace: str, number: int, tool: str, **more: str) -> Span:
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.agent.name": "desk"}
    attributes = about | {key.replace("__", "."): value for key, value in more.items()}
    at_ns = time.time_ns() - HOUR_NS + number * 10**6
    return Span(trace, f"{trace[:8]}-{number}", tool, at_ns, at_ns + 1000, attributes=attributes)


def plant(store: Store) -> None:
    """Forty runs that end well, five that go another way and fail, and one more that fails so."""
    for number in range(45):
        trace, failed = f"{number:032x}", number >= 40
        steps = span(trace, 0, "search"), span(trace, 1, "guess" if failed else "reply", text="x" * 6000)
        store.append("default", steps)
        store.declare("default", [Declaration(trace, Outcome(failed), time.time_ns(), "judge")])
    known: dict[str, str] = {"session__id": RUN, "forkmap__ticket": TICKET, "user__id": USER}
    tools = "search", "guess", f"open {RUN}", f"mail {TICKET}"
    text = f"{USER} {'x' * 5000} {SPAN}"
    spans = [span(TRACE, number, tool, text=text, **known) for number, tool in enumerate(tools)]
    store.append("default", [*spans, Span(TRACE, SPAN, "chain", spans[0].start_ns, None, "nobody")])
    store.declare("default", [Declaration(TRACE, Outcome.FAILURE, time.time_ns(), "judge")])
    store.settle("default")
    store.cut_log()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "runs.sqlite", create=True)
    plant(opened)
    yield opened
    opened.close()


class Place:
    """A server with a cache in files or in memory, and everything it holds and says."""

    def __init__(self, store: Store, cache: Path | None) -> None:
        self.store, self.cache = store, cache
        settings = Settings() if cache is None else Settings(cache=str(cache))
        self.app = create_app(store, settings)
        self.client: FlaskClient = self.app.server.test_client()
        self.client.environ_base["HTTP_HOST"] = "127.0.0.1"

    def get(self, path: str) -> Any:
        """An answer, once what it needs is built."""
        deadline_s = time.monotonic() + 30
        while (answer := self.client.get(path)).status_code == 202 and time.monotonic() < deadline_s:
            time.sleep(0.02)
        return answer

    def asked(self, name: str, body: dict[str, str]) -> dict[str, Any]:
        """What the API answers to a body."""
        found: dict[str, Any] = self.client.post(f"/api/v1/{name}", json=body).get_json()
        return found

    def page(self, path: str, search: str) -> bytes:
        """What the pages' callback answers, once nothing on it is being built."""
        name, known = next(each for each in self.app.callback_map.items() if "body.data" in each[0])
        values = {"pathname": path, "search": search, "n_intervals": 0}
        ends = [part.rsplit(".", 1) for part in name.strip(".").split("...")]
        asked = {"output": name, "outputs": [{"id": of, "property": which} for of, which in ends]}
        for kind in ("inputs", "state"):
            asked[kind] = [{**part, "value": values.get(part["property"])} for part in known[kind]]
        asked["changedPropIds"] = ["url.pathname"]
        deadline_s = time.monotonic() + 30
        while True:
            answer = self.client.post("/_dash-update-component", json=asked)
            assert answer.status_code == 200 and time.monotonic() < deadline_s
            if json.loads(answer.text)["response"]["refresh"]["data"] != POLL_MS:
                return bytes(answer.data)
            time.sleep(0.02)

    def said(self) -> dict[str, bytes]:
        """Every page, and every answer of the API that tells of the agent or its runs."""
        look = "?agent=desk&window=all&q=desk&rules=tool:reply -> success"
        told = {f"page {path}": self.page(path, look) for path in PAGES if path != "/run"}
        asked = ("runs", "maps", "forks", "calibration")
        told |= {f"api {name}": self.get(f"/api/v1/{name}?agent=desk&window=all").data for name in asked}
        told |= {
            f"api {name}": self.get(f"/api/v1/{name}").data for name in ("agents", "firings", "erasures")
        }
        return told | {"metrics": self.get("/metrics").data}

    def kept(self) -> dict[str, bytes]:
        """The store's files, what is cached, and all that the server holds in memory between requests."""
        db = self.store.path
        assert db is not None
        cached = [each for each in self.cache.rglob("*") if each.is_file()] if self.cache else []
        held = [self.app.server.extensions[name] for name in (CHECKS, ERASING)]
        return {
            "store": db.read_bytes(),
            "log": db.with_name(f"{db.name}-wal").read_bytes(),
            "cache": b"".join(each.read_bytes() for each in cached),
            "memory": b"\n".join(reachable([*held, *TABLES])),
        }

    def exported(self, capsys: pytest.CaptureFixture[str]) -> dict[str, bytes]:
        """What the commands print for programs."""
        found = {}
        for command in (["map", "desk"], ["forks", "desk"], ["calibrate", "desk"], ["agents"]):
            assert main([*command, "--store", str(self.store.path), "--all", "--json"]) == 0
            found[f"forkmap {command[0]}"] = capsys.readouterr().out.encode()
        return found


def reachable(roots: list[object]) -> Iterator[bytes]:
    """Every text and every array that can be reached from objects, but for code."""
    stack, seen = [*roots], dict[int, object]()
    while stack:
        found = stack.pop()
        if id(found) in seen or isinstance(found, CODE):
            continue
        seen[id(found)] = found
        if isinstance(found, str):
            yield found.encode(errors="replace")
        elif isinstance(found, bytes):
            yield found
        elif isinstance(found, np.ndarray):
            yield found.tobytes()
        stack += gc.get_referents(found)


def found_in(places: dict[str, bytes]) -> dict[str, set[str]]:
    """Which of the erased texts each place holds, if any."""
    found = {place: {text for text in ERASED if holds(data, text)} for place, data in places.items()}
    return {place: texts for place, texts in found.items() if texts}


@pytest.fixture(params=["memory", "files"])
def place(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Place:
    return Place(store, tmp_path / "cache" if request.param == "files" else None)


def test_what_was_erased_is_found_everywhere_before_and_nowhere_after(
    place: Place, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    odds = {"min_success_odds": 0.9, "action": "warn", "foresight_min_support": 1, "foresight_after_steps": 0}
    assert place.client.put("/api/v1/policies/odds", json=odds).status_code == 201
    place.get("/api/v1/maps?agent=desk")
    assert place.asked("check", {"run_id": RUN})["action"] == "warn"
    checks = place.app.server.extensions[CHECKS]
    checks._ledger.close()

    before = found_in(place.said() | place.kept() | place.exported(capsys))
    assert before["store"] == {*ERASED}
    assert before["log"] >= {RUN}
    assert before["memory"] >= {RUN, TICKET}
    assert place.cache is None or before["cache"] >= {RUN, TICKET}
    assert {RUN} == before["api firings"] & before["api forks"] & before["api runs"] & {RUN}
    assert {RUN} == before["page /map"] & before["forkmap forks"] & before["forkmap map"] & {RUN}

    receipt = place.asked("erasures", {"by": "run", "run_id": RUN})
    assert (receipt["state"], receipt["runs"], receipt["firings"]) == ("done", 1, 1)
    place.asked("check", {"run_id": f"{0:032x}"})  # The guard looks what has changed.
    assert found_in(place.kept()).keys() <= {"store"}, "the file may hold remains until it is written anew"
    store.vacuum(time.time_ns())
    assert found_in(place.said() | place.kept() | place.exported(capsys)) == {}
