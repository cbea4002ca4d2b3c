"""Spans sent over HTTP: what is answered, what is kept, and what a request may not bring."""

from __future__ import annotations

import copy
import gzip
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from google.protobuf.json_format import Parse
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.status_pb2 import Status
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import structs
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)
from werkzeug.test import TestResponse

from dashboard.api.intake import AT_ONCE
from dashboard.app import Settings, create_app
from engine.errors import BusyStoreError
from engine.ingest.limits import LIMITS, Limits
from engine.keys import DEFAULT_TENANT, Role, mint
from engine.spans import Event, Span
from engine.store import Appended, Store
from engine.store.sqlite import open_store
from tests.memory_store import MemoryStore
from tests.recordings import OTLP
from tests.running import running
from tests.test_ingest_fuzz import damaged, values
from tests.test_ingest_otlp import EXPECTED, message, request

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
CODINGS: Mapping[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "gzip of two members": lambda body: gzip.compress(body[:100]) + gzip.compress(body[100:]),
    "deflate": zlib.compress,
    "deflate without a header": lambda body: zlib.compress(body, wbits=-15),
}


def body_of(document: dict[str, Any], content_type: str) -> bytes:
    return message(document) if content_type == PROTOBUF else json.dumps(document).encode()


def two_spans(**changes: Any) -> dict[str, Any]:
    """The recording, and after its span another that differs from it."""
    document = copy.deepcopy(OTLP)
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.append(copy.deepcopy(spans[0]) | changes)
    return document


def client_of(store: Store, limits: Limits = LIMITS) -> FlaskClient:
    client: FlaskClient = create_app(store, Settings(limits=limits)).server.test_client()
    return client


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "forkmap.sqlite", create=True)
    yield opened
    opened.close()


def post(
    client: FlaskClient, body: bytes, content_type: str = JSON, path: str = "/v1/traces", **headers: str
) -> TestResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(path, data=body, content_type=content_type, headers=named)


def read_as(response: TestResponse, kind: type[Message]) -> Message:
    """The message that an answer is."""
    if response.content_type == PROTOBUF:
        return kind.FromString(response.data)
    assert response.content_type == JSON
    return Parse(response.data, kind())


def kept(store: Store) -> list[Span]:
    return store.spans(DEFAULT_TENANT, EXPECTED.trace_id)


def partial(rejected: int, reason: str) -> ExportTraceServiceResponse:
    return ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=rejected, error_message=reason)
    )


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("content_type", [JSON, PROTOBUF])
def test_a_request_is_kept_and_answered_in_its_own_encoding(
    store: Store, content_type: str, coding: str
) -> None:
    body = CODINGS[coding](body_of(OTLP, content_type))
    answer = post(client_of(store), body, content_type, Content_Encoding=coding.split()[0])
    assert answer.status_code == 200
    assert read_as(answer, ExportTraceServiceResponse) == ExportTraceServiceResponse()
    assert kept(store) == [EXPECTED]


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", "Application/JSON;charset=UTF-8", "application/json ;"],
)
def test_a_content_type_may_have_parameters(store: Store, content_type: str) -> None:
    assert post(client_of(store), body_of(OTLP, JSON), content_type).status_code == 200
    assert kept(store) == [EXPECTED]


def test_the_same_batch_again_changes_nothing(store: Store) -> None:
    client = client_of(store)
    for _ in range(2):
        assert post(client, body_of(OTLP, PROTOBUF), PROTOBUF).status_code == 200
    assert kept(store) == [EXPECTED]


@pytest.mark.parametrize(("content_type", "body"), [(JSON, b"{}"), (PROTOBUF, b"")])
def test_a_request_of_nothing_is_taken(store: Store, content_type: str, body: bytes) -> None:
    answer = post(client_of(store), body, content_type)
    assert (answer.status_code, read_as(answer, ExportTraceServiceResponse)) == (
        200,
        ExportTraceServiceResponse(),
    )


@pytest.mark.parametrize(
    ("content_type", "reason"),
    [
        (JSON, "span 2: traceId is missing"),
        (PROTOBUF, "span 2 of scope demo.instrumentation: trace_id is missing"),
    ],
)
def test_a_span_that_cannot_be_kept_is_named_and_the_others_are_kept(
    store: Store, content_type: str, reason: str
) -> None:
    answer = post(client_of(store), body_of(two_spans(traceId=""), content_type), content_type)
    assert answer.status_code == 200
    assert read_as(answer, ExportTraceServiceResponse) == partial(1, f"1 span was refused ({reason})")
    assert kept(store) == [EXPECTED]


def test_a_protobuf_span_that_does_not_parse_costs_itself(store: Store) -> None:
    body = message(two_spans(name="broken")).replace(b"broken", b"\xff\xfe\xfd\xfc\xfb\xfa")
    answer = post(client_of(store), body, PROTOBUF)
    assert read_as(answer, ExportTraceServiceResponse) == partial(
        1, "1 span was refused (span 2 of scope demo.instrumentation: it does not parse)"
    )
    assert kept(store) == [EXPECTED]


def test_a_value_that_is_left_out_of_a_kept_span_is_a_warning(store: Store) -> None:
    attributes = [{"key": "session.outcome", "value": {"stringValue": "fine"}}]
    answer = post(client_of(store), body_of(request(attributes=attributes, status=None), JSON))
    assert read_as(answer, ExportTraceServiceResponse) == partial(
        0,
        "every span was kept, but not all of it (span eee19b7ec3c1b174: session.outcome 'fine' is left out:"
        " allowed are success, failure, abandoned (or succeeded, ok, failed, error, cancelled))",
    )
    (span,) = kept(store)
    assert span.attributes == {}


def test_many_refusals_are_counted_and_the_first_named(store: Store) -> None:
    document = copy.deepcopy(OTLP)
    document["resourceSpans"][0]["scopeSpans"][0]["spans"] = [{}] * 9
    answer = post(client_of(store), body_of(document, JSON))
    named = "; ".join(f"span {number}: traceId is missing" for number in range(1, 6))
    assert read_as(answer, ExportTraceServiceResponse) == partial(
        9, f"9 spans were refused ({named}; and 4 more)"
    )


@pytest.mark.parametrize("content_type", [JSON, PROTOBUF])
def test_a_request_may_hold_as_many_spans_as_the_limit_and_no_more(store: Store, content_type: str) -> None:
    body = body_of(two_spans(spanId="0a" * 8), content_type)
    answer = post(client_of(store, LIMITS._replace(max_spans=1)), body, content_type)
    assert (answer.status_code, read_as(answer, Status)) == (
        413,
        Status(code=Code.RESOURCE_EXHAUSTED, message="the request holds more than 1 spans"),
    )
    answer = post(client_of(store, LIMITS._replace(max_spans=2)), body, content_type)
    assert (answer.status_code, len(kept(store))) == (200, 2)


@pytest.mark.parametrize(
    ("content_type", "where"), [(JSON, "span 1"), (PROTOBUF, "span 1 of scope demo.instrumentation")]
)
def test_attributes_and_events_beyond_the_limit_are_left_out(
    store: Store, content_type: str, where: str
) -> None:
    body = body_of(request(events=[{"name": f"event {number}"} for number in range(5)]), content_type)
    answer = post(client_of(store, LIMITS._replace(max_attributes=2)), body, content_type)
    assert read_as(answer, ExportTraceServiceResponse) == partial(
        0,
        "every span was kept, but not all of it"
        f" ({where}: 2 attributes beyond the first 2 are left out;"
        f" {where}: 3 events beyond the first 2 are left out)",
    )
    (span,) = kept(store)
    assert span == structs.replace(
        EXPECTED,
        attributes={"gen_ai.tool.name": "search", "tries": 2, "otel.status_description": "timed out"},
        events=(Event("event 0"), Event("event 1")),
    )


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_may_be_as_long_as_the_limit_and_no_longer(store: Store, coding: str) -> None:
    plain = body_of(OTLP, JSON)
    headers = {"Content_Encoding": coding.split()[0]}
    fits, long = client_of(store, Limits(len(plain))), client_of(store, Limits(len(plain) - 1))
    body = CODINGS[coding](plain)
    answer = post(long, body, JSON, **headers)
    assert (answer.status_code, read_as(answer, Status)) == (
        413,
        Status(code=Code.RESOURCE_EXHAUSTED, message=f"the body holds more than {len(plain) - 1} bytes"),
    )
    assert post(fits, body, JSON, **headers).status_code == 200


BOMB = gzip.compress(bytes(64 << 20))
EMPTY_PARTS = gzip.compress(b"\x0a\x00" * 8_000_000)
"""Eight million resources without a span, in 16 kB."""
SCOPES = b"\x0a\xc0\x9a\x0c" + b"\x12\x00" * 100_000
"""A resource of 100,000 empty scopes."""
MOST = LIMITS.max_containers
"""Objects and lists that a request may hold."""


def holding(part: bytes, times: int) -> bytes:
    """Resource spans in JSON that hold a part again and again, compressed."""
    return gzip.compress(b'{"resourceSpans": [' + b",".join([part] * times) + b"]}")


REFUSED: Sequence[tuple[str, str, bytes, int, str]] = [
    (PROTOBUF, "identity", b"\xff" * 20, 400, "not protobuf: a length that does not end"),
    (PROTOBUF, "identity", message()[:-3], 400, "not protobuf: a field that is longer than its message"),
    (JSON, "identity", b'{"resourceSpans": [', 400, "not JSON: Expecting value at character 20"),
    (JSON, "identity", b"[]", 400, "an object of spans was expected"),
    (JSON, "identity", b'{"a": 1}', 400, "no resourceSpans in this object"),
    (JSON, "identity", b'{"resourceSpans": 1}', 400, "resourceSpans is not a list"),
    (JSON, "gzip", b"{}", 400, "the compressed body is damaged"),
    (PROTOBUF, "gzip", gzip.compress(message())[:-9], 400, "the compressed body is cut off"),
    (PROTOBUF, "deflate", zlib.compress(b"") + b"more", 400, "something follows the compressed body"),
    (PROTOBUF, "gzip", BOMB, 413, "the body holds more than 16777216 bytes"),
    (PROTOBUF, "gzip", gzip.compress(b"") * 101, 400, "something follows the compressed body"),
    (PROTOBUF, "gzip", EMPTY_PARTS, 413, "the request has more than 500100 parts"),
    (PROTOBUF, "gzip", gzip.compress(SCOPES * 6), 413, "the request has more than 500100 parts"),
    (JSON, "gzip", holding(b"{}", 100_001), 413, "the request holds more than 100000 resourceSpans"),
    (
        JSON,
        "gzip",
        holding(b'{"scopeSpans": [' + b"{}," * 100_000 + b"{}]}", 1),
        413,
        "the request holds more than 100000 scopeSpans",
    ),
    (JSON, "gzip", holding(b"{}", MOST), 413, f"the request holds more than {MOST} objects and lists"),
    (JSON, "gzip", holding(b"[]", MOST), 413, f"the request holds more than {MOST} objects and lists"),
    (JSON, "gzip", gzip.compress(b"[" * 1_000_000), 400, "nested too deeply"),
    (JSON, "br", b"{}", 415, "the content encoding 'br' is none of identity, gzip, deflate"),
]


@pytest.mark.parametrize(("content_type", "coding", "body", "status", "reason"), REFUSED)
def test_what_cannot_be_taken_is_refused_with_a_reason(
    store: Store, content_type: str, coding: str, body: bytes, status: int, reason: str
) -> None:
    answer = post(client_of(store), body, content_type, Content_Encoding=coding)
    code = Code.RESOURCE_EXHAUSTED if status == 413 else Code.INVALID_ARGUMENT
    assert (answer.status_code, answer.content_type) == (status, content_type)
    assert read_as(answer, Status) == Status(code=code, message=reason)


@pytest.mark.parametrize("content_type", ["text/plain", "application/grpc", ""])
def test_another_content_type_is_refused_in_json(store: Store, content_type: str) -> None:
    answer = post(client_of(store), b"{}", content_type)
    said = f"{content_type or 'nothing'} is none of application/x-protobuf, application/json"
    assert answer.status_code == 415
    assert read_as(answer, Status) == Status(code=Code.INVALID_ARGUMENT, message=said)


class BusyStore(MemoryStore):
    """A store that others write to for too long."""

    def append(self, tenant: str, spans: Sequence[Span]) -> Appended:
        raise BusyStoreError("forkmap.sqlite is busy")


@pytest.mark.parametrize("content_type", [JSON, PROTOBUF])
def test_a_store_that_cannot_take_them_sends_them_back_for_a_while(content_type: str) -> None:
    answer = post(client_of(BusyStore()), body_of(OTLP, content_type), content_type)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert read_as(answer, Status) == Status(code=Code.UNAVAILABLE, message="forkmap.sqlite is busy")


class SlowStore(MemoryStore):
    """A store that takes spans once it may; it counts those who wait."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)
        self.may = threading.Event()

    def append(self, tenant: str, spans: Sequence[Span]) -> Appended:
        self.begun.release()
        assert self.may.wait(30)
        return Appended(len(spans))


def test_more_requests_at_once_than_there_are_places_are_sent_back() -> None:
    store = SlowStore()
    client = client_of(store)
    answers: list[int] = []
    senders = [
        threading.Thread(target=lambda: answers.append(post(client, message(), PROTOBUF).status_code))
        for _ in range(AT_ONCE)
    ]
    for sender in senders:
        sender.start()
    assert all(store.begun.acquire(timeout=30) for _ in senders)
    answer = post(client, message(), PROTOBUF)
    store.may.set()
    for sender in senders:
        sender.join()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answers == [200] * AT_ONCE
    assert post(client, message(), PROTOBUF).status_code == 200


@pytest.mark.parametrize("content_type", [JSON, PROTOBUF])
def test_where_keys_are_needed_a_request_without_one_is_refused_in_its_own_encoding(
    store: Store, content_type: str
) -> None:
    key, text = mint("acme", Role.INGEST, "", 0)
    store.add_key(key)
    client, body = client_of(store), body_of(OTLP, content_type)
    answer = post(client, body, content_type)
    assert (answer.status_code, "WWW-Authenticate" in answer.headers) == (401, True)
    assert isinstance(status := read_as(answer, Status), Status)
    assert status.code == Code.UNAUTHENTICATED
    assert post(client, body, content_type, Authorization=f"Bearer {text}").status_code == 200
    assert store.spans("acme", EXPECTED.trace_id) == [EXPECTED]


@pytest.mark.parametrize("content_type", [JSON, PROTOBUF])
@pytest.mark.parametrize(
    ("path", "kind"), [("/v1/metrics", ExportMetricsServiceResponse), ("/v1/logs", ExportLogsServiceResponse)]
)
def test_metrics_and_logs_are_answered_as_taken(
    store: Store, path: str, kind: type[Message], content_type: str
) -> None:
    answer = post(client_of(store), b"whatever", content_type, path)
    assert (answer.status_code, read_as(answer, kind)) == (200, kind())


# --- over a real connection ---


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    """The address of a server that takes bodies of 2,000,000 bytes, and its store."""
    path = tmp_path_factory.mktemp("served") / "forkmap.sqlite"
    opened = open_store(path, create=True)
    with running(path, FORKMAP_MAX_BODY_BYTES="2000000") as (address,):
        yield address, opened
    opened.close()


@pytest.fixture
def connection(served: tuple[str, Store]) -> Iterator[socket.socket]:
    host, _, port = served[0].partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as opened:
        yield opened


HEAD = "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode()


def test_a_chunked_body_has_no_length_and_is_read(
    served: tuple[str, Store], connection: socket.socket
) -> None:
    body = body_of(OTLP, JSON)
    pieces = [body[start : start + 100] for start in range(0, len(body), 100)]
    connection.sendall(CHUNKED)
    for piece in [*pieces, b""]:
        connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
    assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK")
    assert kept(served[1]) == [EXPECTED]


def test_a_chunked_body_without_an_end_is_cut_at_the_limit(connection: socket.socket) -> None:
    connection.sendall(CHUNKED)
    for _ in range(20):
        connection.sendall(b"%x\r\n%b\r\n" % (100_000, b" " * 100_000))
    connection.sendall(b"2\r\n")
    assert connection.recv(1000).startswith(b"HTTP/1.1 413 Request Entity Too Large")


# --- whatever is sent ---


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bytes, str, str], int]]:
    """Send a body; the answer, whatever it is, is one that an exporter understands."""
    store = open_store(tmp_path_factory.mktemp("fuzz") / "forkmap.sqlite", create=True)
    client = client_of(store, Limits(100_000, 20, 20))

    def send(body: bytes, content_type: str, coding: str) -> int:
        answer = post(client, body, content_type, Content_Encoding=coding)
        expected = ExportTraceServiceResponse if answer.status_code == 200 else Status
        assert answer.content_type == content_type
        assert read_as(answer, expected)
        return answer.status_code

    yield send
    store.close()


thorough = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
content_types = st.sampled_from((JSON, PROTOBUF))
codings = st.sampled_from(("identity", "gzip", "deflate"))


@thorough
@given(body=st.binary(max_size=300), content_type=content_types, coding=codings)
@example(body=b"[" * 90_000, content_type=JSON, coding="identity")
@example(body=b"\x0a\x04\x12\x02\x12\x00" * 15_000, content_type=PROTOBUF, coding="identity")
@example(body=b"\x0a\x00" * 40_000, content_type=PROTOBUF, coding="identity")
def test_arbitrary_bytes_are_answered(
    sent: Callable[[bytes, str, str], int], body: bytes, content_type: str, coding: str
) -> None:
    assert sent(body, content_type, coding) in (200, 400, 413)


@thorough
@given(document=values)
def test_arbitrary_json_is_answered(sent: Callable[[bytes, str, str], int], document: Any) -> None:
    assert sent(json.dumps(document).encode(), JSON, "identity") in (200, 400)


@thorough
@given(line=damaged(OTLP))
def test_a_damaged_json_request_is_answered(sent: Callable[[bytes, str, str], int], line: str) -> None:
    assert sent(line.encode(errors="surrogatepass"), JSON, "identity") in (200, 400)


@thorough
@given(data=st.data())
def test_a_damaged_protobuf_request_is_answered(
    sent: Callable[[bytes, str, str], int], data: st.DataObject
) -> None:
    body = bytearray(message())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    assert sent(bytes(body), PROTOBUF, "identity") in (200, 400)


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/metrics", "/v1/logs"])
def test_an_address_that_spans_are_sent_to_is_no_page(store: Store, path: str) -> None:
    answer = client_of(store).get(path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert answer.json == {"code": 12, "message": "Spans are sent here with POST."}
