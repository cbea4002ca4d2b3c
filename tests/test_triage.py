"""Runs in flight, lowest estimate first, by the maps of their agents and the fuses that would fire."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.backoff import back_off
from engine.fuses import Policy
from engine.paths import Token
from engine.queries import judge_run, load_map
from engine.runs import SECOND_NS, Cohort, Outcome, Run, Source
from engine.triage import InFlight, Known, Passed, triage
from engine.walk import Index
from tests.memory_store import NOW_NS, MemoryStore, make_run

GOOD, BAD = "llm:m tool:search tool:refund", "llm:m tool:delete"
LOW = Policy(name="low", min_success_odds=0.5, action="stop", foresight_after_steps=2)


def in_flight(run_id: str, path: str, age_s: int = 60, agent: str = "desk") -> Run:
    return make_run(run_id, path, Outcome.ABANDONED, agent, Source.INFERRED, age_s * SECOND_NS)


def over(agent: str = "desk") -> list[Run]:
    """Forty runs that searched, of which 36 succeeded, and forty that deleted, of which 2 did."""
    good = [Outcome.SUCCESS if place < 36 else Outcome.FAILURE for place in range(40)]
    bad = [Outcome.SUCCESS if place < 2 else Outcome.FAILURE for place in range(40)]
    ended = [(GOOD, outcome) for outcome in good] + [(BAD, outcome) for outcome in bad]
    return [make_run(f"{agent}-{place}", path, outcome, agent) for place, (path, outcome) in enumerate(ended)]


def maps_of(store: MemoryStore, missing: str = "") -> Callable[[Cohort], Known | None]:
    def known(cohort: Cohort) -> Known | None:
        behaviour = load_map(store, cohort, NOW_NS)
        return None if cohort.agent == missing else Known(Index(behaviour), back_off(behaviour))

    return known


def seen(runs: list[Run], agent: str | None = None, most: int = 10, missing: str = "") -> list[InFlight]:
    store = MemoryStore(runs)
    found = triage(store, "default", (LOW,), NOW_NS, maps_of(store, missing), agent, most)
    return [*found.runs]


def test_the_lowest_estimate_comes_first_whatever_the_verdict() -> None:
    runs = [in_flight("novel", "llm:m tool:dance"), in_flight("fine", GOOD), in_flight("doomed", BAD)]
    found = seen([*over(), *runs])
    # Each node's parent counts as one run: the fewest that the choice of the weight allows.
    base = (38 + 38 / 80) / 81
    searched = (36 + base) / 41
    assert [(each.run.run_id, each.found and each.found.verdict) for each in found] == [
        ("doomed", "likely_failure"),
        ("novel", "novel"),
        ("fine", "on_track"),
    ]
    assert [each.estimate for each in found] == pytest.approx([(2 + base) / 41, base, (36 + searched) / 41])


def test_what_a_fork_cost_goes_on_below_it_where_few_runs_tell() -> None:
    few = [make_run("once", f"{BAD} tool:dance", Outcome.SUCCESS, "desk")]
    (found,) = seen([*over(), *few, in_flight("forked", f"{BAD} tool:dance")])
    assert found.found is not None
    assert (found.found.verdict, found.found.rate) == ("insufficient_history", 1.0)
    assert found.estimate is not None and 0.5 < found.estimate < 0.6


def test_of_runs_with_equal_odds_the_most_recently_active_comes_first() -> None:
    runs = [in_flight("idle", BAD, age_s=600), in_flight("busy", BAD, age_s=6)]
    assert [each.run.run_id for each in seen([*over(), *runs])] == ["busy", "idle"]


def test_what_nobody_took_but_went_through_a_fatal_fork_comes_before_what_did_not() -> None:
    runs = [in_flight("astray", "llm:m tool:dance", 5), in_flight("forked", f"{BAD} tool:dance", 60)]
    assert [each.run.run_id for each in seen([*over(), *runs])] == ["forked", "astray"]


def test_each_is_judged_as_its_own_page_judges_it() -> None:
    runs = [
        in_flight(f"r{place}", path) for place, path in enumerate([GOOD, BAD, "llm:m", "llm:m tool:x", ""])
    ]
    store = MemoryStore([*over(), *runs])
    behaviour = load_map(store, Cohort("default", "desk"), NOW_NS)
    for each in triage(store, "default", (), NOW_NS, maps_of(store)).runs:
        judged = judge_run(behaviour, each.run, NOW_NS)
        verdict, found = judged.verdict, each.found
        assert found is not None
        assert (found.verdict, found.successes, found.support) == (
            verdict.verdict,
            verdict.successes,
            verdict.support,
        )
        assert (found.low, found.high, found.base_rate) == (verdict.low, verdict.high, verdict.base_rate)
        assert each.fork == (
            None if not judged.forks else Passed(2, Token("tool:delete", 0), judged.forks[-1].key)
        )


def test_fuses_are_asked_as_before_a_call_and_nothing_is_written_down() -> None:
    store = MemoryStore([*over(), in_flight("doomed", BAD), in_flight("fine", GOOD)])
    found = triage(store, "default", (LOW,), NOW_NS, maps_of(store))
    assert [(each.run.run_id, [one.policy.name for one in each.fired]) for each in found.runs] == [
        ("doomed", ["low"]),
        ("fine", []),
    ]
    assert store.firings("default", NOW_NS) == []


def test_runs_of_an_agent_whose_map_is_not_there_are_listed_unjudged() -> None:
    store = MemoryStore([*over(), in_flight("doomed", BAD), in_flight("other", "tool:a", agent="new")])
    found = triage(store, "default", (LOW,), NOW_NS, maps_of(store, missing="new"))
    assert [(each.run.run_id, each.found is None) for each in found.runs] == [
        ("doomed", False),
        ("other", True),
    ]
    assert found.unbuilt == ("new",)


def test_runs_of_an_agent_without_a_completed_run_come_last() -> None:
    runs = [*over(), in_flight("fine", GOOD), in_flight("first", "tool:a", agent="new")]
    assert [(each.run.run_id, each.estimate is None) for each in seen(runs)] == [
        ("fine", False),
        ("first", True),
    ]


def test_one_agent_can_be_asked_about_alone() -> None:
    runs = [*over(), in_flight("ours", BAD), in_flight("theirs", "tool:a", agent="other")]
    assert [each.run.run_id for each in seen(runs, agent="other")] == ["theirs"]


def test_past_the_bound_the_most_recently_active_are_looked_at() -> None:
    store = MemoryStore([in_flight(f"r{age}", "tool:a", age) for age in (300, 20, 100)])
    found = triage(store, "default", (), NOW_NS, maps_of(store), most=2)
    assert ([each.run.run_id for each in found.runs], found.more) == (["r20", "r100"], True)


def test_what_is_over_is_not_in_flight() -> None:
    declared = make_run("done", BAD, Outcome.FAILURE, "desk", age_ns=SECOND_NS)
    assert seen([*over(), declared]) == []
