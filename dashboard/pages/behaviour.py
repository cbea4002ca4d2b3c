"""The map of one agent: the headline, the fatal forks, the tree, and the evidence for a node."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from dashboard import ids, urls
from dashboard.components import (
    choices,
    evidence,
    findings,
    grounds,
    headline,
    narrowing,
    states,
    stats,
    wherever,
    words,
)
from dashboard.components.elsewhere import elsewhere
from dashboard.components.markup import lean
from dashboard.components.treegrid import Icicle, TreeGrid
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries, strata
from engine.builder import TTL_S, Absent, Answer, Building, Failed, Ready
from engine.chance import Chance
from engine.forks import Fork, Hotspot, fork_at, forks, golden_forks, hotspots
from engine.grounds import count_confirmed, foremost
from engine.maps import BehaviourMap
from engine.occurrences import Occurrences
from engine.queries import Example
from engine.runs import Outcome
from engine.strata import Evidence

EXAMPLES = 3
"""Runs of each kind listed for a node."""
SUCCESSOR_S, NEWER_S = 1.0, 30.0
"""How often is looked for the map that takes the place of one on show: a stale one, and a fresh one."""


def layout(service: Service, look: Look) -> Page:
    """The map as far as it is built."""
    title = f"{look.agent} · map"
    if look.typed:
        refused = narrowing.refused(look, urls.MAP, look.agent)
        return Page(title, refused, stamp=f"refused {look.typed}", agent=look.agent)
    answer = service.maps.get(look.cohort(service.tenant))
    if isinstance(answer, Failed):
        return Page(title, narrowing.failed(look, urls.MAP, answer), stamp="failed")
    if not isinstance(answer, Ready):
        waiting = states.building(f"the map of {look.agent}", answer)
        stamp = f"building {states.seconds(answer)}"
        return Page(title, waiting, waiting=True, stamp=stamp, agent=look.agent)
    as_of = words.as_of(answer.value.now_ns, service.now_ns(), answer.stale)
    steps = service.maps.occurrences(answer.value.cohort)
    chance = service.maps.chance(answer.value.cohort)
    body = _body(service, answer, steps, chance, look, as_of)
    again_s = SUCCESSOR_S if answer.stale else NEWER_S
    stamp = f"{answer.built_ns} {as_of} {_built(steps)} {_built(chance)}"
    comparing = any(isinstance(each, Building | Absent) for each in (steps, chance))
    return Page(title, body, comparing, stamp, look.agent, again_s)


def _built(answer: Answer[Any]) -> int | str:
    return answer.built_ns if isinstance(answer, Ready) else ""


def skeleton() -> Component:
    """The ids that this page's callbacks speak of."""
    return html.Div(
        [
            TreeGrid(id=ids.TREE),
            Icicle(id=ids.ICICLE),
            html.Div(id=ids.NODE_PANEL),
        ]
    )


def _body(
    service: Service,
    answer: Ready[BehaviourMap],
    steps: Answer[Occurrences],
    chance: Answer[Chance],
    look: Look,
    as_of: str,
) -> Component:
    behaviour = answer.value
    head = _head(look, behaviour, as_of)
    if not behaviour.totals.completed:
        field = narrowing.of_map(behaviour, look, urls.MAP)
        return html.Div([head, field, *_notices([look.complaint]), _no_runs(service, look, behaviour)])
    found, golden, spots = service.maps.made(behaviour.cohort, answer, _findings)
    shown = service.maps.made(behaviour.cohort, answer, strata.evidence)
    worst = foremost(found, shown).node if found else 0
    node, lost = chosen(behaviour, look, worst)
    source, key = urls.map_data_url(behaviour.cohort, answer.built_ns), behaviour.key_text(node)
    side = [
        findings.fork_list(behaviour, found, shown, key),
        html.Section(panel(behaviour, node, shown, look), id=ids.NODE_PANEL, className="card panel"),
        *findings.golden_list(golden, shown, key),
        findings.hotspot_list(spots, key),
    ]
    main = html.Div([_overview(source, key), _tree(source, key, look)], className="map-main")
    return html.Div(
        [
            head,
            narrowing.of_map(behaviour, look, urls.MAP),
            *narrowing.said(behaviour, look),
            *_notices([look.complaint, lost, *stats.caveats(behaviour)]),
            headline.headline(behaviour, found, shown, spots, look),
            *grounds.summed_up(behaviour, shown, chance),
            stats.strip(stats.of_map(behaviour, len(found), count_confirmed(shown), len(spots))),
            *_aside(stats.asides(behaviour)),
            html.Div([main, html.Div(side, className="map-side")], className="map"),
            wherever.wherever(behaviour, steps, look),
        ],
        className="map-page",
    )


def _findings(behaviour: BehaviourMap) -> tuple[tuple[Fork, ...], tuple[Fork, ...], tuple[Hotspot, ...]]:
    return forks(behaviour), golden_forks(behaviour), hotspots(behaviour)


def _notices(texts: list[str]) -> list[Component]:
    return [states.notice(text) for text in texts if text]


def _aside(text: str) -> list[Component]:
    return [html.P(text, className="dim small")] if text else []


def _head(look: Look, behaviour: BehaviourMap, as_of: str) -> Component:
    about = f"{words.window(look.window)} · {words.count(behaviour.totals.completed, 'completed run')}"
    return html.Div(
        [
            html.H1(look.agent, title=look.agent, className="clip"),
            html.Span(about, className="dim"),
            html.Span(as_of, className="dim", title=_AS_OF),
            *_rules(look, behaviour),
            html.Div([choices.windows(look, urls.MAP), choices.views(look)], className="switches"),
        ],
        className="page-head",
    )


_AS_OF = f"While somebody looks at it, a map is built anew every {TTL_S // 60:g} minutes"


def _rules(look: Look, behaviour: BehaviourMap) -> list[Component]:
    """The way to rules for outcomes, where not all were declared."""
    totals = behaviour.totals
    if not (totals.by_rule or totals.inferred):
        return []
    text = "Rules for outcomes" if totals.by_rule else "Write rules for outcomes"
    return [dcc.Link(text, href=urls.rules_url(look.agent))]


def _no_runs(service: Service, look: Look, behaviour: BehaviourMap) -> Component:
    if look.where:
        none = narrowing.none(behaviour, look, urls.MAP, completed=True)
        return html.Section([none, *_going(look, behaviour)], className="card state")
    text = f"No run of {words.quoted(look.agent)} completed in this window ({words.window(look.window)})."
    now_ns = service.now_ns()
    held = queries.in_windows(service.store, service.tenant, look.agent, choices.PRESETS, now_ns)
    rest = [*_going(look, behaviour), *elsewhere(held, look, now_ns)]
    return html.Section([html.P(text), *rest], className="card state")


def _going(look: Look, behaviour: BehaviourMap) -> list[Component]:
    return evidence.live_runs(behaviour, 0, look) if behaviour.totals.unknown else []


def _overview(source: str, key: str) -> Component:
    about = "column = step · height = share of runs · colour = 95% interval against the base rate:"
    shades = {"below": range(-3, 0), "undecided": range(1), "above": range(1, 4)}
    legend = html.Span(
        [html.Span([*map(_shade, tones), word]) for word, tones in shades.items()], className="legend"
    )
    head = html.Div([html.H2("Overview"), html.Span(about, className="dim"), legend], className="card-head")
    return html.Section([head, Icicle(id=ids.ICICLE, src=source, selected=key)], className="card")


def _shade(tone: int) -> Component:
    return html.I(className="swatch", style={"--tone": f"var(--area{tone})"})


def _tree(source: str, key: str, look: Look) -> Component:
    label = f"Behaviour of {look.agent}"
    tree = TreeGrid(
        id=ids.TREE, src=source, selected=key, query=look.find, filter=look.only or "all", label=label
    )
    return html.Section(tree, className="tree")


def chosen(behaviour: BehaviourMap, look: Look, worst: int) -> tuple[int, str]:
    """The node to select, and a remark if the one asked for is not in this map.

    Without one in the URL it is the worst fork of those that are shown best, else the start.
    """
    if not look.node:
        return worst, ""
    node = behaviour.find(look.node)
    if node is None:
        return worst, "The step that this link names is not in the map of this window and view."
    return node, ""


def panel(behaviour: BehaviourMap, node: int, shown: Mapping[int, Evidence], look: Look) -> list[Any]:
    """All that is known of a node, and what speaks for it if it is a fork."""
    fork = fork_at(behaviour, node) if behaviour.fork[node] or behaviour.golden[node] else None
    through = [] if fork else _through(behaviour, node)
    return evidence.evidence(behaviour, node, fork, shown.get(node), through, look)


def _through(behaviour: BehaviourMap, node: int) -> list[Example]:
    lost = queries.examples(behaviour, node, lambda outcome: outcome != Outcome.SUCCESS, EXAMPLES)
    won = queries.examples(behaviour, node, lambda outcome: outcome == Outcome.SUCCESS, EXAMPLES)
    return lost + won


def show_node(service: Service, key: str | None, search: str | None) -> Any:
    """A node was selected: its evidence."""
    look = urls.parse(search)
    answer = service.maps.get(look.cohort(service.tenant))
    if not key or not isinstance(answer, Ready):
        return no_update
    node = answer.value.find(key)
    if node is None:
        return states.notice("The map was built anew and this step is no longer in it: load the page again.")
    shown = service.maps.made(answer.value.cohort, answer, strata.evidence)
    return lean(panel(answer.value, node, shown, look))


def register(app: Dash, service: Service) -> None:
    """A selected node's evidence, and the filter of the tree in the URL."""
    app.callback(
        Output(ids.NODE_PANEL, "children"),
        Input(ids.TREE, "selected"),
        State(ids.URL, "search"),
        prevent_initial_call=True,
    )(partial(show_node, service))
    app.clientside_callback(
        ClientsideFunction("forkmap", "rememberFilter"),
        Input(ids.TREE, "query"),
        Input(ids.TREE, "filter"),
        prevent_initial_call=True,
    )
