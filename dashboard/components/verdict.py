"""A verdict on a page: banner, path with its odds, next steps."""

from __future__ import annotations

from collections.abc import Sequence

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import grounds, html, rates, tokens, words
from dashboard.components.access import aria
from dashboard.components.rates import Rate
from dashboard.urls import Look
from engine.forks import nodes_along
from engine.history import MIN_HISTORY
from engine.maps import BehaviourMap
from engine.strata import Evidence, evidence
from engine.verdicts import MIN_BEST_STEP, Kind, Odds, Verdict

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


FORKS = 3
"""Fatal forks of a path that are told beside its verdict."""


def banner(verdict: Verdict, behaviour: BehaviourMap, look: Look) -> Component:
    """The verdict and its sentence, and the fatal forks of the map that its path took."""
    forks = [node for node in nodes_along(behaviour, verdict.path, verdict.live) if behaviour.fork[node]]
    name = called(verdict.verdict, bool(forks))
    return html.Section(
        [
            html.H2(name if verdict.live else f"By other runs: {name.lower()}"),
            html.P(verdict.sentence),
            *_forked(behaviour, forks[:FORKS], look),
        ],
        className=f"card verdict {colour(verdict.verdict, bool(forks))}",
        **aria(label="Verdict"),
    )


def asked(verdict: Verdict, behaviour: BehaviourMap, look: Look) -> Component:
    """The verdict on a step that was asked about, and whether that step is a fatal fork of the map."""
    step = tokens.signature(verdict.path[-1].signature) if verdict.path else "the step"
    nodes = nodes_along(behaviour, verdict.path, open_last=True)
    reached = len(nodes) == len(verdict.path) > 0
    last = [node for node in nodes[-1:] if reached and behaviour.fork[node]]
    forked = any(behaviour.fork[node] for node in nodes)
    return html.Section(
        [
            html.H3(["If it goes on with ", step, f": {called(verdict.verdict, forked).lower()}"]),
            html.P(verdict.sentence),
            *_forked(behaviour, last, look),
        ],
        className=f"verdict {colour(verdict.verdict, forked)}",
    )


def called(kind: Kind, forked: bool) -> str:
    """What a verdict is called; what the odds call on track may have gone through a fatal fork all the same.

    >>> called("on_track", False), called("on_track", True)
    ('On track', 'On track, but through a fatal fork')
    """
    name = NAMES[kind]
    return f"{name}, but through a fatal fork" if forked and kind == "on_track" else name


def colour(kind: Kind, forked: bool) -> str:
    """The class of a verdict; what went through a fatal fork is never shown as going well.

    >>> colour("likely_failure", True), colour("on_track", True)
    ('verdict-likely-failure', 'verdict-forked')
    """
    return "verdict-forked" if forked and kind == "on_track" else f"verdict-{kind.replace('_', '-')}"


def _forked(behaviour: BehaviourMap, nodes: Sequence[int], look: Look) -> list[Component]:
    """The fatal forks that a path takes, with the way to each and how far it is shown."""
    return [_fork(behaviour, node, found, look) for node, found in evidence(behaviour, nodes).items()]


def _fork(behaviour: BehaviourMap, node: int, found: Evidence, look: Look) -> Component:
    token = behaviour.tokens[behaviour.token[node]]
    won, support = int(behaviour.successes[node]), int(behaviour.support[node])
    others_won, others = int(behaviour.sibling_successes[node]), int(behaviour.sibling_support[node])
    p = words.probability(float(behaviour.p[node]))
    place = Look(agent=behaviour.cohort.agent, window=look.window, node=behaviour.key_text(node))
    link = html.Link(f"step {int(behaviour.depth[node])}, {words.bare(token)}", href=urls.map_url(place))
    counts = f"{won:,} of {support:,} succeeded against {others_won:,} of {others:,} that went another way"
    said = ["On the map ", link, f", is a fatal fork: {counts} (p {p}). ", grounds.line(found)]
    return html.P(said)


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
        return f"The odds never fell from one step to the next, as far as at least {MIN_HISTORY} runs went."
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
            words.praise(each.high, verdict.base_rate) if each.signature == verdict.best_next_step else "",
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
    again = _again(verdict)
    return html.Div([table, html.P(why + more + again, className="dim small")])


def _again(verdict: Verdict) -> str:
    """That the last step once more is no line of its own, where it is among the next ones."""
    last = verdict.depths[-1].token if verdict.depths else None
    if last is None or last.signature not in [each.signature for each in verdict.next_steps]:
        return ""
    name = words.bare(last._replace(bucket=0))
    return f" Another {name} counts with all runs that have as many in a row, or more: lines overlap."
