"""``GET /api/v1/runs`` and ``GET /api/v1/runs/{id}``: reading back, within the caller's tenant."""

from __future__ import annotations

from typing import Annotated

from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import AgentName, Limit, Windowed, expect_agent, window
from dashboard.api.operations import Operation, bind, given, query
from dashboard.api.responses import json_response
from dashboard.documents import OutcomeWord
from dashboard.documents.problem import Problem
from dashboard.documents.runs import Run, Runs, listed_run, run
from dashboard.service import Service
from engine.declaring import run_named
from engine.runs import Cohort, Outcome
from engine.store import Place, RunRow, Wanted

_PLACE = Meta(pattern=r"^-?[0-9]{1,19}\.[0-9]{1,19}$", description="What `next` of the page before says")


class ListRuns(Windowed, frozen=True):
    """Which page of which runs."""

    agent: AgentName
    outcome: Annotated[OutcomeWord, Meta(description="unknown: only live runs")] | UnsetType = UNSET
    version: Annotated[str, Meta(description="Of this version of the agent")] | UnsetType = UNSET
    ticket: Annotated[str, Meta(description="Asked to do this")] | UnsetType = UNSET
    after: Annotated[str, _PLACE] | UnsetType = UNSET
    limit: Limit = 100


OPERATIONS = (
    Operation(
        "list_runs",
        urls.API_RUNS,
        "GET",
        "Lists an agent's runs, newest first",
        {200: Runs, 404: Problem},
        ListRuns,
    ),
    Operation(
        "get_run",
        urls.API_RUN,
        "GET",
        "Reads one run, named by its id or that of a trace of it: its steps and how it ended",
        {200: Run, 404: Problem},
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def listed() -> Response:
        asked = query(ListRuns)
        cohort = Cohort(service.tenant, asked.agent, window(asked))
        rows = service.store.runs(cohort, service.now_ns(), asked.limit + 1, _wanted(asked))
        if not rows:
            expect_agent(service, asked.agent)
        page = rows[: asked.limit]
        more = _text(page[-1]) if len(rows) > asked.limit else None
        return json_response(Runs([listed_run(row) for row in page], more))

    def one(run_id: str) -> Response:
        store, tenant = service.store, service.tenant
        found = store.run(tenant, run_named(store, tenant, run_id) or run_id)
        said = store.declarations(tenant, found.run_id)
        return json_response(run(found, said, service.now_ns()))

    bind(server, OPERATIONS, listed, one)


def _wanted(asked: ListRuns) -> Wanted:
    outcome = None if asked.outcome is UNSET else Outcome[asked.outcome.upper()]
    after = None if asked.after is UNSET else Place(*map(int, asked.after.split(".")))
    return Wanted(outcome, given(asked.version), given(asked.ticket), after)


def _text(row: RunRow) -> str:
    """Where a page ends, as the one that follows is asked for."""
    return ".".join(map(str, row.place))
