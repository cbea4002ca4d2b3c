"""What a pasted text names: several runs (of one ticket, say), or nothing, with names like it."""

from __future__ import annotations

from dash import Dash

from dashboard import urls
from dashboard.components import named
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.queries import Found
from engine.runs import Window


def layout(service: Service, look: Look) -> Page:
    """The runs and agents that the text names."""
    found = queries.find(service.store, service.tenant, look.q, service.now_ns())
    if not found.run_ids and not found.agents:
        near = queries.near(service.store, service.tenant, look.q, service.now_ns())
        said = named.nothing(look.q, near, service.caller(), service.now_ns())
        return Page("Nothing found", said, stamp="none")
    now_ns = service.now_ns()
    known = queries.named(service.store, service.tenant, found.run_ids[: named.SHOWN], now_ns)
    agents = [named.agent(name, _window(service, name)) for name in found.agents]
    comparable = len(service.store.runs_of_ticket(service.tenant, found.name, now_ns, 2)) > 1
    body = named.several(found, known, agents, comparable, now_ns)
    return Page(look.q, body, stamp=str(len(found.run_ids)))


def register(app: Dash, service: Service) -> None:
    """This page has no callbacks of its own."""


def target(service: Service, found: Found) -> str | None:
    """The one address that a text leads to, or None if it names several things or nothing."""
    if len(found.run_ids) == 1 and not found.agents:
        run = service.store.run(service.tenant, found.run_ids[0])
        return urls.run_url(Look(run=run.run_id, window=_window(service, run.agent)))
    if len(found.agents) == 1 and not found.run_ids:
        agent = found.agents[0]
        return urls.map_url(Look(agent=agent, window=_window(service, agent)))
    return None


def _window(service: Service, agent: str) -> Window:
    return queries.telling_window(service.store, service.tenant, agent, service.now_ns())
