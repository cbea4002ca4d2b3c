"""Rules for outcomes and declarations taken back, as a store keeps and applies them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.rules import Rule, parse_rules
from engine.runs import ALL_TIME, ITS_SPANS, Cohort, Declaration, Outcome, Source
from engine.spans import Span, Status
from engine.store import Appended, Store
from engine.store.sqlite import open_store

NOW = 2_000_000_000 * 10**9
LONG_AGO = NOW - 3600 * 10**9
SUCCESS, FAILURE, ABANDONED = Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "s.sqlite", create=True)
    yield opened
    opened.close()


def run_of(
    trace: str, *tools: str, agent: str = "bot", at: int = LONG_AGO, said: str | None = None
) -> list[Span]:
    """A run of these tools; ``!`` behind one says that it failed."""
    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent, "session.outcome": said}
    spans = [Span(trace, "root", agent, at, at + 100, attributes=root)]
    for place, name in enumerate(tools, 1):
        call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name.rstrip("!")}
        status = Status.ERROR if name.endswith("!") else Status.UNSET
        spans.append(
            Span(trace, f"s{place}", name, at + place, at + place + 1, "root", status, attributes=call)
        )
    return spans


def ending(store: Store, run_id: str) -> tuple[Outcome, Source, str]:
    run = store.run("default", run_id)
    return run.outcome, run.source, run.said_by


RULES = parse_rules("error(charge) -> failure\nclose $ -> success\n* -> abandoned")


def test_rules_come_back_as_they_were_set(store: Store) -> None:
    store.set_rules("default", "bot", RULES)
    assert store.rules("default", "bot") == RULES
    store.set_rules("default", "bot", RULES[:1])
    assert store.rules("default", "bot") == RULES[:1]
    assert store.rules("default", "other") == store.rules("theirs", "bot") == ()


def test_the_first_rule_that_matches_counts_and_is_named(store: Store) -> None:
    store.append("default", run_of("bad", "charge!", "close"))
    store.append("default", run_of("good", "charge", "close"))
    store.append("default", run_of("left", "charge"))
    store.append("default", run_of("none"))
    store.set_rules("default", "bot", RULES)
    assert {name: ending(store, name) for name in ("bad", "good", "left", "none")} == {
        "bad": (FAILURE, Source.RULE, "error(charge) -> failure"),
        "good": (SUCCESS, Source.RULE, "close $ -> success"),
        "left": (ABANDONED, Source.RULE, "* -> abandoned"),
        "none": (SUCCESS, Source.INFERRED, ""),
    }


def test_rules_hold_for_runs_to_come_and_for_those_that_move_to_the_agent(store: Store) -> None:
    store.set_rules("default", "bot", RULES)
    store.append("default", run_of("t", "close", agent="bot"))
    assert ending(store, "t")[1] is Source.RULE

    spans = run_of("u", "close", agent="bot")
    store.append("default", spans[1:])
    assert ending(store, "u")[1] is Source.INFERRED
    store.append("default", spans[:1])
    assert ending(store, "u") == (SUCCESS, Source.RULE, "close $ -> success")


def test_rules_taken_away_leave_what_the_spans_say(store: Store) -> None:
    store.append("default", run_of("t", "charge!"))
    before = ending(store, "t")
    store.set_rules("default", "bot", RULES)
    store.settle("default")
    store.set_rules("default", "bot", ())
    assert ending(store, "t") == before == (SUCCESS, Source.INFERRED, "")


def test_another_agents_and_another_tenants_runs_are_left_alone(store: Store) -> None:
    store.append("default", run_of("t", "close", agent="else"))
    store.append("theirs", run_of("t", "close"))
    store.settle("default")
    store.settle("theirs")
    store.set_rules("default", "bot", RULES)
    assert store.settle("default") == store.settle("theirs") == set()


def test_a_declared_outcome_goes_before_rules(store: Store) -> None:
    store.append("default", run_of("t", "close"))
    store.set_rules("default", "bot", RULES)
    store.declare("default", [Declaration("t", FAILURE, NOW, "judge")])
    assert ending(store, "t") == (FAILURE, Source.DECLARED, "judge")


def test_a_run_of_a_rule_is_live_until_it_is_quiet(store: Store) -> None:
    store.append("default", run_of("t", "close", at=NOW - 60 * 10**9))
    store.set_rules("default", "bot", RULES)
    (row,) = store.runs(Cohort("default", "bot", ALL_TIME), NOW)
    assert (row.live, row.outcome) == (True, Outcome.UNKNOWN)
    (row,) = store.runs(Cohort("default", "bot", ALL_TIME), NOW + 900 * 10**9)
    assert (row.live, row.outcome, row.source) == (False, SUCCESS, Source.RULE)


def test_a_map_counts_outcomes_by_rule(store: Store) -> None:
    store.append("default", run_of("t", "close"))
    store.append("default", run_of("u"))
    store.set_rules("default", "bot", RULES)
    (summary,) = store.agents("default", ALL_TIME, NOW)
    assert (summary.declared, summary.by_rule, summary.inferred) == (0, 1, 1)


def test_rules_set_while_a_run_is_folded_are_not_missed(tmp_path: Path) -> None:
    stores = [open_store(tmp_path / "s.sqlite", create=True) for _ in range(2)]
    writer, ruler = stores
    for number in range(40):
        writer.append("default", run_of(f"t{number}", "close"))
        rules = [Rule(f"close $ and !ticket:{number}", SUCCESS)]
        folding = threading.Thread(target=writer.settle, args=("default",))
        folding.start()
        ruler.set_rules("default", "bot", rules)
        folding.join()
        assert {ending(writer, f"t{each}")[2] for each in range(number + 1)} == {str(rules[0])}
    for opened in stores:
        opened.close()


def test_what_was_declared_is_listed_with_what_counts_first(store: Store) -> None:
    store.append("default", run_of("t", "a", said="success"))
    by_hand, by_file = Declaration("t", FAILURE, NOW, "ann"), Declaration("t", ABANDONED, NOW - 5, "file")
    store.declare("default", [by_hand, by_file])
    by_spans = Declaration("t", SUCCESS, LONG_AGO + 100, ITS_SPANS)
    assert store.declarations("default", "t") == [by_hand, by_file, by_spans]
    assert store.declarations("default", "none") == store.declarations("nobody", "t") == []


def test_of_declarations_of_one_time_the_last_counts_and_is_listed_first(store: Store) -> None:
    store.append("default", run_of("t", "a"))
    said = [Declaration("t", FAILURE, NOW, "ann"), Declaration("t", SUCCESS, NOW, "bob")]
    store.declare("default", said)
    assert store.declarations("default", "t") == said[::-1]
    assert ending(store, "t") == (SUCCESS, Source.DECLARED, "bob")


def test_a_declaration_taken_back_leaves_the_one_before_it(store: Store) -> None:
    store.append("default", run_of("t", "close"))
    first, second = Declaration("t", FAILURE, NOW - 1, "ann"), Declaration("t", ABANDONED, NOW, "bob")
    store.declare("default", [first, second])
    assert ending(store, "t")[2] == "bob"
    assert store.withdraw("default", second)
    assert ending(store, "t") == (FAILURE, Source.DECLARED, "ann")
    assert not store.withdraw("default", second)
    assert not store.withdraw("theirs", first)
    assert store.withdraw("default", first)
    assert ending(store, "t") == (SUCCESS, Source.INFERRED, "")


def test_the_same_told_again_by_the_same_source_changes_nothing(store: Store) -> None:
    said = Declaration("t", FAILURE, 5, "file")
    again = Declaration("t", FAILURE, 9, "file")
    other = Declaration("t", SUCCESS, 7, "ann")
    assert store.declare("default", [said], repeat=False) == Appended(new=1)
    assert store.declare("default", [other, again], repeat=False) == Appended(new=1, unchanged=1)
    assert store.declarations("default", "t") == [other, said]
    changed = Declaration("t", SUCCESS, 11, "file")
    assert store.declare("default", [changed, again], repeat=False) == Appended(new=2)


def test_runs_without_a_declaration_are_read_with_their_steps(store: Store) -> None:
    for number in range(4):
        store.append("default", run_of(f"t{number}", "a!", at=LONG_AGO + number))
    store.declare("default", [Declaration("t3", SUCCESS, NOW)])
    found = list(store.undeclared("default", "bot", limit=2))
    assert found == [store.run("default", "t2"), store.run("default", "t1")]
    assert [step.error for step in found[0].steps] == [True]
    assert list(store.undeclared("default", "nobody")) == list(store.undeclared("theirs", "bot")) == []


TRACE = "0123456789abcdef0123456789abcdef"
DASHED = "01234567-89ab-cdef-0123-456789abcdef"
SPELLINGS = (TRACE, DASHED, TRACE.upper(), DASHED.upper())


@pytest.mark.parametrize("session", ["chat", "", *SPELLINGS])
@pytest.mark.parametrize("told", SPELLINGS)
def test_a_trace_id_is_one_name_however_it_is_spelt(store: Store, told: str, session: str) -> None:
    early, late = Declaration(told, FAILURE, NOW, "early"), Declaration(told, ABANDONED, NOW + 1, "late")
    store.declare("default", [early])
    named = {"session.id": session} if session else {}
    spans = [replace(span, attributes={**span.attributes, **named}) for span in run_of(TRACE, "a")]
    store.append("default", spans)
    run_id = session or TRACE
    assert ending(store, run_id) == (FAILURE, Source.DECLARED, "early")

    store.declare("default", [late])
    assert ending(store, run_id) == (ABANDONED, Source.DECLARED, "late")
    assert store.declare("default", [Declaration(TRACE, ABANDONED, NOW + 2, "late")], repeat=False).new == 0
    assert store.waiting("default", SPELLINGS) == []
    assert store.withdraw("default", late)
    assert ending(store, run_id) == (FAILURE, Source.DECLARED, "early")


def test_an_outcome_may_be_told_by_the_id_of_a_trace(store: Store) -> None:
    trace, dashed = TRACE, DASHED
    store.declare("default", [Declaration(dashed, FAILURE, NOW, "early")])
    spans = [*run_of(trace, "a"), *run_of("u", "b")]
    chat = [replace(span, attributes={**span.attributes, "session.id": "chat"}) for span in spans]
    assert store.waiting("default", [dashed, "u"]) == [dashed, "u"]

    store.append("default", chat)

    assert store.waiting("default", [dashed, trace, "u", "none"]) == ["none"]
    assert ending(store, "chat") == (FAILURE, Source.DECLARED, "early")
    late = Declaration("u", ABANDONED, NOW + 1, "late")
    store.declare("default", [late])
    assert ending(store, "chat") == (ABANDONED, Source.DECLARED, "late")
    assert [said.by for said in store.declarations("default", "chat")] == ["late", "early"]
    assert store.withdraw("default", late)
    assert ending(store, "chat") == (FAILURE, Source.DECLARED, "early")


def test_what_was_sent_and_is_not_folded_yet_is_waited_for_by_nobody(store: Store) -> None:
    store.append("default", [Span("t", "1", "a", 1, 2, attributes={"session.id": "s"})])
    assert store.waiting("default", ["s", "none"]) == ["none"]
