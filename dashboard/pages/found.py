"""What a pasted text names: several runs (of one ticket, say), or nothing, with names like it."""

from __future__ import annotations

from typing import Any

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, states, words
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
        return Page("Nothing found", nothing(service, look.q), stamp="none")
    runs = [_run(service, run_id) for run_id in found.run_ids[:SHOWN]]
    agents = [html.Li(_agent(service, name)) for name in found.agents]
    rest = f"; the latest {SHOWN} are listed" if len(found.run_ids) > SHOWN else ""
    head = f"{words.count(len(found.run_ids), 'run')} named “{words.quoted(look.q)}”{rest}"
    listed = html.Ul([*agents, *runs], className="found")
    body = html.Section([html.H1(head), *_compare(service, look.q), listed], className="card state")
    return Page(look.q, body, stamp=str(len(found.run_ids)))


def _compare(service: Service, text: str) -> list[Component]:
    """The way to two of them side by side, if the text is a ticket with two runs."""
    rows = service.store.runs_of_ticket(service.tenant, text, service.now_ns(), 2)
    link = dcc.Link("Compare two runs of this ticket", href=urls.compare_url(ticket=text.strip()))
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


def nothing(service: Service, text: str) -> Component:
    """What was searched, and what is like it."""
    alike = queries.near(service.store, service.tenant, text, service.now_ns())
    return states.nothing_found(text, alike)


def _run(service: Service, run_id: str) -> Component:
    run = service.store.run(service.tenant, run_id)
    now_ns = service.now_ns()
    about: list[Any] = [
        evidence.state(run, now_ns),
        evidence.run_link(run_id, Look(window=_window(service, run.agent))),
    ]
    facts = [run.agent]
    facts += [f"version {run.version}"] if run.version else []
    facts += [f"ticket {run.ticket}"] if run.ticket else []
    text = " · ".join([*facts, words.ago(run.start_ns, now_ns)])
    about.append(html.Span(text, className="dim clip", title=text))
    return html.Li(about)


def _agent(service: Service, name: str) -> Component:
    look = Look(agent=name, window=_window(service, name))
    return dcc.Link(f"the map of {name}", href=urls.map_url(look))
