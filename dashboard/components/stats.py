"""The figures at the head of a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.components import counted, words
from dashboard.urls import Look
from engine.listing import Filters
from engine.maps import BehaviourMap, Totals
from engine.narrowing import PICKED_BY_OUTCOME, asks_how_runs_ended
from engine.paths import MARK, MAX_STEPS, MAX_TOKENS
from engine.siblings import FORK_GAP_POINTS


class Stat(NamedTuple):
    """A figure, what it counts, and a remark under it; either may lead to the runs it counts."""

    value: Any
    label: str
    detail: Any = ""


def strip(stats: Iterable[Stat]) -> Component:
    """Figures in a row."""
    return html.Dl(
        [
            html.Div([html.Dt(stat.label), html.Dd(stat.value), html.Dd(stat.detail, className="dim")])
            for stat in stats
        ],
        className="stats",
    )


def of_map(behaviour: BehaviourMap, forks: int, confirmed: int, hotspots: int) -> list[Stat]:
    """What a map stands on, and what is found on it."""
    totals, look = behaviour.totals, counted.look_at(behaviour)
    impossible = (
        f"{behaviour.impossible:,} could not be {FORK_GAP_POINTS} points worse"
        if behaviour.impossible
        else ""
    )
    return [
        Stat(
            words.percent(behaviour.base_rate),
            "base rate",
            words.interval(*behaviour.base_interval) if totals.completed else "no completed run",
        ),
        Stat(
            counted.runs(f"{totals.completed:,}", look, Filters(outcome="completed")),
            "completed runs",
            outcomes(totals, look),
        ),
        _live(totals, look),
        sources(totals, look),
        Stat(
            f"{len(behaviour) - 1:,}",
            "steps on the map",
            "some left out, see above" if totals.bounds_met else "nothing left out",
        ),
        Stat(f"{behaviour.tested:,}", "branches tested", impossible),
        Stat(
            f"{forks:,}",
            "fatal fork" if forks == 1 else "fatal forks",
            f"{confirmed or 'none'} confirmed" if forks else "",
        ),
        Stat(f"{hotspots:,}", "hotspot" if hotspots == 1 else "hotspots"),
    ]


def _live(totals: Totals, look: Look) -> Stat:
    live = totals.unknown
    noun = "live run" if live == 1 else "live runs"
    link = counted.runs(f"{live:,}", look, Filters(outcome="live"))
    return Stat(link, noun, "counted in no rate") if live else Stat("0", noun)


def outcomes(totals: Totals, look: Look) -> list[Any]:
    """How the completed runs ended."""
    known = (
        ("success", totals.successes, "succeeded"),
        ("failure", totals.failures, "failed"),
        ("abandoned", totals.abandoned, "abandoned"),
    )
    parts = [
        counted.runs(f"{runs:,} {how}", look, Filters(outcome=name))
        for name, runs, how in known
        if runs or name != "abandoned"
    ]
    return counted.listed(parts, " · ")


def sources(totals: Totals, look: Look) -> Stat:
    """How many outcomes were declared, and where the others come from."""
    others = (("rule", totals.by_rule, "by a rule"), ("inferred", totals.inferred, "inferred"))
    detail = [
        counted.runs(f"{runs:,} {how}", look, Filters(source=name)) for name, runs, how in others if runs
    ]
    share = f"{100 * totals.declared / totals.completed:.0f}%" if totals.completed else "–"
    declared = counted.runs(share, look, Filters(source="declared"))
    return Stat(declared if totals.declared else share, "outcomes declared", counted.listed(detail, " · "))


def caveats(behaviour: BehaviourMap) -> list[str]:
    """What a reader must know of how the map was built: what it is narrowed by, the bounds it met."""
    totals = behaviour.totals
    said = []
    if asks_how_runs_ended(behaviour.cohort.where):
        said.append(PICKED_BY_OUTCOME)
    if behaviour.narrowed_from and {"runs", "live"} & {*totals.bounds_met}:
        said.append(f"Only the latest {behaviour.narrowed_from:,} runs were asked whether they match.")
    elif "runs" in totals.bounds_met:
        said.append(f"Only the latest {totals.completed:,} completed runs are read; there are more.")
    if "live" in totals.bounds_met and not behaviour.narrowed_from:
        said.append(f"Only the latest {totals.unknown:,} runs in flight are read; there are more.")
    if "nodes" in totals.bounds_met:
        said.append(f"Only the {len(behaviour):,} nodes with most runs are kept; cut branches are marked.")
    return said


def asides(behaviour: BehaviourMap) -> str:
    """Of the runs read: how many took no step that this view counts, and how many were cut."""
    step = "tool step" if behaviour.cohort.view == "tools" else "step"
    totals, said = behaviour.totals, []
    if totals.no_steps:
        said.append(f"{words.count(totals.no_steps, 'run')} took no {step}.")
    if totals.cut_paths:
        cut = "is cut there" if totals.cut_paths == 1 else "are cut there"
        limits = f"{MAX_TOKENS} steps of a path or {MAX_STEPS} in all"
        said.append(f"{words.count(totals.cut_paths, 'run')} went on past {limits} and {cut}, at “{MARK}”.")
    return " ".join(said)
