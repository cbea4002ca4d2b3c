"""What HTTP and gRPC have in common: taking a request's spans in, and the answers in OTLP's terms."""

from __future__ import annotations

from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from engine.errors import ForkmapError, InputError, StoreError, TooLargeError
from engine.ingest.request import Batch, Encoding, Limits, read
from engine.store import Store

RETRY_AFTER_S = 5
"""When a store that is busy or full is worth asking again."""


def take(store: Store, tenant: str, body: bytes, encoding: Encoding, limits: Limits) -> Batch:
    """Read a request and keep its spans; on return they are durable.

    Raises
    ------
    InputError, TooLargeError
        The request cannot be read; sending it again is of no use.
    StoreError
        Nothing of it was kept.
    """
    batch = read(body, encoding, limits)
    if batch.spans:
        store.append(tenant, batch.spans)
    return batch


def success(batch: Batch) -> ExportTraceServiceResponse:
    """The answer to a request that was taken; without refusals it is empty, as OTLP wants it.

    >>> success(Batch([], 2, "2 spans were refused")).partial_success.rejected_spans
    2
    """
    response = ExportTraceServiceResponse()
    if batch.message:
        response.partial_success.rejected_spans = batch.rejected
        response.partial_success.error_message = batch.message
    return response


def failure(error: ForkmapError) -> Status:
    """Why a request was not taken; where the same may succeed later, when that is.

    >>> failure(InputError("not JSON")).code == Code.INVALID_ARGUMENT
    True
    """
    status = Status(code=_code(error), message=str(error))
    if status.code == Code.UNAVAILABLE:
        retry = RetryInfo()
        retry.retry_delay.seconds = RETRY_AFTER_S
        status.details.add().Pack(retry)
    return status


def _code(error: ForkmapError) -> int:
    match error:
        case TooLargeError():
            return int(Code.RESOURCE_EXHAUSTED)
        case InputError():
            return int(Code.INVALID_ARGUMENT)
        case StoreError():
            return int(Code.UNAVAILABLE)
        case _:
            return int(Code.UNAUTHENTICATED)
