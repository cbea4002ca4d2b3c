"""``GET /api/v1/agents``: who ran, and how it ended, within the caller's tenant."""

from __future__ import annotations

from bisect import bisect_right
from typing import Annotated

from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import Limit, Windowed, window
from dashboard.api.operations import Operation, bind, query
from dashboard.api.responses import json_response
from dashboard.documents.agents import Agents, listed_agent
from dashboard.service import Service


class ListAgents(Windowed, frozen=True):
    """Which page of the agents."""

    after: Annotated[str, Meta(description="Agents whose names come after this one")] | UnsetType = UNSET
    limit: Limit = 100


OPERATIONS = (
    Operation(
        "list_agents",
        urls.API_AGENTS,
        "GET",
        "Lists the agents by name, and how their runs of a window ended",
        {200: Agents},
        ListAgents,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the route to the server."""

    def agents() -> Response:
        asked = query(ListAgents)
        found = service.store.agents(service.tenant, window(asked), service.now_ns())
        first = 0 if asked.after is UNSET else bisect_right([each.agent for each in found], asked.after)
        page = found[first : first + asked.limit]
        more = page[-1].agent if first + asked.limit < len(found) else None
        return json_response(Agents([listed_agent(each) for each in page], more))

    bind(server, OPERATIONS, agents)
