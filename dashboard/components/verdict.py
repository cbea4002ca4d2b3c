"""A verdict on a page: banner, path with its odds, next steps."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from dashboard.components import rates, tokens, words
from dashboard.components.access import aria
from dashboard.components.rates import Rate
from engine.history import MIN_HISTORY
from engine.verdicts import MIN_BEST_STEP, NextStep, Odds, Verdict

NAMES = {
    "insufficient_history": "Insufficient history",
    "novel": "Novel",
    "likely_failure": "Likely failure",
    "on_track": "On track",
}

MIN_SHOWN = 12
"""Steps of a path that are always shown."""
BEYOND = 2
"""Steps shown past the last one with enough other runs."""


def banner(verdict: Verdict) -> Component:
    """The verdict and its sentence."""
    return html.Section(
        [html.H2(NAMES[verdict.verdict]), html.P(verdict.sentence)],
        className=f"card verdict verdict-{verdict.verdict.replace('_', '-')}",
        **aria(label="Verdict"),
    )


def asked(verdict: Verdict) -> Component:
    """The verdict on a step that was asked about."""
    step = tokens.signature(verdict.path[-1].signature) if verdict.path else "the step"
    return html.Section(
        [
            html.H3(["If it goes on with ", step, f": {NAMES[verdict.verdict].lower()}"]),
            html.P(verdict.sentence),
        ],
        className=f"verdict verdict-{verdict.verdict.replace('_', '-')}",
    )


def depths(verdict: Verdict) -> Component:
    """The path, a line a token, with the place where the rate fell most.

    What lies beyond the last point that enough other runs reached is folded away.
    """
    lines = [_depth(place, each, verdict) for place, each in enumerate(verdict.depths, 1)]
    head = known_depths(verdict)
    first = rates.table(lines[:head], verdict.base_rate, "The odds at each step of its path")
    if len(lines) <= head:
        return first
    rest = rates.table(lines[head:], verdict.base_rate, f"From step {head + 1} on")
    more = html.Summary(f"{len(lines) - head:,} more, with under {MIN_HISTORY} other runs each")
    return html.Div([first, html.Details([more, rest])])


def known_depths(verdict: Verdict) -> int:
    """How many of a path's depths are worth showing: to a little past the last well-known one."""
    known = [place for place, each in enumerate(verdict.depths, 1) if each.support >= MIN_HISTORY]
    return max(max(known, default=0) + BEYOND, MIN_SHOWN)


def _depth(place: int, each: Odds, verdict: Verdict) -> Rate:
    mark = "fell most here" if place == verdict.fell_most else ""
    label = _numbered(place, tokens.step(each.token))
    return Rate(label, each.support, each.successes, each.low, each.high, mark)


def _numbered(place: int, step: Component) -> Component:
    return html.Span([html.Span(str(place), className="place"), step])


def fall_in_words(verdict: Verdict) -> str:
    """Where the odds fell most, in words.

    A fall counts between two depths that each have at least 10 other runs.
    """
    if verdict.fell_most is None:
        return f"Nowhere along this path did the odds fall (between steps with at least {MIN_HISTORY} runs)."
    before, after = verdict.depths[verdict.fell_most - 2], verdict.depths[verdict.fell_most - 1]
    return (
        f"The odds fell most at step {verdict.fell_most}, {words.bare(after.token)}: from "
        f"{words.percent(before.rate)} to {words.percent(after.rate)}."
    )


def next_steps(verdict: Verdict) -> Component:
    """What runs that came this far did next, and how they ended."""
    if not verdict.next_steps:
        return html.P("No other run went on from here.", className="dim")
    lines = [
        Rate(
            tokens.signature(each.signature),
            each.support,
            each.successes,
            each.low,
            each.high,
            _praise(verdict, each) if each.signature == verdict.best_next_step else "",
            good=True,
        )
        for each in verdict.next_steps
    ]
    why = (
        "Best, or least bad: the highest lower bound among steps"
        if verdict.best_next_step
        else "No step is called best: none has"
    )
    more = f" with at least {MIN_BEST_STEP} runs." if verdict.best_next_step else f" {MIN_BEST_STEP} runs."
    table = rates.table(lines, verdict.base_rate, "What runs that came this far did next", label="Next step")
    return html.Div([table, html.P(why + more, className="dim small")])


def _praise(verdict: Verdict, step: NextStep) -> str:
    """What the best next step is called; below the base rate it deserves no better word."""
    return "least bad" if step.high < (verdict.base_rate or 0.0) else "best next step"
