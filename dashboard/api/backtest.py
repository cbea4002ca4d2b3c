"""``GET /api/v1/backtest``: what a fuse would have done to an agent's runs that are over."""

from __future__ import annotations

from typing import Annotated, Literal

from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import AgentName, Windowed, window
from dashboard.api.operations import Operation, bind, given, query
from dashboard.api.responses import json_response
from dashboard.api.waiting import not_yet
from dashboard.documents.backtests import Backtest, backtest
from dashboard.documents.problem import Problem
from dashboard.documents.waiting import Waiting
from dashboard.service import Service
from engine.backtest import COST, Fuse, promises
from engine.builder import Ready
from engine.fuses import AFTER_STEPS, LARGEST, MIN_SUPPORT
from engine.runs import Cohort
from engine.store import Lines


class Trying(Windowed, frozen=True):
    """Which fuse is tried, on whose runs."""

    agent: AgentName
    foresight_min_support: Annotated[int, Meta(ge=1, le=LARGEST, description="As of a policy")] = MIN_SUPPORT
    foresight_after_steps: Annotated[int, Meta(ge=0, le=LARGEST, description="As of a policy")] = AFTER_STEPS
    history: Annotated[
        Literal["others", "earlier"],
        Meta(description="By what runs are judged: all others, or those that were over before each began"),
    ] = "others"
    false_stop_cost: Annotated[
        float, Meta(ge=0, le=LARGEST, description="How many right stops make up for a false one")
    ] = COST
    min_success_odds: (
        Annotated[float, Meta(gt=0, le=1, description="The odds to look at, beside every percentage")]
        | UnsetType
    ) = UNSET


OPERATIONS = (
    Operation(
        "get_backtest",
        urls.API_BACKTEST,
        "GET",
        "Tells what a fuse would have done to an agent's runs that are over, at every odds",
        {200: Backtest, 202: Waiting, 404: Problem},
        Trying,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the route to the server."""

    def ask() -> Response:
        asked, tenant, store = query(Trying), service.tenant, service.store
        cohort = Cohort(tenant, asked.agent, window(asked))
        answer = service.maps.questions(cohort)
        if not isinstance(answer, Ready):
            return not_yet(service, cohort, answer)
        trials = service.trials(cohort, answer)
        fuse = Fuse(asked.foresight_min_support, asked.foresight_after_steps, asked.history == "earlier")
        found = trials.tried(fuse, asked.false_stop_cost, given(asked.min_success_odds))
        promised = promises(trials, asked.agent, store.policies(tenant), fuse.earlier)
        tallies = store.tally(tenant, service.now_ns(), Lines(agent=asked.agent))
        return json_response(backtest(found, promised, tallies))

    bind(server, OPERATIONS, ask)
