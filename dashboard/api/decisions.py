"""``GET /api/v1/runs/{id}/decisions`` and ``GET /api/v1/compare``: what runs decided, and where two fork."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from flask import Flask, Response
from msgspec import Meta

from dashboard import urls
from dashboard.api.operations import Operation, bind, query
from dashboard.api.responses import json_response
from dashboard.documents.decisions import Comparison, Decisions, comparison, decisions
from dashboard.documents.problem import Problem
from dashboard.service import Service
from engine.comparing import load_pair
from engine.decisions.menus import LOW_MARGIN
from engine.decisions.reading import read
from engine.declaring import run_named

RunName: TypeAlias = Annotated[str, Meta(min_length=1, description="Id of a run, or of a trace of it")]


_MARGIN = Meta(ge=0, le=1e9, description="Margins from 0 to below this are close to a tie")


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which two runs."""

    a: RunName
    b: RunName
    low_margin: Annotated[float, _MARGIN] = LOW_MARGIN


OPERATIONS = (
    Operation(
        "get_decisions",
        urls.API_RUN_DECISIONS,
        "GET",
        "Reads what a run was offered and chose, and what is wrong with that record",
        {200: Decisions, 404: Problem},
    ),
    Operation(
        "compare_runs",
        urls.API_COMPARE,
        "GET",
        "Compares two runs of one ticket: where they fork, and which kind of difference that is",
        {200: Comparison, 404: Problem},
        Pair,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def one(run_id: str) -> Response:
        store, tenant = service.store, service.tenant
        found = store.run(tenant, _named(service, run_id))
        trace = read(found.run_id, store.spans(tenant, found.run_id))
        return json_response(decisions(found.run_id, trace))

    def compared() -> Response:
        asked = query(Pair)
        a, b = _named(service, asked.a), _named(service, asked.b)
        found = load_pair(service.store, service.tenant, a, b, asked.low_margin)
        return json_response(comparison(found.diff, found.a, found.b))

    bind(server, OPERATIONS, one, compared)


def _named(service: Service, name: str) -> str:
    return run_named(service.store, service.tenant, name) or name
