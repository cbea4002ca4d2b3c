"""``POST /api/v1/decisions``: events of decision traces, one JSON object a line.

200 says that the lines are durable, all but those that it names.
"""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import Annotated

import msgspec
from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType
from werkzeug.exceptions import RequestEntityTooLarge, ServiceUnavailable

from dashboard import urls
from dashboard.api.intake import received
from dashboard.api.operations import Operation, bind, given, query
from dashboard.api.otlp import RETRY_AFTER_S, keep
from dashboard.api.responses import json_response
from dashboard.documents.events import RefusedLine, Taken
from dashboard.documents.problem import Problem
from dashboard.service import Service
from engine.decisions.outlining import Line
from engine.decisions.recording import MAX_ID_CHARACTERS
from engine.errors import TooLargeError
from engine.ingest import of_run, said
from engine.ingest.events import read
from engine.runs import run_key

AT_ONCE = 4
"""Requests of events taken at once; more are sent back for a while, so that pages find a thread."""
NAMED = 1_000
"""Refusals that are named, the first; the rest are counted."""
MEDIA_TYPES = ("application/x-ndjson", "application/jsonl", "application/json")

_Given = Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARACTERS)]


class Sent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose the events are, whatever they say themselves."""

    run: (
        Annotated[_Given, Meta(description="The run of all of them; needed where they come piece by piece")]
        | UnsetType
    ) = UNSET
    agent: Annotated[_Given, Meta(description="The agent of their runs")] | UnsetType = UNSET
    ticket: Annotated[_Given, Meta(description="What their runs were asked to do")] | UnsetType = UNSET
    version: Annotated[_Given, Meta(description="The agent's version")] | UnsetType = UNSET


OPERATIONS = (
    Operation(
        "post_decisions",
        urls.API_DECISIONS,
        "POST",
        "Takes events of decision traces, an object a line; one that cannot be kept costs itself only",
        {200: Taken, 415: Problem},
        Sent,
        Line,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the route to the server."""
    places = BoundedSemaphore(AT_ONCE)

    def post() -> Response:
        asked = query(Sent)
        if not places.acquire(blocking=False):
            raise ServiceUnavailable("Too many requests of events come at once.", retry_after=RETRY_AFTER_S)
        try:
            return json_response(take(service, asked))
        except TooLargeError as error:
            raise RequestEntityTooLarge(str(error)) from error
        finally:
            places.release()

    bind(server, OPERATIONS, post)


def take(service: Service, asked: Sent) -> Taken:
    """Read the request that is answered and keep its events; on return they are durable.

    Raises
    ------
    InputError
        It is compressed and damaged.
    TooLargeError
        It holds too much.
    StoreError
        Nothing of it was kept.
    """
    limits = service.limits
    body = received(MEDIA_TYPES, limits.max_body_bytes)
    events = read(body, given(asked.run) or "", limits)
    told = said(given(asked.agent), given(asked.ticket), given(asked.version))
    spans = [of_run(span, told) for span in events.spans]
    refused = len(events.refusals)
    done = keep(service.store, service.tenant, spans, refused, service.meter)
    named = [RefusedLine(line, reason) for line, reason in events.refusals[:NAMED]]
    by = service.store.reading_settings.run_key
    runs = [run_key([span], by) for span in {span.trace_id: span for span in events.spans}.values()]
    return Taken(done.new + done.changed, done.unchanged, refused, named, runs)
