"""The frame around every page: landmarks, navigation, search, clock."""

from __future__ import annotations

from typing import Any

from dash import dcc
from dash.development.base_component import Component

from dashboard import ids, urls
from dashboard.components import html, times, words
from dashboard.components.access import aria, data
from dashboard.urls import Look
from engine.keys import Caller

POLL_MS = 300
"""How often a page that waits asks again."""


def shell() -> Component:
    """The frame; the page itself comes with the first callback."""
    return html.Div(
        [
            dcc.Location(id=ids.URL),
            dcc.Interval(id=ids.POLL, disabled=True),
            dcc.Store(id=ids.REFRESH),
            dcc.Store(id=ids.BODY),
            dcc.Store(id=ids.STAMP),
            dcc.Store(id=ids.TITLE),
            dcc.Store(id=ids.THEME),
            html.A("Skip to the page", href=f"#{ids.PAGE}", className="skip"),
            html.Header(
                [html.Div(id=ids.NAVIGATION, className="bar-nav"), _search(), _tools()], className="top"
            ),
            html.Main(id=ids.PAGE, tabIndex=-1),
            html.Footer(id=ids.CLOCK),
        ],
        className="shell",
    )


def _search() -> Component:
    box = dcc.Input(
        id=ids.SEARCH,
        name="q",
        type="search",
        placeholder="Paste a run, trace, ticket or agent",
        autoComplete="off",
        className="search",
    )
    form = html.Form(
        [html.Label("Find", htmlFor=ids.SEARCH, className="unseen"), box], action=urls.GO, method="get"
    )
    return html.Div(form, role="search")


def _tools() -> Component:
    """Buttons that ``assets/shell.js`` answers."""
    zone = html.Button("UTC", type="button", title="Times in UTC, or in local time", **data(does="times"))
    choices = (
        ("Theme", "theme"),
        ("Rows", "density"),
        ("Copy link to this moment", "link"),
        ("Print", "print"),
    )
    menu = [html.Button(text, type="button", **data(does=does)) for text, does in choices]
    view = html.Details([html.Summary("View"), html.Div(menu)], className="view")
    keys = html.Button("?", type="button", title="Keys", **data(does="keys"), **aria(label="Keys"))
    return html.Div([zone, view, keys], className="tools")


def navigation(path: str, look: Look, agent: str) -> Component:
    """Links to the pages of the agent that is looked at."""
    here = look._replace(agent=agent, node="", run="", next="")
    links = [("Agents", "a", urls.HOME, path == urls.HOME)]
    if agent:
        links.append(("Map", "m", urls.map_url(here), path == urls.MAP))
    links.append(("Runs", "r", urls.runs_url(here), path == urls.RUNS))
    links.append(("Live", "l", urls.LIVE, path == urls.LIVE))
    if agent:
        links.append(("Changes", "w", urls.changes_url(here), path == urls.CHANGES))
        links.append(("Calibration", "c", urls.calibration_url(here), path == urls.CALIBRATION))
    links.append(("Compare", "d", urls.COMPARE, path == urls.COMPARE))
    links.append(("Fuses", "f", urls.FUSES, path in (urls.FUSES, urls.BACKTEST)))
    return html.Nav(
        [html.Link("Forkmap", href=urls.HOME, className="logo"), *(_link(*link) for link in links)],
        **aria(label="Pages"),
    )


def _link(text: str, key: str, href: str, chosen: bool) -> Component:
    """A link that ``g`` and its key follow."""
    link = html.Link(text, href=href, className="on" if chosen else "")
    return html.Span(link, **data(go=key), **(aria(current="page") if chosen else {}))


def footer(now_ns: int, frozen: bool, caller: Caller) -> Any:
    """What time it is, and who is signed in, if anybody is."""
    if not caller.name:
        return clock(now_ns, frozen)
    leave = html.Form(
        html.Button("Sign out", type="submit", className="link"), action=urls.SIGN_OUT, method="post"
    )
    who = f"{caller.name}, {caller.role} key of {caller.tenant}"
    return [clock(now_ns, frozen), html.Span(words.quoted(who), className="who"), leave]


def clock(now_ns: int, frozen: bool) -> Component:
    """What time the page believes it is."""
    return html.Span(["Demo clock: stands at " if frozen else "Read at ", times.moment(now_ns)])
