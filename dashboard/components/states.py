"""What a page shows when there is nothing to show yet, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import words
from dashboard.components.access import aria
from engine.builder import Failed
from engine.errors import UnknownAgentError
from engine.queries import Found


def building(what: str) -> Component:
    """Something that will be there in a moment."""
    return html.Section(
        [
            html.Div(className="spinner", **aria(hidden="true")),
            html.P(f"Building {words.quoted(what)}…"),
            html.P("It appears here by itself.", className="dim"),
        ],
        className="card state",
        role="status",
    )


def message(heading: str, *paragraphs: Any) -> Component:
    """A page that says one thing."""
    return html.Section([html.H1(heading), *(html.P(text) for text in paragraphs)], className="card state")


def absent(agent: str, answer: Failed) -> Component:
    """Why there is nothing about an agent."""
    if isinstance(answer.error, UnknownAgentError):
        back = dcc.Link("All agents", href=urls.HOME)
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


def nothing_found(text: str, alike: Found) -> Component:
    """A text that names nothing: what was searched, and what is like it."""
    runs = [html.Li(html.A(run_id, href=urls.go_url(run_id))) for run_id in alike.run_ids]
    agents = [html.Li(html.A(f"agent {name}", href=urls.go_url(name))) for name in alike.agents]
    near = [html.H2("Names like it"), html.Ul([*runs, *agents], className="found")]
    return html.Section(
        [
            html.H1("Nothing found"),
            html.P(
                ["Nothing in this store is called ", html.Code(words.quoted(text) or "(an empty text)"), "."]
            ),
            html.P("Run ids, trace ids (with dashes or without), tickets and agent names were searched."),
            *(near if runs or agents else [html.P("Nothing here has a name like it.")]),
        ],
        className="card state",
    )


def not_found(path: str) -> Component:
    """An address that is no page."""
    return html.Section(
        [
            html.H1("No such page"),
            html.P(["Nothing is at ", html.Code(words.quoted(path)), "."]),
            html.P(dcc.Link("All agents", href=urls.HOME)),
        ],
        className="card state",
    )
