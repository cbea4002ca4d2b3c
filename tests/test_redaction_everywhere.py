"""Planted secrets, whichever way they come, are in no byte of the store.

The same search finds them where all is kept.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dashboard.app import create_app
from dashboard.cli import main
from dashboard.commands.settings import from_environment
from engine.decisions.diff import Diagnosis, compare
from engine.decisions.reading import read
from engine.decisions.trace import Trace
from engine.runs import ALL_TIME
from engine.store import Store
from engine.store.sqlite import open_store
from tests.recordings import FORKMAP_SPAN, OTLP, TAU, TAU2
from tests.searching import holds
from tests.secrets_planted import ARGUMENTS, PASSWORD, PLANTED, PROSE, TERM
from tests.test_ingest_otlp import message
from tests.test_intake_grpc import sending

Way = Callable[[Path, Path], None]
"""Sends the planted secrets to the store at a path; a folder is there for files."""

RUN = "planted-run"


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


OPTIONS = [{"tool": "mail", "score": 0.9, "reason": PROSE}, {"tool": "call", "score": 0.1}]
TOLD = {
    "forkmap.decision.goal": PROSE,
    "forkmap.decision.options": text(OPTIONS),
    "forkmap.decision.chosen": "mail",
    "forkmap.decision.policy": "argmax_score",
    "session.id": RUN,
}
CALLED = {"gen_ai.tool.name": "mail", "gen_ai.tool.call.arguments": text(ARGUMENTS), "session.id": RUN}


def otlp() -> dict[str, Any]:
    """A decision and the call under it, as an export request."""
    document = copy.deepcopy(OTLP)
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.append(spans[0] | {"spanId": "aaaaaaaaaaaaaaaa", "parentSpanId": "eee19b7ec3c1b174"})
    for span, attributes in zip(spans, (TOLD, CALLED), strict=True):
        span["attributes"] = [
            {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
        ]
    return document


def events() -> bytes:
    """The same as events of a decision trace."""
    ts = "2026-09-13T02:11:04Z"
    decision = {
        "type": "decision",
        "span_id": "d",
        "parent_id": RUN,
        "ts": ts,
        "goal": PROSE,
        "options": OPTIONS,
    }
    call = {
        "type": "tool_call",
        "span_id": "c",
        "parent_id": "d",
        "ts": ts,
        "tool": "mail",
        "args": ARGUMENTS,
    }
    chosen = {"chosen": "mail", "policy": "argmax_score", "margin": 0.8}
    return "\n".join(map(text, (decision | chosen, call))).encode()


def opened(path: Path) -> Store:
    """The store, made if there is none, with the redaction that is set."""
    return open_store(path, create=True, redaction=from_environment(os.environ).redaction)


def posted(path: str, content_type: str, body: bytes, coding: str = "identity") -> Way:
    def send(store_path: Path, folder: Path) -> None:
        with closing(opened(store_path)) as store:
            client = create_app(store).server.test_client()
            headers = {"Content-Encoding": coding, "Host": "127.0.0.1"}
            answer = client.post(path, data=body, content_type=content_type, headers=headers)
            assert answer.status_code == 200, answer.text

    return send


def by_grpc(store_path: Path, folder: Path) -> None:
    with closing(opened(store_path)) as store, sending(store) as send:
        send(message(otlp()))


def imported(name: str, content: bytes) -> Way:
    def send(store_path: Path, folder: Path) -> None:
        (folder / name).write_bytes(content)
        assert main(["import", str(folder / name), "--store", str(store_path)]) == 0

    return send


def tau() -> list[Any]:
    recorded = copy.deepcopy(TAU)
    recorded["traj"][2]["tool_calls"][0]["function"]["arguments"] = text(ARGUMENTS)
    return [recorded]


def tau2() -> Any:
    recorded = copy.deepcopy(TAU2)
    calls = [{"id": "c", "name": "mail", "arguments": ARGUMENTS, "requestor": "assistant"}]
    recorded["simulations"][0]["messages"][0]["tool_calls"] = calls
    return recorded


NDJSON, OTLP_JSON, PROTOBUF = "application/x-ndjson", "application/json", "application/x-protobuf"
DECIDED: dict[str, Way] = {
    "OTLP over HTTP, JSON": posted("/v1/traces", OTLP_JSON, text(otlp()).encode()),
    "OTLP over HTTP, protobuf": posted("/v1/traces", PROTOBUF, message(otlp())),
    "OTLP over HTTP, gzip": posted("/v1/traces", PROTOBUF, gzip.compress(message(otlp())), "gzip"),
    "OTLP over gRPC": by_grpc,
    "events over HTTP": posted("/api/v1/decisions", NDJSON, events()),
    "events over HTTP, gzip": posted("/api/v1/decisions", NDJSON, gzip.compress(events()), "gzip"),
    "import of events": imported("events.jsonl", events()),
    "import of OTLP, JSON": imported("spans.json", text(otlp()).encode()),
    "import of OTLP, protobuf": imported("spans.pb", message(otlp())),
}
CALLED_ONLY: dict[str, Way] = {
    "import of spans": imported(
        "spans.jsonl", text(FORKMAP_SPAN | {"attributes": CALLED | {"forkmap.kind": "tool"}}).encode()
    ),
    "import of tau-bench": imported("model-a-retail.json", text(tau()).encode()),
    "import of tau2-bench": imported("results.json", text(tau2()).encode()),
}


@pytest.fixture(params=["mask", "keep", "drop"])
def mode(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """How is redacted, as a file says that the environment names."""
    file = tmp_path / "redaction.toml"
    file.write_text(f'[default]\nmode = "{request.param}"\n[tenants.default]\nterms = ["{TERM}"]\n')
    monkeypatch.setenv("FORKMAP_REDACTION", str(file))
    return str(request.param)


def kept(path: Path) -> bytes:
    """Every byte of a store's files, once its log is in it."""
    with closing(open_store(path)) as store:
        store.agents("default", ALL_TIME, 0)  # Settles, so that runs, paths and names are there too.
        assert store.cut_log()
        return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("way", [*DECIDED, *CALLED_ONLY])
def test_secrets_are_in_no_byte_of_the_store_unless_all_is_kept(way: str, mode: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    (DECIDED | CALLED_ONLY)[way](path, tmp_path)
    data = kept(path)
    assert {each for each in PLANTED if holds(data, each)} == (PLANTED if mode == "keep" else frozenset())
    assert holds(data, "gen_ai.tool.") or holds(data, "forkmap.name")


def trace(path: Path, way: Way, run: str = RUN) -> Trace:
    """The decisions of the run that came this way."""
    way(path, path.parent)
    with closing(open_store(path)) as store:
        found = read(run, store.spans("default", run))
    assert found is not None
    return found


@pytest.mark.parametrize("mode", ["mask"], indirect=True)
def test_runs_of_equal_secrets_are_identical_whichever_way_they_came(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    one, other = (trace(path, DECIDED[way]) for way in ("OTLP over gRPC", "import of OTLP, JSON"))
    assert "[secret " in one.choices[0].goal and "[term " in str(one.choices[0].options)
    assert compare(one, other).diagnosis is Diagnosis.IDENTICAL


@pytest.mark.parametrize("mode", ["mask"], indirect=True)
def test_arguments_that_differ_in_a_secret_only_still_differ(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    changed = events().replace(PASSWORD.encode(), b"another").replace(RUN.encode(), b"other-run")
    one = trace(path, posted("/api/v1/decisions", NDJSON, events()))
    other = trace(path, posted("/api/v1/decisions", NDJSON, changed), "other-run")
    assert compare(one, other).diagnosis is Diagnosis.ARGUMENTS
