"""Answers in JSON."""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Response


def json_response(document: Any, status: int = 200) -> Response:
    """A document as JSON, not to be kept by anybody in between.

    >>> json_response({"rate": 0.5}).get_data(as_text=True)
    '{"rate":0.5}'
    """
    headers = {"Cache-Control": "private, no-cache"}
    return Response(msgspec.json.encode(document), status, headers, "application/json")
