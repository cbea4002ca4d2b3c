"""Steps and paths as text: kind, name, repeat bucket. A name is never read as markup."""

from __future__ import annotations

from collections.abc import Sequence

from dash.development.base_component import Component

from dashboard.components import html
from dashboard.components.access import aria
from engine.paths import BUCKET_TEXTS, MARK, Token, parse_signature


def step(token: Token) -> Component:
    """One token: its kind in small capitals, its name, its repeat bucket."""
    if token.signature == MARK:
        return html.Span("… (cut)", className="step", title="The run went on past what is read of it")
    kind, name = parse_signature(token.signature)
    parts = [html.Span(kind, className=f"kind kind-{kind}"), html.Span(name, className="step-name")]
    if token.bucket:
        parts.append(html.Span(BUCKET_TEXTS[token.bucket], className="step-repeat"))
    return html.Span(parts, className="step", title=str(token))


def signature(text: str) -> Component:
    """A signature as a step that was taken once."""
    return step(Token(text, 0))


def trail(path: Sequence[Token]) -> Component:
    """A path, in one wrapping line."""
    return html.Ol([html.Li(step(token)) for token in path], className="trail", **aria(label="Path"))
