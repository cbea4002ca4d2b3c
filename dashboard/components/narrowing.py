"""The field that narrows a page to some of its runs: what may be typed there, and what was wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dash import dcc
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, states, words
from dashboard.components.access import aria
from dashboard.urls import Look
from engine.builder import Failed
from engine.errors import ExpressionError
from engine.listing import NEWEST
from engine.maps import BehaviourMap
from engine.narrowing import examples, pointed, read

HINT: Final = "search_orders x3 .. !issue_refund"
SIGNS: Final = (
    ("A", "some step is A: its name, or kind:name; * stands for any characters; quoted if it holds spaces"),
    ("A > B, A .. B", "B directly after A, or anywhere after it"),
    ("A x3", "A at least three times in a row"),
    ("^ A, A $", "A is the first step, or the last"),
    ("error(A)", "a call of A failed"),
    ("!A, A and B, A or B, (…)", "not, both, either, and what belongs together"),
    ("ticket:T, version:V, outcome:failure", "what the run was asked to do, its version, how it ended"),
)
"""What can be written, and what it means."""
_WRONG: Final = "narrow-wrong"


def field(look: Look, page: str, signatures: Iterable[str] = ()) -> Component:
    """The field, with examples a click away; it asks the page itself, so its answer is an address.

    Parameters
    ----------
    page : str
        Address of the page that is narrowed: one of :data:`dashboard.urls.NARROWED`.
    signatures : iterable of str
        Steps that examples are made of, those most taken first.
    """
    box = dcc.Input(
        type="text",
        name="where",
        value=look.typed or look.where,
        placeholder=HINT,
        autoComplete="off",
        spellCheck="false",
        size="40",
    )
    asked = [
        *(dcc.Input(type="hidden", name=name, value=value) for name, value in _kept(look, page).items()),
        html.Label([html.Span("Only runs where"), box], key=look.typed or look.where),
        html.Button("Narrow", type="submit", className="button"),
        *_every(look, page),
    ]
    form = html.Form(
        asked, action=page, method="get", className="narrow-form", **aria(label="Narrow to some runs")
    )
    return html.Div([form, *_wrong(look), _help(look, page, signatures)], className="narrow")


def of_map(behaviour: BehaviourMap, look: Look, page: str) -> Component:
    """The field of a page of a map: its examples are of the map's own steps."""
    support: dict[str, int] = {}
    for token, count in zip(behaviour.token.tolist()[1:], behaviour.support.tolist()[1:], strict=True):
        signature = behaviour.tokens[token].signature
        support[signature] = support.get(signature, 0) + count
    return field(look, page, sorted(support, key=lambda each: (-support[each], each)))


def said(behaviour: BehaviourMap, look: Look) -> list[Component]:
    """That only some runs are shown, and of how many."""
    if not look.where:
        return []
    return [html.P(f"{words.narrowed(behaviour)}.", className="narrowed", role="status")]


def none(behaviour: BehaviourMap, look: Look, page: str, completed: bool) -> Component:
    """That no run matches."""
    run = "completed run" if completed else "run"
    asked = words.count(behaviour.narrowed_from, "run")
    text = f"No {run} matches {words.quoted(look.where)}; {asked} of this window were asked."
    return html.P([text, " ", *_every(look, page)])


def refused(look: Look, page: str, heading: str) -> Component:
    """What a page whose expression cannot be read shows: no runs at all, lest all be taken for some."""
    parts = [html.H1(heading, className="clip"), field(look, page)]
    nothing = html.P("Nothing is shown until it can be read.", className="dim")
    return html.Section([*parts, nothing], className="card narrow-refused")


def failed(look: Look, page: str, answer: Failed) -> Component:
    """Why nothing could be made of the runs; where they are narrowed, with the field that does it."""
    why = states.absent(look.agent, answer)
    return html.Div([field(look, page), why]) if look.where else why


def complaint(typed: str) -> ExpressionError | None:
    """What is wrong with an expression; None if it can be read."""
    try:
        read(typed)
    except ExpressionError as error:
        return error
    return None


def _kept(look: Look, page: str) -> dict[str, str]:
    """What of the address stays when the runs are others: all but steps that are chosen, and the page."""
    kept = {"agent": look.agent} | urls.window_query(look.window)
    if page not in (urls.CALIBRATION, urls.CHANGES) and look.view == "tools":
        kept["view"] = "tools"
    kept |= urls.split_query(look) if page == urls.CHANGES else {}
    if page == urls.RUNS:
        kept |= {key: str(value) for key, value in look.filters._asdict().items()}
        kept |= {"sort": look.sort} if look.sort != NEWEST else {}
    return {name: value for name, value in kept.items() if value and value != "0"}


def _address(look: Look, page: str, where: str) -> str:
    other = look._replace(where=where, typed="", node="")
    if page == urls.RUNS:
        return urls.runs_url(other, look.filters, look.sort)
    if page == urls.CHANGES:
        return urls.changes_url(other)
    return urls.map_url(other) if page == urls.MAP else urls.calibration_url(other)


def _every(look: Look, page: str) -> list[Component]:
    if not (look.where or look.typed):
        return []
    return [html.Link("Do not narrow", href=_address(look, page, ""), className="small")]


def _wrong(look: Look) -> list[Component]:
    """What is wrong, and a caret under the place."""
    found = complaint(look.typed) if look.typed else None
    if found is None:
        return []
    sentence = f"{found.reason[0].upper()}{found.reason[1:]}."
    place = [html.Pre("\n".join(pointed(look.typed.strip(), found.column)))] if found.column else []
    return [html.Div([html.P(sentence), *place], id=_WRONG, className="narrow-wrong", role="alert")]


def _help(look: Look, page: str, signatures: Iterable[str]) -> Component:
    """Examples that are a click away, and what can be written."""
    ways = [
        html.Li([html.Link(html.Code(text), href=_address(look, page, text)), f" {meaning}"])
        for text, meaning in examples(signatures)
    ]
    rows = [html.Tr([html.Th(html.Code(sign), scope="row"), html.Td(text)]) for sign, text in SIGNS]
    inside = [html.Ul(ways), html.Table(html.Tbody(rows), className="signs")]
    return html.Details([html.Summary("Examples, and what can be written"), *inside], open=bool(look.typed))
