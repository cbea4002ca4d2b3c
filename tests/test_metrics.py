"""What Prometheus reads of a server, and what it is held to."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from dashboard.app import create_app
from dashboard.metrics import METRICS, Metrics
from dashboard.urls import TRACES
from engine.spans import Span
from engine.store import Store
from engine.store.sqlite import open_store
from tests.exporting import body, span

ROOT = Path(__file__).resolve().parents[1]
Numbers = dict[str, float]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "forkmap.sqlite", create=True)
    yield opened
    opened.close()


@pytest.fixture
def client(store: Store) -> FlaskClient:
    asking: FlaskClient = create_app(store).server.test_client()
    return asking


def numbers(text: str) -> Numbers:
    """Forkmap's samples by name and label, without the buckets."""
    families = text_string_to_metric_families(text)
    return {
        " ".join([sample.name.removeprefix("forkmap_"), *sample.labels.values()]): sample.value
        for sample in chain.from_iterable(family.samples for family in families)
        if sample.name.startswith("forkmap_") and not sample.name.endswith("_bucket")
    }


def test_counts_times_and_levels_are_told_as_prometheus_reads_them() -> None:
    metrics = Metrics()
    metrics.count("spans_accepted", 3)
    metrics.count("checks", label="stop")
    metrics.count("checks", 2, label="allow")
    metrics.time("build_seconds", 1.5)
    metrics.time("build_seconds", 2.5)
    metrics.level("guard_runs", 7)
    told = numbers(metrics.text().decode())
    assert {name: value for name, value in told.items() if value} == {
        "spans_accepted_total": 3,
        "checks_total allow": 2,
        "checks_total stop": 1,
        "build_seconds_count": 2,
        "build_seconds_sum": 4,
        "guard_runs": 7,
    }


def test_two_applications_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.count("spans_accepted")
    assert numbers(one.text().decode())["spans_accepted_total"] == 1
    assert numbers(other.text().decode())["spans_accepted_total"] == 0


def test_a_name_that_nobody_listed_is_an_error() -> None:
    with pytest.raises(KeyError):
        Metrics().count("never_heard_of")


def test_requests_and_their_spans_are_counted(client: FlaskClient) -> None:
    headers = {"Content-Type": "application/json"}
    sent = [body([span("a", 1), span("a", 2)]), b"no JSON"]
    assert [client.post(TRACES, data=data, headers=headers).status_code for data in sent] == [200, 400]
    asked = ("/api/v1/runs/x", "/healthz", "/metrics")
    assert [client.get(path).status_code for path in asked] == [404, 200, 200]
    told = numbers(client.get("/metrics").text)
    assert {name: value for name, value in told.items() if value and "_sum" not in name} == {
        "spans_accepted_total": 2,
        "append_seconds_count": 1,
        "requests_refused_total 400": 1,
        "requests_refused_total 404": 1,
        f"request_seconds_count POST {TRACES}": 2,
        "request_seconds_count GET /api/v1/runs/<run:run_id>": 1,
        "request_seconds_count GET /healthz": 1,
        "request_seconds_count GET /metrics": 1,
    }


def told_to_meters() -> set[tuple[str, str, bool]]:
    """Every name that the code tells a meter, what of it, and whether with a label."""
    files = chain((ROOT / "engine").rglob("*.py"), (ROOT / "dashboard").rglob("*.py"))
    nodes = chain.from_iterable(ast.walk(ast.parse(file.read_text())) for file in files)
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return {
        (name.value, told.attr, any(word.arg == "label" for word in call.keywords) or len(more) == 2)
        for call, told in ((call, call.func) for call in calls if isinstance(call.func, ast.Attribute))
        if re.search(r"\b_?meter$", ast.unparse(told.value)) and told.attr in ("count", "time", "level")
        for name, *more in [call.args]
        if isinstance(name, ast.Constant) and isinstance(name.value, str)
    }


def test_what_the_code_tells_a_meter_is_listed_as_it_is_told() -> None:
    verbs = {"counter": "count", "histogram": "time", "gauge": "level"}
    listed = {(name, verbs[metric.kind], bool(metric.label)) for name, metric in METRICS.items()}
    assert told_to_meters() <= listed


def test_every_metric_is_in_the_table() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    shown = re.findall(r"^\| `forkmap_(\w+)` \| (\w+) \| (\w*) ?\| (.+) \|$", page, re.M)
    assert shown == [
        (f"{name}_total" if metric.kind == "counter" else name, metric.kind, metric.label, metric.text)
        for name, metric in METRICS.items()
    ]


def test_a_copy_made_as_the_page_says_is_a_store(store: Store, tmp_path: Path) -> None:
    store.append("default", [Span("trace", "span", "step", 1, 2)])
    page = (ROOT / "docs" / "operations.md").read_text()
    said = re.search(r'^python (-c "import sqlite3.*)$', page, re.M)
    assert said is not None
    subprocess.run([sys.executable, *shlex.split(said[1])], cwd=tmp_path, check=True)
    copy = open_store(tmp_path / "copy.sqlite")
    assert copy.spans("default", "trace") == store.spans("default", "trace")
    copy.close()
