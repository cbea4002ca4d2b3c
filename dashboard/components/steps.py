"""The steps of a run with their times, and the spans behind them as they were sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components import tokens, words
from engine.runs import Run, Step
from engine.spans import Span

SPANS = 400
"""Spans shown of one run."""
VALUE_CHARACTERS = 4_000
"""Characters shown of one attribute."""

HEADS = (
    ("#", "number"),
    ("Step", ""),
    ("Began", "number"),
    ("Took", "number"),
    ("Tokens in · out", "number"),
)


def steps(run: Run) -> Component:
    """The steps in order; errors are marked."""
    if not run.steps:
        return html.P("This run ended without taking any step.", className="dim")
    return html.Table(
        [
            html.Caption(
                f"{words.count(len(run.steps), 'step')}; the first began {words.utc(run.steps[0].start_ns)}"
            ),
            html.Thead(html.Tr([html.Th(text, scope="col", className=name) for text, name in HEADS])),
            html.Tbody([_step(place, step, run.start_ns) for place, step in enumerate(run.steps, 1)]),
        ],
        className="rates steps",
    )


def _step(place: int, step: Step, zero_ns: int) -> Component:
    error = [html.Span("error", className="badge badge-error")] if step.error else []
    took = "open" if step.end_ns is None else words.duration(step.end_ns - step.start_ns)
    began = f"+{words.duration(step.start_ns - zero_ns)}"
    return html.Tr(
        [
            html.Td(str(place), className="number dim"),
            html.Th([tokens.signature(step.signature), *error], scope="row"),
            html.Td(began, className="number", title=words.utc(step.start_ns)),
            html.Td(took, className="number"),
            html.Td(_tokens(step), className="number dim"),
        ],
        className="error" if step.error else "",
    )


def _tokens(step: Step) -> str:
    if step.input_tokens is None and step.output_tokens is None:
        return ""
    shown = ["–" if tokens is None else f"{tokens:,}" for tokens in (step.input_tokens, step.output_tokens)]
    return " · ".join(shown)


def spans(sent: Sequence[Span]) -> Component:
    """Every span as it was sent, closed until somebody looks."""
    shown = [_span(span) for span in sent[:SPANS]]
    rest = f"; the first {SPANS} are shown" if len(sent) > SPANS else ""
    summary = html.Summary(f"{words.count(len(sent), 'span')} as sent{rest}")
    return html.Details([summary, *shown], className="spans")


def _span(span: Span) -> Component:
    groups = {"attributes": span.attributes, "resource": span.resource}
    events = {f"event {event.name}": event.attributes for event in span.events}
    lists = [_attributes(name, values) for name, values in (groups | events).items() if values]
    place = f"span {span.span_id} · trace {span.trace_id} · {span.scope or 'no scope'}"
    about = f"{span.status.name.lower()} · {place}"
    body = lists or [html.P("No attributes.", className="dim")]
    head = html.Summary(
        [html.Span(span.name or "(no name)", className="span-name clip"), html.Span(about, className="dim")]
    )
    return html.Details([head, *body], className="span")


def _attributes(name: str, values: Mapping[str, Any]) -> Component:
    pairs = [
        html.Div([html.Dt(key), html.Dd(html.Pre(_text(value)))]) for key, value in sorted(values.items())
    ]
    return html.Section([html.H4(name), html.Dl(pairs, className="attributes")])


def _text(value: Any) -> str:
    """An attribute's value as text, long ones cut.

    >>> _text({"a": 1}), _text("x" * 5000)[-26:]
    ('{"a": 1}', 'x… (1,000 more characters)')
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    more = len(text) - VALUE_CHARACTERS
    return f"{text[:VALUE_CHARACTERS]}… ({more:,} more characters)" if more > 0 else text
