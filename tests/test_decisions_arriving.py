"""Decisions arrive in four ways, and are all the same afterwards."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from dashboard.api.events import MEDIA_TYPES
from dashboard.app import Settings, create_app
from engine.decisions.diff import Diagnosis, compare
from engine.decisions.reading import read
from engine.decisions.trace import Trace
from engine.errors import BusyStoreError, UnknownRunError
from engine.importing import import_files
from engine.ingest import read_file
from engine.ingest.events import read as read_events
from engine.ingest.limits import LIMITS, Limits
from engine.keys import Role, mint
from engine.runs import ALL_TIME, Cohort, Outcome, ReadingSettings, RunKey
from engine.selections import ByRun
from engine.spans import Span
from engine.store import Appended, Store
from engine.store.sqlite import open_store
from tests.memory_store import MemoryStore
from tests.running import running

T = "default"
PAGE = (Path(__file__).parents[1] / "docs" / "decisions.md").read_text()
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
START_NS = 1_767_268_800_000_000_000
SECOND_NS = 10**9
TICKET = {"agent": "repo-agent", "ticket": "T-17", "version": "v2"}


def at(second: int) -> str:
    return (START + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def option(tool: str, score: float | None, reason: str | None = None) -> dict[str, Any]:
    told = {"tool": tool, "score": score, "reason": reason}
    return {name: value for name, value in told.items() if value is not None}


EVENTS: list[dict[str, Any]] = [
    {
        "type": "decision",
        "span_id": "d1",
        "parent_id": "run-7",
        "ts": at(1),
        "goal": "add a test for dates",
        "options": [option("search_repo", 0.75, "find what is there"), option("edit_file", 0.25)],
        "chosen": "search_repo",
        "policy": "argmax_score",
        "margin": 0.5,
    },
    {
        "type": "tool_call",
        "span_id": "c1",
        "parent_id": "d1",
        "ts": at(2),
        "tool": "search_repo",
        "args": {"query": "date"},
    },
    {"type": "tool_result", "span_id": "r1", "parent_id": "c1", "ts": at(3), "ok": True, "bytes": 12},
    {
        "type": "decision",
        "span_id": "d2",
        "parent_id": "c1",
        "ts": at(4),
        "goal": "write it",
        "options": [option("edit_file", 0.5), option("search_repo", 0.48)],
        "chosen": "edit_file",
        "policy": "argmax_score",
        "margin": 0.02,
    },
    {
        "type": "tool_call",
        "span_id": "c2",
        "parent_id": "d2",
        "ts": at(5),
        "tool": "run_tests",
        "args": {"all": True, "n": [1, 2.5]},
    },
    {"type": "tool_result", "span_id": "r2", "parent_id": "c2", "ts": at(6), "ok": False, "bytes": 5},
    {
        "type": "decision",
        "span_id": "d3",
        "parent_id": "run-7",
        "ts": at(7),
        "goal": "g" * 201,
        "options": [option("ask", None), option("stop", None)],
        "chosen": "stop",
        "policy": "rule:nothing_left",
        "margin": None,
    },
    {"type": "tool_call", "span_id": "c3", "parent_id": "d3", "ts": at(8), "tool": "stop", "args": {}},
]
"""A run with a low margin, a call that was not chosen and a long goal."""
FOUND = [
    (3, "low_margin", "0.02"),
    (4, "choice_mismatch", "edit_file->run_tests"),
    (5, "long_goal", "201 characters"),
]
SIGNATURES = ["tool:search_repo", "tool:run_tests", "tool:stop"]


def jsonl(*lines: Mapping[str, Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


BODY = jsonl(*EVENTS)

# --- the ways --------------------------------------------------------------------------------------

Way = Callable[[Store, FlaskClient, Path], None]


def post(client: FlaskClient, body: bytes, query: str = "", **headers: str) -> TestResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"Content-Type": "application/x-ndjson"} | named
    return client.post(f"/api/v1/decisions{query}", data=body, headers=sent)


def by_file(store: Store, client: FlaskClient, folder: Path) -> None:
    path = folder / "trace.jsonl"
    path.write_bytes(jsonl({"type": "run", "run_id": "run-7", **TICKET}) + BODY)
    assert import_files(store, T, [path])[:3] == (9, 0, ())


def by_request(store: Store, client: FlaskClient, folder: Path) -> None:
    assert post(client, BODY, "?agent=repo-agent&ticket=T-17&version=v2").status_code == 200


def by_spans(
    decision: Callable[[Mapping[str, Any]], dict[str, Any]], call: Callable[..., dict[str, Any]]
) -> Way:
    """Sent over OTLP as spans whose attributes are made of the events."""

    def send(store: Store, client: FlaskClient, folder: Path) -> None:
        run = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "repo-agent"}
        run |= {"gen_ai.agent.version": "v2", "gen_ai.conversation.id": "run-7", "forkmap.ticket": "T-17"}
        spans = [otlp("run-7", None, 0, 20, run)]
        results = {each["parent_id"]: each for each in EVENTS if each["type"] == "tool_result"}
        for event in EVENTS:
            begun = (datetime.fromisoformat(event["ts"]) - START).seconds
            if event["type"] == "decision":
                spans.append(otlp(event["span_id"], event["parent_id"], begun, begun, decision(event)))
            elif event["type"] == "tool_call":
                result = results.get(event["span_id"])
                code = 0 if result is None else 1 if result["ok"] else 2
                ended = None if result is None else begun + 1
                told = call(event["tool"], json.dumps(event["args"]), result and "x" * result["bytes"])
                spans.append(otlp(event["span_id"], event["parent_id"], begun, ended, told, code))
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
        assert client.post("/v1/traces", data=body, content_type="application/json").status_code == 200

    return send


def otlp(
    name: str, parent: str | None, begun: int, ended: int | None, attributes: Mapping[str, Any], code: int = 0
) -> dict[str, Any]:
    """A span as an exporter sends it; its ids are made of the events'."""
    return {
        "traceId": "ab" * 16,
        "spanId": span_id(name),
        **({} if parent is None else {"parentSpanId": span_id(parent)}),
        "name": "span",
        "startTimeUnixNano": str(START_NS + begun * SECOND_NS),
        **({} if ended is None else {"endTimeUnixNano": str(START_NS + ended * SECOND_NS)}),
        "status": {"code": code},
        "attributes": [{"key": key, "value": any_value(value)} for key, value in attributes.items()],
    }


def span_id(name: str) -> str:
    return name.encode().hex().rjust(16, "0")


def any_value(value: Any) -> dict[str, Any]:
    match value:
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(each) for each in value]}}
        case dict():
            return {
                "kvlistValue": {
                    "values": [{"key": key, "value": any_value(each)} for key, each in value.items()]
                }
            }
        case _:
            return {"stringValue": value}


def said(event: Mapping[str, Any], prefix: str, options: Any) -> dict[str, Any]:
    plain = {name: event[name] for name in ("goal", "chosen", "policy", "margin") if event[name] is not None}
    return {f"{prefix}{name}": value for name, value in (plain | options).items()}


def own_decision(event: Mapping[str, Any]) -> dict[str, Any]:
    return said(event, "forkmap.decision.", {"options": json.dumps(event["options"])})


def openinference_decision(event: Mapping[str, Any]) -> dict[str, Any]:
    flat = {
        f"options.{n}.{key}": value for n, each in enumerate(event["options"]) for key, value in each.items()
    }
    return {"openinference.span.kind": "DECISION", **said(event, "decision.", flat)}


def gen_ai_decision(event: Mapping[str, Any]) -> dict[str, Any]:
    return said(event, "gen_ai.decision.", {"options": event["options"]})


def gen_ai_call(tool: str, arguments: str, result: str | None) -> dict[str, Any]:
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    told |= {"gen_ai.tool.call.arguments": arguments}
    return told if result is None else told | {"gen_ai.tool.call.result": result}


def openinference_call(tool: str, arguments: str, result: str | None) -> dict[str, Any]:
    told = {"openinference.span.kind": "TOOL", "tool.name": tool, "input.value": arguments}
    return told if result is None else told | {"output.value": result}


WAYS: dict[str, Way] = {
    "a file": by_file,
    "a request": by_request,
    "spans of one's own": by_spans(own_decision, gen_ai_call),
    "spans of OpenInference": by_spans(openinference_decision, openinference_call),
    "spans of GenAI": by_spans(gen_ai_decision, gen_ai_call),
}


def client_of(store: Store, limits: Limits = LIMITS) -> FlaskClient:
    client: FlaskClient = create_app(store, Settings(limits=limits)).server.test_client()
    return client


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "forkmap.sqlite", create=True)
    yield opened
    opened.close()


def trace_of(store: Store, run_id: str = "run-7", tenant: str = T) -> Trace:
    trace = read(run_id, store.spans(tenant, run_id))
    assert trace is not None
    return trace


def without_ids(trace: Trace) -> Any:
    """All that a trace says, but for the ids of its spans."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(each) for key, each in value.items() if key != "span_id"}
        return [bare(each) for each in value] if isinstance(value, list) else value

    return bare(msgspec.json.decode(msgspec.json.encode(trace)))


def arrived(way: str, folder: Path) -> tuple[Trace, tuple[Any, ...]]:
    """What is read of the run after it came in a way: its trace, and the run."""
    folder.mkdir()
    store = open_store(folder / "forkmap.sqlite", create=True)
    WAYS[way](store, client_of(store), folder)
    run = store.run(T, "run-7")
    steps = [(step.signature, step.end_ns is not None, step.error) for step in run.steps]
    found = trace_of(store)
    store.close()
    return found, (run.agent, run.version, run.ticket, [(name, error) for name, _, error in steps])


def test_however_it_came_a_trace_is_the_same(tmp_path: Path) -> None:
    found = {way: arrived(way, tmp_path / str(number)) for number, way in enumerate(WAYS)}
    trace, run = found["a file"]
    assert run == ("repo-agent", "v2", "T-17", list(zip(SIGNATURES, (False, True, False), strict=True)))
    assert [choice.chosen for choice in trace.choices] == ["search_repo", "edit_file", "stop"]
    assert [(each.line, each.kind.value, each.detail) for each in trace.findings] == FOUND
    for way, (other, its_run) in found.items():
        assert (without_ids(other), its_run) == (without_ids(trace), run), way
    for (one, (a, _)), (another, (b, _)) in combinations(found.items(), 2):
        assert compare(a, b).diagnosis is Diagnosis.IDENTICAL, (one, another)


def test_a_run_that_came_by_two_ways_is_read_once(store: Store, tmp_path: Path) -> None:
    for number, way in enumerate(("a request", "spans of one's own")):
        (tmp_path / str(number)).mkdir()
        WAYS[way](store, client_of(store), tmp_path / str(number))
    (tmp_path / "once").mkdir()
    once, _ = arrived("spans of one's own", tmp_path / "once" / "more")
    assert without_ids(trace_of(store)) == without_ids(once)


# --- a file ----------------------------------------------------------------------------------------


def test_events_stand_among_spans_outcomes_and_lines_of_other_types(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    span = {
        "type": "span",
        "trace_id": "run-7",
        "span_id": "1",
        "start": START_NS,
        "attributes": {"forkmap.kind": "llm"},
    }
    outcome = {"type": "outcome", "run": "run-7", "outcome": "failure", "time": at(9)}
    path.write_bytes(
        b"\xef\xbb\xbf"
        + jsonl({"type": "note", "text": "passes"}, *EVENTS, span, outcome).replace(b"\n", b"\r\n")
    )
    done = import_files(store, T, [path], agent="repo-agent", ticket="T-17")
    assert (done.imported, done.refused, done.runs) == (10, 0, 1)
    run = store.run(T, "run-7")
    assert (run.agent, run.ticket, run.outcome) == ("repo-agent", "T-17", Outcome.FAILURE)
    assert [step.signature for step in run.steps] == ["llm:span", *SIGNATURES] or run.steps[
        0
    ].signature.startswith("llm:")
    assert import_files(store, T, [path], agent="repo-agent", ticket="T-17")[:2] == (0, 10)


def test_a_bad_line_is_refused_and_what_hangs_from_it_is_kept(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    lines = [json.dumps(event) for event in EVENTS]
    lines[0] = lines[0].replace('"margin": 0.5', '"margin": "0.5"')
    lines[5] = lines[5][:-20]
    path.write_text("\n".join(lines))
    done = import_files(store, T, [path])
    assert [(each.line, each.reason.partition(":")[0]) for each in done.refusals] == [
        (1, "margin"),
        (6, "not JSON"),
    ]
    assert (done.imported, done.runs) == (6, 1)
    assert [span.span_id for span in store.spans(T, "run-7")] == ["c1", "r1", "d2", "c2", "d3", "c3"]


def test_a_line_that_is_written_while_its_file_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    path.write_bytes(jsonl(*EVENTS[:2]))
    found = read_file(path)
    kept = [next(found)]
    with path.open("ab") as file:
        file.write(jsonl(EVENTS[2]))
    kept += found
    assert [getattr(each, "span_id", getattr(each, "reason", "")) for each in kept] == [
        *("d1", "c1", "it was written while the file was read: import the file again")
    ]


def test_a_line_of_no_known_type_is_refused_where_no_event_is(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(
        jsonl({"type": "span", "trace_id": "t", "span_id": "1", "start": START_NS}, {"type": "spann"})
    )
    done = import_files(store, T, [path])
    known = "span, outcome, decision, tool_call, tool_result, run"
    assert [(each.line, each.reason) for each in done.refusals] == [
        (2, f'an object was expected whose "type" is one of {known}')
    ]


# --- a request -------------------------------------------------------------------------------------


def test_a_request_is_answered_with_what_became_of_its_lines(store: Store) -> None:
    client = client_of(store)
    first = post(client, BODY)
    assert first.status_code == 200
    assert first.json == {"accepted": 8, "unchanged": 0, "refused": 0, "refusals": [], "runs": ["run-7"]}
    body = gzip.compress(
        BODY + b'{"type": "note"}\n\nnope\n' + jsonl({"type": "span"}, {"type": "tool_call"})
    )
    again = post(client, body, Content_Encoding="gzip")
    assert again.json == {
        "accepted": 0,
        "unchanged": 8,
        "refused": 3,
        "refusals": [
            {"line": 11, "reason": "JSON is malformed: invalid character (byte 4)"},
            {"line": 12, "reason": "spans are sent to /v1/traces"},
            {"line": 13, "reason": "span_id: missing"},
        ],
        "runs": ["run-7"],
    }


def test_pieces_of_a_run_make_the_whole(store: Store) -> None:
    client = client_of(store)
    for event in reversed(EVENTS):
        assert post(client, jsonl(event), "?run=run-7").json == {
            **{"accepted": 1, "unchanged": 0, "refused": 0, "refusals": []},
            "runs": ["run-7"],
        }
    post(client, BODY, "?run=whole")
    pieces, whole = without_ids(trace_of(store)), without_ids(trace_of(store, "whole"))
    assert pieces | {"run_id": "whole"} == whole


def test_pieces_that_each_say_whose_they_are_make_the_whole(store: Store) -> None:
    """The run begins anew with the last of them, and its decisions keep their order."""
    client = client_of(store)
    start = {"type": "run", "run_id": "run-7", "agent": "repo-agent"}
    for event in EVENTS:
        post(client, jsonl(start, event), "?run=run-7")
    post(client, jsonl(start, *EVENTS), "?run=whole")
    assert without_ids(trace_of(store)) | {"run_id": "whole"} == without_ids(trace_of(store, "whole"))


def test_a_whole_run_sent_after_its_pieces_changes_nothing(store: Store) -> None:
    client = client_of(store)
    for event in EVENTS:
        post(client, jsonl(event), "?run=run-7")
    again = post(client, b'{"type": "note"}\n' + BODY).json
    assert again == {"accepted": 0, "unchanged": 8, "refused": 0, "refusals": [], "runs": ["run-7"]}


@pytest.mark.parametrize("by", ["session", "trace"])
@pytest.mark.parametrize("name", ["run-7", "é" * 200])
def test_the_runs_that_an_answer_names_are_known(tmp_path: Path, by: RunKey, name: str) -> None:
    path = tmp_path / "forkmap.sqlite"
    with closing(open_store(path, create=True, reading_settings=ReadingSettings(by))) as store:
        answer = post(client_of(store), BODY, f"?run={name}").json
        assert answer is not None
        (run_id,) = answer["runs"]
        assert store.run(T, run_id).run_id == run_id


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_lines_may_have_these_types(store: Store, media_type: str) -> None:
    assert post(client_of(store), BODY, Content_Type=media_type).status_code == 200


@pytest.mark.parametrize(
    ("body", "query", "headers", "status", "detail"),
    [
        (BODY, "", {"Content_Type": "text/csv"}, 415, f"text/csv is none of {', '.join(MEDIA_TYPES)}"),
        (
            BODY,
            "",
            {"Content_Encoding": "br"},
            415,
            "the content encoding 'br' is none of identity, gzip, deflate",
        ),
        (BODY, "", {"Content_Encoding": "gzip"}, 400, "the compressed body is damaged"),
        (BODY, "?user=me", {}, 400, "user: no such field among run, agent, ticket, version."),
        (BODY, "?agent=" + "a" * 257, {}, 400, "agent: expected `str` of length <= 256."),
        (BODY, "?run=", {}, 400, "run: expected `str` of length >= 1."),
        (BODY + b" " * 4_000, "", {}, 413, "the body holds more than 4000 bytes"),
        (b"\n" * 20, "", {}, 413, "the request holds more than 20 lines"),
        (b"[" * 251, "", {}, 413, "the request holds more than 250 objects and lists"),
    ],
)
def test_a_request_that_is_not_taken_says_why(
    store: Store, body: bytes, query: str, headers: dict[str, str], status: int, detail: str
) -> None:
    answer = post(client_of(store, Limits(4_000, max_spans=20)), body, query, **headers)
    assert answer.json is not None
    assert (answer.status_code, answer.json["detail"]) == (status, detail)
    with pytest.raises(UnknownRunError):
        store.run(T, "run-7")


class Busy(MemoryStore):
    """A store that others write to."""

    def append(self, tenant: str, spans: Any) -> Appended:
        raise BusyStoreError("the store is busy")


def test_a_store_that_is_busy_is_worth_asking_again() -> None:
    answer = post(client_of(Busy()), BODY)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


PIECES = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from(BODY.splitlines()),
        st.sampled_from([line[:-9] for line in BODY.splitlines()]),
        st.sampled_from(
            [
                b'{"type":"run"}',
                b"NaN",
                b"[" * 3_000,
                b'{"type":"decision","options":[{"score":1e999}]}',
                b"\xff",
            ]
        ),
    ),
    max_size=6,
)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(PIECES, st.sampled_from([b"\n", b"\r\n"]))
def test_whatever_the_bytes_the_good_lines_around_them_count(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], end: bytes
) -> None:
    good = jsonl(EVENTS[0] | {"span_id": "good", "parent_id": "job"}).strip()
    body = end.join([b"", *pieces, good])
    sent = read_events(body)
    assert sent.spans[-1].span_id == "good"
    path = tmp_path_factory.mktemp("any") / "any.jsonl"
    path.write_bytes(body)
    assert [each for each in read_file(path, format="forkmap") if isinstance(each, Span)] == sent.spans


# --- afterwards ------------------------------------------------------------------------------------


def test_events_belong_to_the_tenant_whose_key_sent_them(store: Store) -> None:
    keys = {}
    for tenant, role in (("ours", Role.INGEST), ("theirs", Role.INGEST), ("none", Role.READ)):
        made, keys[tenant] = mint(tenant, role, "", START_NS)
        store.add_key(made)
    client = client_of(store)
    assert post(client, BODY, X_API_Key=keys["ours"]).status_code == 200
    assert post(client, BODY, X_API_Key=keys["none"]).status_code == 403
    assert post(client, BODY).status_code == 401
    assert len(trace_of(store, tenant="ours").choices) == 3
    with pytest.raises(UnknownRunError):
        store.spans("theirs", "run-7")


def test_an_erasure_takes_the_events_of_a_run(store: Store) -> None:
    client = client_of(store)
    post(client, BODY)
    post(client, BODY, "?run=kept")
    erasure = store.begin_erasure(T, ByRun("run-7"), "", START_NS)
    for _ in store.go_on_erasing(T, erasure, lambda: START_NS):
        pass
    with pytest.raises(UnknownRunError):
        store.spans(T, "run-7")
    assert len(trace_of(store, "kept").choices) == 3


def test_events_expire_with_their_run(store: Store) -> None:
    post(client_of(store), BODY)
    store.settle(T)
    assert store.expire(T, START_NS, 100)[:2] == (0, 0)
    assert store.expire(T, START_NS + 60 * SECOND_NS, 100)[:2] == (1, 8)
    with pytest.raises(UnknownRunError):
        store.run(T, "run-7")


def test_a_run_of_events_is_on_its_agents_map(store: Store) -> None:
    post(client_of(store), BODY, "?agent=repo-agent")
    paths = store.paths(Cohort(T, "repo-agent", ALL_TIME), START_NS + 3600 * SECOND_NS)
    assert sorted(paths.signatures) == sorted(SIGNATURES)


# --- the documentation -------------------------------------------------------------------------------


def test_the_documented_program_records_what_its_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "forkmap.sqlite"
    store = open_store(path, create=True)
    with running(path) as (address,):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{address}")
        exec(program, {"__name__": "documented"})
    trace = trace_of(store)
    assert [(each.goal, each.chosen, each.margin) for each in trace.choices] == [
        ("add a test for dates", "search_repo", 0.5),
        ("see that it passes", "run_tests", None),
    ]
    assert [bytes(call.args) for each in trace.choices for call in each.calls] == [
        b'{"query":"parse_date"}',
        b"{}",
    ]
    assert trace.findings == ()
    run = store.run(T, "run-7")
    assert (run.agent, run.version, run.ticket) == ("repo-agent", "v2", "T-17")
    store.close()


def test_the_documented_start_of_a_run_is_read(store: Store, tmp_path: Path) -> None:
    (start,) = re.findall(r'```jsonl\n(\{"type": "run".*?)\n```', PAGE)
    path = tmp_path / "trace.jsonl"
    path.write_bytes(start.encode() + b"\n" + BODY)
    import_files(store, T, [path])
    run = store.run(T, "run-7")
    assert (run.agent, run.ticket, run.version) == ("repo-agent", "T-17", "v2")
