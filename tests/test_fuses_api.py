"""Fuses over HTTP, on the demo: check, policies and ledger, and who may ask for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.app import CHECKS, create_app
from engine import demo
from engine.checks import NO_MAP, UNKNOWN_RUN
from engine.forkmap_client import Client
from engine.fuses import MAX_POLICIES, Policy
from engine.keys import Role, mint
from engine.statistics import wilson_one
from engine.store import Lines, Store
from engine.store.sqlite import open_store
from tests.servers import serving
from tests.test_checks import until

ODDS = {"min_success_odds": 0.7, "action": "stop"}
WHOLE = {
    **{"agent": None, "min_success_odds": 0.7, "action": "stop"},
    **{"foresight_min_support": 30, "foresight_after_steps": 3, "mode": "enforce"},
}
REFUND = "tool:issue_refund"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "demo.sqlite", create=True)
    demo.load(opened)
    opened.set_policies("default", [])
    yield opened
    opened.close()


class Programs:
    """A client of the API; as long as no key was made it needs none."""

    def __init__(self, store: Store) -> None:
        self.store, self.app = store, create_app(store)
        self.client: FlaskClient = self.app.server.test_client()
        self.client.environ_base["HTTP_HOST"] = "127.0.0.1"
        self.headers: dict[str, str] = {}

    def holding(self, role: Role, tenant: str = "default") -> None:
        key, text = mint(tenant, role, "", 0)
        self.store.add_key(key)
        self.headers = {"Authorization": f"Bearer {text}"}

    def ask(self, method: str, path: str, **more: Any) -> Any:
        return self.client.open(f"/api/v1/{path}", method=method, headers=self.headers, **more)

    def check(self, run_id: str, next_step: str | None = None) -> Any:
        answer = self.ask("POST", "check", json={"run_id": run_id, "next_step": next_step})
        assert answer.status_code == 200
        return answer.json

    def foreseen(self, run_id: str, next_step: str | None = None) -> Any:
        """What is said once the map is built."""
        deadline_s = time.monotonic() + 30
        while (said := self.check(run_id, next_step))["foresight"] is None:
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        return said

    def refused(self, method: str, path: str, body: object) -> str:
        sent = {"data": body} if isinstance(body, bytes) else {"json": body}
        answer = self.ask(method, path, **sent)
        assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
        return str(answer.json["detail"])


@pytest.fixture
def programs(store: Store) -> Programs:
    return Programs(store)


# --- the check -----------------------------------------------------------------------------


def test_a_doomed_run_is_stopped_with_the_published_figures(programs: Programs) -> None:
    assert programs.ask("PUT", "policies/odds", json=ODDS).status_code == 201
    said = programs.foreseen("live-doomed-0")
    low, high = wilson_one(5, 50)
    assert said.pop("map_age_s") >= 0
    assert said.pop("as_of") is not None
    assert said == {
        "action": "stop",
        "reason": "5 of 50 earlier runs on this path succeeded: even the upper bound, 21.4%, is below the "
        "70.0% that policy odds asks for.",
        "foresight": {
            "verdict": "likely_failure",
            "successes": 5,
            "support": 50,
            "rate": 0.1,
            "low": low,
            "high": high,
            "base_rate": 98 / 180,
            "next_step": None,
        },
        "policy": "odds",
    }


def test_a_healthy_run_that_names_a_second_refund_is_stopped_on_track(programs: Programs) -> None:
    programs.ask("PUT", "policies/odds", json=ODDS)
    assert programs.foreseen("live-healthy-0")["action"] == "allow"
    said = programs.check("live-healthy-0", REFUND)
    low, high = wilson_one(15, 30)
    assert (said["action"], said["policy"], said["foresight"]["verdict"]) == ("stop", "odds", "on_track")
    assert (said["foresight"]["successes"], said["foresight"]["support"]) == (69, 90)
    assert said["foresight"]["next_step"] == {
        **{"signature": REFUND, "verdict": "on_track", "successes": 15, "support": 30},
        **{"rate": 0.5, "low": low, "high": high},
    }


def test_without_a_map_or_a_run_the_call_is_allowed(programs: Programs) -> None:
    programs.ask("PUT", "policies/odds", json=ODDS)
    nothing = {"foresight": None, "policy": None, "map_age_s": None}
    first = programs.check("live-doomed-0")
    assert first == {"action": "allow", "reason": NO_MAP, "as_of": first["as_of"], **nothing}
    assert programs.check("nobody")["reason"] == UNKNOWN_RUN


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"{", "The body is no JSON: Input data was truncated."),
        (b"[]", "The whole: expected `object`, got `array`."),
        ({}, "run_id: missing."),
        ({"run_id": ""}, "run_id: expected `str` of length >= 1."),
        ({"run_id": 7}, "run_id: expected `str`, got `int`."),
        ({"run_id": "r", "next_step": ["tool:x"]}, "next_step: expected `str | null`, got `array`."),
        ({"run_id": "r", "step": "tool:x"}, "step: no such field among run_id, next_step."),
    ],
)
def test_a_question_that_is_none_is_refused_by_its_field(
    programs: Programs, body: object, detail: str
) -> None:
    assert programs.refused("POST", "check", body) == detail


def test_a_question_of_more_than_a_mebibyte_is_not_read(programs: Programs) -> None:
    long = programs.ask("POST", "check", data=b" " * (2**20 + 1))
    assert (long.status_code, long.json["detail"]) == (413, "The body holds more than 1,048,576 bytes.")


# --- policies ------------------------------------------------------------------------------


def test_a_policy_is_written_read_and_removed_by_its_name(programs: Programs) -> None:
    written = programs.ask("PUT", "policies/odds", json=ODDS)
    assert (written.status_code, written.json) == (201, {"name": "odds", **WHOLE})
    milder = {**WHOLE, "agent": "support-agent", "min_success_odds": 0.1, "mode": "shadow"}
    again = programs.ask("PUT", "policies/odds", json=milder)
    assert (again.status_code, again.json) == (200, {"name": "odds", **milder})
    assert programs.ask("GET", "policies/odds").json == again.json
    assert programs.ask("DELETE", "policies/odds").status_code == 204
    for method in ("GET", "DELETE"):
        gone = programs.ask(method, "policies/odds")
        assert (gone.status_code, gone.json["detail"]) == (404, "There is no policy 'odds'.")


def test_a_policy_is_shown_with_the_name_that_its_agent_has(programs: Programs) -> None:
    sent, kept = (
        {**WHOLE, "agent": " help\ndesk" + "é" * 200},
        {**WHOLE, "agent": "help\ufffddesk" + "é" * 74},
    )
    assert programs.ask("PUT", "policies/odds", json=sent).json == {"name": "odds", **kept}
    assert programs.ask("GET", "policies").json == {"policies": [{"name": "odds", **kept}]}
    sent_anew = {"policies": [{"name": "odds", **sent}]}
    assert programs.ask("PUT", "policies", json=sent_anew).json == {"policies": [{"name": "odds", **kept}]}


def test_all_policies_are_written_read_and_removed_at_once(programs: Programs) -> None:
    policies = [{"name": "b", **ODDS}, {"name": "a", **ODDS}]
    whole = {"policies": [{"name": "a", **WHOLE}, {"name": "b", **WHOLE}]}
    assert programs.ask("PUT", "policies", json={"policies": policies}).json == whole
    assert programs.ask("PUT", "policies", json=whole).json == whole
    assert programs.ask("GET", "policies").json == whole
    assert programs.ask("DELETE", "policies").status_code == 204
    assert programs.ask("GET", "policies").json == {"policies": []}


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("policies/odds", {**ODDS, "min_success_odds": 0}, "min_success_odds: expected `float` > 0.0."),
        ("policies/odds", {**ODDS, "action": "allow"}, "action: 'allow' is none of stop, warn."),
        ("policies/odds", {**ODDS, "name": "odds"}, "name: no such field among agent, "),
        ("policies/a%20b", ODDS, "name: expected `str` matching regex "),
        ("policies", {"policies": [{"name": "a", **ODDS}] * 2}, "policies: two are called a."),
        (
            "policies",
            {"policies": [{"name": "a", **ODDS, "mode": "halt"}]},
            "policies[0].mode: 'halt' is none of enforce, shadow.",
        ),
        (
            "policies",
            {"policies": [{"name": "a", **ODDS, "odds": 1}]},
            "policies[0].odds: no such field among agent, ",
        ),
        ("policies", {"policies": [{"name": "a"}]}, "policies[0].min_success_odds: missing."),
        (
            "policies",
            {"policies": [{"name": f"p{n}", **ODDS} for n in range(MAX_POLICIES + 1)]},
            "policies: expected `array` of length <= 100.",
        ),
    ],
)
def test_a_policy_that_is_none_is_refused_and_nothing_changes(
    programs: Programs, path: str, body: object, detail: str
) -> None:
    programs.ask("PUT", "policies/kept", json=ODDS)
    assert programs.refused("PUT", path, body).startswith(detail)
    assert programs.ask("GET", "policies").json == {"policies": [{"name": "kept", **WHOLE}]}


# --- the ledger ----------------------------------------------------------------------------


def test_the_ledger_is_paged_and_tells_how_many_alarms_were_false(programs: Programs) -> None:
    first = programs.ask("GET", "firings?limit=20").json
    then = programs.ask("GET", f"firings?limit=20&after={first['next']}").json
    assert (len(first["firings"]), len(then["firings"]), then["next"]) == (20, 10, None)
    assert first["tally"] == [
        {
            **{"policy": "doubtful", "action": "warn", "mode": "shadow", "runs": 19},
            **{"successes": 5, "failures": 9, "abandoned": 0, "unknown": 2},
            **{"inferred_successes": 0, "inferred_failures": 3, "inferred_abandoned": 0},
        },
        {
            **{"policy": "hopeless", "action": "stop", "mode": "shadow", "runs": 11},
            **{"successes": 1, "failures": 7, "abandoned": 0, "unknown": 2},
            **{"inferred_successes": 0, "inferred_failures": 1, "inferred_abandoned": 0},
        },
    ]
    assert {line["outcome_source"] for line in first["firings"]} == {None, "declared", "inferred"}


def test_the_ledger_of_a_policy_and_of_a_run_has_its_own_tally(programs: Programs) -> None:
    whole = programs.ask("GET", "firings").json
    only = programs.ask("GET", "firings?policy=hopeless").json
    assert only["firings"] == [line for line in whole["firings"] if line["policy"] == "hopeless"]
    assert only["tally"] == whole["tally"][1:]
    why = programs.ask("GET", "firings?run_id=live-doomed-1").json
    assert why["firings"] == [line for line in whole["firings"] if line["run_id"] == "live-doomed-1"]
    assert [(each["policy"], each["runs"]) for each in why["tally"]] == [("doubtful", 1), ("hopeless", 1)]
    trace_id = programs.store.spans("default", "live-doomed-1")[0].trace_id
    assert programs.ask("GET", f"firings?run_id={trace_id}").json == why


def test_a_policy_or_a_run_that_nobody_knows_is_named(programs: Programs) -> None:
    for query, detail in {
        "policy=hopless": "There is no policy 'hopless'.",
        "run_id=nobody": "No run 'nobody' is in the store.",
    }.items():
        answer = programs.ask("GET", f"firings?{query}")
        assert (answer.status_code, answer.json["detail"]) == (404, detail)
    programs.ask("PUT", "policies/quiet", json=ODDS)
    assert programs.ask("GET", "firings?policy=quiet").json == {"firings": [], "tally": [], "next": None}
    gone = programs.ask("GET", "firings?policy=hopeless")
    assert (gone.status_code, len(gone.json["firings"])) == (200, 11)  # It was removed; its lines stay.


def test_what_fires_is_in_the_ledger_soon(programs: Programs) -> None:
    programs.ask("PUT", "policies/odds", json=ODDS)
    programs.foreseen("live-healthy-0", REFUND)
    programs.app.server.extensions[CHECKS].close()
    (line, *_) = programs.ask("GET", "firings?policy=odds").json["firings"]
    assert line == {
        **{
            "number": 31,
            "time": "2026-10-18T12:00:00Z",
            "run_id": "live-healthy-0",
            "agent": "support-agent",
        },
        **{"policy": "odds", "action": "stop", "mode": "enforce", "next_step": REFUND, "steps": 3},
        **{
            "successes": 15,
            "support": 30,
            "min_success_odds": 0.7,
            "outcome": "unknown",
            "outcome_source": None,
        },
        "reason": "15 of 30 earlier runs that went this way and took tool:issue_refund next succeeded: even "
        "the upper bound, 66.8%, is below the 70.0% that policy odds asks for.",
    }


def test_a_server_that_ends_in_peace_leaves_no_line_unwritten(store: Store, tmp_path: Path) -> None:
    store.set_policies("default", [Policy(name="odds", min_success_odds=0.7, action="stop")])
    with (
        serving(tmp_path / "demo.sqlite") as server,
        Client(f"http://{server.address}", timeout_s=30) as client,
    ):
        until(lambda: client.check("live-doomed-0").foresight is not None)
        assert client.check("live-doomed-0").action == "stop"
    fired = store.firings("default", demo.NOW_NS, wanted=Lines(policy="odds"))
    assert [line.firing.run_id for line in fired] == ["live-doomed-0"] * 2


# --- who may -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.INGEST, {"POST check"}),
        (Role.READ, {"GET policies", "GET policies/odds", "GET firings"}),
        (Role.ADMIN, None),
    ],
)
def test_an_agents_key_checks_a_readers_reads_and_only_an_admins_changes_policies(
    programs: Programs, role: Role, may: set[str] | None
) -> None:
    programs.ask("PUT", "policies/odds", json=ODDS)
    programs.holding(role)
    asked = {
        "POST check": {"run_id": "live-doomed-0"},
        **{"GET policies": None, "GET policies/odds": None, "GET firings": None},
        **{"PUT policies": {"policies": [{"name": "odds", **ODDS}]}, "PUT policies/odds": ODDS},
        **{"DELETE policies/odds": None, "DELETE policies": None},
    }
    answers = {each: programs.ask(*each.split(), json=body).status_code for each, body in asked.items()}
    allowed = {each for each, status in answers.items() if status < 300}
    assert allowed == (set(asked) if may is None else may)
    assert {answers[each] for each in asked if each not in allowed} <= {403}


def test_another_tenants_key_finds_neither_run_nor_policy(programs: Programs) -> None:
    programs.ask("PUT", "policies/odds", json=ODDS)
    programs.foreseen("live-doomed-0")
    programs.holding(Role.ADMIN, "other")
    assert programs.check("live-doomed-0")["reason"] == UNKNOWN_RUN
    assert programs.ask("GET", "policies").json == {"policies": []}
    assert programs.ask("GET", "firings").json == {"firings": [], "tally": [], "next": None}
    assert programs.ask("DELETE", "policies/odds").status_code == 404
