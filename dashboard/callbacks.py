"""What a browser may ask of the callbacks; anything else is refused in a sentence."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from dash import Dash
from dash.exceptions import DependencyException
from flask import Response, request

ADDRESS = "/_dash-update-component"
MAX_BYTES = 1_000_000
"""Bytes of a request at most; a page's own stay under a few thousand."""

_log = logging.getLogger(__name__)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A property of a component, and what it holds."""

    id: str
    prop: str = msgspec.field(name="property")
    value: str | int | None = None

    @property
    def fits(self) -> bool:
        """Whether the value is of the property's type: all are text but the count of polls."""
        wanted = int if self.prop == "n_intervals" else str
        return self.value is None or isinstance(self.value, wanted)


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a callback, as Dash's script sends it."""

    output: str
    outputs: Part | list[Part]
    inputs: list[Part]
    state: list[Part] = []
    changedPropIds: list[str] = []
    parsedChangedPropsIds: list[str | dict[str, str]] = []


_ASKED = msgspec.json.Decoder(Asked)


def guard(app: Dash) -> None:
    """Refuse what no page of this application asks: in one sentence, with one line in the log."""

    def check() -> Response | None:
        if request.path != ADDRESS or request.method != "POST":
            return None
        if is_call(request.get_data(), app.callback_map):
            return None
        return _refuse("This is nothing that a page of Forkmap asks.", 400)

    def no_script(error: Exception) -> Response:
        return _refuse("No such script is part of Forkmap.", 404)

    app.server.config["MAX_CONTENT_LENGTH"] = MAX_BYTES
    app.server.before_request(check)
    app.server.register_error_handler(DependencyException, no_script)


def is_call(body: bytes, callbacks: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a request's body calls a known callback with values of the right types.

    >>> is_call(b'{"output": "x"}', {}), is_call(b"[" * 100_000, {})
    (False, False)
    """
    try:
        asked = _ASKED.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return False
    known = callbacks.get(asked.output, {})
    return (
        "callback" in known
        and _output(asked.outputs) == asked.output
        and all(part.fits for part in (*asked.inputs, *asked.state))
        and _named(asked.inputs) == [(each["id"], each["property"]) for each in known["inputs"]]
        and _named(asked.state) == [(each["id"], each["property"]) for each in known["state"]]
    )


def _output(outputs: Part | list[Part]) -> str:
    """Outputs as Dash writes them in one text."""
    if isinstance(outputs, Part):
        return f"{outputs.id}.{outputs.prop}"
    return f"..{'...'.join(f'{part.id}.{part.prop}' for part in outputs)}.."


def _named(parts: list[Part]) -> list[tuple[str, str]]:
    return [(part.id, part.prop) for part in parts]


def _refuse(sentence: str, status: int) -> Response:
    _log.warning("refused with %d: %s %.200r", status, request.method, request.path)
    return Response(sentence, status, mimetype="text/plain")
