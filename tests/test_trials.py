"""Rules tried before they are kept, and rules as text."""

from __future__ import annotations

from itertools import count

import pytest
from msgspec.structs import replace

from engine.errors import InputError
from engine.rules import Rule, parse_rules, rules_text
from engine.runs import SECOND_NS, Outcome, Run, Source
from engine.trials import Change, Changed, Trial, summary, try_rules
from tests.memory_store import DAY_NS, NOW_NS, MemoryStore, make_run

SUCCESS, FAILURE, ABANDONED = Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED


def inferred(run_id: str, path: str, outcome: Outcome = SUCCESS, age_ns: int = DAY_NS) -> Run:
    run = make_run(run_id, path, outcome, source=Source.INFERRED, age_ns=age_ns)
    return replace(run, inferred=outcome)


def trial_of(runs: list[Run], rules: str) -> Trial:
    return try_rules(MemoryStore(runs), "default", "support-agent", parse_rules(rules), NOW_NS)


def test_a_trial_counts_what_would_change_and_writes_nothing() -> None:
    store = MemoryStore(
        [
            inferred("closed", "tool:close", age_ns=2 * DAY_NS),
            inferred("failed", "tool:close", FAILURE, age_ns=3 * DAY_NS),
            inferred("lost", "tool:search tool:search", age_ns=4 * DAY_NS),
            inferred("other", "tool:else", age_ns=5 * DAY_NS),
            inferred("going", "tool:close", FAILURE, age_ns=60 * SECOND_NS),
            make_run("declared", "tool:close", FAILURE),
        ]
    )
    rules = parse_rules("close $ -> success\nsearch x2 -> failure\nsearch -> abandoned")
    before = [store.run("default", name) for name in ("closed", "failed", "lost")]
    assert try_rules(store, "default", "support-agent", rules, NOW_NS) == Trial(
        runs=5,
        live=1,
        matched=(2, 1, 0),
        changes=((Change(FAILURE, SUCCESS), 1), (Change(SUCCESS, FAILURE), 1)),
        examples=(Changed("failed", Change(FAILURE, SUCCESS)), Changed("lost", Change(SUCCESS, FAILURE))),
        bounded=False,
    )
    assert [store.run("default", name) for name in ("closed", "failed", "lost")] == before


def test_a_run_of_a_rule_that_would_go_becomes_what_its_spans_say() -> None:
    run = replace(
        inferred("r", "tool:a", FAILURE), outcome=SUCCESS, source=Source.RULE, said_by="a -> success"
    )
    assert trial_of([run], "").changes == ((Change(SUCCESS, FAILURE), 1),)
    assert trial_of([run], "a -> success").changes == ()


def test_at_most_so_many_of_the_latest_runs_are_tried() -> None:
    runs = [inferred(f"r{n}", "tool:a", age_ns=DAY_NS + n) for n in range(30)]
    store, rules = MemoryStore(runs), parse_rules("a -> failure")
    trial = try_rules(store, "default", "support-agent", rules, NOW_NS, max_runs=25)
    assert (trial.runs, trial.changed, trial.bounded) == (25, 25, True)
    assert [each.run_id for each in trial.examples] == [f"r{n}" for n in range(20)]
    assert not try_rules(store, "default", "support-agent", rules, NOW_NS, max_runs=30).bounded


def test_no_further_run_is_tried_when_time_has_run_out() -> None:
    runs = [inferred(f"r{n}", "tool:a", age_ns=DAY_NS + n) for n in range(30)]
    ticks = count(0.0, 1.0)
    trial = try_rules(
        MemoryStore(runs),
        "default",
        "support-agent",
        parse_rules("a -> failure"),
        NOW_NS,
        clock_s=lambda: next(ticks),
    )
    assert (trial.runs, trial.changed, trial.bounded) == (10, 10, True)
    assert summary(trial) == (
        "Of the latest 10 runs that nobody declared an outcome of, 10 would change."
        " There are more: a trial takes at most the latest 20,000, and 10 seconds."
    )


def test_rules_as_text_come_back_the_same() -> None:
    text = 'error(charge_card) -> failure\n"close -> now" $ -> success\n'
    rules = (Rule("error(charge_card)", FAILURE), Rule('"close -> now" $', SUCCESS))
    assert parse_rules(f"# first\n\n{text}") == rules
    assert rules_text(rules) == text


def test_every_line_that_is_wrong_is_told_with_its_number() -> None:
    with pytest.raises(InputError) as told:
        parse_rules("a -> success\nb\n\nc > -> failure\nd -> great\noutcome:failure -> success\n-> success")
    assert str(told.value).splitlines() == [
        "line 2: -> and an outcome are missing, for example: close_ticket $ -> success",
        "line 4, column 4: a step is missing",
        "line 5: 'great' is no outcome: allowed are success, succeeded, ok, failure, failed, error, "
        "abandoned, cancelled",
        "line 6: a rule tells the outcome, so it cannot ask for outcome:",
        "line 7, column 1: a step is missing",
    ]


def test_an_agent_has_a_bound_of_rules() -> None:
    with pytest.raises(InputError, match="an agent has at most 100 rules, these are 101"):
        parse_rules("a -> success\n" * 101)
