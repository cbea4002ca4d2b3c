"""What programs ask over HTTP: one module a group of routes, each with ``register(server, service)``."""

from __future__ import annotations

from flask import Flask

from dashboard.api import health, intake, outcomes, problems, runs
from dashboard.service import Service


def register(server: Flask, service: Service) -> None:
    """Add every route to the server."""
    for module in (problems, intake, health, outcomes, runs):
        module.register(server, service)
