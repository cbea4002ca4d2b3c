"""Schemathesis over the whole description of the API, against a real server: it keeps what it promises.

A dictionary of ids that exist leads most requests past 404; the rest is as wild as the schemas allow, and
wilder. What was really asked is counted, operation by operation.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.schemas import BaseSchema

from dashboard import api
from dashboard.api import openapi
from dashboard.api.asking import Windowed
from dashboard.api.operations import NoQuery
from engine.declaring import BY_API, signed
from engine.keys import Role, mint
from engine.runs import Declaration, Outcome
from engine.store.sqlite import open_store
from tests.exporting import get
from tests.servers import Server
from tests.test_tenants import NOW, plant

CASES = 10
"""Requests of each kind that are made up for an operation."""
RUNS = ["run-1", "run-later", "run-of-planted-ours"]
KNOWN: Mapping[str, list[str]] = {"path.run_id": RUNS, "body.run_id": RUNS, "query.agent": ["desk"]}
"""What stands for a parameter more often than not."""
UNCHECKED = {
    "allow_header_conformance": "a run's id may hold slashes: GET /runs/a/outcome reads the run a/outcome",
    "ignored_auth": "wrong keys are soon answered with 429; that none is let in is tested elsewhere",
}
UNSAID = {
    "put_outcome": "no run ended before 1970 or after 2262",
    "put_rules": "an expression follows a grammar",
    "try_rules": "an expression follows a grammar",
    "post_marker": "nothing was deployed before 1970 or after 2262, or has a blank name",
    "create_erasure": "no run ended before 1970 or after 2262",
    "put_policies": "no two policies have one name, and 30.0 is no count",
    "put_policy": "the name of a policy is a name, and 30.0 is no count",
} | {
    each.name: "no window ends before it begins"
    for each in api.OPERATIONS
    if issubclass(each.query, Windowed)
}
"""Why these refuse what their schemas allow."""


LENIENT = {"post_decisions": "a line that is no event costs itself only, and is named in the answer"}
"""Why these take what their schemas do not allow."""


@pytest.fixture
def key(tmp_path: Path) -> str:
    """A key of a tenant in a new store; it has said how every run ended, and so may take that back."""
    store = open_store(tmp_path / "s.sqlite", create=True)
    plant(store, "ours")
    made, text = mint("ours", Role.ADMIN, "", NOW)
    store.add_key(made)
    by = signed(BY_API, made.caller.name)
    store.declare("ours", [Declaration(run_id, Outcome.SUCCESS, NOW, by) for run_id in RUNS])
    store.close()
    return text


@pytest.fixture
def server(tmp_path: Path, key: str) -> Iterator[Server]:
    running = Server(tmp_path / "s.sqlite")
    yield running
    running.stop()


def configuration(server: Server, key: str) -> SchemathesisConfig:
    bound = {name: {"dictionary": name.partition(".")[2], "probability": 0.6} for name in KNOWN}
    return SchemathesisConfig.from_dict(
        {
            "base-url": f"http://{server.address}",
            "headers": {"Authorization": f"Bearer {key}"},
            "dictionaries": {name.partition(".")[2]: {"values": values} for name, values in KNOWN.items()},
            "parameters": bound,
            "generation": {"max-examples": CASES, "deterministic": True, "database": "none"},
            "checks": {name: {"enabled": False} for name in UNCHECKED},
            "operations": [
                {"include-operation-id": name, "checks": {check: {"enabled": False}}}
                for check, names in (
                    ("positive_data_acceptance", UNSAID),
                    ("negative_data_rejection", LENIENT),
                )
                for name in names
            ],
        }
    )


def run(schema: BaseSchema) -> tuple[dict[str, Counter[int]], list[str]]:
    """Run all phases over a schema: how each operation answered, how often, and what was broken."""
    answered: dict[str, Counter[int]] = defaultdict(Counter)
    broken = []
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            broken.append(str(event))
        if not isinstance(event, events.ScenarioFinished):
            continue
        for name, case in event.recorder.cases.items():
            asked, exchanged = case.value, event.recorder.interactions[name].response
            if exchanged is not None and asked.method == asked.operation.method.upper():
                answered[asked.operation.label][exchanged.status_code] += 1
            failed = [each for each in event.recorder.checks.get(name, []) if each.failure_info is not None]
            broken += [f"{each.name}: {asked.as_curl_command()}" for each in failed]
    return answered, broken


def test_every_operation_keeps_what_its_description_promises(server: Server, key: str) -> None:
    for path in ("maps", "calibration", "backtest"):
        while get(server.address, f"/api/v1/{path}?agent=desk", key).status == 202:
            pass
    described = json.loads(get(server.address, "/api/openapi.json").body)
    schema = schemathesis.openapi.from_dict(described, config=configuration(server, key))
    answered, broken = run(schema.exclude(path_regex="erasures"))
    last = run(schema.include(path_regex="erasures"))  # They leave little to ask for.
    answered, broken = answered | last[0], broken + last[1]
    assert "\n".join(broken) == ""
    assert {*answered} == {f"{each.method} {openapi.address(each.path)}" for each in api.OPERATIONS}
    for operation in api.OPERATIONS:
        statuses = answered[f"{operation.method} {openapi.address(operation.path)}"]
        assert statuses.keys() <= openapi.answers(operation).keys()
        assert any(status < 300 for status in statuses)
        if operation.body or operation.query is not NoQuery:
            assert statuses.total() >= CASES
