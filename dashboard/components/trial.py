"""What rules for outcomes would do, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, words
from dashboard.urls import Look
from engine.rules import Rule
from engine.trials import EXAMPLES, Trial, summary

GRAMMAR = (
    ("close_ticket $", "it ended with this step"),
    ("^ search_orders", "it began with this step"),
    ("error(charge_card)", "a call of this step failed"),
    ("search > refund", "the second directly after the first"),
    ("search .. refund", "the second later than the first"),
    ("search x3", "at least 3 times in a row"),
    ("(search > llm:*) x3", "the same, with a model call behind each"),
    ("search x3 .. !refund", "after that, no refund any more"),
    ("!verify .. charge", "a charge with no verify before it"),
    ("a and b", "both are among its steps; or: either"),
    ("(a or b) > c", "c directly after an a or a b"),
    ("tool:search_*", "a tool of a name like this; * is any text"),
    ('"ask a human"', "quotes where a name holds spaces"),
    ("ticket:ship-*", "its ticket begins so; likewise version:"),
)
"""Expressions and what a run is like that is as they say."""


def grammar() -> Component:
    """How expressions are written, by example."""
    rows = [html.Tr([html.Td(html.Code(code)), html.Td(meaning)]) for code, meaning in GRAMMAR]
    head = html.Thead(html.Tr([html.Th("Expression", scope="col"), html.Th("A run fits if", scope="col")]))
    return html.Table([head, html.Tbody(rows)], className="rates grammar")


def result(trial: Trial, rules: Sequence[Rule], look: Look) -> list[Component]:
    """What was tried, what would change, and which rule matches how many."""
    return [
        html.P(summary(trial), className="headline"),
        *_changes(trial),
        *_examples(trial, look),
        *([_matches(trial, rules)] if rules else []),
    ]


def _changes(trial: Trial) -> list[Component]:
    if not trial.changes:
        return []
    rows = [
        html.Tr(
            [
                html.Td(evidence.outcome(change.before)),
                html.Td(evidence.outcome(change.after)),
                html.Td(f"{count:,}", className="number"),
            ]
        )
        for change, count in trial.changes
    ]
    return [_table("What would change", ("From", "To", "Runs"), rows)]


def _examples(trial: Trial, look: Look) -> list[Component]:
    """Links to runs that would change."""
    if not trial.examples:
        return []
    links = [
        html.Li([evidence.run_link(each.run_id, look), evidence.outcome(each.change.after)])
        for each in trial.examples
    ]
    more = trial.changed > EXAMPLES
    heading = f"The latest {EXAMPLES} that would change" if more else "The runs that would change"
    return [html.H3(heading), html.Ul(links, className="found")]


def _matches(trial: Trial, rules: Sequence[Rule]) -> Component:
    rows = [
        html.Tr([html.Td(html.Code(str(rule))), html.Td(f"{count:,}", className="number")])
        for rule, count in zip(rules, trial.matched, strict=True)
    ]
    return _table("Runs that each rule is the first to match", ("Rule", "Runs"), rows)


def _table(caption: str, names: Sequence[str], rows: Sequence[Component]) -> Component:
    *first, last = names
    heads = [html.Th(name, scope="col") for name in first]
    head = html.Tr([*heads, html.Th(last, scope="col", className="number")])
    return html.Table([html.Caption(caption), html.Thead(head), html.Tbody(list(rows))], className="rates")


def save(agent: str, text: str, count: int) -> Component:
    """The form that keeps exactly the rules that were tried."""
    fields: list[Any] = [
        dcc.Input(type="hidden", name="agent", value=agent),
        html.Div(dcc.Textarea(name="rules", value=text, readOnly=True), hidden=True),
    ]
    label = f"Save {words.count(count, 'rule')}" if count else "Leave it without a rule"
    button = html.Button(label, type="submit", className="button")
    return html.Form([*fields, button], action=urls.SAVE_RULES, method="post", className="say")
