"""The steps of a run with their times, and the spans behind them as they were sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from dash.development.base_component import Component

from dashboard.components import decided, html, times, tokens, words
from engine.conventions import failure
from engine.decisions.beside import Beside
from engine.ingest.conversation import TIMES
from engine.runs import Run, Step
from engine.spans import Span

SHOWN = 200
"""Steps, and spans, shown of one run: its first ones."""
CHARACTERS = 500_000
"""Characters of attributes shown of one run."""
VALUE_CHARACTERS = 4_000
"""Characters shown of one attribute."""
FRAME_CHARACTERS = 200
"""What the frame around an attribute counts for."""


class Pair(NamedTuple):
    """An attribute of a span, its resource or one of its events, as text."""

    group: str
    key: str
    text: str


HEADS = (
    ("#", "number"),
    ("Step", ""),
    ("Began", "number"),
    ("Took", "number"),
    ("Tokens in · out", "number"),
)


def steps(run: Run, beside: Beside | None = None, sent: Sequence[Span] = ()) -> Component:
    """The steps in order; errors are marked.

    Parameters
    ----------
    beside : Beside or None
        Decisions and findings, which are shown under the step that they are about.
    sent : sequence of Span
        The run's spans, as far as they were read: what went wrong is shown under the step that failed.
    """
    if not run.steps:
        return html.P("This run ended without taking any step.", className="dim")
    shown, wrong = run.steps[:SHOWN], _failures(run, sent)
    table = html.Table(
        [
            html.Caption(
                [
                    f"{words.count(len(run.steps), 'step')}; the first began ",
                    times.moment(run.steps[0].start_ns),
                ]
            ),
            html.Thead(html.Tr([html.Th(text, scope="col", className=name) for text, name in HEADS])),
            html.Tbody(
                [
                    row
                    for place, step in enumerate(shown, 1)
                    for row in (_step(place, step, run.start_ns), *_under(step, beside, wrong))
                ]
            ),
        ],
        className="rates steps",
    )
    more = len(run.steps) - len(shown)
    return html.Div([table, html.P(f"and {more:,} more.", className="dim")]) if more else table


def assumed(sent: Sequence[Span]) -> list[Component]:
    """A remark if what was imported told no times."""
    if not any(span.attributes.get(TIMES) for span in sent):
        return []
    text = "The file tells no times. Those below are assumed, one second a message: only their order is real."
    return [html.P(text, className="dim")]


def _step(place: int, step: Step, zero_ns: int) -> Component:
    error = [html.Span("error", className="badge badge-error")] if step.error else []
    took = _took(step)
    began = f"+{words.duration(step.start_ns - zero_ns)}"
    return html.Tr(
        [
            html.Td(str(place), className="number dim"),
            html.Th([tokens.signature(step.signature), *error], scope="row"),
            html.Td(times.pointed(step.start_ns, began), className="number"),
            html.Td(took, className="number"),
            html.Td(_tokens(step), className="number dim"),
        ],
        className="error" if step.error else "",
    )


def _took(step: Step) -> str:
    if step.end_ns is None:
        return "open"
    return "–" if step.end_ns < step.start_ns else words.duration(step.end_ns - step.start_ns)


def _failures(run: Run, sent: Sequence[Span]) -> dict[tuple[str, str], str]:
    """What went wrong in the steps that failed, by trace and span."""
    failed = {(step.trace_id, step.span_id) for step in run.steps if step.error}
    keys = ((span.trace_id, span.span_id) for span in sent)
    return {key: failure(span) for key, span in zip(keys, sent, strict=True) if key in failed}


def _under(step: Step, beside: Beside | None, wrong: Mapping[tuple[str, str], str]) -> list[Component]:
    """The row under a step, where there is anything to say of it."""
    said = wrong.get((step.trace_id, step.span_id), "")
    body: list[Component] = [html.P(html.Code(words.quoted(said)), className="went-wrong")] if said else []
    if beside is not None:
        choice = beside.choices.get(step.span_id)
        body += decided.findings(beside.findings.get(step.span_id, ()))
        body += [decided.decision(choice)] if choice else []
    cells = [html.Td(), html.Td(body, colSpan=len(HEADS) - 1)]
    return [html.Tr(cells, className="under")] if body else []


def _tokens(step: Step) -> str:
    if step.input_tokens is None and step.output_tokens is None:
        return ""
    shown = ["–" if tokens is None else f"{tokens:,}" for tokens in (step.input_tokens, step.output_tokens)]
    return " · ".join(shown)


def spans(sent: Sequence[Span]) -> Component:
    """The spans as they were sent, closed until somebody looks.

    Parameters
    ----------
    sent : sequence of Span
        One more than are shown is enough: it tells that there are more.
    """
    shown: list[Component] = []
    room = CHARACTERS
    for span in sent[:SHOWN]:
        pairs = list(_pairs(span, room))
        room -= sum(map(_size, pairs))
        shown.append(_span(span, pairs))
        if room <= 0:
            break
    more = len(sent) > len(shown) or room <= 0
    count = words.count(len(shown), "span")
    summary = f"The first {count} as sent; there is more" if more else f"{count} as sent"
    return html.Details([html.Summary(summary), *shown], className="spans")


def _span(span: Span, pairs: Sequence[Pair]) -> Component:
    lists = [_attributes(group, list(inside)) for group, inside in groupby(pairs, lambda pair: pair.group)]
    place = f"span {span.span_id} · trace {span.trace_id} · {span.scope or 'no scope'}"
    about = f"{span.status.name.lower()} · {place}"
    body = lists or [html.P("No attributes.", className="dim")]
    head = html.Summary(
        [html.Span(span.name or "(no name)", className="span-name clip"), html.Span(about, className="dim")]
    )
    return html.Details([head, *body], className="span")


def _pairs(span: Span, room: int) -> Iterator[Pair]:
    """What a span says, as far as there is room for it."""
    events = [(f"event {event.name}", event.attributes) for event in span.events]
    for group, values in [("attributes", span.attributes), ("resource", span.resource), *events]:
        for key, value in sorted(values.items()):
            if room <= 0:
                return
            pair = Pair(group, key, _text(value))
            room -= _size(pair)
            yield pair


def _size(pair: Pair) -> int:
    return len(pair.key) + len(pair.text) + FRAME_CHARACTERS


def _attributes(group: str, pairs: Sequence[Pair]) -> Component:
    lines = [html.Div([html.Dt(pair.key), html.Dd(html.Pre(pair.text))]) for pair in pairs]
    return html.Section([html.H4(group), html.Dl(lines, className="attributes")])


def _text(value: Any) -> str:
    """An attribute's value as text, long ones cut.

    >>> _text({"a": 1}), _text("x" * 5000)[-26:]
    ('{"a": 1}', 'x… (1,000 more characters)')
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    more = len(text) - VALUE_CHARACTERS
    return f"{text[:VALUE_CHARACTERS]}… ({more:,} more characters)" if more > 0 else text
