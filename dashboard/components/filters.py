"""Which runs are listed: a form of native fields, what is asked in words, and the way back from each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dash import dcc
from dash.development.base_component import Component

from dashboard import ids, urls
from dashboard.components import html, tokens, words
from dashboard.components.access import aria
from dashboard.components.verdict import NAMES
from dashboard.urls import Look
from engine.judging import KINDS
from engine.listing import NEWEST, Filters, Table
from engine.paths import parse_signature

OUTCOMES: Final = {
    "completed": "completed",
    "success": "success",
    "unsuccessful": "no success",
    "failure": "failure",
    "abandoned": "abandoned",
    "live": "live",
}
"""How each question about outcomes is called."""
SOURCES: Final = {"declared": "declared", "rule": "by a rule", "inferred": "inferred"}
VERDICTS: Final[Mapping[str, str]] = {kind: NAMES[kind].lower() for kind in KINDS}
PLACES: Final = {
    "": "passed",
    "ended": "ended at",
    "on": "went on after",
    "beside": "came to the same point, but did not take",
}
"""How runs stand to a step, in words."""
OFFERED: Final = 200
"""Versions and steps offered at most; others can be typed, or come by a link."""


def form(table: Table, look: Look) -> Component:
    """The fields of the filters; it asks the page itself, so its answer is an address."""
    asked = look.filters
    hidden = {"agent": look.agent} | urls.window_query(look.window)
    hidden |= {
        "view": "tools" if look.view == "tools" else "",
        "sort": look.sort if look.sort != NEWEST else "",
    }
    hidden |= {"node": asked.node, "at": asked.at, "token": asked.token, "where": look.where}
    steps = {parse_signature(signature)[1] for signature in table.paths.signatures}
    every = html.A("All runs", href=urls.runs_url(look, sort=look.sort), className="small")
    return html.Form(
        [
            *(dcc.Input(type="hidden", name=name, value=value) for name, value in hidden.items() if value),
            _select("Outcome", "outcome", OUTCOMES, asked.outcome),
            _select("By other runs", "verdict", VERDICTS, asked.verdict),
            _select("Told by", "source", SOURCES, asked.source),
            _versions(table, asked.version),
            _text("Ticket", "ticket", asked.ticket, "its whole name"),
            _text("With the step", "step", asked.step, "any step", list=ids.STEP_NAMES),
            _text("Steps, at least", "steps", str(asked.steps or ""), "any", inputMode="numeric", size="4"),
            html.Datalist([html.Option(value=name) for name in sorted(steps)[:OFFERED]], id=ids.STEP_NAMES),
            html.Span(
                [html.Button("Filter", type="submit", className="button"), *([every] if any(asked) else [])],
                className="filter-do",
            ),
        ],
        action=urls.RUNS,
        method="get",
        className="filters",
        **aria(label="Filter the runs"),
    )


def _select(label: str, name: str, options: Mapping[str, str], chosen: str) -> Component:
    known = [("", "any"), *options.items()]
    shown = [html.Option(text, value=value, selected=value == chosen) for value, text in known]
    return html.Label([html.Span(label), html.Select(shown, name=name, key=f"{name} {chosen}")])


def _versions(table: Table, chosen: str) -> Component:
    """The versions there are to choose from, or a field where they are too many."""
    known = sorted({version for version in table.versions if version} | ({chosen} if chosen else set()))
    if len(known) > OFFERED:
        return _text("Version", "version", chosen, "its whole name")
    return _select("Version", "version", {version: version for version in known}, chosen)


def _text(label: str, name: str, value: str, hint: str, **more: Any) -> Component:
    box = dcc.Input(type="text", name=name, value=value, placeholder=hint, autoComplete="off", **more)
    return html.Label([html.Span(label), box])


class Said(NamedTuple):
    """A filter in words, as it is shown, and the filters without it."""

    text: str
    shown: list[Any]
    without: Filters


def said(table: Table, look: Look) -> list[Said]:
    """The filters that are set, one by one."""
    asked = look.filters
    texts = (
        (f"outcome: {OUTCOMES.get(asked.outcome, '')}", asked._replace(outcome="")),
        (f"by other runs: {VERDICTS.get(asked.verdict, '')}", asked._replace(verdict="")),
        (f"outcome told: {SOURCES.get(asked.source, '')}", asked._replace(source="")),
        (f"version {words.quoted(asked.version)}", asked._replace(version="")),
        (f"ticket {words.quoted(asked.ticket)}", asked._replace(ticket="")),
        (f"with the step {words.quoted(asked.step)}", asked._replace(step="")),
        (f"with {words.quoted(asked.token)}{_once(asked.token)}", asked._replace(token="")),
        (f"at least {words.count(asked.steps, 'step')}", asked._replace(steps=0)),
    )
    plain = [Said(text, [text], without) for text, without in texts if without != asked]
    return [*plain, *_place(table, asked)]


def _once(token: str) -> str:
    """What is said behind a step that has no sign; a doubled sign belongs to its name.

    >>> _once("tool:a"), _once("tool:a×2"), _once("tool:a××2")
    (' once in a row', '', ' once in a row')
    """
    return "" if "×" in token.replace("××", "") else " once in a row"


def _place(table: Table, asked: Filters) -> list[Said]:
    """How runs are asked to stand to a step, with the one before it."""
    if not asked.node:
        return []
    node, without = table.behaviour.find(asked.node), asked._replace(node="", at="")
    if node is None:
        text = "passed a step that this map does not have"
        return [Said(text, [text], without)]
    path = table.behaviour.path(node)
    if not path:
        return [Said(f"{PLACES[asked.at]} the start", [f"{PLACES[asked.at]} the start"], without)]
    before = [html.Span("after", className="dim"), tokens.step(path[-2])] if path[1:] else []
    depth = html.Span(f"as step {len(path)}", className="dim")
    shown = [PLACES[asked.at], tokens.step(path[-1]), *before, depth]
    return [Said(f"{PLACES[asked.at]} {words.bare(path[-1])}", shown, without)]


def chips(table: Table, look: Look) -> list[Component]:
    """What is asked, each part with a link that takes it away; nothing if every run is shown."""
    parts = [
        html.Li([html.Span(each.shown, className="chip-text"), _without(each, look)])
        for each in said(table, look)
    ]
    return [html.Ul(parts, className="chips", **aria(label="Filters that are set"))] if parts else []


def _without(each: Said, look: Look) -> Component:
    plain = f"Without: {each.text}"
    sign = html.Span("×", **aria(hidden="true"))
    href = urls.runs_url(look, each.without, look.sort)
    return html.Link([sign, html.Span(plain, className="unseen")], href=href, title=plain)
