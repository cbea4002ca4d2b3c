"""Two tenants in one store: neither finds anything of the other, whichever way it asks.

What is planted in one is looked for in every answer to the other, which has agents, runs, traces and
tickets of the same names. That its owner does find it shows that each way of asking could tell.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.routing import Rule as Route
from werkzeug.test import TestResponse

from dashboard import api
from dashboard.app import PAGES, create_app
from dashboard.components.shell import POLL_MS
from engine.errors import ForkmapError
from engine.fuses import Firing, Policy
from engine.keys import Key, Role, mint
from engine.rules import Rule
from engine.runs import ALL_TIME, Cohort, Declaration, Outcome
from engine.selections import ByRun
from engine.spans import Span
from engine.store import Marker, Store
from engine.store.sqlite import open_store

NOW = time.time_ns()
HOUR_AGO = NOW - 3600 * 10**9
PLANTED = "planted"
LOOK = "agent=desk&run=run-1&q=run-1&a=run-1&b=run-2&window=all"
"""What both tenants have, by the same names."""


def planted(tenant: str) -> str:
    """A text that only one tenant's answers may hold; there is one in every field of its spans."""
    return f"{PLANTED}-{tenant}"


def spans_of(tenant: str, run: str, agent: str = "desk", start_ns: int = HOUR_AGO) -> list[Span]:
    mark = planted(tenant)
    about = {"session.id": run, "forkmap.ticket": "task-run-1", "gen_ai.agent.version": f"{mark}-version"}
    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent, **about}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"{mark}-tool", "said": mark}
    return [
        Span(f"trace-{run}", "0", "root", start_ns, start_ns + 30, attributes=root),
        Span(f"trace-{run}", "1", f"{mark}-name", start_ns + 10, start_ns + 20, "0", attributes=tool),
        Span(f"trace-{run}", "2", "decision", start_ns + 5, None, "0", attributes=decision_of(mark)),
    ]


def decision_of(mark: str) -> dict[str, Any]:
    options = json.dumps([{"tool": f"{mark}-tool", "score": 1.0, "reason": mark}])
    said = {"goal": mark, "options": options, "chosen": f"{mark}-tool", "policy": f"{mark}-policy"}
    return {f"forkmap.decision.{name}": value for name, value in said.items()}


def trace_of(tenant: str) -> str:
    return f"trace-run-{planted(tenant)}"


def plant(store: Store, tenant: str) -> None:
    """Fill a tenant: shared names to ask by, and its own to be found by."""
    mark = planted(tenant)
    store.append(tenant, spans_of(tenant, "run-1"))
    store.append(tenant, spans_of(tenant, "run-2"))
    store.append(tenant, spans_of(tenant, "run-2"))
    store.append(tenant, spans_of(tenant, f"run-{mark}"))
    store.append(tenant, spans_of(tenant, f"run-of-{mark}", agent=f"agent-{mark}"))
    store.append(tenant, spans_of(tenant, f"run-live-{mark}", start_ns=time.time_ns()))
    store.declare(tenant, [Declaration("run-1", Outcome.SUCCESS, NOW, f"{mark}-person")])
    store.declare(tenant, [Declaration("run-later", Outcome.SUCCESS, NOW, f"{mark}-person")])
    store.set_rules(tenant, "desk", [Rule(f"tool:{mark}-tool", Outcome.FAILURE)])
    store.settle(tenant)
    store.set_policies(tenant, [policy_of(tenant), policy_of(tenant, "odds")])
    store.add_firings(tenant, [firing_of(tenant)])
    store.add_marker(tenant, f"{mark}-deploy", HOUR_AGO, "desk")
    store.begin_erasure(tenant, ByRun("run-later"), mark, NOW)


def policy_of(tenant: str, name: str = "") -> Policy:
    return Policy(name=name or planted(tenant), agent=planted(tenant), min_success_odds=0.5, action="warn")


def firing_of(tenant: str) -> Firing:
    mark = planted(tenant)
    return Firing(NOW, "run-1", "desk", mark, "warn", "enforce", None, 3, 30, 1, 0.5, reason=mark)


# --- the store -----------------------------------------------------------------------------------

KEY_IDS = {"ours": "0a0a0a0a0a0a", "theirs": "0b0b0b0b0b0b"}
Ask = Callable[[Store, str], object]


def erasures(store: Store) -> list[str]:
    """Ids of the erasures of both tenants."""
    return [receipt.erasure_id for tenant in KEY_IDS for receipt in store.receipts(tenant)]


def numbered(store: Store, other: str, tenant: str) -> list[Marker]:
    """The markers of another tenant."""
    return store.markers(other) if other != tenant else []


READS: dict[str, Ask] = {
    "agents": lambda store, tenant: store.agents(tenant, ALL_TIME, NOW),
    "days": lambda store, tenant: store.days(tenant, [f"agent-{planted(each)}" for each in KEY_IDS], NOW),
    "paths": lambda store, tenant: store.paths(Cohort(tenant, "desk", ALL_TIME), NOW),
    "histories": lambda store, tenant: [*store.histories(Cohort(tenant, "desk", ALL_TIME), NOW)],
    "run": lambda store, tenant: store.run(tenant, "run-1"),
    "spans": lambda store, tenant: store.spans(tenant, "run-1"),
    "runs": lambda store, tenant: store.runs(Cohort(tenant, "desk", ALL_TIME), NOW),
    "live_runs": lambda store, tenant: store.live_runs(tenant, NOW, 10),
    "find": lambda store, tenant: store.find(tenant, "task-run-1"),
    "tickets": lambda store, tenant: store.tickets(tenant, NOW),
    "names": lambda store, tenant: store.names(tenant, PLANTED, 20),
    "runs_of_ticket": lambda store, tenant: store.runs_of_ticket(tenant, "task-run-1", NOW),
    "deciding": lambda store, tenant: store.deciding(tenant, [f"run-{planted(each)}" for each in KEY_IDS]),
    "runs_of": lambda store, tenant: store.runs_of(tenant, map(trace_of, KEY_IDS), ["run-1"]),
    "declarations": lambda store, tenant: store.declarations(tenant, "run-1"),
    "rules": lambda store, tenant: store.rules(tenant, "desk"),
    "trail": lambda store, tenant: getattr(store.trail(tenant, "run-1", (), 100), "spans", None),
    "undeclared": lambda store, tenant: [*store.undeclared(tenant, "desk")],
    "keys": lambda store, tenant: store.keys(tenant),
    "policies": lambda store, tenant: store.policies(tenant),
    "markers": lambda store, tenant: store.markers(tenant),
    "firings": lambda store, tenant: store.firings(tenant, NOW),
    "tally": lambda store, tenant: store.tally(tenant, NOW),
    "receipts": lambda store, tenant: store.receipts(tenant),
    "receipt": lambda store, tenant: [
        *filter(None, (store.receipt(tenant, each) for each in erasures(store)))
    ],
}
"""What is asked by one's own tenant; each finds something planted."""

WRITES: dict[str, Ask] = {
    "append": lambda store, tenant: store.append(tenant, spans_of(tenant, f"run-{PLANTED}-ours")),
    "declare": lambda store, tenant: store.declare(tenant, [Declaration("run-1", Outcome.FAILURE, NOW + 1)]),
    "withdraw": lambda store, tenant: store.withdraw(
        tenant, Declaration("run-1", Outcome.SUCCESS, NOW, f"{PLANTED}-ours-person")
    ),
    "waiting": lambda store, tenant: store.waiting(tenant, [f"run-{PLANTED}-ours"]),
    "set_rules": lambda store, tenant: store.set_rules(tenant, "desk", []),
    "settle": lambda store, tenant: store.settle(tenant),
    "expire": lambda store, tenant: store.expire(tenant, NOW + 10**9, 1_000),
    "add_key": lambda store, tenant: store.add_key(mint(tenant, Role.ADMIN, "", NOW)[0]),
    "revoke_key": lambda store, tenant: store.revoke_key(tenant, KEY_IDS["ours"], NOW),
    "set_policy": lambda store, tenant: store.set_policy(tenant, policy_of("ours")),
    "set_policies": lambda store, tenant: store.set_policies(tenant, []),
    "remove_policy": lambda store, tenant: store.remove_policy(tenant, planted("ours")),
    "add_marker": lambda store, tenant: store.add_marker(tenant, f"{PLANTED}-ours-deploy", HOUR_AGO, "desk"),
    "remove_marker": lambda store, tenant: [
        store.remove_marker(tenant, marker.number)
        for each in KEY_IDS
        for marker in numbered(store, each, tenant)
    ],
    "add_firings": lambda store, tenant: store.add_firings(tenant, [firing_of("ours")]),
    "set_tidied": lambda store, tenant: store.set_tidied(tenant, 1),
    "begin_erasure": lambda store, tenant: store.begin_erasure(tenant, ByRun("run-1"), "", NOW),
    "go_on_erasing": lambda store, tenant: [
        [*store.go_on_erasing(tenant, each, lambda: NOW)] for each in erasures(store)
    ],
}
"""What may change one's own tenant, aimed at what the other has."""

OF_NOBODY = {
    "path",
    "key",
    "has_keys",
    "secret",
    "tenants",
    "unsettled",
    "clock_ns",
    "set_clock",
    "close",
    "erasures",
    "begun_erasures",
    "cut_log",
    "tidied",
    "vacuum",
    "change",
    "changes",
    "in_flight",
}
"""What belongs to the server, not to a tenant: no page or route hands on what it gives."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "two.sqlite", create=True)
    for tenant, key_id in KEY_IDS.items():
        plant(store, tenant)
        store.add_key(Key(key_id, tenant, Role.READ, planted(tenant), bytes(32), NOW))
    yield store
    store.close()


def test_every_method_of_the_store_is_tried_here() -> None:
    methods = {name for name in vars(Store) if not name.startswith("_")}
    assert methods == {*READS, *WRITES} | OF_NOBODY


def answered(ask: Ask, store: Store, tenant: str) -> str:
    try:
        return repr(ask(store, tenant))
    except ForkmapError as error:
        return str(error)


@pytest.mark.parametrize("name", READS)
def test_a_question_finds_what_is_its_own_and_nothing_else(store: Store, name: str) -> None:
    for tenant, other in (("ours", "theirs"), ("theirs", "ours")):
        found = answered(READS[name], store, tenant)
        assert planted(tenant) in found
        assert planted(other) not in found
    assert planted("ours") not in answered(READS[name], store, "nobody")
    assert planted("theirs") not in answered(READS[name], store, "nobody")


@pytest.mark.parametrize("name", WRITES)
def test_a_change_of_one_tenant_changes_nothing_of_the_other(store: Store, name: str) -> None:
    def ours() -> list[str]:
        return [answered(ask, store, "ours") for ask in READS.values()]

    before = ours()
    WRITES[name](store, "theirs")
    store.settle("theirs")
    assert ours() == before


# --- every route and every page ------------------------------------------------------------------


class Server:
    """A dashboard over the two tenants, and a client signed in to each."""

    def __init__(self, store: Store) -> None:
        self.app = create_app(store)
        self.clients = {tenant: self._signed_in(store, tenant) for tenant in KEY_IDS}

    def _signed_in(self, store: Store, tenant: str) -> FlaskClient:
        key, text = mint(tenant, Role.ADMIN, "", NOW)
        store.add_key(key)
        client: FlaskClient = self.app.server.test_client()
        assert client.post("/signin", data={"key": text}).status_code == 303
        return client

    def page(self, tenant: str, path: str) -> str:
        """What the page's callback says once nothing on it is being built."""
        asked = self.call(path)
        deadline = time.monotonic() + 30
        while True:
            answer = self.clients[tenant].post("/_dash-update-component", json=asked)
            assert answer.status_code == 200
            told = json.loads(answer.text)["response"]
            if told["refresh"]["data"] != POLL_MS:
                return f"{told['body']['data']}{answer.text}"
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def call(self, path: str, output: str = "body.data") -> dict[str, Any]:
        """The call of the callback with an output, with the address and nothing else filled in."""
        name, known = next(
            (name, known) for name, known in self.app.callback_map.items() if output in name.strip(".")
        )
        values = {"pathname": path, "search": f"?{LOOK}", "n_intervals": 0}
        ends = [part.rsplit(".", 1) for part in name.strip(".").split("...")]
        outputs = [{"id": of, "property": which} for of, which in ends]
        inputs, state = (
            [{**part, "value": values.get(part["property"])} for part in known[kind]]
            for kind in ("inputs", "state")
        )
        changed = [f"{part['id']}.{part['property']}" for part in inputs]
        many = outputs if name.startswith("..") else outputs[0]
        return {
            "output": name,
            "outputs": many,
            "inputs": inputs,
            "state": state,
            "changedPropIds": changed,
        }


@pytest.fixture
def server(store: Store) -> Server:
    return Server(store)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shows_what_is_its_own_and_nothing_else(server: Server, path: str) -> None:
    for tenant, other in (("ours", "theirs"), ("theirs", "ours")):
        shown = server.page(tenant, path)
        if path != "/calibration":
            assert planted(tenant) in shown
        assert planted(other) not in shown


def test_no_callback_tells_anything_of_the_other(server: Server) -> None:
    asked = [name for name, known in server.app.callback_map.items() if "callback" in known]
    assert asked
    for path in PAGES:
        server.page("ours", path)
        for name in asked:
            asking = server.call(path, name.strip("."))
            answer = server.clients["theirs"].post("/_dash-update-component", json=asking)
            assert answer.status_code in (200, 204)
            assert planted("ours") not in answer.text


ARGUMENTS = {
    **{
        "run_id": "run-1",
        "agent": "desk",
        "path": "run",
        "name": "odds",
        "erasure_id": "none",
        "number": "1",
    },
    **{"filename": "app.css", "package_name": "dash", "fingerprinted_path": "none.js"},
}
"""What stands for each argument of a route; a new one belongs here."""


def address(route: Route) -> str:
    """A route's address: each of its arguments a name that both tenants have."""
    path = route.rule
    for name in route.arguments:
        start = path.rindex("<", 0, path.index(f"{name}>"))
        value = ARGUMENTS[name]
        path = f"{path[:start]}{value}{path[path.index('>', start) + 1 :]}"
    return f"{path}?{'&'.join(_taken(route))}"


def _taken(route: Route) -> list[str]:
    """What of the look a route takes: the API refuses what it does not know."""
    known = {operation.path: operation.query.__struct_encode_fields__ for operation in api.OPERATIONS}
    parts = LOOK.split("&")
    return [
        part for part in parts if part.partition("=")[0] in known.get(route.rule, (part.partition("=")[0],))
    ]


def built(client: FlaskClient, route: Route, method: str) -> TestResponse:
    """The answer of a route once nothing it tells of is being built."""
    body: dict[str, str] | None = {} if method in ("POST", "PUT") else None
    deadline = time.monotonic() + 30
    while (answer := client.open(address(route), method=method, json=body)).status_code == 202:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return answer


def asked_everything(server: Server, client: FlaskClient) -> Iterator[tuple[str, TestResponse]]:
    """Every method of every route but those that end the session, each with an answer."""
    for route in server.app.server.url_map.iter_rules():
        for method in sorted((route.methods or set()) - {"OPTIONS"}):
            if route.rule == "/signout":
                continue
            answer = built(client, route, method)
            with answer:
                yield f"{method} {address(route)}", answer


def test_no_route_tells_anything_of_the_other(server: Server) -> None:
    for path in PAGES:
        server.page("ours", path)
    told = []
    for asked, answer in asked_everything(server, server.clients["theirs"]):
        assert answer.status_code < 500, asked
        assert planted("ours").encode() not in answer.data, asked
        assert planted("ours") not in str(answer.headers), asked
        told += [asked] if planted("theirs").encode() in answer.data else []
    assert {asked.partition("?")[0] for asked in told} >= {
        *("GET /api/v1/agents", "GET /api/v1/runs", "GET /api/v1/runs/run-1", "GET /api/v1/maps"),
        *("GET /api/v1/policies", "GET /api/v1/firings"),
        *("GET /api/v1/runs/run-1/verdict", "GET /api/v1/runs/run-1/decisions", "GET /api/v1/compare"),
        *("GET /api/v1/tickets", "GET /runs.csv", "GET /runs.json"),
    }


def test_the_columns_of_a_map_are_the_tenants_own(server: Server) -> None:
    for tenant, other in (("ours", "theirs"), ("theirs", "ours")):
        source = re.search(r'"src":("[^"]+")', server.page(tenant, "/map"))
        assert source is not None
        own = server.clients[tenant].get(json.loads(source[1]))
        assert (own.status_code, planted(tenant) in own.text) == (200, True)
        assert planted(other) not in own.text
        server.page(other, "/map")
        assert planted(tenant) not in server.clients[other].get(json.loads(source[1])).text


def test_nothing_is_sent_into_another_tenant(server: Server, store: Store) -> None:
    before = answered(READS["spans"], store, "ours")
    sent = {"resourceSpans": [{"scopeSpans": [{"spans": [_otlp("forkmap.tenant"), _otlp("tenant")]}]}]}
    assert server.clients["theirs"].post("/v1/traces", json=sent).status_code == 200
    path = f"/api/v1/runs/run-{PLANTED}-ours/outcome"
    outcome = server.clients["theirs"].put(path, json={"outcome": "failure"})
    assert outcome.status_code == 202  # It waits for a run of theirs.
    assert answered(READS["spans"], store, "ours") == before
    assert answered(READS["undeclared"], store, "ours").count(f"run-{PLANTED}-ours") > 0


def _otlp(key: str) -> dict[str, Any]:
    """A span that says which tenant it would like to be of."""
    said = {key: "ours", "session.id": "run-1"}
    about = [{"key": key, "value": {"stringValue": value}} for key, value in said.items()]
    times = {"startTimeUnixNano": str(NOW), "endTimeUnixNano": str(NOW + 1)}
    return {"traceId": "0a" * 16, "spanId": "0b" * 8, "name": "x", "attributes": about, **times}
