"""``GET /api/openapi.json``: the API, described for programs as OpenAPI 3.1 has it.

The description is made of the operations that the modules declare and of the structs that read what
is asked and write what is answered, so it says what they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec
from flask import Flask, Response

from dashboard import urls
from dashboard.api.operations import Operation, bind
from dashboard.api.problems import MEDIA_TYPE
from dashboard.api.responses import json_response
from dashboard.auth import roles
from dashboard.documents.problem import Problem

Json = dict[str, Any]

OPERATIONS = (
    Operation("get_openapi", urls.API_DOCUMENT, "GET", "Reads this description", {200: dict[str, Any]}),
)
JSON = "application/json"
_ABOUT = "Behaviour maps of AI-agent runs: where runs fork, and which forks are fatal."
_ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>")
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_RETRY = {"description": "Seconds until it is worth asking again", "schema": {"type": "integer"}}
_RETRIED = (202, 429, 503)
_SCHEMAS = "#/components/schemas/{name}"


def register(server: Flask, operations: Iterable[Operation]) -> None:
    """Add the route that describes the operations."""
    described = document(operations)

    def openapi() -> Response:
        return json_response(described)

    bind(server, OPERATIONS, openapi)


def document(operations: Iterable[Operation]) -> Json:
    """The OpenAPI document of the operations."""
    every = [*operations]
    types = {type_ for each in every for type_ in (each.body, *answers(each).values())} - {None}
    ordered = sorted(types, key=repr)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_SCHEMAS)
    schema_of = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, Json] = {}
    for each in every:
        paths.setdefault(address(each.path), {})[each.method.lower()] = _described(each, schema_of)
    about = {"title": "Forkmap", "version": version("forkmap"), "description": _ABOUT}
    return {
        "openapi": "3.1.0",
        "info": about,
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _KEYS},
    }


def address(route: str) -> str:
    """A route as OpenAPI writes it.

    >>> address("/runs/<run:run_id>")
    '/runs/{run_id}'
    """
    return _ARGUMENT.sub(r"{\1}", route)


def answers(operation: Operation) -> Mapping[int, Any]:
    """What is answered by status, the problems included that any request like it may end in."""
    role = roles.needed(operation.path, operation.method)
    problems = {
        400: True,
        401: role is not None,
        403: role is not None,
        413: operation.body is not None,
        429: role is not None,
        503: True,
    }
    derived = {status: Problem for status, may_be in problems.items() if may_be}
    return dict(sorted((derived | dict(operation.answers)).items()))


def _described(operation: Operation, schema_of: Mapping[Any, Json]) -> Json:
    role = roles.needed(operation.path, operation.method)
    found = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.path.removeprefix(urls.API).removeprefix(urls.PROGRAMS).partition("/")[0]],
        "security": [] if role is None else [{name: [str(role)]} for name in _KEYS],
        "parameters": [*_arguments(operation.path), *_parameters(operation.query)],
        "responses": {
            str(status): _answer(status, type_, schema_of) for status, type_ in answers(operation).items()
        },
    }
    if operation.body is not None:
        found["requestBody"] = {"required": True, "content": _content(schema_of[operation.body])}
    return found


def _arguments(path: str) -> list[Json]:
    text = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": text} for name in _ARGUMENT.findall(path)
    ]


def _parameters(query: type[msgspec.Struct]) -> list[Json]:
    schema = msgspec.json.schema(query)["$defs"][query.__name__]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema["required"],
            "description": field.pop("description", ""),
            "schema": field,
        }
        for name, field in schema["properties"].items()
    ]


def _answer(status: int, type_: Any, schema_of: Mapping[Any, Json]) -> Json:
    found: Json = {"description": HTTPStatus(status).phrase}
    if status in _RETRIED:
        found["headers"] = {"Retry-After": _RETRY}
    if type_ is not None:
        found["content"] = _content(schema_of[type_], MEDIA_TYPE if type_ is Problem else JSON)
    return found


def _content(schema: Json, media_type: str = JSON) -> Json:
    return {media_type: {"schema": schema}}
