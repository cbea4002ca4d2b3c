"""What a fork is worth where only runs of one ticket, or one version, are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from engine.grounds import grounds, sentence
from engine.maps import BehaviourMap, build
from engine.runs import Cohort, Outcome
from engine.statistics import fisher_exact
from engine.strata import Held, columns, compared, evidence, held, strata
from engine.stratified import stratified
from tests.reference import Sample
from tests.strategies import cohorts, paths_of

COHORT = Cohort("default", "agent")
Row = tuple[str, str, int, str | None, str | None]
"""Path as letters, outcome, how many runs, and their ticket and version."""


def map_of(*rows: Row) -> BehaviourMap:
    samples = [
        Sample("", tuple(f"tool:{letter}" for letter in letters), outcome, ticket, version)
        for letters, outcome, many, ticket, version in rows
        for _ in range(many)
    ]
    named = [sample._replace(run_id=f"r{number}") for number, sample in enumerate(samples)]
    return build(COHORT, paths_of(named), 0)


def by_ticket(easy: Sequence[int], hard: Sequence[int], version: str | None = None) -> list[Row]:
    """Runs of two tickets: those won and lost on the branch ``x``, and won and lost on ``y``."""
    ways = [("ax", "success"), ("ax", "failure"), ("ay", "success"), ("ay", "failure")]
    return [
        (*way, many, ticket, version)
        for ticket, counts in (("easy", easy), ("hard", hard))
        for way, many in zip(ways, counts, strict=True)
    ]


def node_of(behaviour: BehaviourMap, letter: str) -> int:
    """The only node that stands for a letter."""
    (node,) = (n for n in range(1, len(behaviour)) if behaviour.path(n)[-1].signature == f"tool:{letter}")
    return node


def test_a_fork_that_holds_within_tickets_is_confirmed() -> None:
    behaviour = map_of(*by_ticket((2, 18, 18, 2), (1, 19, 16, 4)))
    found = evidence(behaviour)[node_of(behaviour, "x")]
    assert behaviour.fork[node_of(behaviour, "x")]
    assert found.strata.tickets is not None
    assert (held(found.strata.tickets, worse=True), found.label) == (Held.HOLDS, "confirmed")
    assert (found.strata.versions, found.strata.both) == (None, None)


def test_a_mix_of_tickets_makes_a_fork_that_is_not_shown_within_them() -> None:
    """The branch is taken by the hard ticket; within each both ways succeed alike."""
    behaviour = map_of(*by_ticket((9, 1, 90, 10), (5, 45, 1, 9)))
    found = evidence(behaviour)[node_of(behaviour, "x")]
    assert found.q < 1e-9
    assert found.strata.tickets is not None
    assert found.strata.tickets[4:7] == (2, 170, 60)
    assert (held(found.strata.tickets, worse=True), found.label) == (Held.NOT_SHOWN, "significant")


def test_where_no_ticket_went_both_ways_nobody_can_tell() -> None:
    behaviour = map_of(*by_ticket((0, 0, 40, 2), (2, 40, 0, 0)))
    found = evidence(behaviour)[node_of(behaviour, "x")]
    assert found.strata.tickets is not None
    assert (held(found.strata.tickets, worse=True), found.label) == (Held.CANNOT_TELL, "significant")


def test_where_too_few_runs_share_a_ticket_nobody_can_tell() -> None:
    """One run of three on the branch: whatever their outcomes, p is a third."""
    behaviour = map_of(
        ("ax", "failure", 1, "both", None),
        ("ay", "success", 2, "both", None),
        ("ax", "failure", 20, "hard", None),
        ("ay", "success", 20, "easy", None),
    )
    found = evidence(behaviour)[node_of(behaviour, "x")]
    assert found.strata.tickets is not None
    assert (found.strata.tickets.runs, round(found.strata.tickets.least_low, 3)) == (3, 0.333)
    assert (held(found.strata.tickets, worse=True), found.label) == (Held.CANNOT_TELL, "significant")
    assert grounds(found) == "cannot tell within tickets, 3 runs could not have shown it"
    assert sentence("tickets", found.strata.tickets, worse=True) == (
        "Cannot tell within tickets: 3 runs of 1 ticket could not have shown it, whatever their outcomes."
    )


def test_runs_that_could_only_have_shown_the_reverse_tell_nothing() -> None:
    """Of 21 runs one is on the branch and one succeeded: it could have been better, never worse."""
    rare = stratified(np.zeros(21, np.int64), np.arange(21) == 0, np.arange(21) == 1)
    assert (held(rare, worse=True), held(rare, worse=False)) == (Held.CANNOT_TELL, Held.NOT_SHOWN)


def test_without_tickets_a_fork_is_at_most_significant() -> None:
    behaviour = map_of(("ax", "failure", 20, None, None), ("ay", "success", 20, None, None))
    found = evidence(behaviour)[node_of(behaviour, "x")]
    assert (found.strata, found.label) == ((None, None, None), "significant")


def test_of_several_versions_a_fork_must_hold_within_these_too() -> None:
    """The old version takes the branch and fails: it may be the version as well as the step."""
    old, new = by_ticket((1, 19, 0, 0), (1, 19, 0, 0), "old"), by_ticket((0, 0, 18, 2), (0, 0, 17, 3), "new")
    behaviour = map_of(*old, *new)
    found = evidence(behaviour)[node_of(behaviour, "x")]
    assert found.strata.tickets is not None
    assert found.strata.versions is not None
    assert held(found.strata.tickets, worse=True) is Held.HOLDS
    assert (held(found.strata.versions, worse=True), found.label) == (Held.CANNOT_TELL, "significant")


def test_what_may_be_chance_is_called_so_whatever_holds() -> None:
    behaviour = map_of(*by_ticket((0, 3, 3, 0), (0, 3, 3, 0)))
    fork = node_of(behaviour, "x")
    doubtful = replace(behaviour, q=np.where(behaviour.q < 1, 0.05, behaviour.q))
    assert evidence(behaviour)[fork].label == "confirmed"
    assert evidence(doubtful)[fork].label == "may be chance"


def test_a_golden_fork_is_confirmed_by_being_better() -> None:
    behaviour = map_of(*by_ticket((2, 18, 18, 2), (1, 19, 16, 4)))
    found = evidence(behaviour)[node_of(behaviour, "y")]
    assert (found.worse, found.label) == (False, "confirmed")


def test_runs_that_name_no_version_count_as_one_more() -> None:
    assert columns(["t"] * 3, ["1", None, "1"]).versions is not None
    assert columns(["t"] * 3, [None, None, None]).versions is None
    assert columns(["t"] * 3, ["1", "1", "1"]).versions is None


def test_few_runs_of_many_strata() -> None:
    of = columns(["a", "b", "c", "d", None, "d", None], ["1"] * 7)
    runs, mine = np.array([3, 4, 5, 6]), np.array([True, True, False, False])
    found = strata(of, runs, mine, ~mine).tickets
    assert found is not None
    assert found[4:8] == (1, 2, 1, 1)


@settings(max_examples=60)
@given(cohorts())
def test_the_runs_compared_are_those_the_map_counted_however_few_nodes_it_keeps(
    samples: list[Sample],
) -> None:
    for max_nodes in (50_000, 60, 4):
        behaviour = build(COHORT, paths_of(samples), 0, max_nodes)
        for node in np.flatnonzero(~np.isnan(behaviour.p)).tolist():
            runs = compared(behaviour, int(behaviour.parent[node]))
            end = behaviour.member_node[runs]
            mine = (end >= node) & (end < node + behaviour.size[node])
            won = behaviour.member_outcome[runs] == Outcome.SUCCESS
            counts = [int(each.sum()) for each in (mine, won & mine, ~mine, won & ~mine)]
            assert counts == [
                int(each[node])
                for each in (
                    *(behaviour.support, behaviour.successes),
                    *(behaviour.sibling_support, behaviour.sibling_successes),
                )
            ]


@settings(max_examples=60)
@given(cohorts())
def test_in_one_stratum_the_test_is_the_maps_own(samples: list[Sample]) -> None:
    alike = build(COHORT, paths_of(each._replace(ticket="t", version=None) for each in samples), 0)
    for node, found in evidence(alike).items():
        assert found.strata.tickets is not None
        assert found.strata.tickets.p == pytest.approx(float(alike.p[node]), rel=1e-9)
        assert found.strata.tickets.p == pytest.approx(
            fisher_exact(
                alike.successes[[node]],
                (alike.support - alike.successes)[[node]],
                alike.sibling_successes[[node]],
                (alike.sibling_support - alike.sibling_successes)[[node]],
            )[0],
            rel=1e-9,
        )
