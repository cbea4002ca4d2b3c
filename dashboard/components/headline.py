"""The map in one breath: what is wrong, where, how sure, what to look at next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, tokens, words
from dashboard.components.evidence import run_link
from dashboard.urls import Look
from engine.forks import Fork, Hotspot, summary
from engine.grounds import foremost, grounds
from engine.maps import BehaviourMap
from engine.strata import Evidence, Label


def headline(
    behaviour: BehaviourMap,
    forks: Sequence[Fork],
    shown: Mapping[int, Evidence],
    hotspots: Sequence[Hotspot],
    look: Look,
) -> Component:
    """One paragraph for a person who has never seen the tool."""
    parts = _wrong(behaviour, forks, shown, look) if forks else _calm(behaviour, hotspots)
    parts.append(f" {words.mix(behaviour.totals)}")
    return html.P(parts, className="headline")


_BEGINNINGS: dict[Label, str] = {
    "confirmed": "Runs go wrong at ",
    "significant": "Runs end worse at ",
    "may be chance": "Runs may go wrong at ",
}


def _wrong(
    behaviour: BehaviourMap, forks: Sequence[Fork], shown: Mapping[int, Evidence], look: Look
) -> list[Any]:
    worst = foremost(forks, shown)
    label = shown[worst.node].label
    more = (
        f" {words.count(len(forks) - 1, 'more fatal fork')} {'is' if len(forks) == 2 else 'are'} listed."
        if forks[1:]
        else ""
    )
    return [
        _BEGINNINGS[label],
        tokens.step(worst.path[-1]),
        *_after(worst),
        ": ",
        html.B(f"{words.percent(worst.rate)} of {worst.support:,} runs that take it succeed"),
        f", against {words.percent(worst.sibling_rate)} of {worst.sibling_support:,} that go another way. ",
        "That cost about ",
        html.B(words.count(round(worst.runs_lost), "run")),
        f"; {words.certainty(worst.q, behaviour.tested)}. ",
        html.B("Confirmed" if label == "confirmed" else "Not confirmed"),
        f": {grounds(shown[worst.node])}.",
        *_examples(worst, look),
        more,
    ]


def _after(fork: Fork) -> list[Any]:
    return [" after ", tokens.step(fork.path[-2])] if fork.path[1:] else [" as the first step"]


def _examples(fork: Fork, look: Look) -> list[Any]:
    """The two runs to compare."""
    if not (fork.failure and fork.success):
        return []
    failure, success = run_link(fork.failure, look), run_link(fork.success, look)
    compare = html.Link("Compare", href=urls.compare_url(fork.failure, fork.success))
    return [" ", compare, " ", failure, ", which took it, with ", success, ", which went another way."]


def _calm(behaviour: BehaviourMap, hotspots: Sequence[Hotspot]) -> list[Any]:
    parts: list[Any] = [summary(behaviour)]
    if behaviour.totals.completed:
        low, high = behaviour.base_interval
        of = words.count(behaviour.totals.completed, "completed run")
        parts.append(
            f" Overall {words.percent(behaviour.base_rate)} of {of} succeeded "
            f"(95% interval {words.interval(low, high)})."
        )
    if hotspots:
        spot = hotspots[0]
        place = tokens.step(spot.path[-1]) if spot.path else "the start"
        scatter = f" {words.count(spot.visits, 'run')} scatter most widely ({spot.entropy_bits:.2f} bits)."
        parts += [" Look next at where runs scatter: after ", place, scatter]
    return parts
