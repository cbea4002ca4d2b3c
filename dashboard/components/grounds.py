"""How far forks are shown: the label, on what grounds it stands, and what chance makes of the map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash.development.base_component import Component

from dashboard.components import html, words
from engine.builder import Answer, Failed, Ready
from engine.chance import Chance
from engine.grounds import NO_TICKET, comparisons, grounds, overall, sentence
from engine.maps import BehaviourMap
from engine.strata import Evidence, Label

_MEANS: dict[Label, str] = {
    "confirmed": "q is under 0.05, and the difference holds where only runs alike are compared",
    "significant": "q is under 0.05, but the difference is not shown where only runs alike are compared",
    "may be chance": "q is 0.05 or more: among so many tests as many such differences may be chance",
}


def badge(found: Evidence) -> Component:
    """The label of a fork."""
    look = found.label.replace(" ", "-")
    return html.Span(found.label, className=f"badge label-{look}", title=_MEANS[found.label])


def line(found: Evidence) -> Component:
    """The label of a fork and, in a few words, why it has no better one."""
    return html.Span([badge(found), html.Span(grounds(found), className="dim")], className="grounds")


def told(found: Evidence) -> Component:
    """How far a fork is shown: its label, and every comparison within strata."""
    head = html.H3(["Is it the step? ", badge(found)])
    return html.Section([head, sentences(found)], className="grounds-told")


def sentences(found: Evidence) -> Component:
    """Every comparison within strata in a sentence; what a ticket would add where there is none."""
    told = [sentence(within, each, found.worse, words.probability) for within, each in comparisons(found)]
    return html.Ul([*map(_item, told if found.strata.tickets else [*told, NO_TICKET])])


def _item(text: str) -> Component:
    """A sentence, its finding in bold."""
    finding, colon, rest = text.partition(": ")
    return html.Li([html.B(f"{finding}:"), f" {rest}"] if colon else text)


def summed_up(behaviour: BehaviourMap, found: Mapping[int, Evidence], chance: Answer[Chance]) -> list[Any]:
    """What holds of all fatal forks together; that chance is still being counted, or could not be."""
    known = chance.value if isinstance(chance, Ready) else None
    told = overall(behaviour, found, known)
    if known is None and behaviour.tested:
        how = "could not be counted" if isinstance(chance, Failed) else "is being counted"
        told.append(f"How many forks chance alone would make {how}.")
    return [html.P(" ".join(told), className="summed-up")] if told else []
