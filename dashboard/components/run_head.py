"""The head of a run's page: its id, how it stands, and what it belongs to."""

from __future__ import annotations

from typing import Any

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import choices, evidence, html, times, words
from dashboard.components.access import data
from dashboard.urls import Look
from engine.listing import Filters
from engine.runs import LIVE_NS, SECOND_NS, Run, is_live


def head(run: Run, look: Look, now_ns: int) -> Component:
    """Id, state, facts, and the windows it may be judged by."""
    live = is_live(run.source, run.last_ns, now_ns)
    recent = f"its last activity is under {LIVE_NS // (60 * SECOND_NS)} minutes old"
    source = recent if live else words.SOURCES[run.source]
    return html.Div(
        [
            html.H1(run.run_id, title=run.run_id, className="clip"),
            html.Button("Copy", type="button", className="copy", **data(copy=run.run_id)),
            evidence.state(run, now_ns),
            html.Span(source, className="dim"),
            html.Ul([html.Li(fact) for fact in _facts(run, look, now_ns)], className="facts"),
            html.Div(choices.windows(look, urls.RUN), className="switches"),
        ],
        className="page-head",
    )


def _facts(run: Run, look: Look, now_ns: int) -> list[Any]:
    """What the run belongs to, each with the way there, and when it was."""
    its = Look(agent=run.agent, window=look.window)
    facts: list[Any] = [html.Link(run.agent, href=urls.map_url(its), className="clip", title=run.agent)]
    if run.version:
        facts.append(_link("version", run.version, urls.runs_url(its, Filters(version=run.version))))
    if run.ticket:
        facts.append(_link("ticket", run.ticket, urls.compare_url(ticket=run.ticket)))
    began = html.Span(["began ", times.ago(run.start_ns, now_ns)])
    return [*facts, began, f"over {words.duration(max(0, run.last_ns - run.start_ns))}"]


def _link(what: str, name: str, href: str) -> Component:
    return html.Link(f"{what} {name}", href=href, className="clip", title=name)
