"""Verdicts on cohorts written by hand: the published figures first, then rule by rule."""

from __future__ import annotations

import pytest

from engine.forks import forks, hotspots
from engine.maps import BehaviourMap, build
from engine.paths import Token
from engine.runs import Cohort, Outcome, Source
from engine.statistics import wilson_one
from engine.verdicts import NextStep, Odds, Verdict, judge, judge_next
from tests.reference import Sample
from tests.strategies import paths_of, repeated, run_of

LLM, SEARCH = "llm:gpt-4o", "tool:search_orders"
REFUND, LOOKUP, DELETE = "tool:issue_refund", "tool:lookup_customer", "tool:delete_database"

SUPPORT = [
    *repeated("refunded", [LLM, SEARCH, REFUND, LLM], {"success": 54, "failure": 6}),
    *repeated("twice", [LLM, SEARCH, REFUND, REFUND, LLM], {"success": 15, "failure": 15}),
    *repeated("searching", [LLM, *[SEARCH] * 4, LLM], {"success": 5, "failure": 36, "abandoned": 9}),
    *repeated("looked-up", [LLM, LOOKUP, LLM], {"success": 24, "failure": 16}),
]
"""180 runs of a support agent: 98 succeeded, 73 failed, 9 were abandoned."""


def built(samples: list[Sample], max_nodes: int = 50_000) -> BehaviourMap:
    return build(Cohort("default", "support-agent"), paths_of(samples), 0, max_nodes)


def live(*signatures: str) -> Sample:
    return Sample("live", signatures, None)


def judged(samples: list[Sample], sample: Sample, max_nodes: int = 50_000) -> Verdict:
    return judge(built(samples, max_nodes), run_of(sample), sample.outcome is None)


def percent(verdict: Verdict) -> tuple[float | None, float, float]:
    """Rate and interval in percent, to the tenth that was published."""
    rate = None if verdict.rate is None else round(verdict.rate * 100, 1)
    return rate, round(verdict.low * 100, 1), round(verdict.high * 100, 1)


# --- figures published with the method -----------------------------------------------------


def test_a_run_in_a_search_loop_is_a_likely_failure() -> None:
    verdict = judged(SUPPORT, live(LLM, *[SEARCH] * 4))
    assert (verdict.verdict, verdict.successes, verdict.support) == ("likely_failure", 5, 50)
    assert percent(verdict) == (10.0, 4.3, 21.4)
    assert [str(token) for token in verdict.path] == ["llm:gpt-4o", "tool:search_orders×3-5"]
    assert verdict.base_rate == 98 / 180
    assert verdict.fell_most == 2
    assert verdict.sentence == (
        "5 of 50 other runs on this path succeeded (10.0%, 95% interval 4.3–21.4%), against 54.4% for all "
        "180 runs of this agent: even the upper bound is below that and below 50%."
    )


def test_a_run_one_refund_in_is_on_track_and_best_goes_on_with_the_model() -> None:
    verdict = judged(SUPPORT, live(LLM, SEARCH, REFUND))
    assert (verdict.verdict, verdict.successes, verdict.support) == ("on_track", 69, 90)
    assert percent(verdict) == (76.7, 66.9, 84.2)
    assert verdict.best_next_step == LLM
    assert verdict.sentence == (
        "69 of 90 other runs on this path succeeded (76.7%, 95% interval 66.9–84.2%), against 54.4% for "
        "all 180 runs of this agent."
    )


def test_thousands_stand_apart_in_its_sentence() -> None:
    samples = repeated("often", [LLM], {"success": 1200, "failure": 1201})
    assert judged(samples, live(LLM)).sentence == (
        "1,200 of 2,401 other runs on this path succeeded (50.0%, 95% interval 48.0–52.0%), against 50.0% "
        "for all 2,401 runs of this agent."
    )


def test_a_step_nobody_took_is_novel() -> None:
    verdict = judged(SUPPORT, live(LLM, DELETE))
    assert (verdict.verdict, verdict.successes, verdict.support) == ("novel", 0, 0)
    assert percent(verdict) == (None, 0.0, 100.0)
    assert verdict.sentence == (
        "0 of 180 other runs that reached this point took tool:delete_database next; they went on with "
        "tool:search_orders, tool:search_orders×3-5, tool:lookup_customer."
    )


def test_naming_a_second_refund_asks_for_the_runs_that_refunded_twice() -> None:
    verdict = judge_next(built(SUPPORT), run_of(live(LLM, SEARCH, REFUND)), True, REFUND)
    assert (verdict.verdict, verdict.successes, verdict.support) == ("on_track", 15, 30)
    assert percent(verdict) == (50.0, 33.2, 66.8)


def test_the_search_loop_is_the_strongest_fork_and_the_model_call_a_hotspot() -> None:
    behaviour = built(SUPPORT)
    worst = forks(behaviour)[0]
    assert [str(token) for token in worst.path] == ["llm:gpt-4o", "tool:search_orders×3-5"]
    assert f"{worst.p:.1e} {worst.rate:.0%} {worst.sibling_rate:.0%}" == "2.2e-14 10% 72%"
    spot = hotspots(behaviour)[0]
    assert (spot.visits, f"{spot.entropy_bits:.2f}") == (180, "1.50")
    assert [(str(token), support) for token, support in spot.options] == [
        ("tool:search_orders", 90),
        ("tool:search_orders×3-5", 50),
        ("tool:lookup_customer", 40),
    ]


# --- a whole verdict -----------------------------------------------------------------------


def test_a_verdict_holds_all_it_was_drawn_from() -> None:
    ten = [
        *repeated("ab", ["tool:a", "tool:b"], {"success": 1, "failure": 4}),
        *repeated("ac", ["tool:a", "tool:c"], {"success": 5}),
    ]
    low, high = wilson_one(6, 10)
    assert judged(ten, Sample("asked", ("tool:a",), "failure")) == Verdict(
        run_id="asked",
        agent="support-agent",
        outcome=Outcome.FAILURE,
        source=Source.DECLARED,
        live=False,
        path=(Token("tool:a", 0),),
        verdict="on_track",
        successes=6,
        support=10,
        rate=0.6,
        low=low,
        high=high,
        base_rate=0.6,
        sentence=(
            "6 of 10 other runs on this path succeeded (60.0%, 95% interval 31.3–83.2%), against 60.0% "
            "for all 10 runs of this agent."
        ),
        depths=(Odds(Token("tool:a", 0), 10, 6, 0.6, low, high),),
        fell_most=None,
        next_steps=(
            NextStep("tool:b", 5, 1, 0.2, *wilson_one(1, 5)),
            NextStep("tool:c", 5, 5, 1.0, *wilson_one(5, 5)),
        ),
        best_next_step=None,
    )


# --- when history is insufficient ----------------------------------------------------------


def test_nine_earlier_runs_are_too_few_and_ten_are_enough() -> None:
    nine, ten = (repeated("r", ["tool:a"], {"success": runs}) for runs in (9, 10))
    verdict = judged(nine, live("tool:a"))
    assert (verdict.verdict, verdict.successes, verdict.support) == ("insufficient_history", 9, 9)
    assert verdict.sentence == (
        "9 of 9 other runs on this path succeeded (100.0%, 95% interval 70.1–100.0%), against 100.0% for "
        "all 9 runs of this agent: too few to judge, it takes 10."
    )
    assert judged(ten, live("tool:a")).verdict == "on_track"


def test_a_missing_step_is_novel_only_where_ten_runs_came_by() -> None:
    nine, ten = (repeated("r", ["tool:a"], {"success": runs}) for runs in (9, 10))
    verdict = judged(nine, live("tool:a", "tool:b"))
    assert (verdict.verdict, verdict.sentence) == (
        "insufficient_history",
        "0 of 9 other runs that reached this point took tool:b next: too few to judge, it takes 10.",
    )
    verdict = judged(ten, live("tool:a", "tool:b"))
    assert (verdict.verdict, verdict.sentence) == (
        "novel",
        "0 of 10 other runs that reached this point took tool:b next; none of them went on.",
    )


def test_an_agent_without_completed_runs_has_no_base_rate() -> None:
    verdict = judged([live("tool:a")], live("tool:a"))
    assert (verdict.verdict, verdict.base_rate, verdict.rate) == ("insufficient_history", None, None)
    assert (
        verdict.sentence
        == "No other run of this agent has been completed in this window, so there is nothing to judge by."
    )


def test_a_cut_path_is_judged_at_its_last_token_before_the_mark_as_insufficient() -> None:
    steps = ["tool:a"] * 200
    verdict = judged(repeated("r", steps, {"success": 12}), live(*steps))
    assert [str(token) for token in verdict.path] == ["tool:a×11+", "…"]
    assert (verdict.verdict, verdict.support) == ("insufficient_history", 12)
    assert [odds.support for odds in verdict.depths] == [12, 0]
    assert verdict.next_steps == ()
    assert verdict.sentence == (
        "This path goes on past what is read of a run (64 tokens, 192 steps). Up to there, 12 of 12 other "
        "runs on this path succeeded (100.0%, 95% interval 75.7–100.0%); what came after cannot be judged."
    )


def test_below_a_node_that_lost_children_a_missing_step_is_not_called_novel() -> None:
    samples = [
        *repeated("ab", ["tool:a", "tool:b"], {"success": 20}),
        *repeated("ac", ["tool:a", "tool:c"], {"failure": 1}),
    ]
    verdict = judged(samples, live("tool:a", "tool:c"), max_nodes=3)
    assert (verdict.verdict, verdict.support) == ("insufficient_history", 0)
    assert verdict.sentence == (
        "Rare branches were dropped at this point to keep the map within its bound, so how runs that took "
        "tool:c here ended is not known."
    )
    assert judged(samples, live("tool:a", "tool:c")).support == 1


def test_below_a_node_that_lost_children_an_open_step_may_miss_one_it_is_pooled_with() -> None:
    samples = [
        *repeated("b", ["tool:b"], {"success": 20}),
        *repeated("bb", ["tool:b", "tool:b"], {"failure": 1}),
    ]
    assert judged(samples, live("tool:b")).support == 21
    verdict = judged(samples, live("tool:b"), max_nodes=2)
    assert (verdict.verdict, verdict.support, verdict.next_steps) == ("insufficient_history", 0, ())


# --- when failure is likely ----------------------------------------------------------------


def test_a_rate_below_the_base_rate_but_not_surely_below_half_is_on_track() -> None:
    samples = [
        *repeated("a", ["tool:a"], {"success": 40, "failure": 60}),
        *repeated("b", ["tool:b"], {"success": 100}),
    ]
    verdict = judged(samples, live("tool:a"))
    assert (verdict.verdict, percent(verdict)) == ("likely_failure", (40.0, 30.9, 49.8))
    samples += repeated("more", ["tool:a"], {"success": 1})
    verdict = judged(samples, live("tool:a"))
    assert (verdict.verdict, percent(verdict)) == ("on_track", (40.6, 31.5, 50.3))


def test_a_low_rate_that_is_the_agents_own_is_on_track() -> None:
    verdict = judged(repeated("a", ["tool:a"], {"success": 1, "failure": 29}), live("tool:a"))
    assert (verdict.verdict, verdict.rate, verdict.base_rate) == ("on_track", 1 / 30, 1 / 30)


# --- a completed run is left out -----------------------------------------------------------


def test_a_completed_run_is_left_out_of_everything() -> None:
    samples = [
        *repeated("ab", ["tool:a", "tool:b"], {"success": 11}),
        *repeated("ac", ["tool:a", "tool:c"], {"failure": 10}),
    ]
    verdict = judged(samples, samples[0])
    assert (verdict.successes, verdict.support, verdict.base_rate) == (10, 10, 0.5)
    assert [(odds.successes, odds.support) for odds in verdict.depths] == [(10, 20), (10, 10)]


def test_the_only_run_that_took_a_step_is_novel_by_the_others() -> None:
    samples = [
        *repeated("b", ["tool:a", "tool:b"], {"success": 10}),
        *repeated("odd", ["tool:a", "tool:odd", "tool:b"], {"failure": 1}),
    ]
    verdict = judged(samples, samples[-1])
    assert (verdict.verdict, verdict.support, verdict.base_rate) == ("novel", 0, 1.0)
    assert verdict.sentence == (
        "0 of 10 other runs that reached this point took tool:odd next; they went on with tool:b."
    )


def test_a_kept_step_that_only_the_run_took_is_novel_below_a_node_that_lost_children() -> None:
    samples = [
        *repeated("b", ["tool:a", "tool:b"], {"success": 10}),
        *repeated("odd", ["tool:a", "tool:c"], {"failure": 1}),
        *repeated("other", ["tool:a", "tool:d"], {"failure": 1}),
    ]
    dropped, kept = (judged(samples, sample, max_nodes=4) for sample in samples[-2:])
    assert (kept.verdict, kept.sentence) == (
        "novel",
        "0 of 11 other runs that reached this point took tool:d next; they went on with tool:b.",
    )
    assert (dropped.verdict, dropped.sentence) == (
        "insufficient_history",
        "Rare branches were dropped at this point to keep the map within its bound, so how runs that took "
        "tool:c here ended is not known.",
    )


REPEATS = [
    *repeated("four", ["tool:a"] * 4, {"success": 12}),
    *repeated("five", ["tool:a"] * 5, {"failure": 1}),
    *repeated("six", ["tool:a"] * 6, {"failure": 8}),
    *repeated("on", [*["tool:a"] * 5, "tool:b"], {"failure": 10}),
]
"""31 runs: 23 repeated the step three to five times, of which 12 succeeded; 8 went further."""


@pytest.mark.parametrize(
    ("run_id", "turns", "outcome", "named", "counts"),
    [
        pytest.param("four-0", 4, "success", "tool:a", (11, 30), id="itself is in the pool, so left out"),
        pytest.param("five-0", 5, "failure", "tool:a", (0, 8), id="itself is in a lower bucket"),
        pytest.param("four-0", 4, "success", "tool:b", (0, 10), id="closed exactly: itself did not go on"),
    ],
)
def test_a_step_named_on_a_completed_run_is_judged_without_that_run(
    run_id: str, turns: int, outcome: str, named: str, counts: tuple[int, int]
) -> None:
    run = run_of(Sample(run_id, ("tool:a",) * turns, outcome))
    verdict = judge_next(built(REPEATS), run, False, named)
    assert (verdict.successes, verdict.support) == counts
    assert verdict.base_rate == (12 - (outcome == "success")) / 30
    assert (verdict.live, verdict.outcome, verdict.source) == (False, run.outcome, Source.DECLARED)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(Sample("a-0", ("tool:a",), "failure"), id="another outcome"),
        pytest.param(Sample("a-0", ("tool:a", "tool:a"), "success"), id="another path"),
        pytest.param(Sample("new", ("tool:a",), "success"), id="not among the members"),
        pytest.param(Sample("a-0", ("tool:a",), None), id="live again"),
    ],
)
def test_a_run_the_map_does_not_hold_like_that_is_not_left_out(changed: Sample) -> None:
    samples = [
        *repeated("a", ["tool:a"], {"success": 10}),
        *repeated("aa", ["tool:a", "tool:a"], {"failure": 10}),
    ]
    assert judged(samples, changed).base_rate == 0.5


# --- the open step -------------------------------------------------------------------------

TURNS = [
    *repeated("one", ["tool:a"], {"success": 10}),
    *repeated("two", ["tool:a"] * 2, {"success": 10}),
    *repeated("three", ["tool:a"] * 3, {"success": 10}),
    *repeated("six", ["tool:a"] * 6, {"success": 10}),
    *repeated("eleven", ["tool:a"] * 11, {"success": 10}),
]


@pytest.mark.parametrize(
    ("turns", "pooled", "named"),
    [(1, 50, 40), (2, 40, 30), (3, 30, 30), (5, 30, 20), (6, 20, 20), (10, 20, 10), (11, 10, 10)],
)
def test_an_open_step_is_pooled_with_runs_that_repeated_it_as_often(
    turns: int, pooled: int, named: int
) -> None:
    run = run_of(live(*["tool:a"] * turns))
    assert judge(built(TURNS), run, live=True).support == pooled
    assert judge_next(built(TURNS), run, True, "tool:a").support == named


def test_naming_another_step_closes_the_open_one_at_its_exact_bucket() -> None:
    samples = [
        *repeated("ab", ["tool:a", "tool:b"], {"success": 10}),
        *repeated("aab", ["tool:a", "tool:a", "tool:b"], {"failure": 20}),
    ]
    behaviour, run = built(samples), run_of(live("tool:a"))
    assert judge(behaviour, run, live=True).support == 30
    verdict = judge_next(behaviour, run, True, "tool:b")
    assert (verdict.support, verdict.successes) == (10, 10)
    assert [str(token) for token in verdict.path] == ["tool:a", "tool:b"]


def test_a_run_without_steps_stands_at_the_start() -> None:
    verdict = judged(SUPPORT, live())
    assert (verdict.verdict, verdict.support, verdict.depths) == ("on_track", 180, ())
    assert [(step.signature, step.support) for step in verdict.next_steps] == [(LLM, 180)]


# --- next steps ----------------------------------------------------------------------------


def test_a_completed_runs_next_steps_are_its_nodes_children_by_signature() -> None:
    verdict = judged(SUPPORT, Sample("asked", (LLM,), "abandoned"))
    assert [(step.signature, step.successes, step.support) for step in verdict.next_steps] == [
        (SEARCH, 74, 140),
        (LOOKUP, 24, 40),
    ]


def test_the_best_next_step_needs_thirty_runs() -> None:
    samples = [
        *repeated("sure", ["tool:a", "tool:sure"], {"success": 29}),
        *repeated("poor", ["tool:a", "tool:poor"], {"success": 3, "failure": 27}),
    ]
    assert judged(samples, live("tool:a")).best_next_step == "tool:poor"
    samples += repeated("last", ["tool:a", "tool:sure"], {"success": 1})
    assert judged(samples, live("tool:a")).best_next_step == "tool:sure"


def test_past_the_last_step_that_is_read_no_next_step_can_be_told() -> None:
    samples = repeated("r", ["tool:a"] * 192, {"success": 30})
    assert [step.support for step in judged(samples, live(*["tool:a"] * 191)).next_steps] == [30]
    assert judged(samples, live(*["tool:a"] * 192)).next_steps == ()


def test_where_the_rate_fell_most_needs_ten_runs_on_both_sides() -> None:
    samples = [
        *repeated("good", ["tool:a"], {"success": 10}),
        *repeated("worse", ["tool:a", "tool:b"], {"success": 10, "failure": 1}),
        *repeated("bad", ["tool:a", "tool:b", "tool:c"], {"failure": 9}),
    ]
    assert judged(samples, live("tool:a", "tool:b", "tool:c")).fell_most == 2
    samples += repeated("last", ["tool:a", "tool:b", "tool:c"], {"failure": 1})
    assert judged(samples, live("tool:a", "tool:b", "tool:c")).fell_most == 3


def test_a_view_without_model_steps_reads_the_run_the_same_way() -> None:
    tools = Cohort("default", "support-agent", view="tools")
    behaviour = build(tools, paths_of(repeated("a", ["tool:a"] * 2, {"success": 10})), 0)
    verdict = judge(behaviour, run_of(live("tool:a", LLM, "tool:a", LLM)), live=True)
    assert ([str(token) for token in verdict.path], verdict.support) == (["tool:a×2"], 10)
