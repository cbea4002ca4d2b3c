"""The map of one agent: the headline, the fatal forks, the tree, and the evidence for a node."""

from __future__ import annotations

from functools import partial
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from dashboard import ids, urls
from dashboard.components import choices, evidence, findings, headline, states, stats, words
from dashboard.components.treegrid import Icicle, TreeGrid
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.builder import Failed, Ready
from engine.forks import Fork, forks, hotspots
from engine.maps import BehaviourMap
from engine.queries import Example
from engine.runs import ALL_TIME, Outcome

EXAMPLES = 3
"""Runs of each kind listed for a node."""


def layout(service: Service, look: Look) -> Page:
    """The map as far as it is built."""
    title = f"{look.agent} · map"
    answer = service.maps.get(look.cohort(service.tenant))
    if isinstance(answer, Failed):
        return Page(title, states.absent(look.agent, answer), stamp="failed")
    if not isinstance(answer, Ready):
        waiting = states.building(f"the map of {look.agent}")
        return Page(title, waiting, waiting=True, stamp="building", agent=look.agent)
    body = _body(answer.value, look, answer.built_ns, service.now_ns())
    return Page(title, body, stamp=str(answer.built_ns), agent=look.agent)


def skeleton() -> Component:
    """The ids that this page's callbacks speak of."""
    return html.Div(
        [
            TreeGrid(id=ids.TREE),
            Icicle(id=ids.ICICLE),
            dcc.Store(id=ids.MAP_SOURCE),
            dcc.Store(id=ids.NODE_KEY),
            html.Div(id=ids.NODE_PANEL),
        ]
    )


def _body(behaviour: BehaviourMap, look: Look, built_ns: int, now_ns: int) -> Component:
    found, spots = forks(behaviour), hotspots(behaviour)
    node, lost = chosen(behaviour, look, found)
    source = {"url": urls.map_data_url(behaviour.cohort, built_ns), "built": str(built_ns)}
    completed = behaviour.totals.completed
    main = [_overview(node), _tree(look, node)] if completed else [_no_runs(look)]
    side = [
        findings.fork_list(behaviour, found),
        html.Section(panel(behaviour, node, look), id=ids.NODE_PANEL, className="card panel"),
        findings.hotspot_list(spots),
    ]
    return html.Div(
        [
            dcc.Store(id=ids.MAP_SOURCE, data=source),
            dcc.Store(id=ids.NODE_KEY, data=behaviour.key_text(node)),
            _head(look, behaviour),
            *(states.notice(text) for text in [look.complaint, lost, *stats.caveats(behaviour)] if text),
            headline.headline(behaviour, found, spots),
            stats.strip(stats.of_map(behaviour, len(found), len(spots))),
            html.Div(
                [html.Div(main, className="map-main"), html.Div(side, className="map-side")], className="map"
            ),
        ],
        className="map-page",
    )


def _head(look: Look, behaviour: BehaviourMap) -> Component:
    about = f"{words.window(look.window)} · {words.count(behaviour.totals.completed, 'completed run')}"
    return html.Div(
        [
            html.H1(look.agent, title=look.agent, className="clip"),
            html.Span(about, className="dim"),
            html.Div([choices.windows(look, urls.MAP), choices.views(look)], className="switches"),
        ],
        className="page-head",
    )


def _no_runs(look: Look) -> Component:
    every = dcc.Link("Look at all time", href=urls.map_url(look._replace(window=ALL_TIME, node="")))
    text = f"No run of {look.agent} completed in this window ({words.window(look.window)})."
    return html.Section([html.P(text), html.P(every)], className="card state")


def _overview(node: int) -> Component:
    about = "column = step · height = share of runs · colour = 95% interval against the base rate"
    head = html.Div([html.H2("Overview"), html.Span(about, className="dim")], className="card-head")
    return html.Section([head, Icicle(id=ids.ICICLE, selected=node)], className="card")


def _tree(look: Look, node: int) -> Component:
    return html.Section(
        TreeGrid(id=ids.TREE, selected=node, label=f"Behaviour of {look.agent}"), className="tree"
    )


def chosen(behaviour: BehaviourMap, look: Look, found: tuple[Fork, ...]) -> tuple[int, str]:
    """The node to select, and a remark if the one asked for is not in this map.

    Without one in the URL it is the worst fatal fork, else the start.
    """
    worst = found[0].node if found else 0
    if not look.node:
        return worst, ""
    node = behaviour.find(look.node)
    if node is None:
        return worst, "The step that this link names is not in the map of this window and view."
    return node, ""


def panel(behaviour: BehaviourMap, node: int, look: Look) -> list[Any]:
    """The evidence for a node."""
    fork = (
        next((fork for fork in forks(behaviour) if fork.node == node), None) if behaviour.fork[node] else None
    )
    through = [] if fork else _through(behaviour, node)
    return evidence.evidence(behaviour, node, fork, through, look)


def _through(behaviour: BehaviourMap, node: int) -> list[Example]:
    lost = queries.examples(behaviour, node, lambda outcome: outcome != Outcome.SUCCESS, EXAMPLES)
    won = queries.examples(behaviour, node, lambda outcome: outcome == Outcome.SUCCESS, EXAMPLES)
    return lost + won


def show_node(service: Service, node: int | None, search: str, source: dict[str, str]) -> tuple[Any, Any]:
    """A node was selected: its panel, and its key for the URL."""
    look = urls.parse(search)
    answer = service.maps.get(look.cohort(service.tenant))
    if node is None or not isinstance(answer, Ready):
        return no_update, no_update
    if str(answer.built_ns) != source["built"]:
        text = "The map has been built anew since this page was opened: load it again to see the evidence."
        return states.notice(text), no_update
    behaviour = answer.value
    return panel(behaviour, node, look), behaviour.key_text(node)


def register(app: Dash, service: Service) -> None:
    """Selecting a node: from the tree, the overview or a list, into the panel and the URL."""
    app.callback(
        Output(ids.NODE_PANEL, "children"),
        Output(ids.NODE_KEY, "data"),
        Input(ids.TREE, "selected"),
        State(ids.URL, "search"),
        State(ids.MAP_SOURCE, "data"),
        prevent_initial_call=True,
    )(partial(show_node, service))
    app.clientside_callback(
        ClientsideFunction("forkmap", "pick"),
        Output(ids.TREE, "selected"),
        Output(ids.ICICLE, "selected"),
        Input(ids.TREE, "selected"),
        Input(ids.ICICLE, "selected"),
        Input(ids.pick(ALL, ALL), "n_clicks"),  # type: ignore[arg-type]
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("forkmap", "rememberNode"),
        Input(ids.NODE_KEY, "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("forkmap", "loadMap"),
        Output(ids.TREE, "data"),
        Output(ids.ICICLE, "data"),
        Input(ids.MAP_SOURCE, "data"),
    )
