"""``/api/v1/rules``: a program reads, tries and sets an agent's rules, as people do on their page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.app import Settings, create_app
from engine.demo import NOW_NS
from engine.retention import DAY_NS
from engine.rules import MAX_RULES
from engine.spans import Span
from engine.store.sqlite import open_store

RULES = "/api/v1/rules?agent=support-agent"
TRIAL = "/api/v1/rules/trial?agent=support-agent"
BEGUN = NOW_NS - DAY_NS
FAILS = {"expression": "tool:b", "outcome": "failure"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    """Of a store with two runs, each of one call of a tool."""
    store = open_store(tmp_path / "s.sqlite", create=True)
    for run_id, tool in (("r", "a"), ("s", "b")):
        about = {"gen_ai.agent.name": "support-agent", "gen_ai.tool.name": tool}
        store.append("default", [Span(run_id, "0", "execute_tool", BEGUN, BEGUN + 1, attributes=about)])
    made: FlaskClient = create_app(store, Settings(now_ns=lambda: NOW_NS)).server.test_client()
    yield made
    store.close()


def successes(client: FlaskClient) -> int:
    """Of the agent's map, once it is built."""
    deadline = time.monotonic() + 60
    while (answer := client.get("/api/v1/maps?agent=support-agent&window=all")).status_code == 202:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert answer.json is not None
    found: int = answer.json["totals"]["successes"]
    return found


def test_rules_are_tried_without_being_set_and_the_map_follows_those_that_are(client: FlaskClient) -> None:
    assert client.get(RULES).json == {"rules": []}
    assert successes(client) == 2
    tried = client.post(TRIAL, json={"rules": [FAILS]})
    assert (tried.status_code, tried.json) == (
        200,
        {
            "runs": 2,
            "live": 0,
            "bounded": False,
            "rules": [FAILS | {"runs": 1}],
            "changed": 1,
            "changes": [{"before": "success", "after": "failure", "runs": 1}],
            "examples": [{"run_id": "s", "before": "success", "after": "failure"}],
        },
    )
    assert client.get(RULES).json == {"rules": []}
    put = client.put(RULES, json={"rules": [FAILS]})
    assert (put.status_code, put.json) == (200, {"rules": [FAILS]})
    assert client.get(RULES).json == put.json
    deadline = time.monotonic() + 60
    while successes(client) != 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("path", [RULES, TRIAL])
@pytest.mark.parametrize(
    ("rules", "detail"),
    [
        ([FAILS, {"expression": "a >", "outcome": "success"}], "rules[1]: column 4: a step is missing."),
        ([{"expression": "a -> success\nb", "outcome": "success"}], "rules[0]: "),
        ([{"expression": "# a", "outcome": "success"}], "rules[0]: "),
        ([{"expression": "outcome:success", "outcome": "success"}], "rules[0]: a rule tells the outcome"),
        (
            [{"expression": "a", "outcome": "unknown"}],
            "rules[0].outcome: 'unknown' is none of abandoned, failure, success.",
        ),
        ([{"expression": "(" * 10_000, "outcome": "success"}], "rules[0]: "),
        ([FAILS] * (MAX_RULES + 1), "rules: expected `array` of length <= 100."),
    ],
)
def test_rules_that_cannot_be_read_are_named_and_nothing_is_set(
    client: FlaskClient, path: str, rules: list[Any], detail: str
) -> None:
    answer = client.open(path, method="PUT" if path == RULES else "POST", json={"rules": rules})
    assert answer.json is not None
    assert (answer.status_code, answer.json["detail"][: len(detail)]) == (400, detail)
    assert client.get(RULES).json == {"rules": []}


def test_an_agent_that_nobody_knows_has_no_rules(client: FlaskClient) -> None:
    path = "/api/v1/rules?agent=nobody"
    assert [client.get(path).status_code, client.put(path, json={"rules": []}).status_code] == [404, 404]
