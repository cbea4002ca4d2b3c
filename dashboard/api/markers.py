"""``/api/v1/markers``: moments at which something was changed, told by whoever deploys."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import AgentName
from dashboard.api.operations import Operation, bind, body, given, query
from dashboard.api.outcomes import NUMBER, TIME, time_ns
from dashboard.api.problems import problem
from dashboard.api.responses import json_response
from dashboard.documents.markers import Marker, Markers, marker
from dashboard.documents.problem import Problem
from dashboard.service import Service
from engine.errors import InputError


class PostMarker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was changed, when if it was not now, and of which agent if not of all."""

    name: Annotated[str, Meta(min_length=1, description="For example the version that is deployed")]
    time: Annotated[str, TIME] | Annotated[int, NUMBER] | None = None
    agent: Annotated[str, Meta(min_length=1)] | None = None


class ListMarkers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose markers."""

    agent: AgentName | UnsetType = UNSET


OPERATIONS = (
    Operation(
        "list_markers",
        urls.API_MARKERS,
        "GET",
        "Lists markers, the latest first; of an agent its own and everybody's",
        {200: Markers},
        ListMarkers,
    ),
    Operation(
        "post_marker",
        urls.API_MARKERS,
        "POST",
        "Marks a moment at which something was changed, a new one (201) or the same once more",
        {200: Marker, 201: Marker},
        body=PostMarker,
    ),
    Operation("delete_marker", urls.API_MARKER, "DELETE", "Removes a marker", {204: None, 404: Problem}),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""
    store = service.store

    def listed() -> Response:
        found = store.markers(service.tenant, given(query(ListMarkers).agent))
        return json_response(Markers([marker(each) for each in found]))

    def post() -> Response:
        asked = body(PostMarker)
        for field, text in (("name", asked.name), ("agent", asked.agent)):
            if text is not None and not text.strip():
                raise InputError(f"{field}: blank.")
        told_ns = time_ns(asked.time)
        at_ns = service.now_ns() if told_ns is None else told_ns
        kept, is_new = store.add_marker(service.tenant, asked.name, at_ns, asked.agent)
        return json_response(marker(kept), 201 if is_new else 200)

    def delete(number: int) -> Response:
        if not store.remove_marker(service.tenant, number):
            return problem(404, f"There is no marker {number}.")
        return Response(status=204)

    bind(server, OPERATIONS, listed, post, delete)
