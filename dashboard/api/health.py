"""Whether the server is up, and whether its store answers: for whatever starts and watches it."""

from __future__ import annotations

import logging

from flask import Flask, Response

from dashboard import urls
from dashboard.api.otlp import RETRY_AFTER_S
from dashboard.api.problems import problem
from dashboard.service import Service
from engine.errors import StoreError

_log = logging.getLogger(__name__)


def register(server: Flask, service: Service) -> None:
    """Add the two routes; they need no key and tell of nobody's runs."""

    def healthy() -> Response:
        return Response("ok\n", mimetype="text/plain")

    def ready() -> Response:
        try:
            service.store.has_keys()
        except StoreError as error:
            _log.error("not ready: %s", error)
            return problem(503, "The store does not answer.", RETRY_AFTER_S)
        return Response("ready\n", mimetype="text/plain")

    server.add_url_rule(urls.HEALTHY, "healthy", healthy)
    server.add_url_rule(urls.READY, "ready", ready)
