"""What a run may do next: how each step fared that others took, and a step of one's own to ask about."""

from __future__ import annotations

from dash import dcc
from dash.development.base_component import Component

from dashboard import ids, urls
from dashboard.components import html, tokens, verdict
from dashboard.urls import Look
from engine.queries import Judged

OFFERED = 6
"""Steps offered as links, those that most runs took."""


def card(judged: Judged, look: Look) -> Component:
    """The next steps, ranked, and the form that asks about any."""
    parts = [html.H2("What next"), verdict.next_steps(judged.verdict), _ask(judged, look)]
    return html.Section(parts, className="card")


def _ask(judged: Judged, look: Look) -> Component:
    """This path, then a step of one's own: links for the known ones, a form for any other."""
    known = [
        html.Li(html.Link(tokens.signature(step.signature), href=_asking(look, step.signature)))
        for step in judged.verdict.next_steps[:OFFERED]
    ]
    hidden = {"run": look.run} | urls.window_query(look.window)
    fields = [dcc.Input(type="hidden", name=name, value=value) for name, value in hidden.items()]
    box = dcc.Input(
        id=ids.NEXT, type="text", name="next", value=look.next, placeholder="tool:name", autoComplete="off"
    )
    label = html.Label("If it went on with", htmlFor=ids.NEXT)
    form = html.Form(
        [label, *fields, box, html.Button("Judge", type="submit", className="button")],
        action=urls.RUN,
        method="get",
    )
    return html.Div([form, html.Ul(known, className="facts")] if known else [form], className="ask")


def _asking(look: Look, signature: str) -> str:
    return urls.run_url(look._replace(next=signature))
