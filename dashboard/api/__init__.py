"""What programs ask over HTTP: one module a group of routes, each with ``register(server, service)``."""

from __future__ import annotations

from flask import Flask

from dashboard.api import health, intake, problems
from dashboard.service import Service


def register(server: Flask, service: Service) -> None:
    """Add every route to the server."""
    for module in (problems, intake, health):
        module.register(server, service)
