"""``PUT`` and ``DELETE /api/v1/runs/{id}/outcome``: how a run ended, said by a program."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Flask, Response
from msgspec import Meta

from dashboard import urls
from dashboard.api.operations import Operation, bind, body
from dashboard.api.problems import problem
from dashboard.api.responses import json_response
from dashboard.documents import drawn
from dashboard.documents.problem import Problem
from dashboard.documents.runs import Told, declaration
from dashboard.service import Service
from engine.conventions import OUTCOMES
from engine.declaring import BY_API, say, signed, take_back
from engine.errors import InputError
from engine.ingest.outcomes import LEAST_S, moment
from engine.runs import Outcome

_WORD = Meta(extra_json_schema={"enum": [*OUTCOMES]})
TIME = Meta(
    min_length=1,
    description="RFC 3339",
    extra_json_schema={"anyOf": [{"format": "date-time"}, {"format": "date"}]},
)
NUMBER = Meta(ge=LEAST_S, description="Seconds, milli-, micro- or nanoseconds since 1970, by its size")


class PutOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run ended, and when that was so if it was not now."""

    outcome: Annotated[str, _WORD]
    time: Annotated[str, TIME] | Annotated[int, NUMBER] | None = None


OPERATIONS = (
    Operation(
        "put_outcome",
        urls.API_OUTCOME,
        "PUT",
        "Says how a run ended; a run that is yet to be seen is waited for (202)",
        {200: Told, 202: Told},
        body=PutOutcome,
    ),
    Operation(
        "delete_outcome",
        urls.API_OUTCOME,
        "DELETE",
        "Takes back what the same key said of a run",
        {204: None, 404: Problem},
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def put(run_id: str) -> Response:
        outcome, time_ns = read(body(PutOutcome))
        by = signed(BY_API, service.caller().name)
        said = say(service.store, service.tenant, run_id, outcome, by, time_ns, service.now_ns())
        told = drawn(Told, declaration(said.declaration), run_id=run_id, new=said.new, waiting=said.waiting)
        return json_response(told, 202 if said.waiting else 200)

    def delete(run_id: str) -> Response:
        by = signed(BY_API, service.caller().name)
        if not take_back(service.store, service.tenant, run_id, by):
            return problem(404, f"This key has declared no outcome of a run {run_id!r}.")
        return Response(status=204)

    bind(server, OPERATIONS, put, delete)


def read(asked: PutOutcome) -> tuple[Outcome, int | None]:
    """The outcome that is put, and its time.

    Raises
    ------
    InputError
        With a sentence that names the field.

    Examples
    --------
    >>> read(PutOutcome("Succeeded"))
    (<Outcome.SUCCESS: 0>, None)
    """
    word = OUTCOMES.get(asked.outcome.strip().lower())
    if word is None:
        raise InputError(f"outcome: {asked.outcome[:60]!r} is none of {', '.join(OUTCOMES)}.")
    return Outcome[word.upper()], time_ns(asked.time)


def time_ns(time: str | int | None) -> int | None:
    """A time that is sent, None if none is.

    Raises
    ------
    InputError
        It cannot be read, with a sentence that says so.
    """
    try:
        found = moment(time)
    except InputError as error:
        raise InputError(f"time: {error.reason}.") from None
    if isinstance(time, str) and "-" not in time:
        raise InputError("time: a number is written without quotes.")
    return found
