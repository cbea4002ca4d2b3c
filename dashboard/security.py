"""What every answer says to the browser: nothing from elsewhere, nothing to elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from dash import Dash
from flask import Response


def policy(hashes: Iterable[str]) -> str:
    """The Content Security Policy: only this server's own files, and the listed inline scripts.

    >>> policy(["'sha256-x'"]).split("; ")[:2]
    ["default-src 'none'", "script-src 'self' 'sha256-x'"]
    """
    return "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src 'self'", *hashes]),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "manifest-src 'self'",
        ]
    )


def harden(app: Dash) -> dict[str, str]:
    """Add the headers to every answer, and tell them; call it once all callbacks are registered.

    What holds runs is not to be kept by anybody on the way, unless it says otherwise itself.
    """
    headers = {
        "Content-Security-Policy": policy(app.csp_hashes()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    }

    def add_headers(response: Response) -> Response:
        response.headers.extend(headers)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    app.server.after_request(add_headers)
    return headers
