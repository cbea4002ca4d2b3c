"""The agents: what hurts most first; trace files can be dropped on it."""

from __future__ import annotations

from hashlib import blake2b

from dash import Dash, html
from dash.development.base_component import Component
from flask import has_request_context, request

from dashboard.components import agents, words
from dashboard.components.agents import FAILED, NOT_ASKED, Cost, Row
from dashboard.components.alarm import headline
from dashboard.components.beginning import beginning, chooser
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import strata
from engine.builder import Failed, Ready
from engine.faring import Faring, faring
from engine.grounds import count_confirmed
from engine.keys import Role
from engine.losses import losses
from engine.queries import DEFAULT_WINDOW
from engine.runs import ALL_TIME, Cohort
from engine.store import Marker

ASKED = 12
"""Maps requested for the list: those of the agents with most runs."""
SHOWN = 100
"""Agents listed: those with most runs; a browser takes a minute over 10,000 rows."""
REFRESH_S = 15.0
"""How often the list is made anew while somebody looks at it."""


def layout(service: Service, look: Look) -> Page:
    """The list of agents, or how to begin."""
    now_ns = service.now_ns()
    found, more = faring(service.store, service.tenant, now_ns, SHOWN)
    if not found:
        return Page("Agents", _beginning(service), stamp="none", refresh_s=REFRESH_S)
    costs = [
        _cost(service, each) if place < ASKED else Cost(why=NOT_ASKED) for place, each in enumerate(found)
    ]
    markers = service.store.markers(service.tenant)
    every = (Row(each, cost, _of(markers, each)) for each, cost in zip(found, costs, strict=True))
    rows = sorted(every, key=lambda row: row.hurt)
    rest = f"{words.count(more, 'more agent')}, with fewer runs: find one by its name, above."
    body = html.Div(
        [
            html.Div([html.H1("Agents"), *_import(service)], className="page-head"),
            headline(rows),
            html.Section(
                [agents.table(rows, now_ns), *([html.P(rest, className="dim")] if more > 0 else [])],
                className="card scroll",
            ),
        ],
        className="home",
    )
    waiting = any(cost.losses is None and not cost.why for cost in costs)
    return Page("Agents", body, waiting=waiting, stamp=_stamp(found, costs, markers), refresh_s=REFRESH_S)


def register(app: Dash, service: Service) -> None:
    """This page has no callbacks of its own."""


def _of(markers: list[Marker], each: Faring) -> tuple[Marker, ...]:
    """The markers that concern an agent."""
    return tuple(marker for marker in markers if marker.agent in (None, each.line.window.agent))


def _stamp(found: list[Faring], costs: list[Cost], markers: list[Marker]) -> str:
    return blake2b(repr((found, costs, markers)).encode(errors="replace"), digest_size=12).hexdigest()


def _cost(service: Service, each: Faring) -> Cost:
    """What the agent's forks cost, if its map is there; asking for it requests it."""
    window = DEFAULT_WINDOW if each.line.recent else ALL_TIME
    answer = service.maps.get(Cohort(service.tenant, each.line.window.agent, window))
    if isinstance(answer, Failed):
        return Cost(why=FAILED)
    if not isinstance(answer, Ready):
        return Cost()
    lost, behaviour = losses(answer.value), answer.value
    step = behaviour.tokens[int(behaviour.token[lost.worst])] if lost.worst else None
    shown = service.maps.made(behaviour.cohort, answer, strata.evidence)
    worst = shown[lost.worst].label if lost.worst else None
    return Cost(lost, behaviour.key_text(lost.worst), step, behaviour.tested, count_confirmed(shown), worst)


def _import(service: Service) -> list[Component]:
    """The button that imports files, for whom may."""
    may = service.caller().may(Role.INGEST)
    return [chooser("Import trace files…", service.limits.max_file_bytes)] if may else []


def _beginning(service: Service) -> Component:
    caller, store = service.caller(), service.store
    choose = chooser("Choose files…", service.limits.max_file_bytes) if caller.may(Role.INGEST) else None
    told = str(store.path) if store.path and caller.role is Role.ADMIN else ""
    return beginning(_origin(), store.has_keys(), told, caller.tenant, choose)


def _origin() -> str:
    """This server's address as the browser has it, which a proxy may have changed on the way."""
    if not has_request_context():
        return "http://127.0.0.1:8050"
    return request.headers.get("Origin") or request.host_url.removesuffix("/")
