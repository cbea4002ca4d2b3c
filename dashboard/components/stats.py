"""The figures at the head of a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard import ids
from dashboard.components import words
from engine.maps import BehaviourMap, Totals
from engine.paths import MARK, MAX_STEPS, MAX_TOKENS
from engine.siblings import FORK_GAP_POINTS


class Stat(NamedTuple):
    """A figure, what it counts, and a remark under it.

    ``node`` is the key of the node whose panel tells more, "" where none does.
    """

    value: str
    label: str
    detail: str = ""
    node: str = ""


def strip(stats: Iterable[Stat]) -> Component:
    """Figures in a row."""
    return html.Dl(
        [
            html.Div([html.Dt(stat.label), html.Dd(_value(stat)), html.Dd(stat.detail, className="dim")])
            for stat in stats
        ],
        className="stats",
    )


def _value(stat: Stat) -> Any:
    if not stat.node:
        return stat.value
    about = f"List the {stat.label}"
    return html.Button(
        stat.value, id=ids.pick("stat", stat.node), type="button", className="link", title=about
    )


def of_map(behaviour: BehaviourMap, forks: int, hotspots: int) -> list[Stat]:
    """What a map stands on."""
    totals = behaviour.totals
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
        Stat(f"{totals.completed:,}", "completed runs", outcomes(totals)),
        _live(behaviour),
        Stat(*sources(totals)),
        Stat(f"{behaviour.tested:,}", "branches tested", impossible),
        Stat(f"{forks:,}", "fatal fork" if forks == 1 else "fatal forks"),
        Stat(f"{hotspots:,}", "hotspot" if hotspots == 1 else "hotspots"),
    ]


def _live(behaviour: BehaviourMap) -> Stat:
    live = behaviour.totals.unknown
    noun = "live run" if live == 1 else "live runs"
    return Stat(f"{live:,}", noun, "in no rate", behaviour.key_text(0)) if live else Stat("0", noun)


def outcomes(totals: Totals) -> str:
    """How the completed runs ended."""
    parts = [f"{totals.successes:,} succeeded", f"{totals.failures:,} failed"]
    return " · ".join([*parts, f"{totals.abandoned:,} abandoned"] if totals.abandoned else parts)


def sources(totals: Totals) -> tuple[str, str, str]:
    """How many outcomes were declared, and where the others come from: value, label, detail."""
    others = [("by a rule", totals.by_rule), ("inferred", totals.inferred)]
    detail = " · ".join(f"{runs:,} {name}" for name, runs in others if runs)
    share = f"{100 * totals.declared / totals.completed:.0f}%" if totals.completed else "–"
    return share, "outcomes declared", detail


def caveats(behaviour: BehaviourMap) -> list[str]:
    """What a reader must know of how the map was built: the bounds it met."""
    totals = behaviour.totals
    said = []
    if "runs" in totals.bounds_met:
        said.append(f"Only the latest {totals.completed:,} completed runs are read; there are more.")
    if "live" in totals.bounds_met:
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
