"""What programs ask over HTTP: one module a group of routes, each with ``register(server, service)``."""

from __future__ import annotations

from flask import Flask
from werkzeug.routing import PathConverter

from dashboard.api import (
    agents,
    backtest,
    changes,
    decisions,
    erasures,
    events,
    fuses,
    health,
    intake,
    maps,
    markers,
    openapi,
    outcomes,
    problems,
    rules,
    runs,
    steps,
    tickets,
)
from dashboard.service import Service

DESCRIBED = (
    agents,
    runs,
    tickets,
    decisions,
    events,
    outcomes,
    rules,
    maps,
    steps,
    changes,
    markers,
    fuses,
    backtest,
    erasures,
)
OPERATIONS = tuple(operation for module in (*DESCRIBED, openapi) for operation in module.OPERATIONS)
"""All that can be asked under the API's address."""


class RunId(PathConverter):
    """A run's id in an address, written as any text is: it may begin with a slash, or hold lines."""

    regex = "(?s:.+?)"
    part_isolating = False


def register(server: Flask, service: Service) -> None:
    """Add every route to the server."""
    server.url_map.merge_slashes = False
    server.url_map.converters["run"] = RunId
    for module in (problems, intake, health, *DESCRIBED):
        module.register(server, service)
    openapi.register(server, OPERATIONS)
