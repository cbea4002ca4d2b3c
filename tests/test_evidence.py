"""What shuffled outcomes make of whole maps: hardly ever a confirmed fork."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine import demo
from engine.grounds import grounds
from engine.importing import import_files
from engine.maps import build
from engine.paths import Paths
from engine.runs import ALL_TIME, Cohort, Outcome, View
from engine.siblings import ALPHA
from engine.store.sqlite import open_store
from engine.strata import evidence
from tests.samples import SHARED

PUBLISHED = sorted((SHARED / "data").glob("*/*.json"))
SHUFFLES = 200
AT_MOST = 0.05
LATER_NS = 4_000_000_000 * 10**9
"""A moment at which every published run is over."""
VIEWS: tuple[View, ...] = ("all", "tools")

Cohorts = list[tuple[str, Paths]]


def cohorts(path: Path, fill: Callable[..., object]) -> Cohorts:
    """The paths of every agent of a store, in both views."""
    with closing(open_store(path, create=True)) as store:
        fill(store)
        now_ns = store.clock_ns() or LATER_NS
        return [
            (f"{each.agent}, {view}", store.paths(Cohort("default", each.agent, ALL_TIME, view), now_ns))
            for each in store.agents("default", ALL_TIME, now_ns)
            for view in VIEWS
        ]


def shuffled(paths: Paths, alone: bool) -> Iterator[Paths]:
    """The same runs again and again, their outcomes shuffled: within tickets and versions, or ``alone``."""
    generator = np.random.default_rng(11)
    known: dict[tuple[str | None, str | None], int] = {}
    pairs = zip(paths.tickets, paths.versions, strict=True)
    group = np.array([0 if alone else known.setdefault(pair, len(known)) for pair in pairs])
    over = np.flatnonzero(paths.outcome < Outcome.UNKNOWN)
    by_group = over[np.argsort(group[over], kind="stable")]
    for _ in range(SHUFFLES):
        order = np.lexsort((generator.random(by_group.size), group[by_group]))
        outcome = paths.outcome.copy()
        outcome[by_group] = paths.outcome[by_group[order]]
        yield replace(paths, outcome=outcome)


def share_confirmed(paths: Paths, alone: bool) -> float:
    """The share of maps of shuffled outcomes that have a confirmed fork."""
    confirmed = 0
    for each in shuffled(paths, alone):
        behaviour = build(Cohort("default", "agent"), each, 0)
        likely = np.flatnonzero(behaviour.fork & (behaviour.q < ALPHA)).tolist()
        found = evidence(behaviour, likely).values()
        confirmed += any(fork.label == "confirmed" for fork in found)
    return confirmed / SHUFFLES


@pytest.fixture(scope="module")
def of_demo(tmp_path_factory: pytest.TempPathFactory) -> Cohorts:
    path = tmp_path_factory.mktemp("demo") / "runs.sqlite"
    return cohorts(path, lambda store: demo.load(store, "default"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Cohorts:
    if not PUBLISHED:
        pytest.skip(f"no published runs in {SHARED / 'data'}")
    path = tmp_path_factory.mktemp("published") / "runs.sqlite"
    return cohorts(path, lambda store: import_files(store, "default", PUBLISHED))


among = pytest.mark.parametrize("alone", [True, False], ids=["among all runs", "within tickets and versions"])


@among
def test_shuffled_outcomes_of_the_demo_hardly_ever_confirm_a_fork(of_demo: Cohorts, alone: bool) -> None:
    shares = {name: share_confirmed(paths, alone) for name, paths in of_demo}
    assert len(shares) == 8
    assert {name: share for name, share in shares.items() if share > AT_MOST} == {}


@among
def test_shuffled_outcomes_of_published_runs_hardly_ever_confirm_one(published: Cohorts, alone: bool) -> None:
    shares = {name: share_confirmed(paths, alone) for name, paths in published}
    assert len(shares) == 6
    assert {name: share for name, share in shares.items() if share > AT_MOST} == {}


def test_forks_of_published_runs_that_a_mix_may_have_made_are_not_confirmed(published: Cohorts) -> None:
    """Of the first, p = 0.0003, too few runs share a ticket; the second step is the version itself."""
    found = [
        (name, behaviour.successes[node], behaviour.support[node], each.label, grounds(each))
        for name, paths in published
        for behaviour in [build(Cohort("default", "agent"), paths, 0)]
        for node, each in evidence(behaviour).items()
        if each.worse and each.label != "may be chance"
    ]
    assert found == [
        *[
            (
                "tau-airline, tools",
                31,
                98,
                "significant",
                "cannot tell within tickets, 14 runs could not have shown it",
            )
        ],
        *[("tau2-telecom, all", 20, 40, "significant", "cannot tell within versions")],
    ]
