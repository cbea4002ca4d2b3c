"""What is said of what is built in the background and not there yet."""

from __future__ import annotations

from typing import Any

from flask import Response

from dashboard.api.asking import expect_agent
from dashboard.api.otlp import RETRY_AFTER_S
from dashboard.api.problems import problem
from dashboard.api.responses import json_response
from dashboard.documents.waiting import BUILDING
from dashboard.service import Service
from engine.builder import Answer, Failed
from engine.errors import InputError, StoreError, UnknownAgentError
from engine.runs import Cohort

WAIT_S = 1
"""When to ask again for what is being built."""


def not_yet(service: Service, asked: Cohort, answer: Answer[Any]) -> Response:
    """That it is being built, or why it cannot be; an agent that nobody knows is told at once."""
    if isinstance(answer, Failed):
        if isinstance(answer.error, UnknownAgentError | StoreError | InputError):
            raise answer.error
        return problem(503, answer.sentence, RETRY_AFTER_S)
    expect_agent(service, asked.agent)
    response = json_response(BUILDING, 202)
    response.headers["Retry-After"] = str(WAIT_S)
    return response
