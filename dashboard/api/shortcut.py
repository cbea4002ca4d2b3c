"""The check before a call, answered before Flask sees it: agents wait for it at every step.

It passes the same gate and says the same as the route in :mod:`dashboard.api.fuses`, in a fifth of the
time. What is not answered with 200 goes on to that route, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from time import perf_counter
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import msgspec
from werkzeug.exceptions import HTTPException

from dashboard import urls
from dashboard.api.fuses import Question
from dashboard.api.responses import HEADERS
from dashboard.auth import roles
from dashboard.auth.gate import Asked, Gate
from dashboard.documents.fuses import check
from dashboard.service import Service

USUAL_BYTES = 1 << 14
"""A longer body goes the long way."""
_ROUTE = f"POST {urls.API_CHECK}"
_ROLE = roles.needed(urls.API_CHECK, "POST")


class Shortcut:
    """A WSGI application that answers checks, and gives all else to another.

    Parameters
    ----------
    onward : WSGI application
        The other.
    headers : mapping
        What every answer says to browsers.
    """

    def __init__(
        self, onward: WSGIApplication, door: Gate, service: Service, headers: Mapping[str, str]
    ) -> None:
        self._onward, self._door, self._service = onward, door, service
        self._headers = [*HEADERS.items(), *headers.items(), ("Content-Type", "application/json")]

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        answer = self._answer(environ) if _is_usual(environ) else None
        if answer is None:
            return self._onward(environ, start)
        start("200 OK", [*self._headers, ("Content-Length", str(len(answer)))])
        return [answer]

    def _answer(self, environ: WSGIEnvironment) -> bytes | None:
        begun_s = perf_counter()
        sent = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        try:
            caller = self._door.known(Asked(environ))
            asked = msgspec.json.decode(sent, type=Question)
        except (HTTPException, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            caller = None
        if caller is None or _ROLE is None or not caller.may(_ROLE):
            environ["wsgi.input"] = BytesIO(sent)
            return None
        said: Any = check(self._service.check(caller.tenant, asked.run_id, asked.next_step))
        self._service.meter.time("request_seconds", perf_counter() - begun_s, _ROUTE)
        return msgspec.json.encode(said)


def _is_usual(environ: WSGIEnvironment) -> bool:
    """Whether it is a check with a small body and without a query.

    >>> _is_usual({"PATH_INFO": "/api/v1/check", "REQUEST_METHOD": "POST", "CONTENT_LENGTH": "17"})
    True
    """
    length = environ.get("CONTENT_LENGTH", "")
    return (
        environ["PATH_INFO"] == urls.API_CHECK
        and environ["REQUEST_METHOD"] == "POST"
        and not environ.get("QUERY_STRING")
        and length.isdecimal()
        and int(length) <= USUAL_BYTES
    )
