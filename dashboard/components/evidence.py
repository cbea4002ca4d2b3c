"""All that is known of one node of a map: the panel beside the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import counted, grounds, html, rates, tokens, words
from dashboard.components.rates import Rate
from dashboard.urls import Look
from engine.forks import Fork
from engine.listing import Filters
from engine.maps import BehaviourMap
from engine.paths import MARK
from engine.queries import Example
from engine.runs import Outcome, Run, is_live
from engine.siblings import ALPHA, FORK_GAP_POINTS, MIN_SUPPORT
from engine.statistics import wilson_one
from engine.strata import Evidence

OPTIONS = 10
"""Next steps shown at once."""
LIVE = 5
"""Live runs listed at a node."""
LIVE_AT_START = 100
"""Live runs listed at the start, where all of them are meant."""
GOLDEN = "golden fork"
"""The mark of a branch that ends better than other ways."""


def evidence(
    behaviour: BehaviourMap,
    node: int,
    fork: Fork | None,
    shown: Evidence | None,
    examples: Sequence[Example],
    look: Look,
) -> list[Any]:
    """The panel of a node.

    Parameters
    ----------
    fork : Fork or None
        Its fatal or golden fork, if it is one.
    shown : Evidence or None
        What speaks for that fork.
    examples : sequence of Example
        Runs through the node to link to; for a fork they come from the fork itself.
    """
    path = behaviour.path(node)
    badges = [fork_badge(fork)] if fork else []
    if behaviour.hotspot[node]:
        badges.append(
            html.Span(f"hotspot, {behaviour.entropy_bits[node]:.2f} bits", className="badge badge-hot")
        )
    return [
        html.H2([tokens.step(path[-1]) if path else "The start", *badges]),
        *([tokens.trail(path)] if path else []),
        _open_in(behaviour, node, _contrast(fork, examples), look),
        _counts(behaviour, node, look),
        _against(behaviour, node, look),
        html.P(comparison_in_words(behaviour, node, fork)),
        *([grounds.told(shown)] if shown else []),
        _example_runs(fork, examples, look),
        *live_runs(behaviour, node, look),
        _options(behaviour, node, look),
    ]


def _open_in(behaviour: BehaviourMap, node: int, pair: tuple[str, str] | None, look: Look) -> Component:
    """The other pages that tell of a node: its runs, and two of them side by side."""
    ways = [
        html.Link("runs", href=urls.runs_url(look, Filters(node=behaviour.key_text(node) if node else "")))
    ]
    if pair:
        about = f"{pair[0]}, which did not succeed, beside {pair[1]}, which did"
        ways.append(html.Link("compare", href=urls.compare_url(*pair), title=about))
    return html.P(["Open this in:", *counted.listed(ways, "·")], className="open-in")


def _contrast(fork: Fork | None, examples: Sequence[Example]) -> tuple[str, str] | None:
    """A run that did not succeed and one that did, to compare: a fork's own, else the latest of each."""
    if fork:
        return (fork.failure, fork.success) if fork.failure and fork.success else None
    lost = next((each.run_id for each in examples if each.outcome is not Outcome.SUCCESS), None)
    won = next((each.run_id for each in examples if each.outcome is Outcome.SUCCESS), None)
    return (lost, won) if lost and won else None


def _counts(behaviour: BehaviourMap, node: int, look: Look) -> Component:
    """How many came here and what became of them, each number with the way to its runs."""
    here = Filters(node=behaviour.key_text(node))
    support, won = int(behaviour.support[node]), int(behaviour.successes[node])
    abandoned, live = int(behaviour.abandoned[node]), int(behaviour.live[node])
    ended, failed = int(behaviour.ended[node]), support - won - abandoned
    outcomes = [("success", won, "succeeded"), ("failure", failed, "failed")]
    outcomes += [("abandoned", abandoned, "abandoned")] if abandoned else []
    parts = [
        counted.runs(f"{number:,} {how}", look, here._replace(outcome=name)) for name, number, how in outcomes
    ]
    came = counted.runs(words.count(support, "run"), look, here._replace(outcome="completed"))
    said: list[Any] = [came, " came here: ", *counted.listed(parts, ", "), "."]
    if ended:
        said += [" ", counted.runs(f"{ended:,} ended here", look, here._replace(at="ended")), "."]
    if live:
        going = counted.runs(words.count(live, "live run"), look, here._replace(outcome="live"))
        said += [" ", going, f" {'is' if live == 1 else 'are'} here or below now."]
    return html.P([*said, " Rare branches below were cut."] if behaviour.cut[node] else said)


def _rate(behaviour: BehaviourMap, node: int, label: Any, look: Look, mark: str = "") -> Rate:
    low, high = float(behaviour.low[node]), float(behaviour.high[node])
    support, successes = int(behaviour.support[node]), int(behaviour.successes[node])
    filters = Filters(outcome="completed", node=behaviour.key_text(node) if node else "")
    href, is_good = urls.runs_url(look, filters), mark == GOLDEN
    return Rate(label, support, successes, low, high, mark, good=is_good, href=href)


def _against(behaviour: BehaviourMap, node: int, look: Look) -> Component:
    """The node beside its siblings and everything."""
    lines = [_rate(behaviour, node, "This step" if node else "All runs", look)]
    others, won = int(behaviour.sibling_support[node]), int(behaviour.sibling_successes[node])
    if node and others:
        beside = urls.runs_url(look, Filters(node=behaviour.key_text(node), at="beside"))
        lines.append(Rate("Other ways", others, won, *wilson_one(won, others), href=beside))
    if node:
        lines.append(_rate(behaviour, 0, "All runs", look))
    caption = "Success from this point, with 95% intervals"
    return rates.table(lines, behaviour.base_rate, caption, label="Runs that took", brief=True)


def comparison_in_words(behaviour: BehaviourMap, node: int, fork: Fork | None) -> str:
    """What comparing a node with its siblings says."""
    if not node:
        return "Every run starts here."
    p, q = float(behaviour.p[node]), float(behaviour.q[node])
    if np.isnan(p):
        return f"Not tested: the step and the other ways need {MIN_SUPPORT} completed runs each."
    figures = f"Fisher's exact test gives p {words.probability(p)}, q {words.probability(q)}: "
    if fork:
        side = "fewer" if fork.runs_gained > 0 else "more"
        return (
            f"{figures}{words.certainty(q, behaviour.tested)}. Had these runs fared like the others, about "
            f"{words.count(round(abs(fork.runs_lost)), f'{side} run')} would have succeeded."
        )
    if p >= ALPHA:
        return f"{figures}no clear difference from the other ways."
    own = int(behaviour.successes[node]) / int(behaviour.support[node])
    better = own * int(behaviour.sibling_support[node]) > int(behaviour.sibling_successes[node])
    how = "these runs end better" if better else f"these runs end worse by under {FORK_GAP_POINTS} points"
    return f"{figures}{how}; {words.certainty(q, behaviour.tested)}."


def _example_runs(fork: Fork | None, examples: Sequence[Example], look: Look) -> Component:
    lines = [_fork_example(*pair, look) for pair in _pairs(fork)] if fork else []
    lines += [_example(example, look) for example in examples]
    body = html.Ul(lines) if lines else html.P("No completed run to show.", className="dim")
    return html.Section([html.H3("Example runs"), body], className="examples")


def live_runs(behaviour: BehaviourMap, node: int, look: Look) -> list[Component]:
    """The live runs that stand at a node or below, newest first; nothing if there is none."""
    at = behaviour.live_node
    inside = np.flatnonzero((at >= node) & (at < node + int(behaviour.size[node]))).tolist()
    if not inside:
        return []
    shown = inside[: LIVE if node else LIVE_AT_START]
    lines = [
        html.Li(
            [
                _pill("live"),
                run_link(behaviour.live_run_ids[place], look),
                *_place(behaviour, at[place], node),
            ]
        )
        for place in shown
    ]
    more = len(inside) - len(shown)
    rest = [html.P(f"and {more:,} more.", className="dim")] if more else []
    head = html.H3([words.count(len(inside), "live run"), " here or below" if node else ""])
    return [html.Section([head, html.Ul(lines), *rest], className="examples")]


def _place(behaviour: BehaviourMap, at: int, node: int) -> list[Component]:
    """Where a live run stands, if that is not the node itself."""
    if at == node:
        return []
    token = behaviour.tokens[behaviour.token[at]]
    return [html.Span(f"at {words.bare(token)}, step {int(behaviour.depth[at])}", className="dim clip")]


def fork_badge(fork: Fork) -> Component:
    """The mark of a fatal or golden fork; one that may be chance is outlined only."""
    look, title = weight(fork.q)
    if fork.runs_gained > 0:
        return html.Span(f"★ {GOLDEN}", className=f"badge badge-golden{look}", title=title)
    return html.Span("fatal fork", className=f"badge badge-fork{look}", title=title)


def weight(q: float) -> tuple[str, str]:
    """Class and title that a fork's mark takes from its q-value: both empty if it is sure enough."""
    return (" maybe", f"may be chance: q {words.probability(q)}") if q >= words.LIKELY_CHANCE else ("", "")


def _pairs(fork: Fork) -> list[tuple[str, str, str]]:
    ways = ("took this step", "went another way")
    lost, won = reversed(ways) if fork.runs_gained > 0 else ways
    pairs = [("failure", fork.failure, lost), ("success", fork.success, won)]
    return [(outcome, run_id, how) for outcome, run_id, how in pairs if run_id]


def _fork_example(outcome: str, run_id: str, how: str, look: Look) -> Component:
    return html.Li([_pill(outcome), run_link(run_id, look), html.Span(how, className="dim")])


def _example(example: Example, look: Look) -> Component:
    ticket = [html.Span(f"ticket {example.ticket}", className="dim clip")] if example.ticket else []
    return html.Li([_pill(words.OUTCOMES[example.outcome]), run_link(example.run_id, look), *ticket])


def outcome(ended: Outcome) -> Component:
    """An outcome as a small coloured word; a run that has none yet is live."""
    return _pill("live" if ended is Outcome.UNKNOWN else words.OUTCOMES[ended])


def _pill(outcome: str) -> Component:
    return html.Span(outcome, className=f"pill pill-{outcome}")


def state(run: Run, now_ns: int) -> Component:
    """How a run ended, or that it is live, as a small coloured word."""
    live = is_live(run.source, run.last_ns, now_ns)
    return _pill("live" if live else words.OUTCOMES[run.outcome])


def run_link(run_id: str, look: Look) -> Component:
    """A link to a run's page, in the window that is looked at."""
    href = urls.run_url(Look(run=run_id, window=look.window))
    return html.Link(run_id, href=href, className="run-id clip", title=run_id)


def _options(behaviour: BehaviourMap, node: int, look: Look) -> Component:
    lines = [
        _rate(behaviour, child, _step(behaviour, child), look, _mark(behaviour, child))
        for child in behaviour.children(node).tolist()
    ]
    if not lines:
        return html.P("No run went on from here.", className="dim")
    more = words.count(len(lines) - OPTIONS, "rarer step")
    rest = [html.P(f"and {more}, in the tree.", className="dim")] if len(lines) > OPTIONS else []
    caption = "What runs did next, with 95% intervals"
    shown = rates.table(lines[:OPTIONS], behaviour.base_rate, caption, "Next step", brief=True)
    return html.Div([shown, *rest])


def _step(behaviour: BehaviourMap, node: int) -> Component:
    return tokens.step(behaviour.tokens[behaviour.token[node]])


def _mark(behaviour: BehaviourMap, child: int) -> str:
    token = behaviour.tokens[behaviour.token[child]]
    if token.signature == MARK:
        return ""
    return "fatal fork" if behaviour.fork[child] else GOLDEN if behaviour.golden[child] else ""
