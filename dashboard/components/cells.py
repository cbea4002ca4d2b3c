"""One side of a row: a step, or what was chosen, by which margin, out of what, and what then ran."""

from __future__ import annotations

from typing import Any

from dash.development.base_component import Component

from dashboard.components import html, menus, payloads, tokens, words
from engine.decisions.menus import is_low
from engine.decisions.trace import Choice
from engine.runs import Step


def gap(unit: str) -> Component:
    """Nothing stands here on this side."""
    return html.Span(f"no {unit} here", className="dim")


def step(place: int, taken: Step, zero_ns: int) -> Component:
    """A step of a run that recorded no decisions."""
    error = [_badge("error", "badge-error")] if taken.error else []
    after = html.Span(f"+{words.duration(taken.start_ns - zero_ns)}", className="lane-margin dim")
    return html.Div([_number(place), tokens.signature(taken.signature), *error, after], className="lane-head")


def chosen(place: int, choice: Choice, other: Choice | None, low_margin: float) -> Component:
    """What was chosen, in one line; by which policy, where the other side's is another one."""
    name = html.Span(choice.chosen, className="step-name", title=choice.chosen)
    differs = other is not None and other.policy != choice.policy
    policy = [html.Span(f"by {choice.policy}", className="dim small clip")] if differs else []
    parts = [_number(place), name, *_ran(choice), *policy, _margin(choice, low_margin)]
    return html.Div(parts, className="lane-head")


def opened(choice: Choice, other: Choice | None) -> list[Component]:
    """Its options beside the other side's, and what it carried."""
    return [menus.menu(choice, other), *payloads.of_choice(choice)]


def _number(place: int) -> Component:
    return html.Span(str(place + 1), className="place dim")


def _badge(text: str, look: str, title: str = "") -> Component:
    return html.Span(text, className=f"badge {look} clip", title=title or text)


def _ran(choice: Choice) -> list[Component]:
    """A mark where another tool ran than was chosen, where none did, or where it failed."""
    if not choice.calls:
        return [_badge("not called", "badge-cut", "No call carried out this decision")]
    first = choice.calls[0]
    other = [_badge(f"ran {first.tool}", "badge-error")] if first.tool != choice.chosen else []
    return [*other, *([_badge("error", "badge-error")] if first.ok is False else [])]


def _margin(choice: Choice, low_margin: float) -> Component:
    """The margin as it was told, and as the scores have it where that is another."""
    lead = choice.lead
    if choice.margin is None:
        return html.Span("no margin", className="lane-margin dim", title="The decision tells of none")
    text = f"margin {menus.figure(choice.margin)}"
    text += f", {menus.figure(lead)} by its scores" if lead is not None and lead != choice.margin else ""
    if is_low(lead, low_margin):
        said: list[Any] = [text, html.Span(", close to a tie", className="unseen")]
        return html.Span(said, className="lane-margin low", title="close to a tie")
    below = ", not on top" if lead is not None and lead < 0 else ""
    return html.Span(f"{text}{below}", className="lane-margin dim")
