"""A bare exporter: spans as OTLP JSON, and a request that says what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPMessage
from typing import Any, NamedTuple

Document = dict[str, Any]


class Answer(NamedTuple):
    """What a server said."""

    status: int
    headers: HTTPMessage
    body: bytes


def span(trace: str, number: int, parent: int | None = None, **attributes: str) -> Document:
    """A tool call of a trace, by its number; ids are made of the names."""
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"tool_{number % 5}", **attributes}
    at_ns = 1_750_000_000_000_000_000 + number * 1_000_000
    return {
        "traceId": trace_id(trace),
        "spanId": f"{number + 1:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent + 1:016x}"}),
        "name": "call",
        "startTimeUnixNano": str(at_ns),
        "endTimeUnixNano": str(at_ns + 900_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in named.items()],
    }


def trace_id(trace: str) -> str:
    """A trace id that a short name stands for."""
    return trace.encode().hex().rjust(32, "0")


def body(spans: Iterable[Document]) -> bytes:
    """An export request."""
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def post(address: str, data: bytes, **headers: str) -> Answer:
    """Send an export request, as JSON unless told otherwise; an underscore in a header is a dash."""
    sent = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    return _ask(address, "POST", "/v1/traces", data, sent)


def get(address: str, path: str, key: str = "") -> Answer:
    """Ask for a path, showing a key if there is one."""
    return _ask(address, "GET", path, None, {"Authorization": f"Bearer {key}"} if key else {})


def _ask(address: str, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Answer:
    connection = HTTPConnection(address, timeout=60)
    try:
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()
