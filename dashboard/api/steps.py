"""``GET /api/v1/steps``: the steps, and failed calls, that hurt or help wherever they stand."""

from __future__ import annotations

from flask import Flask, Response

from dashboard import urls
from dashboard.api.asking import Mapped, cohort
from dashboard.api.operations import Operation, bind, query
from dashboard.api.responses import packed, tagged_response
from dashboard.api.waiting import not_yet
from dashboard.documents.problem import Problem
from dashboard.documents.steps import Steps, steps
from dashboard.documents.waiting import Waiting
from dashboard.service import Service
from engine.builder import Ready

OPERATIONS = (
    Operation(
        "get_steps",
        urls.API_STEPS,
        "GET",
        "Reads which steps, and which failed calls, go with how runs end, wherever they stand",
        {200: Steps, 202: Waiting, 304: None, 404: Problem},
        Mapped,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the route to the server."""

    def get() -> Response:
        asked = cohort(query(Mapped), service.tenant)
        answer = service.maps.occurrences(asked)
        if not isinstance(answer, Ready):
            return not_yet(service, asked, answer)
        return tagged_response(f"steps {asked} {answer.built_ns}", lambda: packed(steps(answer.value)))

    bind(server, OPERATIONS, get)
