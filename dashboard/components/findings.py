"""Lists of fatal forks and hotspots: each line selects its node in the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard import ids
from dashboard.components import tokens, words
from engine.forks import Fork, Hotspot, explain_hotspot, summary
from engine.maps import BehaviourMap
from engine.paths import Token

SHOWN = 12


def fork_list(behaviour: BehaviourMap, forks: Sequence[Fork]) -> Component:
    """Fatal forks by the runs they cost; without any, the reason why there are none."""
    body = _list([_fork(fork) for fork in forks]) if forks else [html.P(summary(behaviour), className="dim")]
    return _card("Fatal forks", len(forks), body)


def hotspot_list(hotspots: Sequence[Hotspot]) -> Component:
    """Hotspots by the runs that went on from them."""
    none = "Nowhere do runs scatter by 1 bit or more."
    body = _list([_hotspot(spot) for spot in hotspots]) if hotspots else [html.P(none, className="dim")]
    return _card("Hotspots", len(hotspots), body)


def _card(heading: str, found: int, body: list[Any]) -> Component:
    title = html.H2([heading, html.Span(f"{found:,}", className="count")] if found else heading)
    return html.Section([title, *body], className="card findings")


def _list(lines: list[Component]) -> list[Component]:
    first = html.Ol([html.Li(line) for line in lines[:SHOWN]])
    if len(lines) <= SHOWN:
        return [first]
    rest = html.Ol([html.Li(line) for line in lines[SHOWN:]], start=str(SHOWN + 1))
    return [first, html.Details([html.Summary(f"{len(lines) - SHOWN:,} more"), rest])]


def _fork(fork: Fork) -> Component:
    return html.Button(
        [
            html.Span([*_where(fork.path), html.Span(f"−{fork.runs_lost:.0f} runs", className="lost")]),
            html.Span(
                f"{words.percent(fork.rate)} of {fork.support:,} against {words.percent(fork.sibling_rate)} "
                f"of {fork.sibling_support:,} · p {_p(fork.p)} · q {_p(fork.q)}",
                className="dim",
            ),
        ],
        id=ids.pick("fork", fork.key),
        type="button",
        className="finding fork",
    )


def _p(value: float) -> str:
    return words.probability(value) if value < 0.001 else f"= {words.probability(value)}"


def _hotspot(spot: Hotspot) -> Component:
    return html.Button(
        [
            html.Span(
                [
                    *_where(spot.path),
                    html.Span(f"{spot.entropy_bits:.2f} bits", className="bits"),
                ]
            ),
            html.Span(
                f"{words.count(spot.visits, 'run')} went on in {len(spot.options)} ways", className="dim"
            ),
        ],
        id=ids.pick("hotspot", spot.key),
        type="button",
        className="finding hotspot",
        title=explain_hotspot(spot),
    )


def _where(path: Sequence[Token]) -> list[Any]:
    """The step, and the one before it."""
    if not path:
        return [html.Span("the start", className="step")]
    before = [html.Span("after ", className="dim"), tokens.step(path[-2])] if path[1:] else []
    return [tokens.step(path[-1]), *before]
