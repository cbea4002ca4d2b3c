"""Outcomes over HTTP, runs and agents read back, and the forms of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from dashboard.app import Settings, create_app
from engine.checks import NO_MAP
from engine.keys import Role, mint, split
from engine.rules import parse_rules
from engine.runs import Declaration, Outcome, Source
from engine.spans import Span, Status
from engine.store import Store
from engine.store.sqlite import open_store

NOW = 1_780_000_000 * 10**9
START = 1_779_990_000 * 10**9
TRACE = "0123456789abcdef0123456789abcdef"
DASHED = "01234567-89ab-cdef-0123-456789abcdef"
SAID_NOW = "2026-05-28T20:26:40Z"
HERE = {"Origin": "http://localhost"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "s.sqlite", create=True)
    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot", "session.id": "chat/1"}
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    about = {"gen_ai.agent.version": "1.2", "forkmap.ticket": "T-1"}
    spans = [
        Span(TRACE, "root", "bot", START, START + 10**9, attributes=root | about),
        Span(TRACE, "s1", "pay", START + 1, START + 2, "root", Status.ERROR, attributes=call),
        Span(TRACE, "s2", "pay", START + 3, None, "root", attributes=call),
    ]
    opened.append("acme", spans)
    opened.append("else", [Span("t9", "s", "x", START, START + 1, attributes=call)])
    yield opened
    opened.close()


class Programs:
    """Clients of the API that hold a key of each role for the tenant ``acme``."""

    def __init__(self, store: Store) -> None:
        self.server = create_app(store, Settings(now_ns=lambda: NOW)).server
        self.keys = {}
        for role in Role:
            key, self.keys[role] = mint("acme", role, "a key", 0)
            store.add_key(key)

    def name(self, role: Role) -> str:
        return f"a key ({split(self.keys[role])[0]})"

    def ask(self, method: str, path: str, role: Role = Role.ADMIN, **more: Any) -> Any:
        client: FlaskClient = self.server.test_client()
        return client.open(
            path, method=method, headers={"Authorization": f"Bearer {self.keys[role]}"}, **more
        )

    def put(self, run_id: str, body: object, role: Role = Role.INGEST) -> Any:
        sent = {"data": body} if isinstance(body, bytes) else {"json": body}
        return self.ask("PUT", f"/api/v1/runs/{run_id}/outcome", role, **sent)

    def signed_in(self, role: Role) -> FlaskClient:
        client: FlaskClient = self.server.test_client()
        assert client.post("/signin", data={"key": self.keys[role]}).status_code == 303
        return client


@pytest.fixture
def programs(store: Store) -> Programs:
    return Programs(store)


def test_a_run_is_read_back_whole(programs: Programs) -> None:
    answer = programs.ask("GET", "/api/v1/runs/chat%2F1", Role.READ)
    step = {"signature": "tool:pay", "trace_id": TRACE, "input_tokens": None, "output_tokens": None}
    assert answer.json == {
        "run_id": "chat/1",
        "agent": "bot",
        "version": "1.2",
        "ticket": "T-1",
        "start": "2026-05-28T17:40:00Z",
        "last_activity": "2026-05-28T17:40:01Z",
        "live": False,
        "outcome": "success",
        "outcome_source": "inferred",
        "said_by": None,
        "declarations": [],
        "path": ["tool:pay×2"],
        "steps": [
            step
            | {"start": "2026-05-28T17:40:00.000000001Z", "end": "2026-05-28T17:40:00.000000002Z"}
            | {"error": True, "span_id": "s1"},
            step
            | {"start": "2026-05-28T17:40:00.000000003Z", "end": None}
            | {"error": False, "span_id": "s2"},
        ],
        "trace_ids": [TRACE],
    }
    by_trace = programs.ask("GET", f"/api/v1/runs/{DASHED}", Role.READ)
    assert by_trace.json == answer.json


def test_agents_are_listed_with_how_their_runs_ended(programs: Programs) -> None:
    (agent,) = programs.ask("GET", "/api/v1/agents", Role.READ).json["agents"]
    assert (agent["agent"], agent["completed"], agent["inferred"], agent["base_rate"]) == ("bot", 1, 1, 1.0)
    older = programs.ask("GET", "/api/v1/agents?to=2020-01-01", Role.READ).json["agents"]
    assert [(each["completed"], each["base_rate"]) for each in older] == [(0, None)]
    assert programs.ask("GET", "/api/v1/agents?from=never", Role.READ).status_code == 400


def test_an_outcome_is_put_and_read_back_with_who_said_it(programs: Programs) -> None:
    answer = programs.put("chat%2F1", {"outcome": "Failed"})
    said = {"outcome": "failure", "time": SAID_NOW, "by": f"by API: {programs.name(Role.INGEST)}"}
    assert (answer.status_code, answer.json) == (
        200,
        {"run_id": "chat/1", **said, "new": True, "waiting": False},
    )
    run = programs.ask("GET", "/api/v1/runs/chat%2F1", Role.READ).json
    assert (run["outcome"], run["outcome_source"], run["said_by"]) == (
        "failure",
        "declared",
        f"by API: {programs.name(Role.INGEST)}",
    )
    assert run["declarations"] == [said]


@pytest.mark.parametrize("run_id", ["/a", "a//b", "a/"])
def test_slashes_of_a_run_id_are_its_own(programs: Programs, run_id: str) -> None:
    answer = programs.put(run_id.replace("/", "%2F"), {"outcome": "failure"})
    assert (answer.status_code, answer.json["run_id"]) == (202, run_id)


@pytest.mark.parametrize("sent", [" chat 7 ", "chat\n7", "r" * 3000])
def test_a_run_is_asked_for_by_its_id_as_it_was_sent(programs: Programs, store: Store, sent: str) -> None:
    store.append("acme", [Span("t7", "s", "x", START, START + 1, attributes={"session.id": sent})])
    name, kept = quote(sent, safe=""), store.find("acme", "t7")[0]
    assert programs.ask("GET", f"/api/v1/runs/{name}").json["run_id"] == kept
    told = programs.put(name, {"outcome": "failure"})
    assert (told.status_code, told.json["waiting"]) == (200, False)
    assert store.run("acme", kept).source is Source.DECLARED
    assert programs.ask("DELETE", f"/api/v1/runs/{name}/outcome", Role.INGEST).status_code == 204
    assert programs.ask("POST", "/api/v1/check", json={"run_id": sent}).json["reason"] == NO_MAP
    erased = programs.ask("POST", "/api/v1/erasures", json={"by": "run", "run_id": sent})
    assert (erased.status_code, erased.json["runs"]) == (201, 1)
    assert programs.ask("GET", f"/api/v1/runs/{name}").status_code == 404


def test_putting_the_same_again_changes_nothing(programs: Programs, store: Store) -> None:
    first = programs.put("chat%2F1", {"outcome": "failure"})
    again = programs.put(DASHED, {"outcome": "failure"})
    assert (again.json["new"], again.json["time"]) == (False, first.json["time"])
    assert len(store.declarations("acme", "chat/1")) == 1


def test_what_is_put_without_a_time_holds_from_now_on(programs: Programs, store: Store) -> None:
    store.declare("acme", [Declaration("chat/1", Outcome.SUCCESS, NOW + 10**12, "a clock ahead")])
    programs.put("chat%2F1", {"outcome": "failure"})
    programs.put("chat%2F1", {"outcome": "abandoned"})
    assert store.run("acme", "chat/1").outcome is Outcome.ABANDONED
    programs.put("chat%2F1", {"outcome": "success", "time": "2026-01-01T00:00:00Z"})
    assert store.run("acme", "chat/1").outcome is Outcome.ABANDONED


def test_an_outcome_of_a_run_that_is_yet_to_come_waits(programs: Programs, store: Store) -> None:
    answer = programs.put("later", {"outcome": "failure"})
    assert (answer.status_code, answer.json["waiting"]) == (202, True)
    store.append("acme", [Span("later", "s", "x", START, START + 1)])
    assert store.run("acme", "later").outcome is Outcome.FAILURE


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "The body is no JSON: Input data was truncated."),
        ({}, "outcome: missing."),
        (
            {"outcome": 1},
            "outcome: expected `str`, got `int`.",
        ),
        (
            {"outcome": "great"},
            "outcome: 'great' is none of success, succeeded, ok, failure, failed, error, abandoned, "
            "cancelled.",
        ),
        ({"outcome": "ok", "time": "never"}, "time: 'never' is not a time."),
        ({"outcome": "ok", "time": "1767225600"}, "time: a number is written without quotes."),
        ({"outcome": "ok", "time": 20260101}, "time: expected `int` >= 100000000."),
        ({"outcome": "ok", "why": ""}, "why: no such field among outcome, time."),
        (b"[" * 100_000, "The whole: expected `object`, got `array`."),
    ],
)
def test_what_is_no_outcome_is_refused_with_the_field_named(
    programs: Programs, body: object, detail: str
) -> None:
    answer = programs.put("chat%2F1", body)
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
    assert answer.json["detail"] == detail


def test_an_outcome_is_taken_back_by_who_put_it(programs: Programs, store: Store) -> None:
    programs.put("chat%2F1", {"outcome": "failure"}, Role.INGEST)
    assert programs.ask("DELETE", "/api/v1/runs/chat%2F1/outcome", Role.ADMIN).status_code == 404
    assert programs.ask("DELETE", f"/api/v1/runs/{TRACE}/outcome", Role.INGEST).status_code == 204
    assert store.run("acme", "chat/1").source is Source.INFERRED
    assert programs.ask("DELETE", "/api/v1/runs/chat%2F1/outcome", Role.INGEST).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "role", "status"),
    [
        ("PUT", "/api/v1/runs/chat%2F1/outcome", Role.READ, 403),
        ("DELETE", "/api/v1/runs/chat%2F1/outcome", Role.READ, 403),
        ("GET", "/api/v1/runs/chat%2F1", Role.INGEST, 403),
        ("GET", "/api/v1/agents", Role.INGEST, 403),
        ("GET", "/api/v1/runs/t9", Role.READ, 404),
        ("GET", "/api/v1/runs/none", Role.READ, 404),
        ("POST", "/api/v1/agents", Role.ADMIN, 405),
    ],
)
def test_what_a_key_may_not_do_or_cannot_find_is_a_problem(
    programs: Programs, method: str, path: str, role: Role, status: int
) -> None:
    answer = programs.ask(method, path, role)
    assert (answer.status_code, answer.mimetype) == (status, "application/problem+json")


# --- what the pages' forms send -------------------------------------------------------------


def test_an_outcome_said_by_hand_and_undone(programs: Programs, store: Store) -> None:
    client = programs.signed_in(Role.ADMIN)
    answer = client.post(
        "/run/outcome", data={"run": "chat/1", "window": "all", "outcome": "failure"}, headers=HERE
    )
    assert (answer.status_code, answer.location) == (303, "/run?run=chat%2F1&window=all")
    (said,) = store.declarations("acme", "chat/1")
    assert (said.outcome, said.by) == (Outcome.FAILURE, f"by hand: {programs.name(Role.ADMIN)}")

    undo = {"run": "chat/1", "told": said.run_id, "undo": "failure", "time": said.time_ns, "by": said.by}
    assert client.post("/run/outcome", data=undo, headers=HERE).status_code == 303
    assert store.declarations("acme", "chat/1") == []


def test_by_hand_nothing_else_is_undone(programs: Programs, store: Store) -> None:
    said = Declaration("chat/1", Outcome.FAILURE, NOW, "judge")
    store.declare("acme", [said])
    undo = {"run": "chat/1", "told": "chat/1", "undo": "failure", "time": NOW, "by": "judge"}
    programs.signed_in(Role.ADMIN).post("/run/outcome", data=undo, headers=HERE)
    assert store.declarations("acme", "chat/1") == [said]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"run": "chat/1", "outcome": "great"}, 400),
        ({"run": "chat/1"}, 400),
        ({"run": "none", "outcome": "success"}, 303),
        ({"run": "chat/1", "undo": "success", "time": "x" * 30, "by": "by hand"}, 303),
    ],
)
def test_a_form_that_no_page_holds_changes_nothing(
    programs: Programs, store: Store, data: dict[str, str], status: int
) -> None:
    answer = programs.signed_in(Role.ADMIN).post("/run/outcome", data=data, headers=HERE)
    assert answer.status_code == status
    assert store.declarations("acme", "chat/1") == store.declarations("acme", "none") == []


def test_rules_are_saved_as_they_were_tried(programs: Programs, store: Store) -> None:
    client = programs.signed_in(Role.ADMIN)
    text = "error(pay) -> failure\r\n"
    answer = client.post("/rules/save", data={"agent": "bot", "rules": text}, headers=HERE)
    assert (answer.status_code, answer.location) == (303, "/rules?agent=bot")
    assert store.rules("acme", "bot") == parse_rules("error(pay) -> failure")
    assert store.run("acme", "chat/1").outcome is Outcome.FAILURE

    bad = client.post("/rules/save", data={"agent": "bot", "rules": "pay >"}, headers=HERE)
    assert bad.location == "/rules?agent=bot&rules=pay+%3E"
    assert len(store.rules("acme", "bot")) == 1


def test_rules_longer_than_an_address_are_refused(programs: Programs, store: Store) -> None:
    sent = {"agent": "bot", "rules": "pay -> failure\n" + "#" * 300_000}
    answer = programs.signed_in(Role.ADMIN).post("/rules/save", data=sent, headers=HERE)
    told = (
        "These are 300,015 characters, and an address holds 8,000: forkmap rules AGENT --try FILE takes more."
    )
    assert (answer.status_code, answer.text) == (400, told)
    assert store.rules("acme", "bot") == ()


def test_rules_of_an_agent_that_has_no_run_are_refused(programs: Programs, store: Store) -> None:
    sent = {"agent": "nobody", "rules": "pay -> failure"}
    answer = programs.signed_in(Role.ADMIN).post("/rules/save", data=sent, headers=HERE)
    assert (answer.status_code, answer.text) == (404, "No run of “nobody” is in this store.")
    assert store.rules("acme", "nobody") == ()


@pytest.mark.parametrize("path", ["/run/outcome", "/rules/save"])
@pytest.mark.parametrize("role", [Role.READ, Role.ADMIN])
def test_a_form_takes_an_admin_and_a_page_of_this_server(
    programs: Programs, store: Store, path: str, role: Role
) -> None:
    foreign = {"Origin": "http://elsewhere.example"} if role is Role.ADMIN else HERE
    data = {"run": "chat/1", "outcome": "failure", "agent": "bot", "rules": "pay -> failure"}
    assert programs.signed_in(role).post(path, data=data, headers=foreign).status_code == 403
    assert store.run("acme", "chat/1").source is Source.INFERRED
