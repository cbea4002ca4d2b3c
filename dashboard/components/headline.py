"""The map in one breath: what is wrong, where, how sure, what to look at next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components import tokens, words
from engine.forks import Fork, Hotspot, summary
from engine.maps import BehaviourMap


def headline(behaviour: BehaviourMap, forks: Sequence[Fork], hotspots: Sequence[Hotspot]) -> Component:
    """One paragraph for a person who has never seen the tool."""
    parts = _wrong(behaviour, forks) if forks else _calm(behaviour, hotspots)
    return html.P(parts, className="headline")


def _wrong(behaviour: BehaviourMap, forks: Sequence[Fork]) -> list[Any]:
    worst = forks[0]
    step = len(worst.path)
    more = (
        f" {words.count(len(forks) - 1, 'more fatal fork')} {'is' if len(forks) == 2 else 'are'} listed."
        if forks[1:]
        else ""
    )
    examples = " Compare the two example runs from that point." if worst.failure and worst.success else ""
    return [
        "Runs may go wrong at " if worst.q >= words.LIKELY_CHANCE else "Runs go wrong at ",
        tokens.step(worst.path[-1]),
        f", step {step}: ",
        html.B(f"{words.percent(worst.rate)} of {worst.support:,} runs that take it succeed"),
        f", against {words.percent(worst.sibling_rate)} of {worst.sibling_support:,} that go another way. ",
        "That cost about ",
        html.B(words.count(round(worst.runs_lost), "run")),
        f"; {words.certainty(worst.q, behaviour.tested)}.{examples}{more}",
    ]


def _calm(behaviour: BehaviourMap, hotspots: Sequence[Hotspot]) -> list[Any]:
    parts: list[Any] = [summary(behaviour)]
    if behaviour.totals.completed:
        low, high = behaviour.base_interval
        parts.append(
            f" Overall {words.percent(behaviour.base_rate)} of {behaviour.totals.completed:,} runs succeed "
            f"(95% interval {words.interval(low, high)})."
        )
    if hotspots:
        spot = hotspots[0]
        scatter = f"{words.count(spot.visits, 'run')} scatter most widely ({spot.entropy_bits:.2f} bits)."
        place = tokens.step(hotspots[0].path[-1]) if hotspots[0].path else "the start"
        parts += [
            " Look next at ",
            place,
            f", after which {scatter}",
        ]
    return parts
