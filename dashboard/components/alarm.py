"""What is wrong with the agents, where, how sure that is, and what to look at next, in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import tokens, words
from dashboard.components.agents import BUILDING, LAST_DAY, Row

NAMED = 2
"""Agents named whose last day is worse."""


def headline(rows: Sequence[Row]) -> Component:
    """The head of a list of agents in the order of what hurts."""
    worse = [row for row in rows if row.faring.last.change == "worse"]
    parts = [*_loses(rows[0]), *(part for row in worse[:NAMED] for part in _worse(row))]
    if more := len(worse) - NAMED if len(worse) > NAMED else 0:
        parts.append(f"{words.count(more, 'more agent')} ended clearly worse, too.")
    return html.P(parts or _calm(rows), className="headline")


def _loses(row: Row) -> list[Any]:
    """What the forks of the first agent cost."""
    cost = row.cost
    if not (cost.losses and cost.step and cost.runs):
        return []
    href = urls.map_url(row.look._replace(node=cost.key))
    many = cost.losses.forks > 1
    forks = f"{cost.losses.forks:,} fatal forks, most where" if many else "a fatal fork, where"
    return [
        html.B(row.agent),
        " loses most: " if cost.losses.q < words.LIKELY_CHANCE else " may lose most: ",
        dcc.Link(f"about {words.count(cost.runs, 'run')}", href=href),
        f" at {forks} its runs take ",
        tokens.step(cost.step),
        f" ({'confirmed' if cost.label == 'confirmed' else 'not confirmed'}); ",
        f"{words.certainty(cost.losses.q, cost.tested)}. ",
    ]


def _worse(row: Row) -> list[Any]:
    """That an agent's last day is worse."""
    last = row.faring.last
    href = urls.runs_url(row.look._replace(window=LAST_DAY))
    return [
        html.B(row.agent),
        " ended clearly worse in the ",
        dcc.Link("last 24 hours", href=href),
        f": {words.percent(last.rate)} of {last.completed:,} runs succeeded, "
        f"{words.percent(last.rate_before)} of {last.before:,} in the days before. ",
    ]


def _calm(rows: Sequence[Row]) -> list[Any]:
    if any(row.cost.losses is None and row.cost.why == BUILDING for row in rows):
        return ["No agent ended clearly worse in the last 24 hours. Looking for fatal forks…"]
    return ["No fatal fork was found to cost runs, and no agent ended clearly worse in the last 24 hours."]
