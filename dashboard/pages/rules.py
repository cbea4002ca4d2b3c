"""The rules for outcomes of one agent: tried on its runs, then saved.

What is tried stands in the address, so a trial can be sent to somebody; and only what was tried
can be saved, since the form that saves comes with the trial.
"""

from __future__ import annotations

from typing import Any

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import ids, urls
from dashboard.components import states, trial, words
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine.errors import InputError
from engine.keys import Role
from engine.rules import Rule, parse_rules, rules_text
from engine.runs import ALL_TIME
from engine.trials import try_rules

EXAMPLE = "error(charge_card) -> failure\nclose_ticket $ -> success"
IN_FORCE = "These are in force; the map follows."
"""What is said of rules that are set."""
MAX_TEXT = 8_000
"""Characters of rules that an address may hold; the command takes more."""


def layout(service: Service, look: Look) -> Page:
    """The rules that are set, or what those in the address would change."""
    title = f"{look.agent} · rules"
    if not is_known(service, look.agent):
        back = dcc.Link("All agents", href=urls.HOME)
        return Page(title, states.message("No such agent", nobody(look.agent), back), stamp="unknown")
    rules = service.store.rules(service.tenant, look.agent)
    text = rules_text(rules) if look.rules is None else look.rules
    hint = "Nothing changes until you save." if look.rules is not None or not rules else IN_FORCE
    left = html.Div([_form(look, text, hint), *_tried(service, look, rules)])
    body = html.Div(
        [_head(look, rules), html.Div([left, _help()], className="columns")], className="rules-page"
    )
    return Page(title, body, stamp=rules_text(rules), agent=look.agent)


def is_known(service: Service, agent: str) -> bool:
    """Whether the agent has rules or runs; without rules, this waits for its runs to be folded."""
    if service.store.rules(service.tenant, agent):
        return True
    known = service.store.agents(service.tenant, ALL_TIME, service.now_ns())
    return agent in {summary.agent for summary in known}


def nobody(agent: str) -> str:
    """That there is no such agent."""
    return f"No run of “{words.quoted(agent)}” is in this store."


def _head(look: Look, rules: tuple[Rule, ...]) -> Component:
    about = (
        f"{words.count(len(rules), 'rule')} for how its runs ended" if rules else "no rules for outcomes yet"
    )
    back = dcc.Link("Its map", href=urls.map_url(Look(agent=look.agent)))
    name = html.H1(look.agent, title=look.agent, className="clip")
    return html.Div([name, html.Span(about, className="dim"), back], className="page-head")


def _form(look: Look, text: str, hint: str) -> Component:
    label = (
        "One rule a line: an expression, -> and success, failure or abandoned. The first that matches counts."
    )
    box = dcc.Textarea(id=ids.RULES, name="rules", value=text, rows=10, spellCheck=False, placeholder=EXAMPLE)
    form = html.Form(
        [
            dcc.Input(type="hidden", name="agent", value=look.agent),
            html.Label(label, htmlFor=ids.RULES),
            box,
            html.Button("Try", type="submit", className="button"),
            html.Span(hint, className="dim"),
        ],
        action=urls.RULES,
        method="get",
        className="rules",
    )
    return html.Section([html.H2("Rules"), form], className="card")


def _tried(service: Service, look: Look, rules: tuple[Rule, ...]) -> list[Component]:
    if look.rules is None:
        return []
    try:
        tried = read(look.rules)
    except InputError as error:
        lines = [html.Li(line) for line in error.reason.splitlines()]
        return [
            html.Section([html.H2("This cannot be tried"), html.Ul(lines)], className="card", role="alert")
        ]
    found = try_rules(service.store, service.tenant, look.agent, tried, service.now_ns())
    shown: list[Any] = [html.H2("What they would do"), *trial.result(found, tried, look)]
    if tried == rules:
        shown.append(html.P("These are the rules that are set."))
    elif service.caller().may(Role.ADMIN):
        shown.append(trial.save(look.agent, look.rules, len(tried)))
    else:
        shown.append(html.P("Saving them takes an admin key.", className="dim"))
    return [html.Section(shown, className="card", role="status")]


def read(text: str) -> tuple[Rule, ...]:
    """The rules of a text as long as an address holds.

    Raises
    ------
    InputError
        What is wrong with each line.
    """
    if len(text) > MAX_TEXT:
        raise InputError(too_long(text))
    return parse_rules(text)


def too_long(text: str) -> str:
    """That an address does not hold the text, and what does."""
    return (
        f"These are {len(text):,} characters, and an address holds {MAX_TEXT:,}: "
        "forkmap rules AGENT --try FILE takes more."
    )


def _help() -> Component:
    asked = (
        "A rule is for runs that nobody declared an outcome of, once they are over. Without a rule that "
        "matches, a run ends as its last span did. A declared outcome always goes first."
    )
    return html.Section([html.H2("How they are written"), html.P(asked), trial.grammar()], className="card")


def register(app: Dash, service: Service) -> None:
    """Its forms ask by themselves."""
