"""``POST`` and ``GET /api/v1/erasures``: forgetting runs for good, and the receipts for it."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import Limit, Moment
from dashboard.api.operations import Operation, bind, body, given, query
from dashboard.api.otlp import RETRY_AFTER_S
from dashboard.api.problems import problem
from dashboard.api.responses import json_response
from dashboard.documents.erasures import Erasure, Erasures, erasure
from dashboard.documents.problem import Problem
from dashboard.service import Service
from engine.declaring import BY_API, signed
from engine.errors import InputError
from engine.ingest.outcomes import moment
from engine.selections import Before, ByAttribute, ByRun, ByTicket, Selection

_Text = Annotated[str, Meta(min_length=1)]


class OfRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="run"):
    """The run of an id, of the id of one of its traces, or of a session that it names."""

    run_id: _Text


class OfTicket(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="ticket"):
    """All runs of a ticket."""

    ticket: _Text


class OfAttribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="attribute"):
    """All runs with an attribute of this text on any span, for example a user's id."""

    name: _Text
    value: _Text


class OldOnes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="before"):
    """All runs whose last activity is before a moment."""

    time: Moment


class ListErasures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of the erasures."""

    after: Annotated[str, Meta(description="What `next` of the page before says")] | UnsetType = UNSET
    limit: Limit = 100


Asked: TypeAlias = OfRun | OfTicket | OfAttribute | OldOnes
_ASKED: Any = Asked

OPERATIONS = (
    Operation(
        "create_erasure",
        urls.API_ERASURES,
        "POST",
        "Forgets runs for good, with all that was made of them; what takes long is ended in the background",
        {201: Erasure, 202: Erasure, 404: Problem},
        body=Asked,
    ),
    Operation("list_erasures", urls.API_ERASURES, "GET", "Lists all erasures", {200: Erasures}, ListErasures),
    Operation(
        "get_erasure",
        urls.API_ERASURE,
        "GET",
        "Reads the receipt of an erasure",
        {200: Erasure, 404: Problem},
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def create() -> Response:
        asked_by = signed(BY_API, service.caller().name)
        receipt = service.erase(service.tenant, selection(body(_ASKED)), asked_by)
        response = json_response(erasure(receipt), 202 if receipt.done_ns is None else 201)
        response.headers["Location"] = urls.erasure_url(receipt.erasure_id)
        if receipt.done_ns is None:
            response.headers["Retry-After"] = str(RETRY_AFTER_S)
        return response

    def every() -> Response:
        asked = query(ListErasures)
        found = service.store.receipts(service.tenant, given(asked.after), asked.limit + 1)
        page, more = [*map(erasure, found[: asked.limit])], len(found) > asked.limit
        return json_response(Erasures(page, page[-1].erasure_id if more else None))

    def one(erasure_id: str) -> Response:
        receipt = service.store.receipt(service.tenant, erasure_id)
        return (
            json_response(erasure(receipt))
            if receipt
            else problem(404, f"No erasure {erasure_id!r} is here.")
        )

    bind(server, OPERATIONS, create, every, one)


def selection(asked: Asked) -> Selection:
    """What a body asks for.

    Raises
    ------
    InputError
        A time that cannot be read.

    Examples
    --------
    >>> selection(OfTicket("T-7")), selection(OldOnes("1970-01-01T00:00:01Z"))
    (ByTicket(ticket='T-7'), Before(time_ns=1000000000))
    """
    match asked:
        case OfRun(run_id):
            return ByRun(run_id)
        case OfTicket(ticket):
            return ByTicket(ticket)
        case OfAttribute(name, value):
            return ByAttribute(name, value)
        case OldOnes(time):
            return Before(_moment(time))


def _moment(text: str) -> int:
    try:
        found = moment(text)
    except InputError as error:
        raise InputError(f"time: {error.reason}.") from None
    if found is None:
        raise InputError("time: blank.")
    return found
