"""What programs read over HTTP: lists by the page, maps and what is read from them, and the description."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import msgspec
import pytest
from flask import Flask
from openapi_spec_validator import validate
from werkzeug.test import TestResponse

from dashboard import api
from dashboard.api import openapi
from dashboard.api.operations import MAX_BODY_BYTES, Operation
from dashboard.app import create_app
from dashboard.auth.roles import needed
from dashboard.documents.calibrations import scores
from dashboard.documents.forks import findings, findings_and_chance
from dashboard.documents.maps import behaviour
from dashboard.documents.verdicts import verdict
from dashboard.service import Service
from engine import demo, queries
from engine.builder import Maps
from engine.demo import NOW_NS
from engine.maps import BehaviourMap
from engine.requests import Request
from engine.runs import ALL_TIME, Cohort, Window
from engine.store import Store, reading
from engine.store.sqlite import open_store
from tests.memory_cache import DictCache
from tests.memory_store import MemoryStore, make_run

AGENT = "support-agent"
COHORT = Cohort("default", AGENT)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = open_store(tmp_path_factory.mktemp("api") / "s.sqlite", create=True)
    demo.load(opened)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def server(store: Store) -> Flask:
    made: Flask = create_app(store).server
    return made


def ask(server: Flask, path: str, method: str = "GET", **more: Any) -> TestResponse:
    """The answer to a request, once nothing it tells of is being built."""
    client, deadline = server.test_client(), time.monotonic() + 30
    while (answer := client.open(path, method=method, **more)).status_code == 202:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return answer


def problem(answer: TestResponse) -> tuple[int, str]:
    """Status and detail of a problem, which says the status twice."""
    assert answer.mimetype == "application/problem+json"
    assert answer.json is not None
    assert answer.json["status"] == answer.status_code
    return answer.status_code, answer.json["detail"]


def document(answer: TestResponse) -> Any:
    assert (answer.status_code, answer.mimetype) == (200, "application/json"), answer.text
    return answer.json


# The description


def test_the_description_is_sound_openapi_of_every_route_under_its_address(server: Flask) -> None:
    described = document(ask(server, "/api/openapi.json"))
    validate(described)
    assert described["openapi"] == "3.1.0"
    said = {(path, method.upper()) for path, methods in described["paths"].items() for method in methods}
    routes = [route for route in server.url_map.iter_rules() if route.rule.startswith("/api/")]
    assert said == {
        (openapi.address(route.rule), method)
        for route in routes
        for method in (route.methods or set()) - {"HEAD", "OPTIONS"}
    }
    names = [operation.name for operation in api.OPERATIONS]
    assert len({*names}) == len(names)


def test_the_documentation_lists_every_operation_with_its_role() -> None:
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    listed = [line for line in page.splitlines() if re.match(r"\| `[A-Z]+ /api/", line)]
    roles = [needed(each.path, each.method) or "none" for each in api.OPERATIONS]
    assert listed == [
        f"| `{each.method} {openapi.address(each.path)}` | {role} | {each.summary} |"
        for each, role in zip(api.OPERATIONS, roles, strict=True)
    ]


def test_an_operation_is_described_by_the_structs_that_read_and_write_it(server: Flask) -> None:
    described = document(ask(server, "/api/openapi.json"))
    asked = described["paths"]["/api/v1/runs"]["get"]
    (limit,) = [each for each in asked["parameters"] if each["name"] == "limit"]
    assert limit == {
        "name": "limit",
        "in": "query",
        "required": False,
        "description": "How many at most",
        "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
    }
    assert asked["security"] == [{"bearer": ["read"]}, {"header": ["read"]}]
    assert [*asked["responses"]] == ["200", "400", "401", "403", "404", "429", "503"]
    told = described["paths"]["/api/v1/runs/{run_id}/outcome"]["put"]
    schema = {"$ref": "#/components/schemas/PutOutcome"}
    assert told["requestBody"] == {"required": True, "content": {"application/json": {"schema": schema}}}
    assert told["security"] == [{"bearer": ["ingest"]}, {"header": ["ingest"]}]
    run_id = {"name": "run_id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    assert told["parameters"] == [run_id]


# Lists


def test_tickets_are_listed_with_how_their_runs_ended(server: Flask, store: Store) -> None:
    every = document(ask(server, "/api/v1/tickets?limit=1000"))["tickets"]
    assert [each["ticket"] for each in every] == [
        row.ticket for row in store.tickets("default", NOW_NS, limit=1000)
    ]
    named = document(ask(server, "/api/v1/tickets?q=REPO-menu"))["tickets"]
    assert named == [
        {"ticket": "repo-menu", "agents": ["repo-agent"], "successes": 1, "failures": 2, "abandoned": 0}
        | {"live": 0, "latest": "2026-10-18T03:00:00Z"}
    ]


@pytest.mark.parametrize("limit", [7, 100, 186, 1000])
def test_runs_come_by_the_page_newest_first(server: Flask, store: Store, limit: int) -> None:
    found, after = [], ""
    while True:
        page = document(ask(server, f"/api/v1/runs?agent={AGENT}&limit={limit}{after}"))
        found += page["runs"]
        if page["next"] is None:
            break
        assert len(page["runs"]) == limit
        after = f"&after={page['next']}"
    every = store.runs(COHORT, NOW_NS, 1000)
    assert len(every) == 186
    assert [run["run_id"] for run in found] == [row.run_id for row in every]
    starts = [run["start"] for run in found]
    assert starts == sorted(starts, reverse=True)


def test_a_line_of_the_list_says_what_the_run_says(server: Flask) -> None:
    listed = document(ask(server, f"/api/v1/runs?agent={AGENT}&limit=1"))["runs"][0]
    whole = document(ask(server, f"/api/v1/runs/{listed['run_id']}"))
    assert listed == {name: whole[name] for name in listed if name != "steps"} | {
        "steps": len(whole["steps"])
    }


def test_runs_are_listed_by_outcome_version_ticket_and_window(server: Flask) -> None:
    def listed(more: str) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = document(ask(server, f"/api/v1/runs?agent={AGENT}&limit=1000&{more}"))[
            "runs"
        ]
        return runs

    every = listed("window=all")
    for name in ("outcome", "version", "ticket"):
        for value in {run[name] for run in every} - {None}:
            assert listed(f"window=all&{name}={value}") == [run for run in every if run[name] == value] != []
    assert len(listed("outcome=unknown")) == 6
    assert listed("version=none") == listed("ticket=none") == listed("to=2000-01-01") == []
    assert listed("from=2026-10-01") == [run for run in every if run["start"] >= "2026-10-01"] != every


def test_agents_come_by_the_page_in_the_order_of_their_names(server: Flask) -> None:
    every = document(ask(server, "/api/v1/agents"))
    names = ["coding-agent", "repo-agent", "research-agent", "support-agent"]
    assert ([each["agent"] for each in every["agents"]], every["next"]) == (names, None)
    first = document(ask(server, "/api/v1/agents?limit=2"))
    assert (first["agents"], first["next"]) == (every["agents"][:2], "repo-agent")
    second = document(ask(server, "/api/v1/agents?limit=2&after=repo-agent"))
    assert second == {"agents": every["agents"][2:], "next": None}
    assert document(ask(server, "/api/v1/agents?after=zebra")) == {"agents": [], "next": None}


# Maps, and what is read from them


def test_a_map_is_built_before_it_is_read_and_is_the_commands(store: Store) -> None:
    server = create_app(store).server
    first = server.test_client().get(f"/api/v1/maps?agent={AGENT}")
    assert (first.status_code, first.headers["Retry-After"]) == (202, "1")
    assert first.json == {"detail": "The map is being built."}
    read = document(ask(server, f"/api/v1/maps?agent={AGENT}"))
    assert read == msgspec.to_builtins(behaviour(queries.load_map(store, COHORT, NOW_NS)))


@pytest.mark.parametrize(
    ("query", "cohort"),
    [
        ("", COHORT),
        ("&steps=tools", COHORT._replace(view="tools")),
        ("&window=all", COHORT._replace(window=ALL_TIME)),
        ("&where=search_orders+x3", COHORT._replace(where="search_orders x3")),
        ("&to=2026-10-10", COHORT._replace(window=Window(0, 1791590400 * 10**9))),
    ],
)
def test_forks_and_calibration_are_those_of_the_cohort_that_is_asked_for(
    server: Flask, store: Store, query: str, cohort: Cohort
) -> None:
    behaviour = queries.load_map(store, cohort, NOW_NS)
    path = f"/api/v1/forks?agent={AGENT}{query}"
    assert document(ask(server, path)) | {"chance": None} == msgspec.to_builtins(findings(behaviour))
    deadline = time.monotonic() + 30
    while (forks := document(ask(server, path)))["chance"] is None:  # It is counted once the map is there.
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert forks == msgspec.to_builtins(findings_and_chance(behaviour))
    calibration = document(ask(server, f"/api/v1/calibration?agent={AGENT}{query}"))
    assert calibration == msgspec.to_builtins(scores(queries.load_calibration(store, cohort, NOW_NS)))


def test_a_map_is_sent_once_and_compressed(server: Flask) -> None:
    path = f"/api/v1/maps?agent={AGENT}"
    plain, packed = ask(server, path), ask(server, path, headers={"Accept-Encoding": "gzip"})
    assert (packed.headers["Content-Encoding"], packed.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 3
    assert plain.headers["Cache-Control"] == "private, no-cache"
    tag = plain.headers["ETag"]
    for shown in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
        known = ask(server, path, headers={"If-None-Match": shown, "Accept-Encoding": "gzip"})
        assert (known.status_code, known.data, known.headers["ETag"]) == (304, b"", tag)
        assert "Content-Encoding" not in known.headers
    for other in ({"If-None-Match": '"other"'}, {"If-Match": '"other"'}, {"Range": "bytes=0-1"}):
        assert document(ask(server, path, headers=other)) == plain.json
    others = [f"/api/v1/forks?agent={AGENT}", f"{path}&steps=tools", "/api/v1/maps?agent=coding-agent"]
    tags = {ask(server, other).headers["ETag"] for other in others}
    assert len(tags | {tag}) == 4


class Watched(BehaviourMap):
    """A map that knows which of its nodes were written."""

    written: ClassVar[list[int]] = []

    def key_text(self, node: int) -> str:
        self.written.append(node)
        return super().key_text(node)


def test_a_map_is_written_once_while_it_is_kept(store: Store) -> None:
    def build(request: Request, store: Store, now_ns: int) -> BehaviourMap:
        found = queries.load_map(store, request.cohort, now_ns)
        return Watched(**{name: getattr(found, name) for name in BehaviourMap.__dataclass_fields__})

    maps, server = Maps(store, DictCache(), lambda: NOW_NS, build=build), Flask("forkmap")
    api.register(server, Service(store, maps, lambda: NOW_NS))
    answers = [document(ask(server, f"/api/v1/maps?agent={AGENT}")) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert Watched.written == [*range(len(answers[0]["nodes"]))]
    maps.close()


@pytest.mark.parametrize("step", [None, "tool:issue_refund", "issue_refund"])
def test_a_verdict_is_the_commands(server: Flask, store: Store, step: str | None) -> None:
    more = "" if step is None else f"?next_step={step}"
    judged = document(ask(server, f"/api/v1/runs/live-doomed-0/verdict{more}"))
    expected = queries.load_verdict(store, "default", "live-doomed-0", NOW_NS, step=step)
    assert judged == msgspec.to_builtins(verdict(expected))
    (trace,) = expected.run.trace_ids
    assert document(ask(server, f"/api/v1/runs/{trace}/verdict{more}")) == judged


def test_a_list_of_runs_is_narrowed_and_its_pages_go_on(server: Flask, store: Store) -> None:
    path = f"/api/v1/runs?agent={AGENT}&where=error(*)+or+search_orders+x3&limit="
    every = document(ask(server, f"{path}1000"))
    asked = COHORT._replace(where="error(*) or search_orders x3")
    assert [run["run_id"] for run in every["runs"]] == [row.run_id for row in store.runs(asked, NOW_NS, 1000)]
    assert every["next"] is None and len(every["runs"]) > 20
    found = list[str]()
    after: str | None = ""
    while after is not None:
        page = document(ask(server, f"{path}20{after and f'&after={after}'}"))
        found, after = [*found, *(run["run_id"] for run in page["runs"])], page["next"]
    assert found == [run["run_id"] for run in every["runs"]]


def test_where_no_more_is_looked_through_a_page_says_where_to_go_on(
    server: Flask, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_RUNS", 30)
    monkeypatch.setattr(api.runs, "MAX_RUNS", 30)
    path, found, pages = f"/api/v1/runs?agent={AGENT}&where=error(*)", list[str](), 0
    after: str | None = ""
    while after is not None:
        page = document(ask(server, f"{path}{after and f'&after={after}'}"))
        found, after = [*found, *(run["run_id"] for run in page["runs"])], page["next"]
        pages += 1
    runs = store.histories(COHORT, NOW_NS)
    failed = {run.run_id for run in runs if any(step.error for step in run.steps)}
    assert pages > 5 and len(found) == len({*found}) and {*found} == failed


# What goes wrong


@pytest.mark.parametrize("path", ["runs", "maps", "forks", "calibration"])
def test_an_expression_that_cannot_be_read_is_a_problem_with_its_column(server: Flask, path: str) -> None:
    answer = ask(server, f"/api/v1/{path}?agent={AGENT}&where=a+>+>+b")
    assert problem(answer) == (400, "where: column 5: '>' stands where a step was expected.")
    assert answer.json is not None and answer.json["column"] == 5
    long = ask(server, f"/api/v1/{path}?agent={AGENT}&where={'a' * 10_000}")
    assert problem(long) == (
        400,
        "where: an expression has at most 1,000 characters, this one 10,000.",
    )
    assert long.json is not None and "column" not in long.json


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("/api/v1/runs", 400, "agent: missing."),
        ("/api/v1/runs?agent=a&agent=b", 400, "agent: given more than once."),
        (
            "/api/v1/runs?agent=a&color=red",
            400,
            "color: no such field among agent, outcome, version, ticket, where, after, limit, window, from, "
            "to.",
        ),
        ("/api/v1/runs?agent=a&limit=0", 400, "limit: expected `int` >= 1."),
        ("/api/v1/runs?agent=a&limit=many", 400, "limit: expected `int`, got `str`."),
        (
            "/api/v1/runs?agent=a&outcome=good",
            400,
            "outcome: 'good' is none of abandoned, failure, success, unknown.",
        ),
        ("/api/v1/agents?from=", 400, "from: blank."),
        ("/api/v1/maps?agent=a&where=+", 400, "where: blank."),
        ("/api/v1/agents?from=never", 400, "from=never is no RFC 3339 date or time."),
        ("/api/v1/maps?agent=a&window=week", 400, "window: 'week' is none of 1d, 30d, 7d, all."),
        ("/api/v1/maps?agent=nobody", 404, "No run of the agent 'nobody' is in the store."),
        ("/api/v1/calibration?agent=nobody", 404, "No run of the agent 'nobody' is in the store."),
        ("/api/v1/runs?agent=nobody", 404, "No run of the agent 'nobody' is in the store."),
        ("/api/v1/runs/none", 404, "No run 'none' is in the store."),
        ("/api/v1/runs/none/verdict", 404, "No run 'none' is in the store."),
        (
            "/api/v1/runs/live-doomed-0/verdict?next_step=dance",
            404,
            "'dance' is no step: a step is kind:name, for example tool:search_orders",
        ),
        ("/api/v1/nothing", 404, "Nothing is at this address."),
        ("/api/", 404, "Nothing is at this address."),
    ],
)
def test_what_cannot_be_answered_is_a_problem_that_names_it(
    server: Flask, path: str, status: int, detail: str
) -> None:
    assert problem(ask(server, path)) == (status, detail)


@pytest.mark.parametrize("operation", api.OPERATIONS, ids=lambda each: each.name)
def test_nothing_is_done_that_was_asked_with_a_parameter_that_does_not_exist(
    server: Flask, operation: Operation
) -> None:
    path = re.sub("<int:.+?>", "1", operation.path)
    path = re.sub("{.+?}", "live-doomed-0", openapi.address(path))
    before = document(ask(server, "/api/v1/policies"))
    required = "agent=a&" if "agent" in getattr(operation.query, "__struct_fields__", ()) else ""
    status, detail = problem(ask(server, f"{path}?{required}name=refunds", operation.method, json={}))
    names = ", ".join(field.encode_name for field in msgspec.structs.fields(operation.query))
    among = f"no such field among {names}." if names else "no such field."
    assert (status, detail) == (400, f"name: {among}")
    assert document(ask(server, "/api/v1/policies")) == before != {"policies": []}


def test_a_run_is_named_by_whatever_text_its_id_is(server: Flask) -> None:
    for run_id in ("a\nb", "\n", "/", "a/", "..", "\0", "?#%25", "a/verdict/"):
        answer = ask(server, f"/api/v1/runs/{quote(run_id, safe='')}")
        assert problem(answer) == (404, f"No run {run_id!r} is in the store.")


def test_a_place_in_the_list_is_two_numbers(server: Flask) -> None:
    for after in ("x", "1", "1.2.3", "1.-2", "1e9.0", "9" * 30 + ".1"):
        status, detail = problem(ask(server, f"/api/v1/runs?agent={AGENT}&after={after}"))
        assert (status, detail[:6]) == (400, "after:")
    beyond = "9" * 19
    assert document(ask(server, f"/api/v1/runs?agent={AGENT}&after={beyond}.{beyond}&limit=1"))["runs"] != []
    assert document(ask(server, f"/api/v1/runs?agent={AGENT}&after=-{beyond}.0"))["runs"] == []


def test_another_method_is_told_those_that_there_are(server: Flask) -> None:
    for path, allowed in (("/api/v1/agents", {"GET"}), ("/api/v1/runs/a/outcome", {"GET", "PUT", "DELETE"})):
        answer = ask(server, path, "POST")
        assert problem(answer) == (405, "POST is not for this address.")
        assert {each.strip() for each in answer.headers["Allow"].split(",")} == allowed


def test_a_body_that_is_too_large_is_refused_unread(server: Flask) -> None:
    body = b" " * (MAX_BODY_BYTES + 1)
    status, _ = problem(ask(server, "/api/v1/runs/r/outcome", "PUT", data=body))
    assert status == 413


def test_a_map_that_cannot_be_built_says_why_and_when_to_ask_again() -> None:
    store, server = MemoryStore([make_run("r", "tool:a")]), Flask("forkmap")

    def build(request: Request, store: Store, now_ns: int) -> Any:
        raise ZeroDivisionError("halved by nothing")

    maps = Maps(store, DictCache(), lambda: NOW_NS, build=build)
    api.register(server, Service(store, maps, lambda: NOW_NS))
    for path in (f"/api/v1/forks?agent={AGENT}", "/api/v1/runs/r/verdict"):
        answer = ask(server, path)
        assert int(answer.headers["Retry-After"]) >= 1
        reason = "The map could not be built: ZeroDivisionError: halved by nothing"
        assert problem(answer) == (503, reason)
    maps.close()
