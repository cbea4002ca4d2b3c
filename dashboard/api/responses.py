"""Answers in JSON, which nobody in between is to keep."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec
from flask import Response, request

HEADERS = {"Cache-Control": "private, no-cache"}


def json_response(document: Any, status: int = 200) -> Response:
    """A document as JSON.

    >>> json_response({"rate": 0.5}).get_data(as_text=True)
    '{"rate":0.5}'
    """
    return Response(msgspec.json.encode(document), status, HEADERS, "application/json")


def packed(document: Any) -> bytes:
    """A document as gzipped JSON.

    >>> gzip.decompress(packed([0.5]))
    b'[0.5]'
    """
    return gzip.compress(msgspec.json.encode(document), 1)


def tagged_response(build: str, pack: Callable[[], bytes]) -> Response:
    """A packed document, unpacked for those who do not take it so; who has it already is told so.

    Parameters
    ----------
    build : str
        What it was made from: while it stays the same, so does the document.
    pack : callable
        Makes the packed document, if it is needed.
    """
    tag = blake2b(build.encode(), digest_size=12).hexdigest()
    known = request.if_none_match.contains_weak(tag)
    response = Response(None, 304 if known else 200, HEADERS, "application/json")
    response.set_etag(tag, weak=True)
    response.headers["Vary"] = "Accept-Encoding"
    if known:
        return response
    body = pack()
    if request.accept_encodings.quality("gzip"):
        response.headers["Content-Encoding"] = "gzip"
    else:
        body = gzip.decompress(body)
    response.set_data(body)
    return response
