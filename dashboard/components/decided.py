"""Decisions and findings of the audit on a run's page: above its steps, and beside each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dash.development.base_component import Component

from dashboard.components import html, payloads, words
from dashboard.components.menus import figure, menu
from engine.decisions import wording
from engine.decisions.beside import Beside
from engine.decisions.trace import Choice, Finding, Trace

SHOWN = 20
"""Findings that are shown beside one step, or beside none."""


def summary(trace: Trace, beside: Beside) -> Component:
    """What was recorded and what the audit says of it, with the findings that concern no step."""
    recorded = words.count(len(trace.choices), "decision")
    if not trace.findings:
        text = f"{recorded} recorded; the audit finds nothing wrong."
        return html.P(text, className="dim audit")
    found = words.count(len(trace.findings), "thing")
    kinds = Counter(finding.kind for finding in trace.findings)
    tally = [html.Li([_badge(kind), f" × {times:,}" if times > 1 else ""]) for kind, times in kinds.items()]
    nowhere = findings(beside.others)
    told = "each told beside the step that it concerns" + (", or here" if nowhere else "")
    text = f"{recorded} recorded; the audit finds {found} wrong, {told}."
    rest = [html.P("Beside no step that is shown:"), *nowhere] if nowhere else []
    return html.Div([html.P(text), html.Ul(tally, className="facts"), *rest], className="audit notice")


def findings(found: Sequence[Finding]) -> list[Component]:
    """Findings as sentences, each behind its kind."""
    if not found:
        return []
    lines = [html.Li([_badge(each.kind), html.Span(wording.finding(each))]) for each in found[:SHOWN]]
    more = len(found) - len(lines)
    rest = [html.Li(f"and {more:,} more", className="dim")] if more else []
    return [html.Ul([*lines, *rest], className="findings-here")]


def decision(choice: Choice) -> Component:
    """What was offered before a step and what for, closed until somebody looks."""
    margin = "" if choice.margin is None else f", margin {figure(choice.margin)}"
    policy = f" by {choice.policy}" if choice.policy else ""
    offered = words.count(len(choice.options), "option")
    head = html.Summary(f"Chosen: {choice.chosen} out of {offered}{policy}{margin}")
    return html.Details([head, menu(choice, None), *payloads.carried(choice)], className="payload decision")


def _badge(kind: str) -> Component:
    return html.Span(kind, className="badge badge-finding")
