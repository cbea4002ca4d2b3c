"""What programs ask over HTTP: one module a group of routes, each with ``register(server, service)``."""

from __future__ import annotations

from flask import Flask
from werkzeug.routing import PathConverter

from dashboard.api import health, intake, outcomes, problems, runs
from dashboard.service import Service


class RunId(PathConverter):
    """A run's id in an address, written as any text is: it may begin with a slash."""

    regex = ".+?"
    part_isolating = False


def register(server: Flask, service: Service) -> None:
    """Add every route to the server."""
    server.url_map.merge_slashes = False
    server.url_map.converters["run"] = RunId
    for module in (problems, intake, health, outcomes, runs):
        module.register(server, service)
