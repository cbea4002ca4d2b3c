"""Fuses on cohorts written by hand: the published figures first, then rule by rule, then any cohort."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.foresight import Foresight, foresee
from engine.fuses import QUIET, Asked, Fired, Policy, ask
from engine.live import Live, so_far
from engine.maps import BehaviourMap, build
from engine.runs import Cohort, assemble
from engine.spans import Span
from engine.statistics import wilson_one
from engine.verdicts import Verdict, judge, judge_next
from engine.walk import Index
from tests.reference import Sample
from tests.strategies import SIGNATURES, behaviours, cohorts, long_behaviours, paths_of, repeated, run_of
from tests.test_verdicts import LLM, REFUND, SEARCH, SUPPORT

COHORT = Cohort("default", "support-agent")


def flight(*signatures: str, agent: str = "support-agent") -> Live:
    return so_far("live", agent, signatures)


def policy(name: str = "odds", **terms: Any) -> Policy:
    usual: dict[str, Any] = {"name": name, "min_success_odds": 0.7, "action": "stop"}
    return Policy(**usual | terms)


def index_of(samples: list[Sample], max_nodes: int = 50_000) -> Index:
    return Index(built(samples, max_nodes))


def built(samples: list[Sample], max_nodes: int = 50_000) -> BehaviourMap:
    return build(COHORT, paths_of(samples), 0, max_nodes)


DOOMED = flight(LLM, *[SEARCH] * 4)
HEALTHY = flight(LLM, SEARCH, REFUND)


# --- figures published with the method -----------------------------------------------------


def test_a_search_loop_is_stopped_at_odds_of_seventy_percent() -> None:
    asked = ask(index_of(SUPPORT), DOOMED, [policy()])
    low, high = wilson_one(5, 50)
    assert asked.path == Foresight("likely_failure", 50, 5, low, high, 180, 98, True, None)
    assert (asked.action, asked.acting) == ("stop", Fired(policy(), asked.path))
    assert asked.fired == (asked.acting,)
    assert asked.reason == (
        "5 of 50 earlier runs on this path succeeded: even the upper bound, 21.4%, is below the 70.0% "
        "that policy odds asks for."
    )


def test_naming_a_second_refund_is_stopped_while_the_run_itself_is_on_track() -> None:
    index = index_of(SUPPORT)
    assert ask(index, HEALTHY, [policy()]).action == "allow"
    asked = ask(index, HEALTHY, [policy()], REFUND)
    assert (asked.action, asked.path.verdict) == ("stop", "on_track")
    assert asked.named is not None
    assert (asked.named.verdict, asked.named.next_step) == ("on_track", REFUND)
    assert asked.reason == (
        "15 of 30 earlier runs that went this way and took tool:issue_refund next succeeded: even the upper "
        "bound, 66.8%, is below the 70.0% that policy odds asks for."
    )


def test_no_success_in_three_runs_never_stops_anything() -> None:
    index = index_of(repeated("r", [LLM], {"failure": 3}))
    fired = ask(index, flight(LLM), [policy(foresight_min_support=1, foresight_after_steps=0)]).action
    assert fired == "stop"  # Its bound is 56.2 %: whoever asks for 70 % of three runs gets it.
    assert ask(index, flight(LLM), [policy(foresight_after_steps=0)]).action == "allow"


# --- when a fuse fires ---------------------------------------------------------------------

HIGH = wilson_one(5, 50)[1]


@pytest.mark.parametrize(
    ("terms", "fires"),
    [
        pytest.param({"foresight_min_support": 50}, True, id="as many runs as it takes"),
        pytest.param({"foresight_min_support": 51}, False, id="a run short"),
        pytest.param({"foresight_after_steps": 5}, True, id="as many steps as it takes"),
        pytest.param({"foresight_after_steps": 6}, False, id="a step short"),
        pytest.param({"min_success_odds": HIGH}, False, id="the bound is not below the odds"),
        pytest.param({"min_success_odds": HIGH + 1e-9}, True, id="just below"),
        pytest.param({"agent": "support-agent"}, True, id="its own agent"),
        pytest.param({"agent": " support-agent\n"}, True, id="its own agent, as it was sent"),
        pytest.param({"agent": "Support-agent"}, False, id="another agent"),
    ],
)
def test_a_fuse_fires_by_its_terms(terms: dict[str, Any], fires: bool) -> None:
    asked = ask(index_of(SUPPORT), DOOMED, [policy(**terms)])
    assert (asked.action, bool(asked.fired)) == (("stop", True) if fires else ("allow", False))


def test_a_step_that_is_named_is_not_taken_yet() -> None:
    index = index_of(SUPPORT)
    assert ask(index, HEALTHY, [policy(foresight_after_steps=3)], REFUND).action == "stop"
    assert ask(index, HEALTHY, [policy(foresight_after_steps=4)], REFUND).action == "allow"


def test_where_both_make_it_fire_the_path_as_it_stands_is_told() -> None:
    asked = ask(index_of(SUPPORT), DOOMED, [policy()], SEARCH)
    assert asked.named is not None
    assert asked.named.high < 0.7
    assert (len(asked.fired), asked.fired[0].foresight.next_step) == (1, None)


@pytest.mark.parametrize("mode", ["enforce", "shadow"])
def test_a_stop_is_named_before_a_warning_then_the_lowest_odds_then_the_first(mode: str) -> None:
    warns = policy("a", action="warn", min_success_odds=0.3, mode=mode)
    high, low, same = (
        policy(n, min_success_odds=o, mode=mode) for n, o in [("b", 0.9), ("c", 0.5), ("d", 0.5)]
    )
    asked = ask(index_of(SUPPORT), DOOMED, [warns, high, low, same])
    assert [each.policy.name for each in asked.fired] == ["a", "b", "c", "d"]
    assert asked.reason.endswith("is below the 50.0% that policy c asks for.")
    enforced = mode == "enforce"
    assert (asked.action, asked.acting) == (("stop", asked.fired[2]) if enforced else ("allow", None))


def test_a_warning_warns() -> None:
    assert ask(index_of(SUPPORT), DOOMED, [policy(action="warn")]).action == "warn"


def test_a_fuse_in_shadow_stops_nothing_and_is_told() -> None:
    asked = ask(index_of(SUPPORT), DOOMED, [policy(mode="shadow"), policy("soft", action="warn")])
    assert (asked.action, asked.acting and asked.acting.policy.name) == ("warn", "soft")
    asked = ask(index_of(SUPPORT), DOOMED, [policy(mode="shadow")])
    assert (asked.action, asked.acting, len(asked.fired)) == ("allow", None, 1)
    assert asked.reason == (
        "No fuse that is enforced fired; in shadow: 5 of 50 earlier runs on this path succeeded: even the "
        "upper bound, 21.4%, is below the 70.0% that policy odds asks for."
    )


# --- what is no evidence -------------------------------------------------------------------

EAGER = policy(min_success_odds=1.0, foresight_min_support=1, foresight_after_steps=0)


@pytest.mark.parametrize(
    ("samples", "live", "max_nodes"),
    [
        pytest.param([], flight("tool:a"), 50_000, id="no completed run at all"),
        pytest.param(repeated("r", ["tool:a"], {"failure": 50}), flight("tool:b"), 50_000, id="novel"),
        pytest.param(
            repeated("r", ["tool:a"] * 200, {"failure": 50}),
            flight(*["tool:a"] * 193),
            50_000,
            id="past what is read of a run",
        ),
        pytest.param(
            [*repeated("r", ["tool:a"], {"failure": 50}), *repeated("s", ["tool:b"], {"failure": 9})],
            flight("tool:b"),
            2,
            id="a branch that was dropped",
        ),
    ],
)
def test_missing_evidence_is_no_evidence_of_failure(
    samples: list[Sample], live: Live, max_nodes: int
) -> None:
    for named in (None, "tool:c"):
        asked = ask(index_of(samples, max_nodes), live, [EAGER], named)
        assert (asked.action, asked.reason, asked.fired) == ("allow", QUIET, ())


def test_a_run_without_a_step_stands_where_all_began() -> None:
    index = index_of(repeated("r", ["tool:a"], {"failure": 50}))
    assert ask(index, flight(), [EAGER]).action == "stop"
    asked = ask(index, flight(), [policy(foresight_after_steps=0)], "tool:a")
    assert (asked.path.support, asked.named and asked.named.support) == (50, 50)


# --- what a policy may ask for --------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "a/b"),
        ("name", ".."),
        ("name", "a\n"),
        ("name", "a" * 101),
        ("min_success_odds", 0),
        ("min_success_odds", 1.01),
        ("action", "allow"),
        ("mode", "off"),
        ("agent", ""),
        ("agent", " \t"),
        ("foresight_min_support", 0),
        ("foresight_min_support", 2**63),
        ("foresight_after_steps", -1),
        ("min_succes_odds", 0.5),
    ],
)
def test_a_policy_out_of_range_is_refused_by_the_field(field: str, value: object) -> None:
    good = {"name": "a", "min_success_odds": 1, "action": "warn"}
    assert msgspec.convert(good, Policy) == policy("a", min_success_odds=1.0, action="warn")
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(good | {field: value}, Policy)


def test_a_policy_is_of_the_agent_that_spans_of_that_name_are_of() -> None:
    for name in ("é" * 160, "help\ndesk", " desk "):
        agent = assemble("r", [Span("t", "s", "x", 0, attributes={"forkmap.agent": name})]).agent
        assert policy(agent=name).agent == agent


# --- any cohort: the verdict is the verdict --------------------------------------------------

questions = st.one_of(behaviours(), behaviours(max_bursts=2), long_behaviours)


def as_told(found: Foresight) -> tuple[object, ...]:
    return found.verdict, found.support, found.successes, found.rate, found.low, found.high, found.base_rate


def as_judged(verdict: Verdict) -> tuple[object, ...]:
    counts = verdict.support, verdict.successes, verdict.rate, verdict.low, verdict.high
    return verdict.verdict, *counts, verdict.base_rate


@settings(max_examples=100)
@given(cohorts(), st.lists(questions, max_size=4), st.integers(1, 12), st.sampled_from(SIGNATURES))
def test_foresight_is_the_verdict_of_the_live_run(
    samples: list[Sample], asked: list[tuple[str, ...]], max_nodes: int, other: str
) -> None:
    for behaviour in (built(samples), built(samples, max_nodes)):
        index = Index(behaviour)
        for signatures in [*asked, *{sample.signatures for sample in samples}]:
            run = run_of(Sample("live", signatures, None))
            live = flight(*signatures)
            assert as_told(foresee(index, live)) == as_judged(judge(behaviour, run, True))
            for named in {other, *signatures[-1:]}:
                expected = as_judged(judge_next(behaviour, run, True, named))
                assert as_told(foresee(index, live, named)) == expected


@settings(max_examples=60)
@given(cohorts(), questions, st.sampled_from((None, *SIGNATURES)), st.floats(0.01, 1.0))
def test_what_fires_is_a_strong_enough_history_below_the_odds(
    samples: list[Sample], signatures: tuple[str, ...], named: str | None, odds: float
) -> None:
    terms = policy(min_success_odds=odds, foresight_min_support=10, foresight_after_steps=1)
    asked: Asked = ask(index_of(samples), flight(*signatures), [terms], named)
    for each in asked.fired:
        assert each.foresight.support >= 10
        assert each.foresight.high < odds
        assert each.foresight.verdict in ("likely_failure", "on_track")
        assert signatures
