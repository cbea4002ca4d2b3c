"""Steps that hurt or help wherever they stand, and failed calls: tables that lead to runs and to the tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, tokens, words
from dashboard.components.access import aria, data
from dashboard.components.evidence import weight
from dashboard.components.grounds import line
from dashboard.urls import Look
from engine.builder import Answer, Failed, Ready
from engine.listing import Filters
from engine.maps import BehaviourMap
from engine.narrowing import step_text
from engine.occurrences import Family, Occurrence, Occurrences, explain, nothing

SHOWN = 8
"""Steps of a table shown at once."""
HEADING = "Wherever they stand"


def wherever(behaviour: BehaviourMap, answer: Answer[Occurrences], look: Look) -> Component:
    """The section of a map's page, whether its figures are there already or not."""
    if isinstance(answer, Failed):
        return _section([html.P(answer.sentence)])
    if not isinstance(answer, Ready):
        waiting = html.P("Comparing the runs that have a step with those that have not…", className="dim")
        return _section([waiting], busy=True)
    found = answer.value
    runs = words.count(found.completed, "completed run")
    about = (
        f"Each step for itself, whatever came before: of {runs}, how those that have it end, against those "
        "that have it not. A step without a sign stands alone: runs that only repeat it (×2: twice in a row) "
        "are among those without. What is listed goes with how runs end; that it is the reason is not shown."
    )
    tables = [
        *_family(behaviour, look, found.steps, "Steps that hurt", "Steps that help", "step"),
        *_family(
            behaviour, look, found.failed, "Failed calls that hurt", "Failed calls that help", "failed call"
        ),
    ]
    return _section([html.P(about, className="dim"), *tables])


def _section(body: Sequence[Component], busy: bool = False) -> Component:
    return html.Section(
        [html.H2(HEADING), *body],
        className="card wherever",
        **(aria(busy="true") if busy else {}),
    )


def _family(
    behaviour: BehaviourMap, look: Look, found: Family, hurt: str, help_: str, noun: str
) -> list[Component]:
    """What was found among steps, or among failed calls: tables, and a sentence for what was not."""
    sides = ((hurt, found.harmful, found.harmful_found), (help_, found.golden, found.golden_found))
    tables = [_table(behaviour, look, *side) for side in sides if side[1]]
    return [*tables, *([html.P(none, className="dim")] if (none := nothing(found, noun)) else [])]


def _table(
    behaviour: BehaviourMap, look: Look, heading: str, found: Sequence[Occurrence], many: int
) -> Component:
    """The weightiest of a kind, the rest of those listed folded away."""
    side = "lost" if found[0].runs_lost > 0 else "gained"
    lines = [_line(behaviour, look, each, side) for each in found]
    title = html.H3([heading, html.Span(f"{many:,}", className="count")])
    shown = [title, _body(heading, side, lines[:SHOWN])]
    if many <= SHOWN:
        return html.Div(shown)
    only = f"Only the {len(found):,} with most runs {side} are listed."
    last = [html.P(only, className="dim")] if many > len(found) else []
    rest = _body(f"{heading}, continued", side, lines[SHOWN:])
    return html.Div([*shown, html.Details([html.Summary(f"{many - SHOWN:,} more"), rest, *last])])


def _body(heading: str, side: str, lines: Sequence[Component]) -> Component:
    numbers = ("With it", "Without", f"Runs {side}")
    heads = [("Step", ""), *((text, "number") for text in numbers), ("How far it is shown", "")]
    return html.Table(
        [
            html.Caption(heading, className="unseen"),
            html.Thead(html.Tr([html.Th(text, scope="col", className=name) for text, name in heads])),
            html.Tbody(list(lines)),
        ],
        className="rates" if side == "lost" else "rates golden",
    )


def _line(behaviour: BehaviourMap, look: Look, found: Occurrence, side: str) -> Component:
    own = html.Link(
        f"{found.successes:,} of {found.support:,}", href=runs_url(found, look), className="counted"
    )
    bounds = html.Span(words.interval(found.low, found.high), className="bounds")
    others = f"{found.other_successes:,} of {found.other_support:,}, {words.percent(found.other_rate)}"
    mark, doubt = weight(found.evidence.q)
    number = f"{'−' if side == 'lost' else '+'}{abs(found.runs_lost):.0f}"
    runs = html.Span(number, className=f"{side}{mark}", title=doubt or None)
    return html.Tr(
        [
            html.Th(html.Div(_step(behaviour, found), className="label"), scope="row"),
            html.Td([own, f", {words.percent(found.rate)}", bounds], className="number"),
            html.Td(others, className="number"),
            html.Td(runs, className="number"),
            html.Td(line(found.evidence)),
        ],
        title=explain(found),
    )


def _step(behaviour: BehaviourMap, found: Occurrence) -> list[Component]:
    """The step, and the way to where most runs take it on the tree."""
    node = place(behaviour, found)
    shown = tokens.step(found.step)
    if not node:
        return [shown]
    about = f"Show where most runs take {found.step} on the tree"
    pick = html.Button(
        "in the tree",
        type="button",
        className="link small",
        title=about,
        **data(pick=behaviour.key_text(node)),
    )
    return [shown, pick]


def place(behaviour: BehaviourMap, found: Occurrence) -> int:
    """The node that has a step and most runs passed, 0 where the map has none."""
    wanted = [
        number
        for number, token in enumerate(behaviour.tokens)
        if token == found.step or (found.failed and token.signature == found.step.signature)
    ]
    nodes = np.flatnonzero(np.isin(behaviour.token, wanted))
    return int(nodes[np.argmax(behaviour.support[nodes])]) if nodes.size else 0


def runs_url(found: Occurrence, look: Look) -> str:
    """The completed runs that have a step, or a failed call of it."""
    if not found.failed:
        return urls.runs_url(look, Filters(outcome="completed", token=str(found.step)))
    failed = f"error({step_text(found.step.signature)})"
    where = f"({look.where}) and {failed}" if look.where else failed
    return urls.runs_url(look._replace(where=where), Filters(outcome="completed"))
