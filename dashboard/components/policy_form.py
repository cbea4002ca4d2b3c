"""The form of one policy: every field with what it means, and with what is wrong where something is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components.drafts import MAX_TEXT, Draft

AGENTS = "policy-agents"
"""Id of the names that are offered for the agent."""
OFFERED = 200
"""Names of agents that are offered."""
TRY = "try"
"""Name of the button that saves nothing."""


def form(draft: Draft, name: str, wrong: Mapping[str, str], agents: Sequence[str]) -> Component:
    """The fields of a draft.

    Parameters
    ----------
    name : str
        The policy that is edited: its name stays; "" for a new one, that has yet to get a name.
    wrong : mapping
        By field, what would be right there.
    agents : sequence of str
        Names that are offered.
    """
    hidden = {"edit": name, "seen": draft.seen} | ({"name": name} if name else {})
    fields = [
        *(
            []
            if name
            else [_text("name", "Name", draft.name, "Its name stays: the ledger goes by it.", wrong)]
        ),
        _text(
            "agent",
            "Whose runs",
            draft.agent,
            "An agent's name; empty for every agent.",
            wrong,
            agents=AGENTS,
        ),
        _text(
            "percent",
            "Odds of success below, in %",
            draft.percent,
            "It fires where even the upper bound of "
            "the interval is below: few runs stop nothing, however they ended.",
            wrong,
            number=True,
        ),
        _choice(
            "action",
            "Then",
            draft.action,
            (("stop", "Stop the run"), ("warn", "Warn only")),
            "Agents ask before a call, are told, and heed it or not.",
            wrong,
        ),
        _text(
            "foresight_min_support",
            "Earlier runs, at least",
            draft.foresight_min_support,
            "So many must have gone the same way and be over.",
            wrong,
            number=True,
        ),
        _text(
            "foresight_after_steps",
            "After so many steps",
            draft.foresight_after_steps,
            "Before that it says nothing.",
            wrong,
            number=True,
        ),
        _choice(
            "mode",
            "Mode",
            draft.mode,
            (("shadow", "Shadow: allow, and write down"), ("enforce", "Enforce")),
            "Keep it in shadow until you have seen how many false stops there are.",
            wrong,
        ),
    ]
    return html.Form(
        [
            *[dcc.Input(type="hidden", name=key, value=value) for key, value in hidden.items()],
            html.Div(fields, className="fields"),
            html.Datalist([html.Option(value=agent) for agent in agents[:OFFERED]], id=AGENTS),
            html.Div(
                [
                    html.Button("Save", type="submit", className="button primary"),
                    html.Button("Try", type="submit", name=TRY, value="1", className="button"),
                    dcc.Link("Cancel", href=urls.fuses_url(policy=name)),
                ],
                className="say",
            ),
        ],
        action=urls.SAVE_POLICY,
        method="post",
        className="policy-form",
    )


def card(form: Component, wrong: Mapping[str, str]) -> Component:
    """The form in its card, with what is said first where something is wrong."""
    said = "Nothing was saved: see what is marked."
    alert = [html.P(said, className="field-wrong", role="alert")] if wrong else []
    return html.Section([html.H2("What it asks for"), *alert, form], className="card")


def _text(
    field: str,
    label: str,
    value: str,
    hint: str,
    wrong: Mapping[str, str],
    agents: str = "",
    number: bool = False,
) -> Component:
    more: dict[str, Any] = {"list": agents} if agents else {}
    more |= {"inputMode": "decimal"} if number else {}
    box = dcc.Input(
        id=f"policy-{field}",
        type="text",
        name=field,
        value=value,
        autoComplete="off",
        spellCheck=False,
        maxLength=MAX_TEXT,
        className="wrong" if field in wrong else "",
        **more,
    )
    return _field(field, label, box, hint, wrong)


def _choice(
    field: str,
    label: str,
    value: str,
    options: Sequence[tuple[str, str]],
    hint: str,
    wrong: Mapping[str, str],
) -> Component:
    given = [html.Option(text, value=key, selected=key == value) for key, text in options]
    return _field(field, label, html.Select(given, id=f"policy-{field}", name=field), hint, wrong)


def _field(field: str, label: str, box: Component, hint: str, wrong: Mapping[str, str]) -> Component:
    """A field; what is wrong with it is a part of its label, so that it is read out with it."""
    said = [html.Span(wrong[field], className="field-wrong")] if field in wrong else []
    text = html.Label([html.Span(label), *said], htmlFor=f"policy-{field}")
    return html.Div([text, box, html.Span(hint, className="dim small")], className="field")
