"""Which role a route needs; one that nobody listed needs the highest."""

from __future__ import annotations

from dashboard import bundles, urls
from engine.keys import Role

OPEN = frozenset(
    {
        urls.HEALTHY,
        urls.READY,
        urls.API_DOCUMENT,
        urls.SIGN_IN,
        urls.SIGN_OUT,
        "/assets/<path:filename>",
        *bundles.RULES.values(),
        "/_dash-component-suites/<string:package_name>/<path:fingerprinted_path>",
        "/_favicon.ico",
    }
)
"""Rules that need no key: they hold nothing of anybody."""
PAGES = frozenset({"/", "/<path:path>", urls.GO, urls.RUNS_CSV, urls.RUNS_JSON})
"""Rules that a person follows: whoever is signed out is led to the sign-in."""
PARTS = frozenset({"/_dash-layout", "/_dash-dependencies", urls.MAP_DATA, urls.PALETTE})
"""Rules that a page asks by itself."""
PROGRAMS = frozenset({urls.PROMETHEUS})
"""Rules that a program reads beside the API."""
CALLBACKS = "/_dash-update-component"


def needed(rule: str | None, method: str) -> Role | None:
    """The role that a request needs; None where everybody may ask.

    Parameters
    ----------
    rule : str or None
        The route as it was registered, None if there is none.

    Examples
    --------
    >>> needed("/healthz", "GET"), needed("/map", "DELETE"), needed(None, "GET")
    (None, <Role.ADMIN: 'admin'>, <Role.ADMIN: 'admin'>)
    >>> needed("/v1/traces", "POST"), needed("/api/v1/agents", "GET")
    (<Role.INGEST: 'ingest'>, <Role.READ: 'read'>)
    """
    match method, rule or "":
        case "PUT" | "DELETE", urls.API_OUTCOME:
            return Role.INGEST
        case "POST", urls.API_MARKERS:
            return Role.INGEST
        case "DELETE", urls.API_MARKER:
            return Role.INGEST
        case "POST", urls.API_CHECK | urls.API_DECISIONS | urls.IMPORT:
            return Role.INGEST
        case "POST", urls.API_TRIAL:
            return Role.READ
        case _, route if route in OPEN:
            return None
        case "GET" | "HEAD", route if route in PAGES | PARTS | PROGRAMS or route.startswith(urls.API):
            return Role.READ
        case "POST", route if route == CALLBACKS:
            return Role.READ
        case "POST", route if route.startswith(urls.OTLP):
            return Role.INGEST
    return Role.ADMIN


def is_page(rule: str | None, method: str, path: str) -> bool:
    """Whether a person asks for it, so that a sign-in page is an answer.

    >>> is_page("/<path:path>", "GET", "/map"), is_page("/<path:path>", "GET", "/api/v1/none")
    (True, False)
    """
    return method in ("GET", "HEAD") and rule in PAGES and not is_program(path)


def is_program(path: str) -> bool:
    """Whether a program asks for it, which is told so and led to no page.

    >>> is_program("/api/v1/check"), is_program("/run/outcome")
    (True, False)
    """
    return path.startswith((urls.PROGRAMS, urls.OTLP))
