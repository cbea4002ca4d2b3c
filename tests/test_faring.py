"""How agents fare: their days, their last day against the rest, and what all forks of a map cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import false_discovery_control, fisher_exact

from engine.faring import DAYS, Change, Day, LastDay, faring, last_days
from engine.forks import forks
from engine.losses import Losses, losses
from engine.maps import BehaviourMap, build
from engine.runs import Cohort, Outcome, Run, Source
from engine.spans import Span
from engine.store import DayRow
from engine.store.sqlite import open_store
from tests.memory_store import DAY_NS, HOUR_NS, NOW_NS, MemoryStore, corpus, make_run

T = "default"


def days(*ended: tuple[int, int]) -> tuple[Day, ...]:
    """The last of 30 days: successes and failures of each."""
    return (Day(),) * (DAYS - len(ended)) + tuple(Day(*each) for each in ended)


# --- the last day --------------------------------------------------------------------------------


def test_the_last_day_is_compared_by_fishers_exact_test_with_q_values_over_all_agents() -> None:
    every = [
        days((30, 10), (40, 12), (2, 9)),
        days((50, 50), (5, 4)),
        days((9, 1), (5, 5)),
        days((3, 3), (0, 0)),
    ]
    tables = ([[2, 9], [70, 22]], [[5, 4], [50, 50]], [[5, 5], [9, 1]])
    p = [float(fisher_exact(np.array(table)).pvalue) for table in tables]
    q = false_discovery_control(p)
    found = last_days(every)
    assert [last[:4] for last in found] == [(11, 2, 92, 70), (9, 5, 100, 50), (10, 5, 10, 9), (0, 0, 6, 3)]
    assert [last.p for last in found] == pytest.approx([*p, 1.0])
    assert [last.q for last in found] == pytest.approx([*q, 1.0])


@pytest.mark.parametrize(
    ("last", "change"),
    [
        (LastDay(10, 0, 50, 40, 1e-4, 1e-3), "worse"),
        (LastDay(10, 10, 50, 10, 1e-4, 1e-3), "better"),
        (LastDay(10, 4, 50, 40, 0.02, 0.06), "perhaps worse"),
        (LastDay(10, 10, 50, 30, 0.02, 0.06), "perhaps better"),
        (LastDay(10, 7, 50, 40, 0.4, 0.4), "alike"),
        (LastDay(0, 0, 50, 40), "none"),
        (LastDay(10, 9, 0, 0), "none"),
    ],
)
def test_a_change_is_called_by_how_sure_it_is(last: LastDay, change: Change) -> None:
    assert last.change == change


def test_nobody_is_compared_with_nobody() -> None:
    assert last_days([]) == []


# --- the days ------------------------------------------------------------------------------------


def test_runs_are_counted_on_their_day_and_live_ones_apart() -> None:
    runs = [
        make_run("now", "tool:a", age_ns=0),
        make_run("edge", "tool:a", Outcome.FAILURE, age_ns=DAY_NS),
        make_run("before", "tool:a", Outcome.ABANDONED, age_ns=DAY_NS + 1),
        make_run("first", "tool:a", age_ns=DAYS * DAY_NS),
        make_run("too old", "tool:a", age_ns=DAYS * DAY_NS + 1),
        make_run("ahead", "tool:a", age_ns=-3 * DAY_NS),
        make_run("live", "tool:a", source=Source.INFERRED, age_ns=HOUR_NS // 60),
    ]
    ((found,), more) = faring(MemoryStore(runs), T, NOW_NS, 10)
    assert (found.days[0], found.days[-2], found.days[-1]) == (Day(1), Day(0, 0, 1), Day(2, 1, 0, 1))
    assert sum(day.runs for day in found.days) == 6
    assert (found.last, more) == (LastDay(3, 2, 2, 1, found.last.p, 1.0), 0)


def test_only_the_agents_with_most_runs_are_looked_at() -> None:
    runs = [make_run(f"{agent}{n}", "tool:a", agent=agent) for agent in "abc" for n in range(ord(agent))]
    found, more = faring(MemoryStore(runs), T, NOW_NS, 2)
    assert ([each.line.window.agent for each in found], more) == (["c", "b"], 1)


def test_a_store_on_disk_counts_as_the_one_in_memory(tmp_path: Path) -> None:
    runs = [
        make_run(f"{agent}-{n}", "tool:a", agent=agent, source=Source.INFERRED, age_ns=n * DAY_NS // 7)
        for agent in ("a", "b")
        for n in range(230)
    ]
    store = open_store(tmp_path / "days.sqlite", create=True)
    store.append(T, [span for run in runs for span in spans_of(run)])
    store.append("other", [span for run in runs[:9] for span in spans_of(run)])
    asked = T, ["a", "b", "nobody"], NOW_NS
    try:
        assert sorted(store.days(*asked)) == sorted(MemoryStore(runs).days(*asked))
        assert store.days(T, [], NOW_NS) == []
        assert store.days("other", ["a"], NOW_NS) == [
            DayRow("a", 0, 7, 0, 0, 1),
            DayRow("a", 1, 1, 0, 0, 0),
        ]
    finally:
        store.close()


def spans_of(run: Run) -> list[Span]:
    attributes = {"forkmap.kind": "tool", "forkmap.name": "a", "gen_ai.agent.name": run.agent}
    return [
        Span(
            f"t-{run.run_id}",
            "s",
            "a",
            run.start_ns,
            run.last_ns,
            attributes={**attributes, "session.id": run.run_id},
        )
    ]


# --- what forks cost -----------------------------------------------------------------------------


def map_of(runs: list[Run]) -> BehaviourMap:
    cohort = Cohort(T, "support-agent")
    return build(cohort, MemoryStore(runs).paths(cohort, NOW_NS), NOW_NS)


def made(path: str, won: int, lost: int) -> list[Run]:
    return [
        make_run(f"{path}{n}", path, Outcome.SUCCESS if n < won else Outcome.FAILURE)
        for n in range(won + lost)
    ]


def test_a_map_without_forks_costs_nothing() -> None:
    assert losses(map_of(made("tool:a", 5, 5))) == Losses(0, 0.0, 0, 1.0)


def test_one_fork_costs_what_the_list_of_forks_says() -> None:
    behaviour = map_of(corpus())
    (fork,) = forks(behaviour)
    found = losses(behaviour)
    assert (found.forks, found.worst) == (1, fork.node)
    assert (found.runs, found.q) == pytest.approx((fork.runs_lost, fork.q))


def test_runs_of_a_fork_behind_a_fork_are_lost_once() -> None:
    """All of b is worse than a; inside b, d is worse than c: the 20 runs of d are in both."""
    behaviour = map_of([*made("tool:a", 40, 0), *made("tool:b tool:c", 12, 8), *made("tool:b tool:d", 0, 20)])
    found = {str(fork.path[-1]): fork.runs_lost for fork in forks(behaviour)}
    assert found == {"tool:b": 28.0, "tool:d": 12.0}
    assert losses(behaviour)[:2] == (2, 28.0)


def test_forks_beside_each_other_are_added() -> None:
    behaviour = map_of([*made("tool:a", 60, 0), *made("tool:b", 0, 10), *made("tool:c", 2, 8)])
    found = [fork.runs_lost for fork in forks(behaviour)]
    assert len(found) == 2
    assert losses(behaviour).runs == pytest.approx(np.sum(found))
