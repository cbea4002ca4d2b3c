"""Answers to browsers go out compressed: pages, scripts, styles, and what callbacks say."""

from __future__ import annotations

import gzip
from functools import lru_cache

from flask import Flask, Response, request

TEXTS = frozenset({"text/html", "text/css", "text/javascript", "application/javascript", "image/svg+xml"})
BY_ITSELF = "/_dash-"
"""Under it a page asks by itself, and is answered in JSON."""
SMALLEST = 1_000
"""Bytes that are worth it."""
KEPT = 128
"""Files that are kept compressed."""
QUICK, SMALL = 5, 9
"""How hard it is tried: for what is said once, and for files."""


def register(server: Flask) -> None:
    """Compress what a browser takes compressed."""
    kept = lru_cache(KEPT)(lambda body: gzip.compress(body, SMALL))

    def compress(response: Response) -> Response:
        if not _is_text(response):
            return response
        response.headers["Vary"] = "Accept-Encoding"
        if not request.accept_encodings.quality("gzip"):
            return response
        response.direct_passthrough = False
        body = response.get_data()
        if len(body) >= SMALLEST:
            is_file = response.cache_control.max_age or response.get_etag()[0]
            response.set_data(kept(body) if is_file else gzip.compress(body, QUICK))
            response.headers["Content-Encoding"] = "gzip"
        return response

    server.after_request(compress)


def _is_text(response: Response) -> bool:
    """Whether it is a whole text for a browser, and not compressed yet."""
    if request.method == "HEAD" or response.status_code != 200 or "Content-Encoding" in response.headers:
        return False
    asked = request.path.startswith(BY_ITSELF) and response.mimetype == "application/json"
    return asked or response.mimetype in TEXTS
