"""An export request: the bytes of its body, into spans and what had to be refused of it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from engine.conventions import check
from engine.errors import InputError, TooLargeError
from engine.ingest import otlp_json, otlp_protobuf
from engine.ingest.documents import decode
from engine.ingest.limits import LIMITS, Limits
from engine.ingest.source import Refused
from engine.spans import Span

Encoding = Literal["json", "protobuf"]
CODINGS = ("identity", "gzip", "deflate")
"""Values of ``Content-Encoding`` that are understood."""
MEMBERS = 100
"""Members that a body in gzip may have."""
NAMED = 5
"""Refusals that a message names; the rest are counted."""
_GZIP = 31
_ZLIB, _BARE = 15, -15


class Batch(NamedTuple):
    """What a request brought.

    Attributes
    ----------
    rejected : int
        Spans that were refused.
    message : str
        What was refused, of these and of the spans kept, and why; "" if nothing was.
    """

    spans: list[Span]
    rejected: int = 0
    message: str = ""


def decompress(body: bytes, coding: str, max_bytes: int) -> bytes:
    """A body as it was before ``Content-Encoding``; it is decompressed up to the limit and no further.

    Parameters
    ----------
    coding : str
        One of :data:`CODINGS`; ``deflate`` with zlib's header or without, ``gzip`` of some members.
    max_bytes : int
        Bytes that may come out.

    Raises
    ------
    TooLargeError
        More would come out.
    InputError
        The compressed body is damaged.

    Examples
    --------
    >>> decompress(zlib.compress(b"spans"), "deflate", 5)
    b'spans'
    >>> decompress(zlib.compress(b"spans"), "deflate", 4)
    Traceback (most recent call last):
    engine.errors.TooLargeError: the body holds more than 4 bytes
    """
    if coding == "identity":
        content = body
    else:
        bits = _GZIP if coding == "gzip" else _ZLIB if _begins_as_zlib(body) else _BARE
        content = _inflate(body, bits, max_bytes)
    if len(content) > max_bytes:
        raise TooLargeError(f"the body holds more than {max_bytes} bytes")
    return content


def _inflate(body: bytes, window_bits: int, max_bytes: int) -> bytes:
    """What comes out of every member, and no more than a byte beyond the limit."""
    content, left = b"", body
    for _ in range(MEMBERS if window_bits == _GZIP else 1):
        inflating = zlib.decompressobj(window_bits)
        try:
            content += inflating.decompress(left, max_bytes + 1 - len(content))
        except zlib.error:
            raise InputError("the compressed body is damaged") from None
        left = inflating.unused_data
        if len(content) > max_bytes or (inflating.eof and not left):
            return content
        if not inflating.eof:
            raise InputError("the compressed body is cut off")
    raise InputError("something follows the compressed body")


def _begins_as_zlib(body: bytes) -> bool:
    return len(body) > 1 and body[0] & 15 == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0


def read(body: bytes, encoding: Encoding, limits: Limits = LIMITS) -> Batch:
    """The spans of an ``ExportTraceServiceRequest``, checked and within the limits.

    A span that cannot be read costs itself, and a part of a span that can costs itself only.

    Raises
    ------
    InputError
        The body is no such request: nobody can tell how many spans it would hold.
    TooLargeError
        It holds too many.

    Examples
    --------
    >>> read(b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat"}]}]}]}', "json")
    Batch(spans=[], rejected=1, message='1 span was refused (span 1: traceId is missing)')
    """
    spans: list[Span] = []
    named: list[str] = []
    rejected = reasons = 0
    for found in _found(body, encoding, limits):
        said: Sequence[str]
        if isinstance(found, Span):
            span, said = _checked(found)
            spans.append(span)
        elif found.spans is None:
            raise InputError(found.reason)
        else:
            rejected, said = rejected + found.spans, [found.reason]
        if said:
            named += said[: NAMED - len(named)]
            reasons += len(said)
        if len(spans) + rejected > limits.max_spans:
            raise TooLargeError(f"the request holds more than {limits.max_spans} spans")
    return Batch(spans, rejected, _message(rejected, named, reasons))


def _found(body: bytes, encoding: Encoding, limits: Limits) -> Iterator[Span | Refused]:
    return (
        otlp_protobuf.spans(body, limits)
        if encoding == "protobuf"
        else otlp_json.spans(_decoded(body, limits), limits)
    )


def _decoded(body: bytes, limits: Limits) -> Any:
    if body.count(b"{") + body.count(b"[") > limits.max_containers:
        raise TooLargeError(f"the request holds more than {limits.max_containers} objects and lists")
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        raise InputError("nested too deeply") from None
    except msgspec.MsgspecError:
        return decode(body)


def _checked(span: Span) -> tuple[Span, Sequence[str]]:
    checked, wrong = check(span)
    return checked, [f"span {span.span_id}: {reason}" for reason in wrong] if wrong else ()


def _message(rejected: int, named: list[str], reasons: int) -> str:
    """The first reasons in words, and how many more there are.

    >>> _message(0, ["span 1: the parent is left out"], 3)
    'every span was kept, but not all of it (span 1: the parent is left out; and 2 more)'
    """
    if not named:
        return ""
    match rejected:
        case 0:
            kept = "every span was kept, but not all of it"
        case 1:
            kept = "1 span was refused"
        case _:
            kept = f"{rejected} spans were refused"
    more = [f"and {reasons - len(named)} more"] if reasons > len(named) else []
    return f"{kept} ({'; '.join(named + more)})"
