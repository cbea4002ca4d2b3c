"""``GET /api/v1/runs/{id}`` and ``GET /api/v1/agents``: reading back, within the caller's tenant."""

from __future__ import annotations

from flask import Flask, Response, request

from dashboard import urls
from dashboard.api.problems import problem
from dashboard.api.responses import json_response
from dashboard.documents.agents import listed_agent
from dashboard.documents.runs import run as document
from dashboard.service import Service
from engine.declaring import run_named


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def run(run_id: str) -> Response:
        store, tenant = service.store, service.tenant
        found = store.run(tenant, run_named(store, tenant, run_id) or run_id)
        said = store.declarations(tenant, found.run_id)
        return json_response(document(found, said, service.now_ns()))

    def agents() -> Response:
        look = urls.parse(request.query_string.decode())
        if look.complaint:
            return problem(400, look.complaint.partition(";")[0] + ".")
        summaries = service.store.agents(service.tenant, look.window, service.now_ns())
        return json_response({"agents": [listed_agent(each) for each in summaries]})

    server.add_url_rule(urls.API_RUN, "get_run", run)
    server.add_url_rule(urls.API_AGENTS, "get_agents", agents)
