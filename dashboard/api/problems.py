"""How the API says what went wrong: ``application/problem+json``, as RFC 9457 has it."""

from __future__ import annotations

import msgspec
from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import Rule
from werkzeug.wrappers import Response as Answer

from dashboard import urls
from dashboard.api import intake
from dashboard.api.otlp import RETRY_AFTER_S
from dashboard.auth import plain
from dashboard.documents.problem import problem_document
from dashboard.service import Service
from engine.errors import (
    ExpressionError,
    InputError,
    StoreError,
    UnknownAgentError,
    UnknownRunError,
    UnknownStepError,
)

MEDIA_TYPE = "application/problem+json"
_METHODS = ("GET", "PUT", "POST", "DELETE")


def problem(status: int, detail: str, retry_after_s: int | None = None, column: int = 0) -> Response:
    """An answer that says what went wrong.

    Parameters
    ----------
    status : int
        The HTTP status; its phrase is the title.
    detail : str
        One sentence for a person.
    retry_after_s : int, optional
        Whole seconds after which the same request may succeed.
    column : int
        The character of an expression that it is about, from 1; 0 if it is about none.

    Examples
    --------
    >>> problem(404, "No such run is here.").get_data(as_text=True)
    '{"type":"about:blank","title":"Not Found","status":404,"detail":"No such run is here."}'
    """
    text = msgspec.json.encode(problem_document(status, detail, column))
    response = Response(text, status, content_type=MEDIA_TYPE)
    if retry_after_s is not None:
        response.headers["Retry-After"] = str(retry_after_s)
    return response


def register(server: Flask, service: Service) -> None:
    """Let what goes wrong under the API's address end as a problem, and for exporters as OTLP says.

    Elsewhere a person reads it on a page.
    """

    def wrong(error: Exception) -> Response:
        return _under_api(error, 400, column=error.column if isinstance(error, ExpressionError) else 0)

    def unknown(error: Exception) -> Response:
        return _under_api(error, 404)

    def unavailable(error: Exception) -> Response:
        return _under_api(error, 503, RETRY_AFTER_S)

    def refused(error: HTTPException) -> HTTPException | Answer:
        if request.path.startswith(urls.OTLP):
            return intake.refused(error)
        if request.path == urls.PROMETHEUS:
            text = f"{error.description or error.name}\n"
            return Response(
                text, error.code or 500, _without_type(error), content_type="text/plain; charset=utf-8"
            )
        if not request.path.startswith(urls.PROGRAMS):
            return plain.refused(error)
        response = problem(error.code or 500, error.description or "")
        response.headers.extend(_without_type(error))
        return response

    server.before_request(_nowhere)
    server.register_error_handler(InputError, wrong)
    server.register_error_handler(UnknownRunError, unknown)
    server.register_error_handler(UnknownAgentError, unknown)
    server.register_error_handler(UnknownStepError, unknown)
    server.register_error_handler(StoreError, unavailable)
    server.register_error_handler(HTTPException, refused)


def _nowhere() -> None:
    """Keep what no route of the API answers from ending as a page, which may have any address."""
    if not request.path.startswith(urls.PROGRAMS) or _is_ours(request.url_rule):
        return
    if methods := [method for method in _METHODS if _is_ours(_rule(method))]:
        raise MethodNotAllowed(methods, f"{request.method} is not for this address.")
    raise NotFound("Nothing is at this address.")


def _without_type(error: HTTPException) -> list[tuple[str, str]]:
    return [header for header in error.get_headers() if header[0] != "Content-Type"]


def _is_ours(rule: Rule | None) -> bool:
    return rule is not None and rule.rule.startswith(urls.PROGRAMS)


def _rule(method: str) -> Rule | None:
    """The route that this address would have with another method."""
    try:
        rule, _ = current_app.url_map.bind_to_environ(request.environ).match(method=method, return_rule=True)
    except HTTPException:
        return None
    return rule


def _under_api(error: Exception, status: int, retry_after_s: int | None = None, column: int = 0) -> Response:
    if not request.path.startswith(urls.PROGRAMS):
        raise error
    return problem(status, str(error), retry_after_s, column)
