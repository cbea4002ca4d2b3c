"""``GET /api/v1/runs`` and ``GET /api/v1/runs/{id}``: reading back, within the caller's tenant."""

from __future__ import annotations

from typing import Annotated

from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import AgentName, Limit, Where, Windowed, expect_agent, narrowing, window
from dashboard.api.operations import Operation, bind, given, query
from dashboard.api.responses import json_response
from dashboard.documents import OutcomeWord
from dashboard.documents.problem import Problem
from dashboard.documents.runs import Run, Runs, listed_run, run
from dashboard.service import Service
from engine.declaring import run_named
from engine.runs import Cohort, Outcome
from engine.store import MAX_RUNS, Place, RunRow, Wanted

_PLACE = Meta(pattern=r"^-?[0-9]{1,19}\.[0-9]{1,19}$", description="What `next` of the page before says")


class ListRuns(Windowed, frozen=True):
    """Which page of which runs."""

    agent: AgentName
    outcome: Annotated[OutcomeWord, Meta(description="unknown: only live runs")] | UnsetType = UNSET
    version: Annotated[str, Meta(description="Of this version of the agent")] | UnsetType = UNSET
    ticket: Annotated[str, Meta(description="Asked to do this")] | UnsetType = UNSET
    where: Where | UnsetType = UNSET
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
        cohort = Cohort(service.tenant, asked.agent, window(asked), where=narrowing(asked.where))
        wanted = _wanted(asked)
        rows = service.store.runs(cohort, service.now_ns(), asked.limit + 1, wanted)
        if not rows:
            expect_agent(service, asked.agent)
        page = rows[: asked.limit]
        last = page[-1] if len(rows) > asked.limit else _looked_through(service, cohort, wanted)
        return json_response(Runs([listed_run(row) for row in page], last and _text(last)))

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


def _looked_through(service: Service, cohort: Cohort, wanted: Wanted) -> RunRow | None:
    """The last run that a narrowed page was looked for in, if there are more behind it."""
    if not cohort.where:
        return None
    rows = service.store.runs(cohort._replace(where=""), service.now_ns(), MAX_RUNS + 1, wanted)
    return rows[-2] if len(rows) > MAX_RUNS else None


def _text(row: RunRow) -> str:
    """Where a page ends, as the one that follows is asked for."""
    return ".".join(map(str, row.place))
