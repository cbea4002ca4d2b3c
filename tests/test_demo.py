"""The demo corpus through the real engine: every figure it was made to show, to the digit.

The figures are those published for this corpus' shape: 226 runs, a support agent with 180
completed runs, and a search loop that is its worst fork.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from engine import demo, queries
from engine.decisions.recording import trace_id
from engine.demo.watching import POLICIES
from engine.forks import forks, hotspots
from engine.maps import BehaviourMap
from engine.paths import Token
from engine.queries import Judged
from engine.runs import ALL_TIME, Cohort, Outcome, Source
from engine.statistics import wilson_one
from engine.store import Store, Tally
from engine.store.sqlite import open_store

LLM = Token("llm:gpt-4o", 0)
SEARCH, SEARCH_LOOP = Token("tool:search_orders", 0), Token("tool:search_orders", 2)
LOOKUP = Token("tool:lookup_customer", 0)
REFUND = Token("tool:issue_refund", 0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    made = open_store(tmp_path_factory.mktemp("demo") / "demo.sqlite", create=True)
    demo.load(made)
    yield made
    made.close()


@pytest.fixture(scope="module")
def support(store: Store) -> BehaviourMap:
    return queries.load_map(store, Cohort("default", "support-agent"), demo.NOW_NS)


def judged(store: Store, run_id: str, step: str | None = None) -> Judged:
    return queries.load_verdict(store, "default", run_id, demo.NOW_NS, step=step)


def node(behaviour: BehaviourMap, *path: Token) -> int:
    return next(each for each in range(len(behaviour)) if behaviour.path(each) == path)


def percent(rate: float) -> float:
    return round(100 * rate, 1)


def test_corpus_is_226_runs_and_1342_spans_beside_23_in_pairs_and_the_same_at_every_call() -> None:
    spans, declarations, now_ns = demo.corpus()
    in_pairs = {trace_id(each.run_id) for each in declarations}
    others = [span for span in spans if span.trace_id not in in_pairs]
    assert (len(others), len({span.trace_id for span in others}), len(in_pairs)) == (1342, 226, 23)
    assert demo.corpus() == (spans, declarations, now_ns)
    assert len({(span.trace_id, span.span_id) for span in spans}) == len(spans)


def test_store_keeps_the_corpus_clock(store: Store) -> None:
    assert store.clock_ns() == demo.NOW_NS


def test_every_run_is_in_the_default_window(store: Store) -> None:
    counts = [
        (each.agent, each.completed, each.unknown)
        for each in store.agents("default", queries.DEFAULT_WINDOW, demo.NOW_NS)
    ]
    assert counts == [
        ("coding-agent", 22, 0),
        ("repo-agent", 23, 0),
        ("research-agent", 18, 0),
        ("support-agent", 180, 6),
    ]
    assert sum(completed + unknown for _, completed, unknown in counts) == 226 + 23


def test_support_agent_succeeds_in_98_of_180_runs(support: BehaviourMap) -> None:
    totals = support.totals
    assert (totals.completed, totals.successes, totals.failures, totals.abandoned) == (180, 98, 73, 9)
    assert totals.unknown == 6
    assert support.base_rate is not None and percent(support.base_rate) == 54.4


def test_most_outcomes_are_declared_and_the_others_are_inferred_alike(store: Store) -> None:
    rows = store.runs(Cohort("default", "support-agent", ALL_TIME), demo.NOW_NS, limit=1000)
    ended = [row for row in rows if not row.live]
    assert {row.source for row in ended} == {Source.DECLARED, Source.INFERRED}
    assert sum(row.source == Source.DECLARED for row in ended) == 158
    assert {row.outcome for row in ended if row.source == Source.INFERRED} == {
        Outcome.SUCCESS,
        Outcome.FAILURE,
        Outcome.ABANDONED,
    }


def test_search_loop_is_the_strongest_fatal_fork(support: BehaviourMap) -> None:
    loop, *others = forks(support)
    assert loop.path == (LLM, SEARCH_LOOP)
    assert (loop.successes, loop.support) == (5, 50)
    assert (percent(loop.rate), percent(loop.low), percent(loop.high)) == (10.0, 4.3, 21.4)
    assert round(100 * loop.sibling_rate) == 72
    assert f"{loop.p:.1e}" == "2.2e-14"
    assert all(loop.runs_lost > other.runs_lost and loop.p < other.p for other in others)


def test_textbook_interval_of_the_search_loop_would_be_another() -> None:
    half = 1.96 * (0.1 * 0.9 / 50) ** 0.5
    assert (percent(0.1 - half), percent(0.1 + half)) == (1.7, 18.3)
    assert [percent(bound) for bound in wilson_one(0, 3)] == [0.0, 56.2]


def test_examples_of_the_search_loop_had_the_same_ticket(store: Store, support: BehaviourMap) -> None:
    loop = forks(support)[0]
    failure, success = (store.run("default", run_id or "") for run_id in (loop.failure, loop.success))
    assert failure.ticket == success.ticket is not None
    assert (failure.outcome == Outcome.SUCCESS, success.outcome == Outcome.SUCCESS) == (False, True)


def test_runs_cannot_make_up_their_mind_after_the_first_model_call(support: BehaviourMap) -> None:
    (spot,) = hotspots(support)
    assert spot.path == (LLM,)
    assert spot.visits == 180
    assert spot.options == ((SEARCH, 90), (SEARCH_LOOP, 50), (LOOKUP, 40))
    assert f"{spot.entropy_bits:.2f}" == "1.50"


def test_doomed_run_is_a_likely_failure(store: Store) -> None:
    run, verdict, *_ = judged(store, "live-doomed-0")
    assert len(run.steps) == 5
    assert verdict.path == (LLM, SEARCH_LOOP)
    assert (verdict.verdict, verdict.successes, verdict.support) == ("likely_failure", 5, 50)
    assert (percent(verdict.low), percent(verdict.high)) == (4.3, 21.4)


def test_healthy_run_is_on_track_pooled_with_runs_that_refund_twice(store: Store) -> None:
    verdict = judged(store, "live-healthy-0").verdict
    assert verdict.path == (LLM, SEARCH, REFUND)
    assert (verdict.verdict, verdict.successes, verdict.support) == ("on_track", 69, 90)
    assert [percent(rate) for rate in (verdict.rate or 0, verdict.low, verdict.high)] == [76.7, 66.9, 84.2]
    assert verdict.best_next_step == "llm:gpt-4o"


def test_naming_a_second_refund_halves_the_odds(store: Store) -> None:
    asked = judged(store, "live-healthy-0", step="tool:issue_refund").asked
    assert asked is not None
    assert (asked.successes, asked.support, percent(asked.high)) == (15, 30, 66.8)


def test_novel_run_took_a_step_nobody_took_there(store: Store, support: BehaviourMap) -> None:
    verdict = judged(store, "live-novel-0").verdict
    assert (verdict.verdict, verdict.support) == ("novel", 0)
    assert verdict.path == (LLM, Token("tool:delete_database", 0))
    assert all(str(token) in verdict.sentence for token in (SEARCH, SEARCH_LOOP, LOOKUP))
    assert support.support[node(support, LLM)] == 180


def test_tickets_pair_runs_that_ended_differently(store: Store) -> None:
    outcomes: dict[str | None, set[Outcome]] = defaultdict(set)
    for row in store.runs(Cohort("default", "support-agent"), demo.NOW_NS, limit=1000):
        if not row.live:
            outcomes[row.ticket].add(row.outcome)
    assert len(outcomes) == 90
    assert sum(Outcome.SUCCESS in each and len(each) > 1 for each in outcomes.values()) >= 40


def test_agents_have_two_versions_one_after_the_other(store: Store) -> None:
    rows = store.runs(Cohort("default", "support-agent"), demo.NOW_NS, limit=1000)
    assert [row.version for row in rows] == sorted((row.version or "" for row in rows), reverse=True)
    assert {row.version for row in rows} == {"2.3.1", "2.4.0"}


def test_openinference_spans_read_like_the_others(store: Store) -> None:
    steps = store.run("default", "coding-000").steps
    assert [step.signature for step in steps] == [
        "llm:claude-sonnet-4",
        "tool:read_file",
        "tool:edit_file",
        "tool:run_tests",
        "llm:claude-sonnet-4",
    ]


def test_call_of_another_agent_is_a_step_with_its_own_inside(store: Store) -> None:
    steps = store.run("default", "research-000").steps
    assert [step.signature for step in steps][-3:] == [
        "agent:summarizer",
        "llm:gpt-4o-mini",
        "llm:gpt-4o",
    ]
    assert all(step.input_tokens for step in steps if step.signature.startswith("llm:"))


def test_its_fuses_watch_in_shadow_and_some_alarms_would_have_been_false(store: Store) -> None:
    assert store.policies("default") == POLICIES
    assert store.tally("default", demo.NOW_NS) == [
        Tally("doubtful", "warn", "shadow", 19, 5, 9, 0, 0, 3, 0, 2),
        Tally("hopeless", "stop", "shadow", 11, 1, 7, 0, 0, 1, 0, 2),
    ]
    latest = store.firings("default", demo.NOW_NS, limit=1)[0].firing
    assert (latest.run_id, latest.steps, latest.successes, latest.support) == ("live-doomed-1", 3, 4, 41)
