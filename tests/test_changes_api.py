"""``/api/v1/changes`` and ``/api/v1/markers``: what changed, and when something was changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.urls import write_time
from engine.keys import Role, mint
from tests.two_versions import AGENT, DEPLOYED_NS, NOW_NS, make_changed

CHANGES = f"/api/v1/changes?agent={AGENT}"
MARKERS = "/api/v1/markers"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    store = make_changed(tmp_path_factory.mktemp("changed") / "s.sqlite")
    made: FlaskClient = create_app(store).server.test_client()
    yield made
    store.close()


def ready(client: FlaskClient, address: str) -> Any:
    deadline = time.monotonic() + 60
    while (answer := client.get(address)).status_code == 202:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert answer.status_code == 200, answer.text
    return answer.json


def test_two_versions_are_compared_way_by_way(client: FlaskClient) -> None:
    found = ready(client, f"{CHANGES}&old=v1&new=v2")
    assert found["parted"] == {"since": None, "old": "v1", "new": "v2"}
    sides = [
        {name: found[side][name] for name in ("support", "successes", "rate")} for side in ("before", "after")
    ]
    assert sides == [
        {"support": 40, "successes": 31, "rate": 0.775},
        {"support": 40, "successes": 12, "rate": 0.3},
    ]
    assert found["changed"] == pytest.approx(-0.475)
    assert found["cohort"]["steps"] == "tools"
    taken = [
        (each["path"], each["way"], each["before"]["support"], each["after"]["support"])
        for each in found["ways"]
    ]
    assert taken == [
        (["tool:a"], "branch", 40, 40),
        (["tool:a", "tool:p"], "branch", 10, 36),
        (["tool:a", "tool:c"], "branch", 30, 0),
        (["tool:a", "tool:c", "tool:p"], "branch", 30, 0),
        (["tool:a"], "ended", 0, 4),
    ]
    assert [(each["share_before"], each["share_after"]) for each in found["ways"]][1:3] == [
        (0.25, 0.9),
        (0.75, 0.0),
    ]
    (fork,) = found["forks"]
    assert fork["path"] == ["tool:a"]
    assert fork["shifted"] + fork["changed"] == pytest.approx(found["changed"])
    assert [(each["kind"], each["holds"]) for each in found["changes"]] == [
        ("vanished", True),
        ("more", True),
    ]
    assert found["changes"][0]["sentence"].startswith(
        "Gone: after tool:a, runs no longer take tool:c: 0 of 40 (0.0%) with v2, 30 of 40 (75.0%) with v1; "
    )
    assert found["tickets"]["shared"] == 40


def test_a_moment_parts_the_same_runs(client: FlaskClient) -> None:
    by_version = ready(client, f"{CHANGES}&old=v1&new=v2")
    by_time = ready(client, f"{CHANGES}&since={write_time(DEPLOYED_NS)}")
    assert by_time["parted"] == {"since": write_time(DEPLOYED_NS), "old": None, "new": None}
    assert [by_time[name] for name in ("before", "after", "ways", "forks")] == [
        by_version[name] for name in ("before", "after", "ways", "forks")
    ]
    assert by_time["sentence"].startswith(
        "12 of 40 (30.0%) runs succeeded since then, 31 of 40 (77.5%) before"
    )


def test_model_calls_are_left_out_unless_they_are_asked_for(client: FlaskClient) -> None:
    whole = ready(client, f"{CHANGES}&old=v1&new=v2&steps=all")
    assert whole["ways"][0]["path"] == ["llm:model-v1"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("", "Give since, or old and new"),
        ("&old=v1", "Give since, or old and new"),
        ("&old=v1&new=v2&since=2026-01-01", "Give since, or old and new"),
        ("&old=v1&new=v1", "old and new: both are 'v1'."),
        ("&since=noon", "since: 'noon' is no RFC 3339 date or time."),
    ],
)
def test_what_parts_no_sides_is_refused_in_a_sentence(client: FlaskClient, asked: str, sentence: str) -> None:
    answer = client.get(f"{CHANGES}{asked}")
    assert answer.status_code == 400
    assert answer.json is not None and answer.json["detail"].startswith(sentence)


def test_an_agent_that_nobody_knows_is_told_at_once(client: FlaskClient) -> None:
    assert client.get("/api/v1/changes?agent=nobody&old=a&new=b").status_code == 404


def test_a_marker_is_told_read_and_removed(client: FlaskClient) -> None:
    told = {"name": "deploy v2", "time": write_time(DEPLOYED_NS), "agent": AGENT}
    posted = client.post(MARKERS, json=told)
    assert posted.status_code == 201 and posted.json is not None
    assert posted.json == told | {"number": posted.json["number"]}
    again = client.post(MARKERS, json=told)
    assert (again.status_code, again.json) == (200, posted.json)
    now = client.post(MARKERS, json={"name": "new prompts"}).json
    assert now == {
        "number": posted.json["number"] + 1,
        "name": "new prompts",
        "time": write_time(NOW_NS),
        "agent": None,
    }
    assert client.get(f"{MARKERS}?agent={AGENT}").json == {"markers": [now, posted.json]}
    assert client.get(f"{MARKERS}?agent=other").json == {"markers": [now]}
    assert client.delete(f"{MARKERS}/{posted.json['number']}").status_code == 204
    assert client.delete(f"{MARKERS}/{posted.json['number']}").status_code == 404
    assert client.get(MARKERS).json == {"markers": [now]}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "name: missing."),
        ({"name": "  "}, "name: blank."),
        ({"name": "x", "agent": " "}, "agent: blank."),
        ({"name": "x", "time": "soon"}, "time: "),
        ({"name": "x", "when": 1}, "when: no such field"),
    ],
)
def test_a_marker_that_cannot_be_read_is_refused(client: FlaskClient, body: Any, sentence: str) -> None:
    answer = client.post(MARKERS, json=body)
    assert answer.status_code == 400
    assert answer.json is not None and answer.json["detail"].startswith(sentence)


def test_a_deploy_is_told_with_the_key_that_sends_spans(tmp_path: Path) -> None:
    store = make_changed(tmp_path / "s.sqlite")
    client: FlaskClient = create_app(store).server.test_client()
    texts = dict.fromkeys((Role.READ, Role.INGEST), "")
    for role in texts:
        key, texts[role] = mint("default", role, "", NOW_NS)
        store.add_key(key)
    said = [
        client.post(MARKERS, json={"name": "v3"}, headers={"X-API-Key": text}).status_code
        for text in texts.values()
    ]
    store.close()
    assert said == [403, 201]
