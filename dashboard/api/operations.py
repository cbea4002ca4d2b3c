"""What can be asked of the API, as data: each module says it beside the routes that answer.

The same structs that an operation names read its query and its body (:func:`query`, :func:`body`),
and become its schema in the document that describes the API (:mod:`dashboard.api.openapi`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from flask import request

from engine.errors import InputError

MAX_BODY_BYTES = 1 << 20
"""What a body of the API may hold; spans, which are many, are sent elsewhere."""

T = TypeVar("T")


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of an operation that takes none."""


class Operation(NamedTuple):
    """One method of one address.

    Attributes
    ----------
    name : str
        Its identifier, for programs that are made from the document: a verb and a noun.
    path : str
        The route as it is registered, from :mod:`dashboard.urls`.
    summary : str
        What it does, in a sentence without a full stop.
    answers : mapping of int to type or None
        What is answered, by HTTP status, with the type of the JSON, None for an empty body. Left
        out are the problems that follow from the rest: 400, 401, 403, 413, 429 and 503. What is
        answered as a problem (404, 409) has the type :class:`dashboard.documents.problem.Problem`.
    query : type
        A frozen struct that forbids unknown fields, one field a parameter; those that may be left
        out have a default (``UNSET``, or a value).
    body : type, optional
        What is sent, if anything is: a struct that forbids unknown fields, or a list of such.
    """

    name: str
    path: str
    method: Literal["GET", "PUT", "POST", "DELETE"]
    summary: str
    answers: Mapping[int, Any]
    query: type[msgspec.Struct] = NoQuery
    body: Any = None


def query(type_: type[T]) -> T:
    """The query of the request that is answered, read by its struct.

    Raises
    ------
    InputError
        A parameter that is missing, unknown, given twice or wrong, with a sentence that names it.
    """
    found: dict[str, str] = {}
    for name, value in request.args.items(multi=True):
        if name in found:
            raise InputError(f"{name}: given more than once.")
        found[name] = value
    try:
        return msgspec.convert(found, type_, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(sentence(error)) from None


def body(type_: type[T]) -> T:
    """The JSON body of the request that is answered, read by its type.

    Raises
    ------
    InputError
        It is no JSON, or a field is missing, unknown or wrong, with a sentence that names it.
    RequestEntityTooLarge
        It holds more than 1 MiB.
    """
    request.max_content_length = MAX_BODY_BYTES
    try:
        return msgspec.json.decode(request.get_data(cache=False), type=type_)
    except msgspec.ValidationError as error:
        raise InputError(sentence(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"The body is no JSON: {error}.") from None


def sentence(error: msgspec.ValidationError) -> str:
    """What is wrong, beginning with the field.

    >>> sentence(msgspec.ValidationError("Expected `int` >= 1 - at `$.limit`"))
    'limit: expected `int` >= 1.'
    >>> sentence(msgspec.ValidationError("Object contains unknown field `size` - at `$[0]`"))
    '[0]: object contains unknown field `size`.'
    >>> sentence(msgspec.ValidationError("Object missing required field `agent`"))
    'Object missing required field `agent`.'
    """
    text = str(error)
    found = re.fullmatch(r"(.)(.*) - at `(?:key in )?\$\.?(.*)`", text, re.DOTALL)
    return f"{found[3]}: {found[1].lower()}{found[2]}." if found and found[3] else f"{text}."
