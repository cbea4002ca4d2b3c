"""What can be asked of the API, as data: each module says it beside the routes that answer.

The same structs that an operation names read its query and its body (:func:`query`, :func:`body`),
and become its schema in the document that describes the API (:mod:`dashboard.api.openapi`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from flask import Flask, Response, request
from msgspec import UNSET, UnsetType

from engine.errors import InputError

MAX_BODY_BYTES = 1 << 20
"""What a body of the API may hold; spans, which are many, are sent elsewhere."""

_TOLD = 300
"""Characters of what is wrong that are told: it may quote what was sent."""
_FIELD = re.compile(r"Object (contains unknown|missing required) field `([^`]*)")

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


def bind(server: Flask, operations: Sequence[Operation], *views: Callable[..., Response]) -> None:
    """Let each operation be answered by the view that stands in its place; one without a query takes none."""
    for operation, view in zip(operations, views, strict=True):
        answer = _unasked(view) if operation.query is NoQuery else view
        server.add_url_rule(operation.path, operation.name, answer, methods=[operation.method])


def _unasked(view: Callable[..., Response]) -> Callable[..., Response]:
    def answer(**arguments: str) -> Response:
        query(NoQuery)
        return view(**arguments)

    return answer


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


def given(value: T | UnsetType) -> T | None:
    """What was asked, None if nothing was."""
    return None if value is UNSET else value


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
    '[0].size: no such field.'
    >>> sentence(msgspec.ValidationError("Object missing required field `agent`"))
    'agent: missing.'
    >>> sentence(msgspec.ValidationError("Expected `object`, got `array`"))
    'The whole: expected `object`, got `array`.'
    >>> sentence(msgspec.ValidationError(f"Invalid enum value '{'x' * 1000}' - at `$.outcome`"))[:40]
    "outcome: invalid enum value 'xxxxxxxxxxx"
    """
    text, at, place = str(error).rpartition(" - at `")
    text, place = (text[:_TOLD], place.rstrip("`").lstrip("$").lstrip(".")) if at else (place[:_TOLD], "")
    if found := _FIELD.match(text):
        name = f"{place}.{found[2]}".lstrip(".")
        return f"{name}: {'missing' if found[1] == 'missing required' else 'no such field'}."
    return f"{place or 'The whole'}: {text[:1].lower()}{text[1:]}."
