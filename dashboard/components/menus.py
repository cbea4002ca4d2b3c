"""What a decision offered, as bars: the same order on both sides, so that they can be compared by eye."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dash.development.base_component import Component

from dashboard.components import html, words
from dashboard.components.access import aria
from engine.decisions.trace import Choice

DRAWN = 12
"""Options drawn of one decision: what was chosen, what only one side was offered, and the highest scores."""


class Bar(NamedTuple):
    """An option on one side.

    Attributes
    ----------
    offered : bool
        Whether this side was offered it.
    share : float or None
        Length of its bar, in [0, 1]; None without a score.
    text : str
        Its score in figures.
    chosen, only_here : bool
        Whether it was chosen on this side; whether the other side was not offered it.
    """

    tool: str
    offered: bool
    share: float | None = None
    text: str = ""
    chosen: bool = False
    only_here: bool = False


def menu(choice: Choice, other: Choice | None) -> Component:
    """The options of a decision, beside those of the other side if that has a decision here."""
    if not choice.options:
        return html.P("No options were recorded.", className="dim small")
    drawn = bars(choice, other)
    more = len(_tools(choice, other)) - len(drawn)
    rest = [html.Li(f"and {words.count(more, 'more option')}", className="dim")] if more else []
    return html.Ul([*map(_bar, drawn), *rest], className="menu")


def bars(choice: Choice, other: Choice | None) -> list[Bar]:
    """What is drawn of a decision, in an order that is the same for ``other``.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from engine.decisions.schema import Option
    >>> def made(chosen, **scores):
    ...     options = tuple(Option(tool, score) for tool, score in scores.items())
    ...     return Choice("d", datetime.now(UTC), "", options, chosen, "argmax", None)
    >>> ours, theirs = made("read", edit=0.5, read=0.75), made("edit", edit=0.5)
    >>> [(bar.tool, bar.text or "not offered") for bar in bars(theirs, ours)]
    [('read', 'not offered'), ('edit', '0.50')]
    """
    offered = {option.tool: option.score for option in choice.options}
    elsewhere = {option.tool for option in other.options} if other else set(offered)
    low, high = _scale([score for score in offered.values() if score is not None])
    return [
        Bar(
            tool,
            tool in offered,
            None if (score := offered.get(tool)) is None else _share(score, low, high),
            "" if score is None else figure(score),
            tool == choice.chosen,
            tool in offered and tool not in elsewhere,
        )
        for tool in _drawn(choice, other)
    ]


def _tools(choice: Choice, other: Choice | None) -> list[str]:
    """Every tool of two decisions: by the higher of its scores, then by name, whichever side asks."""
    best: dict[str, float] = {}
    for each in (choice, other):
        for option in each.options if each else ():
            score = float("-inf") if option.score is None else option.score
            best[option.tool] = max(score, best.get(option.tool, score))
        if each and each.options:
            best.setdefault(each.chosen, float("-inf"))
    return sorted(best, key=lambda tool: (-best[tool], tool))


def _drawn(choice: Choice, other: Choice | None) -> list[str]:
    tools = _tools(choice, other)
    if len(tools) <= DRAWN:
        return tools
    sides = [{option.tool for option in each.options} for each in (choice, other) if each]
    chosen = {each.chosen for each in (choice, other) if each}
    kept = sorted(tools, key=lambda tool: (tool not in chosen, all(tool in side for side in sides)))[:DRAWN]
    return [tool for tool in tools if tool in set(kept)]


def _scale(scores: Sequence[float]) -> tuple[float, float]:
    """Where bars begin and end; scores mean something inside one decision only.

    >>> _scale([0.2, 0.6]), _scale([-3.0, 12.0])
    ((0.0, 1.0), (-3.0, 12.0))
    """
    low, high = min((0.0, *scores)), max((0.0, *scores))
    return (low, high) if low < 0 or high > 1 else (0.0, 1.0)


def _share(score: float, low: float, high: float) -> float:
    """Halved before they are taken apart, since the difference of two floats may be none."""
    return (score / 2 - low / 2) / (high / 2 - low / 2)


def figure(value: float) -> str:
    """A score or a margin.

    >>> figure(0.5), figure(-0.021), figure(0.0004), figure(123456789.0)
    ('0.50', '−0.02', '0.0004', '1.23e+08')
    """
    text = f"{value:.2f}"
    if value and (abs(value) >= 1e6 or not float(text)):
        text = f"{value:.3g}"
    return text.replace("-", "−", 1)


def _bar(bar: Bar) -> Component:
    name = html.Span(bar.tool, className="menu-name", title=_about(bar))
    if not bar.offered:
        said = "chosen, but not offered" if bar.chosen else "not offered"
        return html.Li([name, html.Span(said, className="menu-none")], className=_look(bar))
    if bar.share is None:
        said = "chosen" if bar.chosen else "offered, no score"
        return html.Li([name, html.Span(said, className="menu-unscored")], className=_look(bar))
    fill = html.Span(style={"width": f"{100 * bar.share:.2f}%"})
    track = html.Span(fill, className="menu-track", **aria(hidden="true"))
    score: list[Any] = [html.Span(bar.text, className="menu-score")]
    unseen = [text for text, is_so in ((", chosen", bar.chosen), (", only here", bar.only_here)) if is_so]
    score += [html.Span("".join(unseen), className="unseen")] if unseen else []
    return html.Li([name, track, html.Span(score)], className=_look(bar))


def _about(bar: Bar) -> str:
    return f"{bar.tool}: offered on this side only" if bar.only_here else bar.tool


def _look(bar: Bar) -> str:
    looks = {"chosen": bar.chosen, "only-here": bar.only_here, "absent": not bar.offered}
    return " ".join(["option", *(name for name, is_so in looks.items() if is_so)])
