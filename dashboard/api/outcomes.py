"""``PUT`` and ``DELETE /api/v1/runs/{id}/outcome``: how a run ended, said by a program."""

from __future__ import annotations

import msgspec
from flask import Flask, Response, request

from dashboard import urls
from dashboard.api.problems import problem
from dashboard.api.responses import json_response
from dashboard.documents import drawn
from dashboard.documents.runs import Told, declaration
from dashboard.service import Service
from engine.conventions import OUTCOMES
from engine.declaring import BY_API, say, signed, take_back
from engine.errors import InputError
from engine.ingest.outcomes import moment
from engine.runs import Outcome


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is put: the outcome, and when that was so if it was not now."""

    outcome: str
    time: str | int | None = None


_BODY = msgspec.json.Decoder(Body)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def put(run_id: str) -> Response:
        try:
            outcome, time_ns = read(request.get_data())
        except InputError as error:
            return problem(400, error.reason)
        by = signed(BY_API, service.caller().name)
        said = say(service.store, service.tenant, run_id, outcome, by, time_ns, service.now_ns())
        told = drawn(Told, declaration(said.declaration), run_id=run_id, new=said.new, waiting=said.waiting)
        return json_response(told, 202 if said.waiting else 200)

    def delete(run_id: str) -> Response:
        by = signed(BY_API, service.caller().name)
        if not take_back(service.store, service.tenant, run_id, by):
            return problem(404, f"This key has declared no outcome of a run {run_id!r}.")
        return Response(status=204)

    server.add_url_rule(urls.API_OUTCOME, "put_outcome", put, methods=["PUT"])
    server.add_url_rule(urls.API_OUTCOME, "delete_outcome", delete, methods=["DELETE"])


def read(body: bytes) -> tuple[Outcome, int | None]:
    """The outcome and its time that a body holds.

    Raises
    ------
    InputError
        With a sentence that names the field.

    Examples
    --------
    >>> read(b'{"outcome": "Succeeded"}')
    (<Outcome.SUCCESS: 0>, None)
    """
    try:
        asked = _BODY.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"The body is no JSON object with an outcome: {error}.") from None
    word = OUTCOMES.get(asked.outcome.strip().lower())
    if word is None:
        raise InputError(f"outcome: {asked.outcome[:60]!r} is none of {', '.join(OUTCOMES)}.")
    try:
        return Outcome[word.upper()], moment(asked.time)
    except InputError as error:
        raise InputError(f"time: {error.reason}.") from None
