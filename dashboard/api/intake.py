"""OTLP over HTTP: ``POST /v1/traces``, and answers for the two signals that are not kept.

An answer is in the request's own encoding. 200 says that the spans are durable, all but those
that ``partial_success`` names; 400, 413 and 415 that sending the same again is of no use; 503
that it is, once ``Retry-After`` is over.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from threading import BoundedSemaphore

from flask import Flask, Response, request
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    MethodNotAllowed,
    RequestEntityTooLarge,
    ServiceUnavailable,
    UnsupportedMediaType,
)

from dashboard import urls
from dashboard.api.otlp import RETRY_AFTER_S, success, take
from dashboard.service import Service
from engine.errors import InputError, StoreError, TooLargeError
from engine.ingest.request import CODINGS, Encoding, decompress

AT_ONCE = 12
"""Requests of spans taken at once; more are sent back for a while, so that pages find a thread."""
_ENCODINGS: Mapping[str, Encoding] = {"application/x-protobuf": "protobuf", "application/json": "json"}
_MEDIA_TYPES: Mapping[Encoding, str] = {encoding: name for name, encoding in _ENCODINGS.items()}
_CODES: Mapping[int, int] = {
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    405: Code.UNIMPLEMENTED,
    413: Code.RESOURCE_EXHAUSTED,
    429: Code.RESOURCE_EXHAUSTED,
    500: Code.INTERNAL,
    503: Code.UNAVAILABLE,
}

_log = logging.getLogger(__name__)


def register(server: Flask, service: Service) -> None:
    """Add the routes.

    Metrics and logs are answered as taken, without a word: an exporter would send what is refused
    again, or write a line into its program's log at every warning. Nothing of them is kept.
    """
    places = BoundedSemaphore(AT_ONCE)

    def traces() -> Response:
        if not places.acquire(blocking=False):
            raise ServiceUnavailable("Too many requests of spans come at once.", retry_after=RETRY_AFTER_S)
        try:
            return _take(service)
        finally:
            places.release()

    def metrics() -> Response:
        return _answer(ExportMetricsServiceResponse(), 200)

    def logs() -> Response:
        return _answer(ExportLogsServiceResponse(), 200)

    def only_post() -> Response:
        raise MethodNotAllowed(["POST"], "Spans are sent here with POST.")

    for path, answer in ((urls.TRACES, traces), (urls.METRICS, metrics), (urls.LOGS, logs)):
        server.add_url_rule(path, path, answer, methods=["POST"])
        server.add_url_rule(path, f"{path} is sent to", only_post, methods=["GET"])


def _take(service: Service) -> Response:
    limits = service.limits
    try:
        body = received(_ENCODINGS, limits.max_body_bytes)
        encoding = _ENCODINGS[request.mimetype]
        batch = take(service.store, service.tenant, body, encoding, limits, service.meter)
        return _answer(success(batch), 200)
    except TooLargeError as error:
        raise RequestEntityTooLarge(str(error)) from error
    except InputError as error:
        raise BadRequest(str(error)) from error
    except StoreError as error:
        raise ServiceUnavailable(str(error), retry_after=RETRY_AFTER_S) from error


def received(media_types: Collection[str], max_bytes: int) -> bytes:
    """The body of the request that is answered, decompressed.

    Raises
    ------
    UnsupportedMediaType
        It is of another type, or compressed in another way.
    TooLargeError
        It holds more.
    InputError
        It is compressed and damaged.
    """
    coding = _coding()
    if request.mimetype not in media_types:
        raise UnsupportedMediaType(f"{request.mimetype or 'nothing'} is none of {', '.join(media_types)}")
    if coding not in CODINGS:
        raise UnsupportedMediaType(f"the content encoding {coding!r} is none of {', '.join(CODINGS)}")
    return decompress(_body(max_bytes), coding, max_bytes)


def _coding() -> str:
    return request.headers.get("Content-Encoding", "").strip().lower() or "identity"


def _body(max_bytes: int) -> bytes:
    request.max_content_length = max_bytes
    try:
        return request.get_data(cache=False)
    except RequestEntityTooLarge:
        raise TooLargeError(f"the body holds more than {max_bytes} bytes") from None


def refused(error: HTTPException) -> Response:
    """Why a request was not taken, as OTLP says so: with ``google.rpc.Status``."""
    status = error.code or 500
    _log.warning("spans were not taken: %s", error.description)
    code = _CODES.get(status, Code.INVALID_ARGUMENT)
    response = _answer(Status(code=code, message=error.description or ""), status)
    response.headers.extend(header for header in error.get_headers() if header[0] != "Content-Type")
    return response


def _answer(message: Message, status: int) -> Response:
    """A message in the request's own encoding, in JSON if that is neither."""
    encoding = _ENCODINGS.get(request.mimetype, "json")
    data = message.SerializeToString() if encoding == "protobuf" else MessageToJson(message, indent=None)
    return Response(data, status, content_type=_MEDIA_TYPES[encoding])
