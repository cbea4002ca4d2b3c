"""What went wrong, as RFC 9457 has it."""

from __future__ import annotations

from http import HTTPStatus

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """Why a request was not answered; ``detail`` is one sentence for a person."""

    type: str
    title: str
    status: int
    detail: str


def problem_document(status: int, detail: str) -> Problem:
    """A problem of an HTTP status; its phrase is the title.

    >>> problem_document(404, "No such run is here.")
    Problem(type='about:blank', title='Not Found', status=404, detail='No such run is here.')
    """
    return Problem("about:blank", HTTPStatus(status).phrase, status, detail)
