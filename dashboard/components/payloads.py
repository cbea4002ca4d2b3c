"""What a decision and its calls carried: closed until somebody looks."""

from __future__ import annotations

from typing import Any

import msgspec
from dash import html
from dash.development.base_component import Component
from msgspec import UNSET, Raw

from dashboard.components import words
from engine.decisions.diff import ArgumentLine, Diagnosis, Diff, Mismatch
from engine.decisions.trace import Call, Choice

CALLS = 10
"""Calls shown of one decision."""
REASONS = 12
"""Reasons shown of one decision."""
LINES = 50
"""Places shown at which arguments differ."""
CHARACTERS = 2_000
"""Characters shown of one value."""


def of_choice(choice: Choice) -> list[Component]:
    """Goal, reasons and calls of a decision, closed; nothing if it has none of them."""
    parts = carried(choice)
    if not parts:
        return []
    calls = words.count(len(choice.calls), "call")
    return [html.Details([html.Summary(f"Goal, reasons, {calls}"), *parts], className="payload")]


def carried(choice: Choice) -> list[Component]:
    """Goal, reasons and calls of a decision, as far as there are any."""
    parts = [*_goal(choice), *_reasons(choice), *(_call(call) for call in choice.calls[:CALLS])]
    more = len(choice.calls) - CALLS
    return [*parts, html.P(f"and {words.count(more, 'more call')}", className="dim")] if more > 0 else parts


def _goal(choice: Choice) -> list[Component]:
    policy = [html.P([html.B("Policy "), choice.policy])] if choice.policy else []
    return [*([html.P([html.B("Goal "), cut(choice.goal)])] if choice.goal else []), *policy]


def _reasons(choice: Choice) -> list[Component]:
    told = [(option.tool, option.reason) for option in choice.options if option.reason]
    lines = [html.Div([html.Dt(tool), html.Dd(cut(reason))]) for tool, reason in told[:REASONS]]
    return [html.Dl(lines, className="attributes")] if lines else []


def _call(call: Call) -> Component:
    became = {True: "ok", False: "error", None: "no result"}[call.ok]
    size = "" if call.size_bytes is None else f", {words.count(call.size_bytes, 'byte')}"
    head = html.P([html.B("Call "), call.tool, html.Span(f" · {became}{size}", className="dim")])
    return html.Div([head, html.Pre(pretty(call.args), tabIndex=0)])


def pretty(args: Raw) -> str:
    """Arguments as indented JSON, long ones cut; what is no JSON stays as it is.

    >>> pretty(Raw(b'{"q":"date"}'))
    '{\\n  "q": "date"\\n}'
    """
    try:
        return cut(msgspec.json.format(bytes(args), indent=2).decode(errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        return cut(bytes(args).decode(errors="replace"))


def cut(text: str) -> str:
    """A text, a long one cut.

    >>> cut("x" * 2001).lstrip("x")
    '… (1 more characters)'
    """
    more = len(text) - CHARACTERS
    return f"{text[:CHARACTERS]}… ({more:,} more characters)" if more > 0 else text


def mismatch(diff: Diff) -> list[Component]:
    """The first call that differs: which tools, and the places at which the arguments do; if there is one.

    It stays closed where choices differ, since these are to be read first; where it only follows from
    the other choice it tells nothing.
    """
    found = diff.mismatch
    if found is None or (diff.fork is not None and found.a == diff.fork and found.tool_a != found.tool_b):
        return []
    place = "without a decision" if found.a is None else f"under decision {found.a + 1}"
    same = html.P("Their arguments are the same.", className="dim")
    parts = [
        html.Summary(html.H2(f"The first call that differs, {place}")),
        html.P(_tools(found)),
        _lines(found) if found.lines else same,
    ]
    return [html.Details(parts, open=diff.diagnosis is Diagnosis.ARGUMENTS, className="card mismatch")]


def _tools(found: Mismatch) -> list[Any]:
    if found.tool_a == found.tool_b:
        return ["Both called ", html.Code(found.tool_a), "."]
    said = [html.Code(tool) if tool else "nothing" for tool in (found.tool_a, found.tool_b)]
    return ["A called ", said[0], ", B called ", said[1], "."]


def _lines(found: Mismatch) -> Component:
    heads = html.Thead(html.Tr([html.Th(text, scope="col") for text in ("Argument", "A", "B")]))
    rows = [
        html.Tr([html.Th(_path(line), scope="row"), _value(line.a), _value(line.b)])
        for line in found.lines[:LINES]
    ]
    more = len(found.lines) - len(rows)
    rest = [html.P(f"and {words.count(more, 'more place')}", className="dim")] if more else []
    table = html.Table(
        [html.Caption("Where the arguments differ"), heads, html.Tbody(rows)], className="rates arguments"
    )
    return html.Div([table, *rest], className="scroll")


def _path(line: ArgumentLine) -> Component:
    return html.Code(line.path or "(all of it)")


def _value(value: Any) -> Component:
    if value is UNSET:
        return html.Td("not there", className="dim absent")
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode(errors="replace")
    return html.Td(html.Code(cut(text) or '""'))
