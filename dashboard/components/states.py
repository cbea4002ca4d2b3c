"""What a page shows when there is nothing to show yet, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, words
from dashboard.components.access import aria
from engine.builder import Building, Failed, Unready
from engine.errors import UnknownAgentError

SOON_S = 2
"""A build that takes less is not timed."""


def building(what: str, how: Unready | None = None) -> Component:
    """Something that will be there in a moment; how long it takes, where that is longer."""
    waited_s = seconds(how)
    so_far = f" {waited_s} seconds so far." if waited_s >= SOON_S else ""
    return html.Section(
        [
            html.Div(className="spinner", **aria(hidden="true")),
            html.P(f"Building {words.quoted(what)}…"),
            html.P(f"It appears here by itself.{so_far}", className="dim"),
        ],
        className="card state",
        role="status",
    )


def seconds(how: Unready | None) -> int:
    """Whole seconds that a build has been under way."""
    return int(how.waited_s) if isinstance(how, Building) else 0


def message(heading: str, *paragraphs: Any) -> Component:
    """A page that says one thing."""
    return html.Section([html.H1(heading), *(html.P(text) for text in paragraphs)], className="card state")


def absent(agent: str, answer: Failed) -> Component:
    """Why there is nothing about an agent."""
    if isinstance(answer.error, UnknownAgentError):
        back = html.Link("All agents", href=urls.HOME)
        return message("No such agent", f"No run of “{words.quoted(agent)}” is in this store.", back)
    return message("This could not be built", answer.sentence)


def notice(text: Any) -> Component:
    """A remark above the page."""
    return html.P(text, className="notice", role="note")


def commands(lines: Sequence[str]) -> Component:
    """Commands to type."""
    return html.Pre(html.Code("\n".join(lines)), className="commands", tabIndex=0)


def first_use() -> Component:
    """An empty store: how to get runs into it."""
    return html.Section(
        [
            html.H1("No runs yet"),
            html.P(
                "Forkmap reads traces of AI agents and shows where runs fork, and which forks are fatal. "
                "Import a file of traces:"
            ),
            commands(["forkmap import traces.jsonl"]),
            html.P(
                "It understands OTLP (JSON and protobuf, as OpenTelemetry exporters write it), Forkmap's own "
                "lines, and result files of tau-bench and tau2-bench. Then load this page again."
            ),
            html.P("Or look around in a demo corpus first:"),
            commands(["forkmap demo"]),
        ],
        className="card state",
    )


def not_found(path: str) -> Component:
    """An address that is no page."""
    return html.Section(
        [
            html.H1("No such page"),
            html.P(["Nothing is at ", html.Code(words.quoted(path)), "."]),
            html.P(html.Link("All agents", href=urls.HOME)),
        ],
        className="card state",
    )
