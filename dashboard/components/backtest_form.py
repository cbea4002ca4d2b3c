"""The form of a fuse that is tried on runs that are over, and the one that arms it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import drafts
from dashboard.urls import Look
from engine.backtest import Point
from engine.fuses import Policy

ACTIONS = (
    "Then",
    (("stop", "Stop the run"), ("warn", "Warn only")),
    "Agents ask before a call, and are told.",
)
MODES = (
    "Mode",
    (("shadow", "Shadow: allow, and write down"), ("enforce", "Enforce")),
    "In shadow the ledger shows whether it keeps its promise.",
)


def form(look: Look, agents: Sequence[str]) -> Component:
    """What is tried: a form whose answer is an address."""
    hidden = urls.window_query(look.window) | ({"policy": look.policy} if look.policy else {})
    named = [(name, name) for name in agents]
    fields = [
        _field("agent", "Whose runs", _select("agent", named, look.agent), "An agent."),
        _number("support", "Earlier runs, at least", str(look.fuse.min_support), "That went the same way."),
        _number("after", "After so many steps", str(look.fuse.after_steps), "Before that it says nothing."),
        _field(
            "history", "Judged by", _history(look.fuse.earlier), "By all known now, or as on the day itself."
        ),
        _number("cost", "Cost of a false stop", f"{look.cost:.12g}", "In right stops: what one brings is 1."),
        _number(
            "odds",
            "Odds of success below, in %",
            "" if look.odds is None else f"{100 * look.odds:.12g}",
            "Empty for those that bring most.",
        ),
    ]
    return html.Form(
        [
            *[dcc.Input(type="hidden", name=name, value=value) for name, value in hidden.items()],
            html.Div(fields, className="fields"),
            html.Div(html.Button("Try", type="submit", className="button primary"), className="say"),
        ],
        action=urls.BACKTEST,
        method="get",
        className="policy-form",
    )


def _history(earlier: bool) -> Component:
    given = (("", "all other runs"), ("earlier", "runs over before it began"))
    return _select("history", given, "earlier" if earlier else "")


def _select(name: str, options: Sequence[tuple[str, str]], chosen: str) -> Component:
    given = [html.Option(text, value=value, selected=value == chosen) for value, text in options]
    return html.Select(given, id=f"backtest-{name}", name=name)


def _choice(name: str, field: tuple[str, Sequence[tuple[str, str]], str], chosen: str) -> Component:
    label, options, hint = field
    return _field(name, label, _select(name, options, chosen), hint)


def _number(name: str, label: str, value: str, hint: str) -> Component:
    decimal: dict[str, Any] = {"inputMode": "decimal"}
    box = dcc.Input(
        id=f"backtest-{name}",
        type="text",
        name=name,
        value=value,
        autoComplete="off",
        maxLength=40,
        **decimal,
    )
    return _field(name, label, box, hint)


def _field(name: str, label: str, box: Any, hint: str) -> Component:
    parts = [
        html.Label(html.Span(label), htmlFor=f"backtest-{name}"),
        box,
        html.Span(hint, className="dim small"),
    ]
    return html.Div(parts, className="field")


def arm(look: Look, point: Point, policy: Policy | None) -> Component:
    """A form that sets a policy as it was tried: a new one, or the one that is looked at.

    Parameters
    ----------
    policy : Policy or None
        The policy that is there under the name that is looked at.
    """
    terms = drafts.Draft(
        name=look.policy,
        agent=look.agent if policy is None else policy.agent or "",
        percent=drafts.percent_of(point.odds),
        foresight_min_support=str(look.fuse.min_support),
        foresight_after_steps=str(look.fuse.after_steps),
        seen=drafts.stamp(policy),
    )
    hidden = {"edit": "" if policy is None else policy.name}
    hidden |= {key: value for key, value in terms._asdict().items() if key not in ("name", "action", "mode")}
    named = _name(look.policy) if policy is None else dcc.Input(type="hidden", name="name", value=policy.name)
    label = "Set this policy" if policy is None else f"Change {policy.name}"
    action, mode = ("stop", "shadow") if policy is None else (policy.action, policy.mode)
    return html.Form(
        [
            *[dcc.Input(type="hidden", name=key, value=value) for key, value in hidden.items()],
            html.Div(
                [named, _choice("action", ACTIONS, action), _choice("mode", MODES, mode)], className="fields"
            ),
            html.Div(html.Button(label, type="submit", className="button primary"), className="say"),
        ],
        action=urls.SAVE_POLICY,
        method="post",
        className="policy-form",
    )


def _name(name: str) -> Component:
    box = dcc.Input(
        id="backtest-name",
        type="text",
        name="name",
        value=name,
        autoComplete="off",
        maxLength=drafts.MAX_TEXT,
    )
    return _field("name", "Name", box, "Its name stays: the ledger goes by it.")
