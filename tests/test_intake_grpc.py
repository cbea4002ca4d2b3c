"""Spans sent over gRPC: the same requests, limits and answers as over HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from dashboard.api.otlp_grpc import WAITING, failure, listening
from dashboard.app import create_app
from dashboard.auth.checking import UNREADABLE, KeyCheck
from dashboard.auth.failures import LIMIT, WINDOW_S
from dashboard.auth.senders import Senders
from engine.errors import ForkmapError, StoreError
from engine.ingest.limits import LIMITS, Limits
from engine.keys import DEFAULT_TENANT, Role, mint
from engine.store import Store
from engine.store.sqlite import open_store
from tests.memory_store import MemoryStore
from tests.test_ingest_otlp import EXPECTED, message
from tests.test_intake import BusyStore, SlowStore, partial, two_spans

Send = Callable[..., bytes]
"""Send bytes to a service; the bytes of its answer."""


@contextmanager
def sending(store: Store, limits: Limits = LIMITS, keys: KeyCheck | None = None) -> Iterator[Send]:
    """A server over a store, and a connection to it."""
    senders = Senders(keys or KeyCheck(store))
    with (
        listening("127.0.0.1:0", store, senders.known, limits) as port,
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):

        def send(
            body: bytes,
            service: str = "trace.v1.TraceService",
            key: str = "",
            header: str = "authorization",
            compression: grpc.Compression = grpc.Compression.NoCompression,
        ) -> bytes:
            call: Any = channel.unary_unary(f"/opentelemetry.proto.collector.{service}/Export")
            metadata = ((header, key),) if key else ()
            answer: bytes = call(body, timeout=30, metadata=metadata, compression=compression)
            return answer

        yield send


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "forkmap.sqlite", create=True)
    yield opened
    opened.close()


def refusal(send: Callable[[], bytes]) -> tuple[grpc.StatusCode, str, Status]:
    """How a call fails: its code and sentence, and the status that says so in full."""
    with pytest.raises(grpc.RpcError) as raised:
        send()
    error: Any = raised.value
    details = dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
    return error.code(), error.details(), Status.FromString(details)


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_request_is_kept(store: Store, compression: grpc.Compression) -> None:
    with sending(store) as send:
        assert send(message(), compression=compression) == b""
    assert store.spans(DEFAULT_TENANT, EXPECTED.trace_id) == [EXPECTED]


def test_a_span_that_cannot_be_kept_is_named_and_the_others_are_kept(store: Store) -> None:
    with sending(store) as send:
        answer = ExportTraceServiceResponse.FromString(send(message(two_spans(traceId=""))))
    reason = "span 2 of scope demo.instrumentation: trace_id is missing"
    assert answer == partial(1, f"1 span was refused ({reason})")
    assert store.spans(DEFAULT_TENANT, EXPECTED.trace_id) == [EXPECTED]


def test_what_cannot_be_read_is_refused_with_a_reason(store: Store) -> None:
    said = "not protobuf: a length that does not end"
    with sending(store) as send:
        assert refusal(lambda: send(b"\xff" * 20)) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            said,
            Status(code=grpc.StatusCode.INVALID_ARGUMENT.value[0], message=said),
        )


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_body_may_be_as_long_as_the_limit_and_no_longer(
    store: Store, compression: grpc.Compression
) -> None:
    body = message()
    with sending(store, Limits(len(body))) as send:
        assert send(body, compression=compression) == b""
    with sending(store, Limits(len(body) - 1)) as send:
        code, *_ = refusal(lambda: send(body, compression=compression))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_store_that_cannot_take_them_sends_them_back_for_a_while() -> None:
    with sending(BusyStore()) as send:
        code, said, status = refusal(lambda: send(message()))
    assert (code, said) == (grpc.StatusCode.UNAVAILABLE, "forkmap.sqlite is busy")
    retry = RetryInfo()
    assert status.details[0].Unpack(retry)
    assert retry.retry_delay.seconds == 5


def test_a_key_says_whose_spans_they_are(store: Store) -> None:
    key, text = mint("acme", Role.INGEST, "", 0)
    store.add_key(key)
    with sending(store) as send:
        assert send(message(), key=f"Bearer {text}") == b""
        assert send(message(), key=text, header="x-api-key") == b""
        code, said, _ = refusal(lambda: send(message()))
    assert code == grpc.StatusCode.UNAUTHENTICATED
    assert "needs a key" in said
    assert store.spans("acme", EXPECTED.trace_id) == [EXPECTED]


SERVICES = ["trace.v1.TraceService", "metrics.v1.MetricsService", "logs.v1.LogsService"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_key_for_reading_sends_nothing(store: Store, service: str) -> None:
    key, text = mint("acme", Role.READ, "", 0)
    store.add_key(key)
    with sending(store) as send:
        code, said, _ = refusal(lambda: send(message(), service, key=f"Bearer {text}"))
        assert refusal(lambda: send(message(), service))[0] == grpc.StatusCode.UNAUTHENTICATED
    assert code == grpc.StatusCode.PERMISSION_DENIED
    assert said == "Sending takes a key of the role ingest; this one's is read."


def test_after_many_wrong_keys_none_is_looked_at_over_either_protocol(store: Store) -> None:
    key, text = mint("acme", Role.INGEST, "", 0)
    store.add_key(key)
    wrong = text[:-1] + ("b" if text.endswith("a") else "a")
    keys = KeyCheck(store)
    client = create_app(store, keys=keys).server.test_client()
    with sending(store, keys=keys) as send:
        for _ in range(LIMIT):
            refusal(lambda: send(message(), key=f"Bearer {wrong}"))
        code, said, status = refusal(lambda: send(message(), key=f"Bearer {text}"))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert said.startswith("Too many wrong keys came from this address")
    retry = RetryInfo()
    assert status.details[0].Unpack(retry)
    assert 0 < retry.retry_delay.seconds <= WINDOW_S
    assert client.post("/v1/traces", headers={"X-API-Key": text}).status_code == 429


class BrokenStore(MemoryStore):
    def has_keys(self) -> bool:
        raise StoreError("/home/ann/forkmap.sqlite cannot be read")


def test_who_cannot_be_known_is_sent_back_for_a_while_and_told_no_path() -> None:
    with sending(BrokenStore()) as send:
        code, said, _ = refusal(lambda: send(message()))
    assert (code, said) == (grpc.StatusCode.UNAVAILABLE, UNREADABLE)


def test_what_has_no_code_of_its_own_is_a_fault_of_the_server() -> None:
    assert failure(ForkmapError("odd")) == Status(code=grpc.StatusCode.INTERNAL.value[0], message="odd")


def test_no_more_requests_wait_than_there_are_places_for() -> None:
    store = SlowStore()
    with (
        listening("127.0.0.1:0", store, Senders(KeyCheck(store)).known) as port,
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        call: Any = channel.unary_unary(f"/opentelemetry.proto.collector.{SERVICES[0]}/Export")
        waiting = [call.future(message(), timeout=30) for _ in range(WAITING)]
        assert code_of(lambda: call(message(), timeout=30)) == grpc.StatusCode.RESOURCE_EXHAUSTED
        store.may.set()
        assert {code_of(each.result) for each in waiting} == {grpc.StatusCode.OK}


@pytest.mark.parametrize(
    ("service", "kind"),
    [
        ("metrics.v1.MetricsService", ExportMetricsServiceResponse),
        ("logs.v1.LogsService", ExportLogsServiceResponse),
    ],
)
def test_metrics_and_logs_are_answered_as_taken(store: Store, service: str, kind: type[Message]) -> None:
    with sending(store) as send:
        assert kind.FromString(send(b"whatever", service)) == kind()


def test_an_address_that_is_taken_is_said_so(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = f"gRPC cannot listen at {address}: it is taken or may not be used"
        with (
            pytest.raises(ForkmapError, match=said),
            listening(address, store, Senders(KeyCheck(store)).known),
        ):
            pass


WITHOUT_GRPC = "import sys; sys.modules['grpc'] = None; from dashboard.cli import main; sys.exit(main())"


def test_without_the_package_serve_says_what_is_missing(tmp_path: Path) -> None:
    flags = ["--store", str(tmp_path / "forkmap.sqlite"), "--port", "0", "--grpc", "0"]
    command = [sys.executable, "-c", WITHOUT_GRPC, "serve", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "forkmap: --grpc needs gRPC: pip install 'forkmap[grpc]'\n",
    )


def code_of(send: Callable[[], bytes]) -> Any:
    try:
        ExportTraceServiceResponse.FromString(send())
    except grpc.RpcError as failed:
        error: Any = failed
        return error.code()
    return grpc.StatusCode.OK


def test_arbitrary_bytes_are_answered(store: Store) -> None:
    with sending(store) as send:

        @settings(max_examples=100)
        @given(body=st.binary(max_size=100))
        def check(body: bytes) -> None:
            code = code_of(lambda: send(body))
            assert code in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)

        check()
