"""Erasures over HTTP: what may be asked, what is answered, and that every map built before is void."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from engine import demo
from engine.keys import Role, mint
from engine.store import Store
from engine.store.sqlite import open_store

RUN = "live-doomed-0"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "demo.sqlite", create=True)
    demo.load(opened)
    yield opened
    opened.close()


class Programs:
    """A client of the API; as long as no key was made it needs none."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.client: FlaskClient = create_app(store).server.test_client()
        self.client.environ_base["HTTP_HOST"] = "127.0.0.1"
        self.headers: dict[str, str] = {}

    def holding(self, role: Role, tenant: str = "default") -> Programs:
        key, text = mint(tenant, role, "ann", 0)
        self.store.add_key(key)
        self.headers = {"Authorization": f"Bearer {text}"}
        return self

    def ask(self, method: str, path: str, **more: Any) -> Any:
        return self.client.open(f"/api/v1/{path}", method=method, headers=self.headers, **more)

    def erase(self, **asked: Any) -> Any:
        return self.ask("POST", "erasures", json=asked)


@pytest.fixture
def programs(store: Store) -> Programs:
    return Programs(store)


def test_a_run_is_erased_and_there_is_a_receipt(programs: Programs) -> None:
    answer = programs.holding(Role.ADMIN).erase(by="run", run_id=RUN)
    receipt = answer.json
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/api/v1/erasures/{receipt['erasure_id']}"
    assert programs.ask("GET", f"erasures/{receipt['erasure_id']}").json == receipt
    assert programs.ask("GET", "erasures").json == {"erasures": [receipt], "next": None}
    assert programs.ask("GET", f"runs/{RUN}").status_code == 404
    times = receipt.pop("asked"), receipt.pop("done")
    assert all(each.endswith("Z") for each in times)
    assert len(receipt.pop("erasure_id")) == 12 and len(receipt.pop("digest")) == 32
    assert receipt.pop("asked_by").startswith("by API: ann (")
    assert receipt == {
        **{"state": "done", "what": "run", "runs": 1, "traces": 1, "spans": 6},
        **{"outcomes": 0, "firings": 2},
    }


def test_runs_are_erased_by_ticket_by_attribute_and_by_age(programs: Programs) -> None:
    def runs(agent: str) -> list[Any]:
        found = programs.ask("GET", f"runs?agent={agent}&window=all&limit=1000")
        return list(found.json["runs"]) if found.status_code == 200 else []

    ticket = programs.ask("GET", f"runs/{RUN}").json["ticket"]
    assert programs.erase(by="ticket", ticket=ticket).json["runs"] == 1
    of_one = len(runs("support-agent"))
    named = programs.erase(by="attribute", name="gen_ai.agent.name", value="support-agent").json
    assert (named["what"], named["runs"]) == ("attribute gen_ai.agent.name", of_one)
    assert runs("support-agent") == []

    left = [each["agent"] for each in programs.ask("GET", "agents?window=all").json["agents"]]
    young = [each for agent in left for each in runs(agent) if each["last_activity"] >= "2026-10-18"]
    old = programs.erase(by="before", time="2026-10-18").json
    assert (old["what"], old["runs"] > 0) == ("before 2026-10-18T00:00:00+00:00", True)
    assert [each for agent in left for each in runs(agent)] == young


def test_receipts_come_in_pages_the_latest_first(programs: Programs) -> None:
    names = [RUN, "live-healthy-0", "live-doomed-1"]
    made = [programs.erase(by="run", run_id=name).json for name in names]
    first = programs.ask("GET", "erasures?limit=2").json
    assert first == {"erasures": [made[2], made[1]], "next": made[1]["erasure_id"]}
    rest = programs.ask("GET", f"erasures?limit=2&after={first['next']}").json
    assert rest == {"erasures": [made[0]], "next": None}
    assert programs.ask("GET", "erasures?limit=0").status_code == 400


def test_what_is_not_there_is_not_found_and_leaves_no_receipt(programs: Programs) -> None:
    for asked in ({"by": "run", "run_id": "nobody"}, {"by": "ticket", "ticket": "T-0"}):
        answer = programs.erase(**asked)
        assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")
    assert programs.ask("GET", "erasures").json == {"erasures": [], "next": None}
    assert programs.ask("GET", "erasures/nothing").status_code == 404


@pytest.mark.parametrize(
    ("asked", "detail"),
    [
        ({}, "by: missing."),
        ({"by": "everything"}, "by: 'everything' is none of run, ticket, attribute, before."),
        ({"by": "run"}, "run_id: missing."),
        ({"by": "run", "run_id": ""}, "run_id: expected `str` of length >= 1."),
        ({"by": "run", "run_id": "a", "ticket": "b"}, "ticket: no such field."),
        ({"by": "attribute", "name": "user.id"}, "value: missing."),
        ({"by": "before", "time": " "}, "time: blank."),
        ({"by": "before", "time": "tomorrow"}, "time: 'tomorrow' is not a time."),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(programs: Programs, asked: Any, detail: str) -> None:
    answer = programs.erase(**asked)
    assert (answer.status_code, answer.json["detail"]) == (400, detail)


def test_only_an_admin_of_the_tenant_may_erase(programs: Programs) -> None:
    receipt = programs.holding(Role.ADMIN).erase(by="run", run_id=RUN).json
    for role, status in ((Role.READ, 403), (Role.INGEST, 403)):
        assert programs.holding(role).erase(by="run", run_id="live-healthy-0").status_code == status
    other = programs.holding(Role.ADMIN, "acme")
    assert other.erase(by="run", run_id="live-healthy-0").status_code == 404
    assert other.ask("GET", f"erasures/{receipt['erasure_id']}").status_code == 404
    assert other.ask("GET", "erasures").json == {"erasures": [], "next": None}


def test_a_map_that_was_built_before_is_never_answered_again(programs: Programs) -> None:
    def built() -> Any:
        deadline_s = time.monotonic() + 30
        while (answer := programs.ask("GET", "maps?agent=support-agent&window=all")).status_code == 202:
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        return answer.json

    before = built()["totals"]
    done = programs.ask("GET", "runs?agent=support-agent&outcome=failure").json["runs"][0]["run_id"]
    assert programs.erase(by="run", run_id=done).status_code == 201
    after = built()["totals"]
    assert (before["completed"] - after["completed"], before["failures"] - after["failures"]) == (1, 1)
