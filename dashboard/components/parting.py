"""The forks of the map by which two runs part: what other runs say of that point, and how far it is shown."""

from __future__ import annotations

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import grounds, html, words
from dashboard.urls import Look
from engine.forks import Fork, forks_between
from engine.maps import BehaviourMap
from engine.strata import Evidence, evidence


def parting(behaviour: BehaviourMap, a: str, b: str) -> list[Component]:
    """The card of the forks, fatal and golden, by which two runs part; nothing where there is none."""
    forks = forks_between(behaviour, a, b)
    if not forks:
        return []
    shown = evidence(behaviour, [fork.node for fork in forks.values()])
    told = [
        _fork(behaviour, fork, shown[fork.node], "A" if run_id == a else "B")
        for run_id, fork in forks.items()
    ]
    return [
        html.Section([html.H2("What other runs say of where they part"), *told], className="card parting")
    ]


def _fork(behaviour: BehaviourMap, fork: Fork, shown: Evidence, which: str) -> Component:
    cohort, kind = behaviour.cohort, "golden" if fork.runs_gained > 0 else "fatal"
    place = Look(agent=cohort.agent, window=cohort.window, view=cohort.view, node=fork.key)
    link = html.Link(f"step {len(fork.path)}, {words.bare(fork.path[-1])}", href=urls.map_url(place))
    counts = (
        f"{fork.successes:,} of {fork.support:,} succeeded against {fork.sibling_successes:,} of "
        f"{fork.sibling_support:,} that went another way"
    )
    p = words.probability(fork.p)
    said = [f"On the map {which} takes ", link, f", a {kind} fork: {counts} (p {p}). "]
    how = html.Details([html.Summary("Is it the step? How it was compared"), grounds.sentences(shown)])
    return html.Div([html.P([*said, grounds.line(shown)]), how], className=kind)
