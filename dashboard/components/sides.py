"""What parts the runs before from those after: a marker, a moment of one's own, or two versions."""

from __future__ import annotations

from collections.abc import Sequence

from dash import dcc
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, times, words
from dashboard.components.access import aria
from dashboard.urls import Look
from engine.store import Marker

OFFERED = 12
"""Markers offered: the latest."""
MARK = """curl -X POST $FORKMAP/api/v1/markers -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' -d '{"name": "deploy 42", "agent": "AGENT"}'"""


def chooser(
    look: Look, versions: Sequence[tuple[str, int]] | None, markers: Sequence[Marker], now_ns: int
) -> Component:
    """All that can be compared; what is chosen stays in the fields. Versions are None while they are read."""
    return html.Section(
        [
            html.Div([_versions(look, versions), _moment(look), _models(look)], className="sides"),
            *_markers(look, markers, now_ns),
        ],
        className="card sides-card",
        **aria(label="What is compared"),
    )


def _hidden(look: Look, **more: str) -> list[Component]:
    known = {"agent": look.agent} | urls.window_query(look.window) | {"where": look.where}
    known |= {"models": "yes" if look.models else ""} | more
    return [dcc.Input(type="hidden", name=name, value=value) for name, value in known.items() if value]


def _form(look: Look, label: str, fields: Sequence[Component]) -> Component:
    button = html.Button("Compare", type="submit", className="button")
    parts = [*_hidden(look), *fields, button]
    return html.Form(parts, action=urls.CHANGES, method="get", className="filters", **aria(label=label))


def _versions(look: Look, versions: Sequence[tuple[str, int]] | None) -> Component:
    known = dict(versions or ())
    known |= {name: 0 for name in (look.old, look.new) if name and name not in known}
    if len(known) < 2:
        none = "The runs of this window name no two versions of the agent."
        return html.P("Looking for versions…" if versions is None else none, className="dim")
    names = [*known]
    chosen = {"old": look.old or names[1], "new": look.new or names[0]}
    fields = [
        html.Label([html.Span(label), _select(name, known, chosen[name])])
        for name, label in (("old", "Version"), ("new", "against version"))
    ]
    return _form(look, "Compare two versions", fields)


def _select(name: str, versions: dict[str, int], chosen: str) -> Component:
    options = [
        html.Option(
            f"{version} ({words.count(runs, 'run')})" if runs else version,
            value=version,
            selected=version == chosen,
        )
        for version, runs in versions.items()
    ]
    return html.Select(options, name=name, key=f"{name} {chosen}")


def _moment(look: Look) -> Component:
    value = "" if look.since_ns is None else urls.write_time(look.since_ns)
    box = dcc.Input(
        type="text",
        name="since",
        value=value,
        placeholder="2026-01-31T06:00",
        autoComplete="off",
    )
    fields = [html.Label([html.Span("Before and since (UTC)"), box])]
    return _form(look, "Compare before and after a moment", fields)


def _models(look: Look) -> Component:
    """Model calls in the tree, or not."""
    text = "Leave model calls out" if look.models else "Show model calls too"
    why = "A new model has a new name, which parts the tree at its first step"
    return html.Link(text, href=urls.changes_url(look._replace(models=not look.models)), title=why)


def _markers(look: Look, markers: Sequence[Marker], now_ns: int) -> list[Component]:
    """Moments that somebody marked; without any, how to mark one."""
    if not markers:
        told = html.Details(
            [
                html.Summary("Let a deploy mark itself"),
                html.Pre(html.Code(MARK), className="commands", tabIndex=0),
            ]
        )
        return [told]
    links = [html.Li(_marker(look, each, now_ns)) for each in markers[:OFFERED]]
    older = len(markers) - OFFERED
    if older > 0:
        more = f"{older:,} older: forkmap compare --marker takes each by its name"
        links.append(html.Li(html.Span(more, className="dim small")))
    return [html.Ul(links, className="chips markers", **aria(label="Before and after a marker"))]


def _marker(look: Look, each: Marker, now_ns: int) -> list[Component]:
    at = look._replace(since_ns=each.time_ns, old="", new="")
    chosen = aria(current="true") if look.since_ns == each.time_ns else {}
    link = html.Link(words.quoted(each.name), href=urls.changes_url(at))
    when = times.ago(each.time_ns, now_ns)
    return [html.Span([link, html.Span(when, className="dim")], className="chip-text", **chosen)]
