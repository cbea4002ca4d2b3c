"""Export requests as an exporter's batch processor sends them: 512 spans, protobuf, ready made.

One request is encoded; every other is that one with ids of its own written in, so that making
load costs next to nothing beside taking it.
"""

from __future__ import annotations

from itertools import chain, count, islice

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from benchmarks.ingest import trace
from engine.spans import Span

SPANS = 512
"""Spans of a request: the default of OpenTelemetry's batch processor."""
_TRACE, _SPAN, _CONVERSATION = b"\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7", b"\xf8\xf9\xfa\xfb", b"%conversa%"
"""What stands in the request where its number goes."""


def request(number: int) -> bytes:
    """The request of this number, below 2**32: runs of its own, the same whenever it is asked for."""
    found = _TEMPLATE.replace(_TRACE, number.to_bytes(8)).replace(_SPAN, number.to_bytes(4))
    return found.replace(_CONVERSATION, b"%010d" % number)


def _template() -> bytes:
    spans = list(islice(chain.from_iterable(trace(number) for number in count(1)), SPANS))
    traces = {trace_id: at for at, trace_id in enumerate(dict.fromkeys(span.trace_id for span in spans))}
    ids = {span.span_id: _SPAN + at.to_bytes(4) for at, span in enumerate(spans, start=1)}
    made = ExportTraceServiceRequest()
    group = made.resource_spans.add()
    group.resource.attributes.extend(_pairs(spans[0].resource))
    scope = group.scope_spans.add()
    scope.scope.name = spans[0].scope
    for span in spans:
        at = traces[span.trace_id]
        attributes = dict(span.attributes)
        if "gen_ai.conversation.id" in attributes:
            attributes["gen_ai.conversation.id"] = f"{_CONVERSATION.decode()}-{at}"
        scope.spans.append(_encoded(span, _TRACE + at.to_bytes(8), ids, attributes))
    return made.SerializeToString()


def _encoded(
    span: Span, trace_id: bytes, ids: dict[str, bytes], attributes: dict[str, object]
) -> trace_pb2.Span:
    return trace_pb2.Span(
        trace_id=trace_id,
        span_id=ids[span.span_id],
        parent_span_id=ids[span.parent_id] if span.parent_id else b"",
        name=span.name,
        kind=trace_pb2.Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns or 0,
        attributes=_pairs(attributes),
        status=trace_pb2.Status(code=trace_pb2.Status.StatusCode.ValueType(span.status)),
    )


def _pairs(attributes: dict[str, object]) -> list[KeyValue]:
    return [
        KeyValue(
            key=key,
            value=AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=str(value)),
        )
        for key, value in attributes.items()
    ]


_TEMPLATE = _template()
