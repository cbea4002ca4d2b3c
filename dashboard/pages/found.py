"""What a pasted text names: several runs (of one ticket, say), or nothing, with names like it."""

from __future__ import annotations

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import named, words
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.queries import Found
from engine.runs import Window

SHOWN = 100


def layout(service: Service, look: Look) -> Page:
    """The runs and agents that the text names."""
    found = queries.find(service.store, service.tenant, look.q, service.now_ns())
    if not found.run_ids and not found.agents:
        near = queries.near(service.store, service.tenant, look.q, service.now_ns())
        said = named.nothing(look.q, near, service.caller(), service.now_ns())
        return Page("Nothing found", said, stamp="none")
    now_ns = service.now_ns()
    known = queries.named(service.store, service.tenant, found.run_ids[:SHOWN], now_ns)
    runs = named.runs(known, now_ns)
    agents = [named.agent(name, _window(service, name)) for name in found.agents]
    rest = f"; the latest {SHOWN} are listed" if len(found.run_ids) > SHOWN else ""
    head = f"{words.count(len(found.run_ids), 'run')} named “{words.quoted(found.name)}”{rest}"
    listed = html.Ul([*agents, *runs], className="found")
    body = html.Section([html.H1(head), *_compare(service, found.name), listed], className="card state")
    return Page(look.q, body, stamp=str(len(found.run_ids)))


def _compare(service: Service, text: str) -> list[Component]:
    """The way to two of them side by side, if the text is a ticket with two runs."""
    rows = service.store.runs_of_ticket(service.tenant, text, service.now_ns(), 2)
    link = dcc.Link("Compare two runs of this ticket", href=urls.compare_url(ticket=text))
    return [html.P(link)] if len(rows) > 1 else []


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
