"""What the palette offers while somebody types into it: agents, tickets and runs of that name."""

from __future__ import annotations

import msgspec
from flask import Flask, Response, request

from dashboard import urls
from dashboard.service import Service
from engine import queries

OFFERED = 6
"""Names of each kind."""


class Offer(msgspec.Struct, frozen=True):
    """A line of the palette, and where it leads."""

    kind: str
    name: str
    href: str


def register(server: Flask, service: Service) -> None:
    """Add the route to the server."""

    def palette() -> Response:
        found = offers(service, request.args.get("q", ""))
        return Response(msgspec.json.encode(found), mimetype="application/json")

    server.add_url_rule(urls.PALETTE, "palette", palette)


def offers(service: Service, text: str) -> list[Offer]:
    """What holds the text; else what a pasted one names, whatever stands around it."""
    store, tenant = service.store, service.tenant
    names = store.names(tenant, text, OFFERED)
    kinds = [("agent", names.agents), ("ticket", names.tickets), ("run", names.run_ids)]
    if not any(names) and text.strip():
        named = queries.find(store, tenant, text, service.now_ns())
        kinds = [("agent", named.agents), ("run", named.run_ids[:OFFERED])]
    return [Offer(kind, name, urls.go_url(name)) for kind, found in kinds for name in found]
