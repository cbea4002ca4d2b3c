"""A window without a completed run: what the store has of the agent in other windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import times, words
from dashboard.components.choices import PRESETS
from dashboard.urls import Look
from engine.runs import Window
from engine.statistics import proportion, wilson_one
from engine.store import AgentSummary


def elsewhere(
    held: Sequence[tuple[Window, AgentSummary]],
    look: Look,
    now_ns: int,
    url: Callable[[Look], str] = urls.map_url,
) -> list[Component]:
    """What to look at instead.

    Parameters
    ----------
    held : sequence of (Window, AgentSummary)
        The windows in which the agent has a run, as :func:`engine.queries.in_windows` gives them.
    url : callable
        The page that a window leads to.
    """
    lines = [_line(summary, look._replace(window=window, node=""), url) for window, summary in held]
    if not lines:
        return [html.P("No run of it is in the store any more.")]
    begun_ns = held[-1][1].last_ns
    ago = words.ago(begun_ns, now_ns)
    last: list[Any] = ["Its latest run began ", times.moment(begun_ns), f", {ago}. The store has of it:"]
    return [html.P(last), html.Ul(lines, className="held")]


def _line(summary: AgentSummary, look: Look, url: Callable[[Look], str]) -> Component:
    text = words.count(summary.completed, "completed run")
    rate = proportion(summary.successes, summary.completed)
    if rate is not None:
        bounds = words.interval(*wilson_one(summary.successes, summary.completed))
        text += f", of which {words.percent(rate)} succeeded ({bounds})"
    live = f", {words.count(summary.unknown, 'live run')}" if summary.unknown else ""
    name = PRESETS.get(look.window, words.window(look.window))
    return html.Li([dcc.Link(name, href=url(look)), html.Span(f"{text}{live}")])
