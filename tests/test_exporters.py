"""OpenTelemetry's own exporters send to a running server, and their runs are in its store."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Status, StatusCode
from opentelemetry.util.types import AnyValue

from engine.keys import DEFAULT_TENANT
from engine.runs import Outcome, Run, Source
from engine.store import Store
from engine.store.sqlite import open_store
from tests.running import running

JAVASCRIPT = Path(__file__).parent / "js"
NODE = shutil.which("node")
CALL: dict[str, AnyValue] = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "tries": 2,
    "score": 0.5,
    "exact": True,
    "tags": ["a", "b"],
}


class Server(NamedTuple):
    """A server that runs: where spans go over HTTP and over gRPC, and the store they end in."""

    http: str
    grpc: str
    store: Store


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("server") / "forkmap.sqlite"
    store = open_store(path, create=True)
    with running(path, "--grpc", "0") as (grpc_address, http_address):
        yield Server(f"http://{http_address}", grpc_address, store)
    store.close()


def send_run(exporter: SpanExporter) -> str:
    """Record a run and send it; its trace id."""
    provider = TracerProvider(resource=Resource({"service.name": "desk"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("demo.instrumentation")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
    with tracer.start_as_current_span("invoke_agent desk", attributes=agent) as run:
        with tracer.start_as_current_span("execute_tool search", attributes=CALL) as call:
            call.add_event("exception", {"exception.type": "Timeout"})
            call.set_status(Status(StatusCode.ERROR, "timed out"))
        run.set_attribute("session.outcome", "failure")
    assert provider.force_flush()
    provider.shutdown()
    return f"{run.get_span_context().trace_id:032x}"


def check(store: Store, trace_id: str) -> None:
    """The run is there as it was recorded."""
    run = store.run(DEFAULT_TENANT, trace_id)
    assert seen(run) == ("desk", ["tool:search"], Outcome.FAILURE, Source.DECLARED)
    call, root = sorted(store.spans(DEFAULT_TENANT, trace_id), key=lambda span: span.parent_id is None)
    assert call.parent_id == root.span_id
    assert call.attributes == CALL | {"otel.status_description": "timed out"}
    assert call.resource["service.name"] == "desk"
    assert [(event.name, event.attributes) for event in call.events] == [
        ("exception", {"exception.type": "Timeout"})
    ]


def seen(run: Run) -> tuple[str, list[str], Outcome, Source]:
    return run.agent, [step.signature for step in run.steps], run.outcome, run.source


@pytest.mark.parametrize("compression", Compression)
def test_the_python_exporter_over_http(server: Server, compression: Compression) -> None:
    exporter = HttpExporter(endpoint=f"{server.http}/v1/traces", compression=compression)
    check(server.store, send_run(exporter))


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_the_python_exporter_over_grpc(server: Server, compression: grpc.Compression) -> None:
    exporter = GrpcExporter(endpoint=server.grpc, insecure=True, compression=compression)
    check(server.store, send_run(exporter))


@pytest.mark.skipif(
    not (NODE and (JAVASCRIPT / "node_modules").is_dir()),
    reason="node, or what .ci/javascript installs in tests/js, is missing",
)
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_the_javascript_exporter_over_http(server: Server, compression: str) -> None:
    assert NODE is not None
    command = [NODE, str(JAVASCRIPT / "export.js"), f"{server.http}/v1/traces", compression]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    check(server.store, done.stdout.strip())
