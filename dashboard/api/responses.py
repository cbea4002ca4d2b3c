"""Answers in JSON, which nobody in between is to keep."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec
from flask import Response, request

LEAST_BYTES = 1 << 10
"""What is shorter is not worth compressing."""
_HEADERS = {"Cache-Control": "private, no-cache"}


def json_response(document: Any, status: int = 200) -> Response:
    """A document as JSON.

    >>> json_response({"rate": 0.5}).get_data(as_text=True)
    '{"rate":0.5}'
    """
    return Response(msgspec.json.encode(document), status, _HEADERS, "application/json")


def tagged_response(build: str, document: Callable[[], Any]) -> Response:
    """A document as JSON, compressed for those who take that; who has it already is told so.

    Parameters
    ----------
    build : str
        What it was made from: while it stays the same, so does the document.
    document : callable
        Makes the document, if it is needed.
    """
    response = Response(None, 200, _HEADERS, "application/json")
    response.set_etag(blake2b(build.encode(), digest_size=12).hexdigest(), weak=True)
    response.headers["Vary"] = "Accept-Encoding"
    response.make_conditional(request)
    if response.status_code == 304:
        return response
    text = msgspec.json.encode(document())
    if len(text) >= LEAST_BYTES and request.accept_encodings.quality("gzip"):
        response.headers["Content-Encoding"] = "gzip"
        text = gzip.compress(text, 1)
    response.set_data(text)
    return response
