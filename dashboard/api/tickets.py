"""``GET /api/v1/tickets``: what there is to compare."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Flask, Response
from msgspec import Meta

from dashboard import urls
from dashboard.api.asking import Limit
from dashboard.api.operations import Operation, bind, query
from dashboard.api.responses import json_response
from dashboard.documents.tickets import Tickets, ticket
from dashboard.service import Service


class ListTickets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which tickets."""

    q: Annotated[str, Meta(description="A part of their names, in capitals or not")] = ""
    limit: Limit = 100


OPERATIONS = (
    Operation(
        "list_tickets",
        urls.API_TICKETS,
        "GET",
        "Lists tickets with how their runs ended, those with a success and another ending first",
        {200: Tickets},
        ListTickets,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def listed() -> Response:
        asked = query(ListTickets)
        rows = service.store.tickets(service.tenant, service.now_ns(), asked.q, asked.limit)
        return json_response(Tickets([ticket(row) for row in rows]))

    bind(server, OPERATIONS, listed)
