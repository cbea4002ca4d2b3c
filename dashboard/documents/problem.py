"""What went wrong, as RFC 9457 has it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType


class Problem(msgspec.Struct, frozen=True):
    """Why a request was not answered; ``detail`` is one sentence for a person.

    ``column`` is there where it is about a place in an expression: the character, counted from 1.
    """

    type: str
    title: str
    status: int
    detail: str
    column: Annotated[int, Meta(ge=1)] | UnsetType = UNSET


def problem_document(status: int, detail: str, column: int = 0) -> Problem:
    """A problem of an HTTP status; its phrase is the title. Column 0 is none.

    >>> problem_document(404, "No such run is here.")
    Problem(type='about:blank', title='Not Found', status=404, detail='No such run is here.', column=UNSET)
    """
    return Problem("about:blank", HTTPStatus(status).phrase, status, detail, column or UNSET)
