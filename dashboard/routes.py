"""The plain HTTP routes beside the pages: a map's columns, and where a pasted text leads."""

from __future__ import annotations

import gzip
from hashlib import blake2b

import msgspec
from flask import Flask, Response, redirect, request
from werkzeug.wrappers import Response as Answer

from dashboard import urls
from dashboard.components.treegrid import columns
from dashboard.pages import found
from dashboard.service import Service
from engine import queries
from engine.builder import Cache, Ready
from engine.maps import BehaviourMap


def register(server: Flask, service: Service, cache: Cache) -> None:
    """Add the routes to the server."""

    def map_data() -> Answer:
        look = urls.parse(request.query_string.decode())
        answer = service.maps.get(look.cohort(service.tenant))
        if not isinstance(answer, Ready) or str(answer.built_ns) != request.args.get("built"):
            return Response("This build of the map is no longer here.", 409, mimetype="text/plain")
        address = urls.map_data_url(answer.value.cohort, answer.built_ns)
        return column_response(address, answer.value, cache)

    def go() -> Answer:
        text = request.args.get("q", "").strip()
        named = queries.find(service.store, service.tenant, text, service.now_ns())
        return redirect(found.target(service, named) or urls.found_url(text))

    server.add_url_rule(urls.MAP_DATA, "map_data", map_data)
    server.add_url_rule(urls.GO, "go", go)


def column_response(address: str, behaviour: BehaviourMap, cache: Cache) -> Response:
    """The columns as gzipped JSON, compressed once; their tag is the identity of the build."""
    response = Response(mimetype="application/json")
    build = f"{behaviour.cohort.tenant}:{address}"
    response.set_etag(blake2b(build.encode(), digest_size=12).hexdigest())
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["Vary"] = "Accept-Encoding"
    response.make_conditional(request)
    if response.status_code == 304:
        return response
    packed = _packed(address, behaviour, cache)
    if request.accept_encodings.quality("gzip"):
        response.headers["Content-Encoding"] = "gzip"
        response.set_data(packed)
    else:
        response.set_data(gzip.decompress(packed))
    return response


def _packed(address: str, behaviour: BehaviourMap, cache: Cache) -> bytes:
    key = f"forkmap:columns:{behaviour.cohort.tenant}:{address}"
    packed = cache.get(key)
    if packed is None:
        packed = gzip.compress(msgspec.json.encode(columns(behaviour)), 6)
        cache.set(key, packed)
    return packed
