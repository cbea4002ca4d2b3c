"""Lists of fatal forks, golden forks and hotspots: each line selects its node in the tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from dash.development.base_component import Component

from dashboard.components import grounds, html, tokens, words
from dashboard.components.access import aria, data
from dashboard.components.evidence import weight
from engine.forks import Fork, Hotspot, explain, explain_hotspot, summary
from engine.maps import BehaviourMap
from engine.paths import Token
from engine.siblings import HOTSPOT_BITS
from engine.strata import Evidence

SHOWN = 12
"""Findings shown at once."""
LISTED = 100
"""Findings listed at most; the tree's filter finds all of them."""


Shown: TypeAlias = Mapping[int, Evidence]
"""What speaks for each fork, by node."""


def fork_list(behaviour: BehaviourMap, forks: Sequence[Fork], shown: Shown, key: str) -> Component:
    """Fatal forks by the runs they cost, the selected one marked; without any, why there are none."""
    lines = [_fork(fork, shown[fork.node], fork.key == key) for fork in forks[:LISTED]]
    return _card("Fatal forks", lines, len(forks), summary(behaviour))


def golden_list(forks: Sequence[Fork], shown: Shown, key: str) -> list[Component]:
    """Golden forks by the runs they gained, the selected one marked; nothing without any."""
    lines = [_fork(fork, shown[fork.node], fork.key == key) for fork in forks[:LISTED]]
    return [_card("Golden forks", lines, len(forks), "")] if forks else []


def hotspot_list(hotspots: Sequence[Hotspot], key: str) -> Component:
    """Hotspots by the runs that went on from them, the selected one marked."""
    none = f"Nowhere do runs scatter by {HOTSPOT_BITS:g} bit or more."
    lines = [_hotspot(spot, spot.key == key) for spot in hotspots[:LISTED]]
    return _card("Hotspots", lines, len(hotspots), none)


def _card(heading: str, lines: list[Component], found: int, none: str) -> Component:
    if not found:
        return html.Section([html.H2(heading), html.P(none, className="dim")], className="card findings")
    title = html.H2([heading, html.Span(f"{found:,}", className="count")])
    return html.Section([title, *_list(lines, found)], className="card findings")


def _list(lines: list[Component], found: int) -> list[Component]:
    first = html.Ol([html.Li(line) for line in lines[:SHOWN]])
    if found <= SHOWN:
        return [first]
    rest = html.Ol([html.Li(line) for line in lines[SHOWN:]], start=str(SHOWN + 1))
    last = [html.P("The others: filter the tree.", className="dim")] if found > LISTED else []
    return [first, html.Details([html.Summary(f"{found - SHOWN:,} more"), rest, *last])]


def _fork(fork: Fork, shown: Evidence, chosen: bool) -> Component:
    rates = (
        f"{words.percent(fork.rate)} of {fork.support:,} succeed, {words.percent(fork.sibling_rate)} of "
        f"{fork.sibling_support:,} going another way"
    )
    chance = html.Span(f"p {words.probability(fork.p)} · q {words.probability(fork.q)}")
    look, doubt = weight(fork.q)
    is_golden, runs = fork.runs_gained > 0, words.count(round(abs(fork.runs_lost)), "run")
    sign, side = ("+", "gained") if is_golden else ("−", "lost")
    lost = html.Span(f"{sign}{runs}", className=f"{side}{look}", title=doubt or None)
    return html.Button(
        [
            html.Span(_where(fork.path)),
            html.Span(rates, className="dim"),
            html.Span([chance, lost], className="dim"),
            grounds.line(shown),
        ],
        type="button",
        className=f"finding {'golden' if is_golden else 'fork'}",
        title=explain(fork),
        **_pick(fork.key, chosen),
    )


def _pick(key: str, chosen: bool) -> dict[str, Any]:
    """A press selects the node of this key (``assets/pages.js``)."""
    return data(pick=key) | (aria(current="true") if chosen else {})


def _hotspot(spot: Hotspot, chosen: bool) -> Component:
    went_on = f"{words.count(spot.visits, 'run')} went on in {len(spot.options)} ways"
    bits = html.Span(f"{spot.entropy_bits:.2f} bits", className="bits")
    return html.Button(
        [html.Span(_where(spot.path)), html.Span([html.Span(went_on), bits], className="dim")],
        type="button",
        className="finding hotspot",
        title=explain_hotspot(spot),
        **_pick(spot.key, chosen),
    )


def _where(path: Sequence[Token]) -> list[Any]:
    """The step, and the one before it."""
    if not path:
        return [html.Span("the start", className="step")]
    before = [html.Span("after ", className="dim"), tokens.step(path[-2])] if path[1:] else []
    return [tokens.step(path[-1]), *before]
