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
from msgspec import UNSET, UnsetType, inspect
from werkzeug.exceptions import RequestEntityTooLarge

from engine.errors import InputError

MAX_BODY_BYTES = 1 << 20
"""What a body of the API may hold; spans, which are many, are sent elsewhere."""

_TOLD = 300
"""Characters of what is wrong that are told: it may quote what was sent."""
_FIELD = re.compile(r"Object (contains unknown|missing required) field `([^`]*)")

_ENUM = re.compile(r"Invalid (?:enum )?value (.*)", re.S)
_PART = re.compile(r"[^.\[\]]+")

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
        raise InputError(sentence(error, type_)) from None


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
    except RequestEntityTooLarge:
        raise RequestEntityTooLarge(f"The body holds more than {MAX_BODY_BYTES:,} bytes.") from None
    except msgspec.ValidationError as error:
        raise InputError(sentence(error, type_)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"The body is no JSON: {error}.") from None


def sentence(error: msgspec.ValidationError, type_: Any) -> str:
    """What is wrong with what was to be of a type, beginning with the field, and what is right there.

    >>> sentence(msgspec.ValidationError("Expected `int` >= 1 - at `$.limit`"), NoQuery)
    'limit: expected `int` >= 1.'
    >>> sentence(msgspec.ValidationError("Object contains unknown field `size` - at `$[0]`"), list[NoQuery])
    '[0].size: no such field.'
    >>> sentence(msgspec.ValidationError("Object missing required field `agent`"), NoQuery)
    'agent: missing.'
    >>> sentence(msgspec.ValidationError("Expected `object`, got `array`"), NoQuery)
    'The whole: expected `object`, got `array`.'
    >>> sentence(msgspec.ValidationError("Invalid enum value 'x' - at `$[1]`"), list[Literal["a", "b"]])
    "[1]: 'x' is none of a, b."
    """
    text, at, place = str(error).rpartition(" - at `")
    text, place = (text, place.rstrip("`").lstrip("$").lstrip(".")) if at else (place, "")
    right = _right(_kinds(type_, place))
    if found := _FIELD.match(text):
        name = f"{place}.{found[2]}".lstrip(".")
        unknown = f"no such field among {right}" if right else "no such field"
        return f"{name[:_TOLD]}: {'missing' if found[1] == 'missing required' else unknown}."
    if right and (found := _ENUM.match(text)):
        return f"{place}: {found[1][:_TOLD]} is none of {right}."
    return f"{place or 'The whole'}: {text[:1].lower()}{text[1:_TOLD]}."


def _kinds(type_: Any, place: str) -> list[inspect.Type]:
    """The types that a value at a place inside a type may have."""
    found = _members(inspect.type_info(type_))
    for part in _PART.findall(place):
        found = [each for kind in found for each in _inside(kind, part)]
    return found


def _members(kind: inspect.Type) -> list[inspect.Type]:
    """A type as it is, of a union each."""
    if isinstance(kind, inspect.Metadata):
        return _members(kind.type)
    return (
        [each for one in kind.types for each in _members(one)]
        if isinstance(kind, inspect.UnionType)
        else [kind]
    )


def _inside(kind: inspect.Type, part: str) -> list[inspect.Type]:
    """What a list's items or a struct's field of this name may be; the field that tells structs apart too."""
    if isinstance(kind, inspect.ListType):
        return _members(kind.item_type)
    if isinstance(kind, inspect.StructType) and kind.tag_field == part:
        return [inspect.LiteralType((kind.tag,))]
    fields = kind.fields if isinstance(kind, inspect.StructType) else ()
    return [each for field in fields if field.encode_name == part for each in _members(field.type)]


def _right(kinds: Sequence[inspect.Type]) -> str:
    """The fields of the only struct, or the values of the enumerations, that there are among types."""
    structs = [
        [field.encode_name for field in kind.fields] for kind in kinds if isinstance(kind, inspect.StructType)
    ]
    values = [str(each) for kind in kinds if isinstance(kind, inspect.LiteralType) for each in kind.values]
    found = [*structs, values] if values else structs
    return ", ".join(found[0]) if len(found) == 1 else ""
