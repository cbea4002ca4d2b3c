"""How a run ended: what it is held for, who says so, and the buttons to say otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, times, words
from dashboard.components.access import aria
from dashboard.urls import Look
from engine.declaring import is_by_hand
from engine.runs import LIVE_NS, SECOND_NS, Declaration, Outcome, Run, Source, is_live

SAYABLE = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED)
"""What a person may say of a run."""
UNDO = "undo"
"""Name of the field that takes a declaration back."""


def card(
    run: Run,
    declarations: Sequence[Declaration],
    counted: Outcome | None,
    look: Look,
    now_ns: int,
    may_say: bool,
) -> Component:
    """The card of a run's outcome.

    Parameters
    ----------
    declarations : sequence of Declaration
        All that is declared for it, the one that counts first.
    counted : Outcome or None
        As what the map that is shown counts the run, None if it does not.
    may_say : bool
        Whether whoever looks may say how it ended.
    """
    return html.Section(
        [
            html.Div([html.H2("How it ended"), evidence.state(run, now_ns)], className="card-head"),
            html.P(_why(run, declarations, look, now_ns)),
            *_follows(run, counted, now_ns),
            *([_say(run, look)] if may_say else []),
            *_told(run.run_id, declarations, look, now_ns, may_say),
        ],
        className="card outcome",
    )


def _why(run: Run, declarations: Sequence[Declaration], look: Look, now_ns: int) -> list[Any]:
    rules = urls.rules_url(run.agent)
    if is_live(run.source, run.last_ns, now_ns):
        minutes = LIVE_NS // (60 * SECOND_NS)
        return [
            f"It is live: nobody has said how it ended, and its last activity is under {minutes} minutes old."
        ]
    if run.source is Source.DECLARED:
        said = declarations[0] if declarations else None
        when = f", {words.ago(said.time_ns, now_ns)}" if said else ""
        return [f"Declared by {words.quoted(speaker(run.said_by))}{when}."]
    if run.source is Source.RULE:
        return ["By the rule ", html.Code(run.said_by), ". ", dcc.Link("The rules of this agent", href=rules)]
    because = "Nobody has said so: it is inferred from the status of the span that ended last. "
    return [because, dcc.Link("Write a rule for runs like it", href=rules)]


def speaker(by: str) -> str:
    """Who declared an outcome, after the word "by".

    >>> speaker("by hand: ann"), speaker("by API"), speaker("its spans"), speaker("")
    ('hand: ann', 'API', 'its spans', 'somebody unnamed')
    """
    return by.removeprefix("by ") or "somebody unnamed"


def _follows(run: Run, counted: Outcome | None, now_ns: int) -> list[Component]:
    """That the map has yet to follow, if it has."""
    if counted in (None, run.outcome) or is_live(run.source, run.last_ns, now_ns):
        return []
    was = words.OUTCOMES[counted]
    text = f"The map still counts this run as {was}. It is being built anew, and this page follows by itself."
    return [html.P(text, className="notice", role="status")]


def _say(run: Run, look: Look) -> Component:
    buttons = [
        html.Button(
            words.OUTCOMES[outcome].capitalize(),
            type="submit",
            name="outcome",
            value=words.OUTCOMES[outcome],
            className="button",
        )
        for outcome in SAYABLE
    ]
    return _form([html.Span("Say that it was", className="soft"), *buttons], run.run_id, look)


def _form(parts: list[Component], run_id: str, look: Look, **more: str) -> Component:
    fields = {"run": run_id} | urls.window_query(look.window) | more
    hidden = [dcc.Input(type="hidden", name=name, value=value) for name, value in fields.items()]
    return html.Form([*hidden, *parts], action=urls.SAY_OUTCOME, method="post", className="say")


def _told(
    run_id: str, declarations: Sequence[Declaration], look: Look, now_ns: int, may_say: bool
) -> list[Component]:
    if not declarations:
        return []
    rows = [_row(run_id, said, place == 0, look, now_ns, may_say) for place, said in enumerate(declarations)]
    return [html.H3("What has been declared"), html.Ol(rows, className="told", reversed=True)]


def _row(run_id: str, said: Declaration, counts: bool, look: Look, now_ns: int, may_say: bool) -> Component:
    when = html.Span(times.ago(said.time_ns, now_ns), className="dim")
    parts: list[Any] = [
        evidence.outcome(said.outcome),
        html.Span(words.quoted(said.by or speaker("")), className="clip", title=said.by),
        when,
        *([html.Span("counts", className="badge")] if counts else []),
    ]
    if may_say and is_by_hand(said):
        parts.append(_undo(run_id, said, look, now_ns))
    return html.Li(parts)


def _undo(run_id: str, said: Declaration, look: Look, now_ns: int) -> Component:
    label = f"Undo {words.OUTCOMES[said.outcome]}, said {said.by} {words.ago(said.time_ns, now_ns)}"
    button = html.Button(
        "Undo",
        type="submit",
        name=UNDO,
        value=words.OUTCOMES[said.outcome],
        className="button small",
        **aria(label=label),
    )
    return _form([button], run_id, look, told=said.run_id, time=str(said.time_ns), by=said.by)
