"""A count of a map that leads to the runs it counts."""

from __future__ import annotations

from typing import Any

from dash import dcc
from dash.development.base_component import Component

from dashboard import urls
from dashboard.urls import Look
from engine.listing import EVERY, Filters
from engine.maps import BehaviourMap


def look_at(behaviour: BehaviourMap) -> Look:
    """A look at the cohort of a map."""
    cohort = behaviour.cohort
    return Look(agent=cohort.agent, window=cohort.window, view=cohort.view, where=cohort.where)


def runs(text: Any, look: Look, filters: Filters = EVERY) -> Component:
    """A link to the runs that pass some filters."""
    return dcc.Link(text, href=urls.runs_url(look, filters), className="counted")


def listed(parts: list[Any], between: str) -> list[Any]:
    """Parts of a sentence with a text between them."""
    return [each for place, part in enumerate(parts) for each in ([between, part] if place else [part])]
