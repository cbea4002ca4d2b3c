"""Switches that are links: every choice has an address."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from dash import dcc
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html
from dashboard.components.access import aria
from dashboard.urls import Look
from engine.queries import DEFAULT_WINDOW
from engine.runs import ALL_TIME, Window

PRESETS: Final = {
    Window(days=1): "24 hours",
    Window(days=7): "7 days",
    DEFAULT_WINDOW: "30 days",
    ALL_TIME: "All time",
}
"""What the windows that have names are called."""
_BOUNDS = (("from", "From", "2026-01-31T06:00"), ("to", "to", "now"))


class Choice(NamedTuple):
    """One way a page can be looked at."""

    text: str
    href: str
    chosen: bool


def switch(label: str, choices: Iterable[Choice]) -> Component:
    """A row of links of which one is the present choice."""
    return html.Nav([_link(choice) for choice in choices], className="switch", **aria(label=label))


def _link(choice: Choice) -> Component:
    link = html.Link(choice.text, href=choice.href, className="on" if choice.chosen else "")
    return html.Span(link, **(aria(current="true") if choice.chosen else {}))


def windows(look: Look, page: str) -> Component:
    """The windows that have names, and dates of one's own."""
    choices = [
        Choice(text, _url(page, look._replace(window=window)), look.window == window)
        for window, text in PRESETS.items()
    ]
    custom = look.window not in PRESETS
    return html.Div([switch("Window", choices), _dates(look, page, custom)], className="windows")


def _dates(look: Look, page: str, custom: bool) -> Component:
    """A form of two dates; it asks the page itself, so its answer is an address too."""
    known = urls.window_query(look.window) if custom else {}
    hidden = {"agent": look.agent, "run": look.run, "view": "tools" if look.view == "tools" else ""}
    hidden |= urls.split_query(look) if page == urls.CHANGES else {}
    hidden |= urls.fuse_query(look) if page == urls.BACKTEST else {}
    hidden |= {"where": look.where} if page in urls.NARROWED else {}
    hidden |= {key: str(value or "") for key, value in look.filters._asdict().items()}
    fields: list[Component] = [
        dcc.Input(type="hidden", name=name, value=value) for name, value in hidden.items() if value
    ]
    for name, label, hint in _BOUNDS:
        box = dcc.Input(
            type="text", name=name, value=known.get(name, ""), placeholder=hint, autoComplete="off"
        )
        fields.append(html.Label([f"{label} ", box]))
    fields.append(html.Button("Show", type="submit", className="button"))
    fields.append(html.Span("UTC, the end not included", className="dim small"))
    form = html.Form(fields, action=page, method="get")
    return html.Details([html.Summary("Dates"), form], open=custom, className="dates")


def views(look: Look) -> Component:
    """All steps, or tools only."""
    return switch(
        "Steps",
        [
            Choice("All steps", urls.map_url(look._replace(view="all", node="")), look.view == "all"),
            Choice("Tools only", urls.map_url(look._replace(view="tools", node="")), look.view == "tools"),
        ],
    )


def _url(page: str, look: Look) -> str:
    build: dict[str, Callable[[Look], str]] = {
        urls.MAP: urls.map_url,
        urls.RUN: urls.run_url,
        urls.RUNS: lambda look: urls.runs_url(look, look.filters, look.sort),
        urls.CALIBRATION: urls.calibration_url,
        urls.CHANGES: urls.changes_url,
        urls.BACKTEST: urls.backtest_url,
    }
    return build[page](look)
