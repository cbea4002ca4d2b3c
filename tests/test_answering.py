"""What each fuse says of one run, and what one that is silent still asks for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.answering import Lacking, answers, answers_before_calls, lacking
from engine.foresight import Foresight, foresee
from engine.fuses import Policy, ask, fired
from engine.live import so_far
from engine.queries import load_map
from engine.runs import Cohort, Outcome
from engine.walk import Index
from tests.memory_store import NOW_NS, MemoryStore, corpus, make_run
from tests.strategies import SIGNATURES, behaviours, cohorts
from tests.test_fuses import index_of

AGENT = "support-agent"
ODDS = Policy(name="odds", min_success_odds=0.5, action="stop", foresight_min_support=10)
SEARCH = "tool:search_orders"
BAD = so_far("live", AGENT, ["llm:gpt", *[SEARCH] * 3])


@pytest.fixture(scope="module")
def index() -> Index:
    return Index(load_map(MemoryStore(corpus()), Cohort("default", AGENT), NOW_NS))


@pytest.mark.parametrize(
    ("terms", "wanting"),
    [
        ({}, None),
        ({"agent": AGENT}, None),
        ({"agent": "shop"}, "agent"),
        ({"foresight_after_steps": 5}, "steps"),
        ({"foresight_min_support": 25}, "support"),
        ({"min_success_odds": 0.1}, "odds"),
    ],
)
def test_a_fuse_fires_or_lacks_one_thing(
    index: Index, terms: dict[str, Any], wanting: Lacking | None
) -> None:
    policy = replace(ODDS, **terms)
    (answer,) = answers(index, BAD, [policy])
    assert answer == (policy, 4, foresee(index, BAD), wanting)


def test_a_path_that_is_not_read_to_its_end_is_lacking(index: Index) -> None:
    long = so_far("live", AGENT, ["llm:gpt", SEARCH] * 100)
    (answer,) = answers(index, long, [ODDS])
    assert (answer.lacking, answer.found.whole) == ("path", False)


def test_a_named_step_is_gone_by_where_it_makes_the_fuse_fire_and_where_none_does(index: Index) -> None:
    start, early = so_far("live", AGENT, ["llm:gpt", SEARCH]), replace(ODDS, foresight_after_steps=2)
    (good,) = answers(index, start, [early], "llm:gpt")
    (bad,) = answers(index, start, [early], SEARCH)
    assert (good.lacking, good.found.next_step) == ("odds", "llm:gpt")
    assert (bad.lacking, bad.found) == (None, foresee(index, start, SEARCH))


policies = st.builds(
    Policy,
    name=st.just("odds"),
    agent=st.sampled_from((None, "support-agent", "shop")),
    min_success_odds=st.sampled_from((0.1, 0.5, 0.9, 1.0)),
    action=st.just("stop"),
    foresight_min_support=st.sampled_from((1, 3, 10)),
    foresight_after_steps=st.integers(0, 4),
)


@settings(max_examples=40)
@given(cohorts(), behaviours(), policies, st.sampled_from((None, *SIGNATURES)))
def test_what_answers_is_what_a_check_asks(
    samples: list[Any], taken: tuple[str, ...], policy: Policy, step: str | None
) -> None:
    index, live = index_of(samples), so_far("live", AGENT, taken)
    (answer,) = answers(index, live, [policy], step)
    asked = ask(index, live, [policy], step)
    assert [(each.policy, each.foresight) for each in asked.fired] == (
        [(answer.policy, answer.found)] if answer.lacking is None else []
    )
    each = foresee(index, live)
    assert (lacking(policy, live, each) is None) == (fired(policy, live, [each]) is not None)


# --- runs that are over ----------------------------------------------------------------------


def test_a_run_that_is_over_is_asked_before_each_call_until_the_fuse_fires(index: Index) -> None:
    run = MemoryStore(corpus()).run("default", "bad-1")
    (answer,) = answers_before_calls(index, run, [ODDS])
    assert (answer.steps, answer.lacking, answer.found.next_step) == (3, None, None)
    assert (answer.found.support, answer.found.successes) == (23, 3)


def test_a_fuse_that_never_fires_tells_what_it_lacked_before_the_last_call(index: Index) -> None:
    run = MemoryStore(corpus()).run("default", "good-1")
    (answer,) = answers_before_calls(index, run, [ODDS])
    assert (answer.steps, answer.lacking, answer.found.next_step) == (3, "odds", "tool:issue_refund")


def test_a_run_that_the_map_does_not_count_as_it_is_is_not_left_out(index: Index) -> None:
    run = MemoryStore(corpus()).run("default", "bad-1")
    for other in (replace(run, run_id="new"), replace(run, outcome=Outcome.ABANDONED)):
        (answer,) = answers_before_calls(index, other, [ODDS])
        assert (answer.found.support, answer.found.successes) == (24, 3)


def test_of_a_run_that_made_no_call_nothing_was_asked(index: Index) -> None:
    assert answers_before_calls(index, make_run("none", ""), [ODDS]) == []


def test_those_that_fire_come_first_and_what_stops_for_real_before_all(index: Index) -> None:
    given = [
        replace(ODDS, name="silent", min_success_odds=0.1),
        replace(ODDS, name="shadow", mode="shadow"),
        replace(ODDS, name="warns", action="warn"),
        replace(ODDS, name="stops"),
    ]
    assert [answer.policy.name for answer in answers(index, BAD, given)] == [
        "stops",
        "warns",
        "shadow",
        "silent",
    ]


def test_whatever_is_foreseen_a_fuse_without_history_lacks_support() -> None:
    nothing = Foresight("insufficient_history", 0, 0, 0.0, 1.0, 0, 0, True, None)
    assert lacking(ODDS, BAD, nothing) == "support"
