"""The plain HTTP routes beside the pages: a map's columns, and where a pasted text leads."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from hashlib import blake2b

import msgspec
from flask import Flask, Response, redirect, request
from werkzeug.wrappers import Response as Answer

from dashboard import urls
from dashboard.components.treegrid import columns
from dashboard.pages import found
from dashboard.service import Service
from engine import queries
from engine.builder import Ready
from engine.errors import ForkmapError
from engine.maps import BehaviourMap


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def map_data() -> Answer:
        cohort = urls.parse(request.query_string.decode()).cohort(service.tenant)
        answer = service.maps.get(cohort)
        if not isinstance(answer, Ready) or not _holds(answer, request.args.get("built", "")):
            return Response("This build of the map is no longer here.", 409, mimetype="text/plain")
        address = urls.map_data_url(answer.value.cohort, answer.built_ns)
        return column_response(address, cohort.tenant, lambda: service.maps.made(cohort, answer, packed))

    def go() -> Answer:
        text = request.args.get("q", "").strip()
        named = queries.find(service.store, service.tenant, text, service.now_ns())
        return redirect(found.target(service, named) or urls.found_url(text))

    server.add_url_rule(urls.MAP_DATA, "map_data", map_data)
    server.add_url_rule(urls.GO, "go", go)


def early(service: Service) -> list[str]:
    """What the page of a request will ask for: a map's columns, if it is built; else its build begins."""
    if request.path != urls.MAP:
        return []
    try:
        answer = service.maps.get(urls.parse(request.query_string.decode()).cohort(service.tenant))
    except ForkmapError:
        return []  # The page says why.
    return [urls.map_data_url(answer.value.cohort, answer.built_ns)] if isinstance(answer, Ready) else []


def _holds(answer: Ready[BehaviourMap], built: str) -> bool:
    """Whether a map is the build that is asked for, or one that has taken its place since."""
    return built.isascii() and built.isdecimal() and len(built) < 20 and int(built) <= answer.built_ns


def column_response(address: str, tenant: str, packed: Callable[[], bytes]) -> Response:
    """The columns as gzipped JSON, compressed once; their tag is the identity of the build."""
    response = Response(mimetype="application/json")
    build = f"{tenant}:{address}"
    response.set_etag(blake2b(build.encode(), digest_size=12).hexdigest())
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["Vary"] = "Accept-Encoding"
    response.make_conditional(request)
    if response.status_code == 304:
        return response
    compressed = packed()
    if request.accept_encodings.quality("gzip"):
        response.headers["Content-Encoding"] = "gzip"
        response.set_data(compressed)
    else:
        response.set_data(gzip.decompress(compressed))
    return response


def packed(behaviour: BehaviourMap) -> bytes:
    """A map's columns as gzipped JSON."""
    return gzip.compress(msgspec.json.encode(columns(behaviour)), 6)
