"""Every fork of every set with how far it is shown, how many chance would make, and what that costs.

``python -m benchmarks.evidence``
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.corpora import TENANT, make_demo, make_published
from benchmarks.timing import best_s, print_table, side_by_side_s
from benchmarks.workload import steps
from engine import queries
from engine.chance import Chance, chance
from engine.columns import paths_from_columns
from engine.forks import Fork, forks, golden_forks
from engine.grounds import count_confirmed
from engine.maps import BehaviourMap, build
from engine.paths import Paths
from engine.runs import ALL_TIME, Cohort, View
from engine.store.sqlite import open_store
from engine.strata import Evidence, evidence, held
from engine.stratified import Stratified

COHORT = Cohort(TENANT, "bench")
SIZE = (20_000, 30)
STRATA = ((200, 1), (200, 6), (5_000, 1), (5_000, 6))
"""Tickets and versions that the runs of the cost are of."""
ROUNDS = 5
VIEWS: tuple[View, ...] = ("all", "tools")
FOUND = ("set, view", "runs", "tested", "forks", "by chance", "shuffles with as many", "confirmed", "golden")
FORKS = (
    *("set, view", "step", "on it", "beside it", "p", "q"),
    *("within tickets", "within versions", "both", "label"),
)
COSTS = ("tickets × versions", "forks, fatal and golden", "map", "strata", "ratio", "200 shuffles")


def maps() -> Iterator[BehaviourMap]:
    """The maps of the demo's agents and of the published sets, in both views."""
    for make in (make_demo, make_published):
        with TemporaryDirectory() as folder:
            make(Path(folder) / "runs.sqlite")
            store = open_store(Path(folder) / "runs.sqlite")
            now_ns = store.clock_ns() or time.time_ns()
            for agent in store.agents(TENANT, ALL_TIME, now_ns):
                for view in VIEWS:
                    yield queries.load_map(store, Cohort(TENANT, agent.agent, ALL_TIME, view), now_ns)
            store.close()


def main() -> None:
    summaries, lines = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for behaviour in maps():
        found, expected = evidence(behaviour), chance(behaviour)
        name = f"{behaviour.cohort.agent}, {behaviour.cohort.view}"
        summaries.append(
            (
                name,
                f"{behaviour.totals.completed:,}",
                f"{behaviour.tested:,}",
                f"{behaviour.fork.sum()}",
                by_chance(behaviour, expected),
                f"{expected.as_many} of {expected.shuffles}" if expected.moved else "–",
                f"{count_confirmed(found)}",
                f"{behaviour.golden.sum()}",
            )
        )
        lines += [line(name, each, found[each.node]) for each in forks(behaviour)]
        lines += [line(f"{name}, golden", each, found[each.node]) for each in golden_forks(behaviour)]
    print_table("Forks found, expected by chance, confirmed", FOUND, summaries)
    print_table("Every fork", FORKS, lines)
    costs()


def by_chance(behaviour: BehaviourMap, expected: Chance) -> str:
    """The forks that shuffles make in a cell, and that these left the mix of versions out."""
    if not expected.moved:
        return "cannot be told"
    is_whole = expected.within_versions or len(set(behaviour.versions)) == 1
    return f"{expected.forks:.1f}" if is_whole else f"{expected.forks:.1f}, whatever the version"


def line(name: str, fork: Fork, found: Evidence) -> tuple[str, ...]:
    """A fork as a line of the table."""
    return (
        name,
        f"`{fork.path[-1]}` at {len(fork.path)}",
        f"{fork.successes}/{fork.support}",
        f"{fork.sibling_successes}/{fork.sibling_support}",
        f"{fork.p:.2g}",
        f"{fork.q:.2g}",
        *(within(each, found.worse) for each in found.strata),
        found.label,
    )


def within(found: Stratified | None, worse: bool) -> str:
    """A comparison within strata in a cell: what it shows, p, and the runs that could show it."""
    return "–" if found is None else f"{held(found, worse).value}, p {found.p:.2g}, {found.runs} runs"


def costs() -> None:
    """Print what strata and shuffles cost beside the map they belong to."""
    rows = list[tuple[str, ...]]()
    for tickets, versions in STRATA:
        paths = of_strata(paths_from_columns(*steps(*SIZE)), tickets, versions)
        behaviour = build(COHORT, paths, 0)
        works: list[Callable[[], object]] = [partial(build, COHORT, paths, 0), partial(evidence, behaviour)]
        map_s, strata_s = side_by_side_s(works, ROUNDS)
        chance_s, _ = best_s(partial(chance, behaviour), ROUNDS)
        forked = int((behaviour.fork | behaviour.golden).sum())
        rows.append(
            (
                f"{tickets:,} × {versions}",
                f"{forked}",
                f"{1000 * map_s:.0f} ms",
                f"{1000 * strata_s:.0f} ms",
                f"{strata_s / map_s:.2f}",
                f"{1000 * chance_s:.0f} ms",
            )
        )
    print_table(f"{SIZE[0]:,} runs of {SIZE[1]} steps", COSTS, rows)


def of_strata(paths: Paths, tickets: int, versions: int) -> Paths:
    """The same runs, of so many tickets and versions at random."""
    drawn = np.random.default_rng(3)
    runs = len(paths.run_ids)
    return replace(
        paths,
        tickets=tuple(f"ticket-{each}" for each in drawn.integers(0, tickets, runs)),
        versions=tuple(f"version-{each}" for each in drawn.integers(0, versions, runs)),
    )


if __name__ == "__main__":
    main()
