"""How many forks shuffled outcomes make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from engine.chance import Chance, chance
from engine.grounds import by_chance
from engine.maps import BehaviourMap, build
from engine.runs import Cohort
from engine.statistics import fisher_exact
from tests.reference import Sample
from tests.strategies import cohorts, paths_of

COHORT = Cohort("default", "agent")


def map_of(samples: list[Sample], max_nodes: int = 50_000) -> BehaviourMap:
    return build(COHORT, paths_of(samples), 0, max_nodes)


def two_ways(tickets: tuple[str | None, str | None], versions: tuple[str, str] = ("1", "1")) -> BehaviourMap:
    """Ten runs that fail one way and ten that succeed the other, each way of a ticket and a version."""
    ways = [(f"tool:{way}", ended) for way, ended in (("x", "failure"), ("y", "success"))]
    return map_of(
        [
            Sample(f"{way}{number}", (way,), ended, ticket, version)
            for (way, ended), ticket, version in zip(ways, tickets, versions, strict=True)
            for number in range(10)
        ]
    )


def test_of_one_ticket_all_outcomes_are_shuffled() -> None:
    behaviour = two_ways(("t", "t"))
    # Wherever the two ways differ clearly, one of them is a fatal fork.
    won = np.arange(11)
    worse = won[fisher_exact(won, 10 - won, 10 - won, won) < 0.05]
    expected = stats.hypergeom(20, 10, 10).pmf(worse).sum()
    found = chance(behaviour, 20_000)
    assert found.forks == pytest.approx(expected, abs=0.005)
    assert found.as_many / found.shuffles == pytest.approx(expected, abs=0.005)


def test_of_two_tickets_each_keeps_its_outcomes_and_so_the_fork_stays() -> None:
    assert chance(two_ways(("t", "u"))) == Chance(
        200, 1.0, 1, 200, 0, within_tickets=True, within_versions=False
    )


def test_of_two_versions_likewise() -> None:
    """The old version takes x: one of its runs succeeded, and changes place only with its others."""
    rows = [("x", "failure", "old", 10), ("x", "success", "old", 1), ("y", "success", "new", 10)]
    found = chance(
        map_of(
            [
                Sample(f"{way}{ended}{n}", (f"tool:{way}",), ended, "t", version)
                for way, ended, version, many in rows
                for n in range(many)
            ]
        )
    )
    assert found == Chance(200, 1.0, 1, 200, 11, within_tickets=True, within_versions=True)


def test_where_that_moves_nothing_outcomes_are_shuffled_within_tickets_alone() -> None:
    versions, one = two_ways(("t", "t"), ("1", "2")), two_ways(("t", "t"))
    assert chance(versions) == chance(one)
    assert (chance(one).moved, chance(one).within_tickets, chance(one).within_versions) == (20, True, False)
    assert not chance(two_ways(("t", "u"), ("1", "2"))).moved


def test_without_tickets_outcomes_are_shuffled_whatever_the_version() -> None:
    found = chance(two_ways((None, None), ("1", "2")))
    assert (found.within_tickets, found.within_versions, found.moved) == (False, False, 20)
    assert found.forks < 0.1


def test_the_same_map_gives_the_same_figures() -> None:
    behaviour = two_ways(("t", "t"))
    assert chance(behaviour) == chance(behaviour)


def test_a_map_without_runs_has_no_forks_to_expect() -> None:
    assert chance(map_of([]))[:4] == (200, 0.0, 0, 200)


@settings(max_examples=60)
@given(cohorts())
def test_where_nothing_can_move_the_forks_counted_are_the_maps_own(samples: list[Sample]) -> None:
    for max_nodes in (50_000, 60, 4):
        behaviour = map_of(samples, max_nodes)
        alone = replace(behaviour, tickets=behaviour.run_ids)
        found = chance(alone, 2)
        assert (found.forks, found.as_many, found.moved) == (float(behaviour.fork.sum()), 2, 0)


def test_many_runs_are_shuffled_a_part_at_a_time_all_of_them() -> None:
    rows = [
        Sample(f"r{n}", (f"tool:{'xy'[n % 2]}",), "success" if n % 3 else "failure", "t")
        for n in range(6_000)
    ]
    found = chance(map_of(rows), 300)
    assert found.shuffles == 300
    assert np.isclose(found.moved, 6_000)


def test_shuffles_are_told_of_the_map_they_are_of_though_a_newer_one_is_on_show() -> None:
    behaviour = two_ways(("t", "t"))
    newer = replace(behaviour, fork=behaviour.fork & False)
    assert by_chance(newer, chance(behaviour)) == by_chance(behaviour, chance(behaviour))
    assert by_chance(newer, chance(behaviour)).endswith("; 5 of 200 shuffles made 1 or more.")
