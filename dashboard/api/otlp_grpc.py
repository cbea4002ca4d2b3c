"""OTLP over gRPC, behind ``forkmap serve --grpc``: the same requests, limits and answers as over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import methodcaller

import grpc
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from dashboard.api import otlp
from dashboard.auth.checking import TooManyKeysError
from dashboard.auth.senders import RoleRefusedError
from engine.authentication import bearer
from engine.errors import ForkmapError, InputError, KeyRefusedError, StoreError, TooLargeError
from engine.ingest.limits import LIMITS, Limits
from engine.keys import Caller
from engine.metering import UNMETERED, Meter
from engine.store import Store

THREADS = 4
"""Requests taken at once; the others wait."""
WAITING = 500
"""Requests that are here at once; what comes beyond them is refused."""
GRACE_S = 5.0
"""How long a request that is being taken may go on when the server stops."""
_STATUS_DETAILS = "grpc-status-details-bin"
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

Who = Callable[[str, str], Caller]
"""From the key that is shown, "" if none, and the peer to who sends; a ForkmapError if nobody may."""


@contextmanager
def listening(
    address: str, store: Store, who: Who, limits: Limits = LIMITS, meter: Meter = UNMETERED
) -> Iterator[int]:
    """Take spans at an address as long as the block lasts, and end what is under way after it.

    Parameters
    ----------
    address : str
        Host and port; at port 0 the system chooses one.

    Yields
    ------
    int
        The port.

    Raises
    ------
    ForkmapError
        The address is taken or may not be used.
    """
    server = _server(store, who, limits, meter)
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise ForkmapError(f"gRPC cannot listen at {address}: it is taken or may not be used") from error
    server.start()
    try:
        yield port
    finally:
        server.stop(GRACE_S).wait()


def _server(store: Store, who: Who, limits: Limits, meter: Meter) -> grpc.Server:
    def traces(tenant: str, body: bytes) -> ExportTraceServiceResponse:
        return otlp.success(otlp.take(store, tenant, body, "protobuf", limits, meter))

    server = grpc.server(
        ThreadPoolExecutor(THREADS, thread_name_prefix="otlp-grpc"),
        options=[("grpc.max_receive_message_length", limits.max_body_bytes), ("grpc.so_reuseport", 0)],
        maximum_concurrent_rpcs=WAITING,
    )
    server.add_generic_rpc_handlers(
        [
            _service("trace.v1.TraceService", who, traces, meter),
            _service("metrics.v1.MetricsService", who, lambda *_: ExportMetricsServiceResponse(), meter),
            _service("logs.v1.LogsService", who, lambda *_: ExportLogsServiceResponse(), meter),
        ]
    )
    return server


def _shown(context: grpc.ServicerContext) -> str:
    """The key that is shown, in either of the two ways of HTTP."""
    sent = {name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)}
    return bearer(sent.get("authorization")) or sent.get("x-api-key", "")


def _service(
    name: str, who: Who, taken: Callable[[str, bytes], Message], meter: Meter
) -> grpc.GenericRpcHandler:
    """The one method of a collector's service; its request stays bytes, so that one reader reads all."""

    def answer(body: bytes, context: grpc.ServicerContext) -> Message:
        try:
            return taken(who(_shown(context), context.peer()).tenant, body)
        except ForkmapError as error:
            status = failure(error)
        meter.count("requests_refused", label=_CODES[status.code].name)
        context.set_trailing_metadata(((_STATUS_DETAILS, status.SerializeToString()),))
        context.abort(_CODES[status.code], status.message)

    export: grpc.RpcMethodHandler[bytes, Message] = grpc.unary_unary_rpc_method_handler(
        answer, response_serializer=methodcaller("SerializeToString")
    )
    return grpc.method_handlers_generic_handler(f"opentelemetry.proto.collector.{name}", {"Export": export})


def failure(error: ForkmapError) -> Status:
    """Why a request was not taken; where the same may succeed later, when that is.

    >>> failure(InputError("not JSON")).code == Code.INVALID_ARGUMENT
    True
    """
    code, wait_s = _meaning(error)
    status = Status(code=code, message=str(error))
    if wait_s:
        retry = RetryInfo()
        retry.retry_delay.seconds = wait_s
        status.details.add().Pack(retry)
    return status


def _meaning(error: ForkmapError) -> tuple[int, int]:
    """The code of an error, and after how many seconds the same may succeed; 0 is never."""
    match error:
        case TooManyKeysError():
            return Code.RESOURCE_EXHAUSTED, error.wait_s
        case KeyRefusedError():
            return Code.UNAUTHENTICATED, 0
        case RoleRefusedError():
            return Code.PERMISSION_DENIED, 0
        case TooLargeError():
            return Code.RESOURCE_EXHAUSTED, 0
        case InputError():
            return Code.INVALID_ARGUMENT, 0
        case StoreError():
            return Code.UNAVAILABLE, otlp.RETRY_AFTER_S
        case _:
            return Code.INTERNAL, 0
