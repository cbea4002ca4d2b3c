"""A run's path as a strip: a place a step, coloured by how the runs fared that came as far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, html, tokens, verdict, words
from dashboard.components.access import aria
from dashboard.theme import tone
from dashboard.urls import Look
from engine.forks import nodes_along
from engine.history import MIN_HISTORY
from engine.maps import BehaviourMap
from engine.queries import Judged
from engine.verdicts import Odds, Verdict


def strip(judged: Judged, behaviour: BehaviourMap, look: Look, now_ns: int) -> Component:
    """The path; each step leads to its place on the map, and the last is how the run stands.

    What lies beyond the last point that enough other runs reached is folded away.
    """
    found = judged.verdict
    if not found.depths:
        return html.P("It took no step.")
    places = _places(found, behaviour, look)
    head = verdict.known_depths(found)
    rest, state = places[head:], html.Li(evidence.state(judged.run, now_ns), className="strip-end")
    if not rest:
        return _strip([*places, state], 1)
    summary = html.Summary(f"{len(rest):,} more, with under {MIN_HISTORY} other runs each")
    return html.Div([_strip(places[:head], 1), html.Details([summary, _strip([*rest, state], head + 1)])])


def _strip(places: Sequence[Component], start: int) -> Component:
    label = "Its path, and how the runs fared that came as far"
    if start > 1:
        label = f"Its path from step {start} on"
    return html.Ol(list(places), className="strip", start=str(start), **aria(label=label))


def _places(found: Verdict, behaviour: BehaviourMap, look: Look) -> list[Component]:
    nodes = nodes_along(behaviour, found.path, found.live)
    hrefs = [_on_map(behaviour, node, look) for node in nodes]
    forks = [bool(behaviour.fork[node]) for node in nodes]
    missing = len(found.depths) - len(nodes)
    each = zip(found.depths, [*hrefs, *[""] * missing], [*forks, *[False] * missing], strict=True)
    return [_place(place, odds, found, href, forked) for place, (odds, href, forked) in enumerate(each, 1)]


def _on_map(behaviour: BehaviourMap, node: int, look: Look) -> str:
    key = behaviour.key_text(node)
    return urls.map_url(Look(agent=behaviour.cohort.agent, window=look.window, node=key))


def _place(place: int, odds: Odds, found: Verdict, href: str, forked: bool) -> Component:
    shade = tone(odds.low, odds.high, found.base_rate, odds.support)
    fell = place == found.fell_most
    marks = [html.Span("fatal fork", className="strip-fatal")] if forked else []
    marks += [html.Span("fell most here", className="strip-most")] if fell else []
    inside = [
        html.Span([html.Span(f"{place} ", className="strip-place"), tokens.step(odds.token)]),
        html.Span([html.Span(_odds(odds), className="strip-odds"), *marks]),
    ]
    body = html.Link(inside, href=href) if href else html.Span(inside)
    looks = [f"tone{shade}", *(["strip-fell"] if fell else [])]
    bounds = f"95% interval {words.interval(odds.low, odds.high)}" if odds.support else ""
    return html.Li(body, className=" ".join(looks), title=f"{odds.token}: {bounds}" if bounds else "")


def _odds(odds: Odds) -> list[Any]:
    return [html.B(words.percent(odds.rate)), f" of {odds.support:,}"] if odds.support else ["no other run"]
