"""What every answer says to the browser: nothing from elsewhere, nothing to elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from dash import Dash
from flask import Response, abort, request

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Hosts that only this machine can reach."""


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


def harden(app: Dash) -> None:
    """Add the headers to every answer; call it once all callbacks are registered.

    A request that names another host than this machine is refused: no page on the web can
    reach the dashboard by pointing a name of its own at it.
    """
    headers = {
        "Content-Security-Policy": policy(app.csp_hashes()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    }

    def check_host() -> None:
        if host_name(request.host) not in LOOPBACK:
            abort(421, "This dashboard answers on this machine only.")

    def add_headers(response: Response) -> Response:
        response.headers.extend(headers)
        return response

    app.server.before_request(check_host)
    app.server.after_request(add_headers)


def host_name(host: str) -> str:
    """A host header without its port, in small letters.

    >>> host_name("LOCALHOST:8050"), host_name("[::1]:8050"), host_name("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
