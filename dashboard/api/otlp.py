"""What HTTP and gRPC have in common: taking in the spans of a request, and saying so."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from engine.ingest.limits import Limits
from engine.ingest.request import Batch, Encoding, read
from engine.metering import UNMETERED, Meter
from engine.spans import Span
from engine.store import Appended, Store

RETRY_AFTER_S = 5
"""When a store that is busy or full is worth asking again."""


def take(
    store: Store,
    tenant: str,
    body: bytes,
    encoding: Encoding,
    limits: Limits,
    meter: Meter = UNMETERED,
) -> Batch:
    """Read a request and keep its spans; on return they are durable.

    Raises
    ------
    InputError, TooLargeError
        The request cannot be read; sending it again is of no use.
    StoreError
        Nothing of it was kept.
    """
    batch = read(body, encoding, limits)
    keep(store, tenant, batch.spans, batch.rejected, meter)
    return batch


def keep(store: Store, tenant: str, spans: Sequence[Span], refused: int, meter: Meter) -> Appended:
    """Keep the spans of a request, whatever it was; on return they are durable."""
    done = Appended()
    if spans:
        begun_s = perf_counter()
        done = store.append(tenant, spans)
        meter.time("append_seconds", perf_counter() - begun_s)
    meter.count("spans_accepted", len(spans))
    meter.count("spans_refused", refused)
    return done


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
