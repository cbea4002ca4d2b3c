"""What a fuse would have done: every run asked before each call, by all the others, at every odds at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from weakref import ref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from engine.answering import answers_before_calls
from engine.backtest import (
    ODDS,
    Backtest,
    Fuse,
    HeldOut,
    Point,
    backtest,
    held_out,
    pays_at_worst,
    recommended,
)
from engine.fuses import Policy
from engine.queries import load_map
from engine.questions import questions
from engine.runs import ALL_TIME, LIVE_NS, SECOND_NS, Cohort, Outcome, Run, Source
from engine.statistics import wilson_one
from engine.walk import Index
from tests.memory_store import NOW_NS, MemoryStore, corpus, make_run
from tests.reference import Sample
from tests.strategies import cohorts, outcome_of

AGENT = "support-agent"
ONE = Fuse(min_support=1, after_steps=0)


def point(odds: float, stopped: int, wrongly: int, **more: float | None) -> Point:
    """A point of runs that tell of no tokens."""
    plain = {"steps_saved": 0, "tokens_saved": None, "metered": 0, "median_lead": None}
    low, high = wilson_one(wrongly, stopped)
    return Point(odds, stopped, stopped - wrongly, wrongly, low, high, **plain | more)  # type: ignore[arg-type]


def tried(runs: Sequence[Run], fuse: Fuse, *odds: float) -> tuple[Point, ...]:
    return backtest(questions(runs), fuse, odds).points


def mapped(runs: Sequence[Run]) -> Index:
    """The map of these runs."""
    return Index(load_map(MemoryStore(runs), Cohort("default", AGENT, ALL_TIME), NOW_NS))


def over() -> list[Run]:
    return [run for run in corpus() if run.source is Source.DECLARED]


def test_every_run_that_is_over_is_asked_about() -> None:
    """Of 24 bad runs 3 succeed; each is stopped after 3 of its 5 steps."""
    found = backtest(questions(over()), Fuse(min_support=20), [0.5])
    assert found[:6] == (60, 33, 60, 0, 0, 0)
    assert found.points == (point(0.5, 24, 3, steps_saved=42, median_lead=2.0),)


@pytest.mark.parametrize(("support", "stopped"), [(23, 24), (24, 0)])
def test_a_run_is_left_out_of_what_it_is_judged_by(support: int, stopped: int) -> None:
    """24 runs went its way, itself among them."""
    assert tried(over(), Fuse(min_support=support), 0.5)[0].stopped == stopped


def test_it_is_asked_before_a_call_and_not_after_the_last() -> None:
    after = [tried(over(), Fuse(20, steps), 0.5)[0].stopped for steps in (3, 4, 5)]
    assert after == [24, 24, 0]


def test_where_its_counts_are_below_the_floor_no_odds_stop_a_run() -> None:
    assert backtest(questions(over()), Fuse(min_support=100)).unasked == 60
    assert backtest(questions([]), ONE, [1.0]) == Backtest(0, 0, 0, 0, 0, 0, (point(1.0, 0, 0),))


def test_only_what_was_over_before_a_run_began_counts_as_on_the_day_itself() -> None:
    """The latest of five failures knows of four others; the first of none."""
    runs = [make_run(f"r{age}", "a b c d", Outcome.FAILURE, age_ns=age * LIVE_NS) for age in (1, 2, 3, 4, 5)]
    asked = questions(runs)
    assert [
        backtest(asked, Fuse(support, 0, earlier=True), [1.0]).points[0].stopped for support in range(1, 6)
    ] == [4, 3, 2, 1, 0]
    assert backtest(asked, Fuse(4, 0), [1.0]).points[0].stopped == 5


def test_an_outcome_that_nobody_declared_is_known_a_quarter_of_an_hour_later() -> None:
    first = make_run("first", "a b", Outcome.FAILURE, age_ns=2 * LIVE_NS)
    later = make_run("later", "a b", Outcome.FAILURE, age_ns=LIVE_NS)
    inferred = replace(first, source=Source.INFERRED)
    asked = Fuse(1, 0, earlier=True)
    assert [tried([later, run], asked, 1.0)[0].stopped for run in (first, inferred)] == [1, 0]


def test_steps_and_tokens_are_saved_of_the_runs_that_did_not_succeed() -> None:
    """Stopped after two steps: three more were taken, which took 30 tokens where a run tells of any."""
    told = make_run("told", "a b c d e", Outcome.FAILURE)
    told = replace(told, steps=tuple(replace(step, input_tokens=9, output_tokens=1) for step in told.steps))
    half_told = replace(told, steps=(replace(told.steps[0], output_tokens=None), *told.steps[1:]))
    silent, won = make_run("silent", "a b c d e", Outcome.FAILURE), make_run("won", "a b c d e")
    found = tried([told, half_told, silent, won], Fuse(3, 2), 1.0)[0]
    assert found == point(1.0, 4, 1, steps_saved=9, tokens_saved=60, metered=2, median_lead=3.0)


class Watched(Run, frozen=True, weakref=True):
    """A run that can be seen to be let go."""


def test_runs_are_let_go_as_they_are_read() -> None:
    """Two are there at once: the one that was read, while the next is made."""
    made, there = list[ref[Run]](), set[int]()

    def each() -> Iterator[Run]:
        for run in over()[:9]:
            watched = Watched(**asdict(run))
            made.append(ref(watched))
            there.add(sum(each() is not None for each in made))
            yield watched

    assert backtest(questions(each()), ONE).runs == 9
    assert max(there) <= 2


def test_a_run_of_no_more_steps_than_a_fuse_waits_for_is_never_asked() -> None:
    """Before its last call it had taken one step less."""
    runs = [make_run(f"r{number}", "a b c", Outcome.FAILURE) for number in range(9)]
    assert [backtest(questions(runs), Fuse(1, steps)).unasked for steps in (2, 3)] == [0, 9]


def asked_one_by_one(runs: Sequence[Run], fuse: Fuse, odds: float, index: Index | None = None) -> Point:
    """As the fuses' own rule has it, run by run."""
    policy = Policy(
        name="one",
        min_success_odds=odds,
        action="stop",
        foresight_min_support=fuse.min_support,
        foresight_after_steps=fuse.after_steps,
    )
    leads, wrongly = list[int](), 0
    for run in runs:
        known = [each for each in runs if each.last_ns < run.start_ns] if index is None else runs
        said = answers_before_calls(index or mapped(known), run, [policy]) if known else []
        if said and said[0].lacking is None:
            wrongly += run.outcome is Outcome.SUCCESS
            leads += [len(run.steps) - said[0].steps] if run.outcome is not Outcome.SUCCESS else []
    median = float(np.median(leads)) if leads else None
    return point(odds, len(leads) + wrongly, wrongly, steps_saved=sum(leads), median_lead=median)


fuses = st.builds(Fuse, st.sampled_from((1, 2, 3, 9)), st.sampled_from((0, 1, 3, 12)), earlier=st.just(False))
chances = st.sampled_from((0.25, 0.5, 0.6, 0.8, 1.0))


@settings(max_examples=40, deadline=None)
@given(cohorts(), fuses, chances)
def test_it_is_the_fuses_own_rule_for_every_run(samples: list[Sample], fuse: Fuse, odds: float) -> None:
    runs = made(samples, minutes=0)
    index = mapped(runs) if runs else None
    assert tried(runs, fuse, odds)[0] == asked_one_by_one(runs, fuse, odds, index)


@settings(max_examples=10, deadline=None)
@given(cohorts(max_shapes=3), fuses, chances)
def test_and_of_the_map_that_there_was_when_it_began(samples: list[Sample], fuse: Fuse, odds: float) -> None:
    runs = made(samples[:25], minutes=2)
    found = tried(runs, fuse._replace(earlier=True), odds)[0]
    assert found == asked_one_by_one(runs, fuse, odds)


def made(samples: Sequence[Sample], minutes: int) -> list[Run]:
    """Declared runs of samples, the newest first, one begun every so many minutes."""
    return [
        replace(
            make_run(sample.run_id, "", outcome_of(sample), age_ns=(1 + place * minutes) * 60 * SECOND_NS),
            steps=make_run("", " ".join(sample.signatures)).steps,
        )
        for place, sample in enumerate(each for each in samples if each.outcome)
    ]


def of(*points: Point) -> Backtest:
    return Backtest(100, 50, 100, 0, 0, 0, points)


def test_odds_are_recommended_that_gain_most_at_the_stated_cost() -> None:
    """Of as much gained, those nearest where a stop brings what it costs; where nothing is gained, none."""
    low, high, highest = point(0.2, 10, 1), point(0.4, 30, 6), point(0.6, 33, 8)
    found = of(low, high, highest)
    assert [recommended(found, cost) for cost in (0, 1, 2, 4, 9, 20)] == [
        highest,
        high,
        high,
        low,
        None,
        None,
    ]
    flat = [point(odds, 5, 0) for odds in (0.1, 0.2, 0.3, 0.4, 0.8)]
    assert [recommended(of(*flat), cost) for cost in (1, 2, 9)] == [flat[3], flat[2], flat[0]]
    assert recommended(of(), 1) is None


def test_whether_it_pays_is_told_at_the_bound_of_the_interval() -> None:
    """Of 10 none was stopped wrongly: up to 27.8% may be."""
    found = point(0.5, 10, 0)
    assert round(found.high, 3) == 0.278
    assert [pays_at_worst(found, cost) for cost in (1, 2, 3)] == [True, True, False]
    assert not pays_at_worst(point(0.5, 0, 0), 0)


def test_odds_that_the_older_half_recommends_are_tried_on_the_newer_half() -> None:
    """The way that was bad is no longer: of the newer half half the runs succeed on it."""
    newer = [make_run(f"new-{n}", "a b c d", Outcome(n % 2), age_ns=n + 1) for n in range(40)]
    older = [make_run(f"old-{n}", "a b c d", Outcome.FAILURE, age_ns=100 + n) for n in range(40)]
    found = held_out(questions([*newer, *older]), Fuse(), cost=1)
    assert found == HeldOut(
        point(0.5, 40, 0, steps_saved=40, median_lead=1.0),
        point(0.5, 40, 20, steps_saved=20, median_lead=1.0),
    )
    assert held_out(questions(newer), Fuse(), cost=1) is None


def test_every_percentage_is_tried_and_more_odds_never_stop_fewer() -> None:
    stopped = [each.stopped for each in backtest(questions(over()), ONE).points]
    assert (ODDS[0], ODDS[-1], len(ODDS)) == (0.01, 1.0, 100)
    assert stopped == sorted(stopped)
