"""Policies as the store keeps them, and the ledger of what fuses did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.fuses import MAX_POLICIES, Firing, Policy
from engine.rules import parse_rules
from engine.runs import LIVE_NS, Declaration, Outcome, Source
from engine.spans import Span
from engine.store import Lines, Recorded, Store, Tally
from engine.store.sqlite import open_store

NOW = 1_800_000_000 * 10**9
ODDS = Policy(name="odds", min_success_odds=0.7, action="stop")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "ledger.sqlite", create=True)
    yield store
    store.close()


def span(run_id: str, trace_id: str = "", session: bool = True, at_ns: int = NOW) -> Span:
    """A call that a run makes; without a session the run goes by its trace."""
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    about = {"session.id": run_id} if session else {}
    return Span(trace_id or f"trace-{run_id}", f"span-{at_ns}", "search", at_ns, attributes=call | about)


def firing(run_id: str, policy: str = "odds", time_ns: int = NOW) -> Firing:
    return Firing(time_ns, run_id, "bot", policy, "stop", "shadow", "tool:pay", 3, 50, 5, 0.7, "why")


# --- policies ------------------------------------------------------------------------------


def test_policies_come_back_as_they_were_set_by_name(store: Store) -> None:
    whole = Policy(
        name="All",
        agent="bot",
        min_success_odds=0.25,
        action="warn",
        foresight_min_support=7,
        foresight_after_steps=0,
        mode="shadow",
    )
    assert (store.set_policy("default", ODDS), store.set_policy("default", whole)) == (True, True)
    assert store.policies("default") == (whole, ODDS)
    assert store.policies("other") == ()


def test_a_policy_takes_the_place_of_the_one_of_its_name(store: Store) -> None:
    store.set_policy("default", ODDS)
    milder = Policy(name="odds", min_success_odds=0.1, action="warn")
    assert store.set_policy("default", milder) is False
    assert store.policies("default") == (milder,)
    store.set_policies("default", [ODDS])
    assert store.policies("default") == (ODDS,)
    assert (store.remove_policy("default", "odds"), store.remove_policy("default", "odds")) == (True, False)
    assert store.policies("default") == ()


def test_a_tenant_has_so_many_policies_and_no_more(store: Store) -> None:
    many = [Policy(name=f"p{n}", min_success_odds=0.5, action="warn") for n in range(MAX_POLICIES)]
    store.set_policies("default", many)
    with pytest.raises(InputError, match="100 policies already"):
        store.set_policy("default", ODDS)
    with pytest.raises(InputError, match="100 policies already"):
        store.set_policies("default", [ODDS, *many])
    assert len(store.policies("default")) == MAX_POLICIES
    assert store.set_policy("default", many[0]) is False


# --- the ledger ----------------------------------------------------------------------------


def test_a_firing_is_told_with_how_the_run_ended_as_it_is_known_now(store: Store) -> None:
    store.append("default", [span("r")])
    assert store.add_firings("default", [firing("r")]) == 1
    assert store.firings("default", NOW) == [Recorded(1, firing("r"), Outcome.UNKNOWN, None)]
    inferred = Recorded(1, firing("r"), Outcome.ABANDONED, Source.INFERRED)
    assert store.firings("default", NOW + LIVE_NS) == [inferred]
    store.declare("default", [Declaration("r", Outcome.SUCCESS, NOW)])
    assert store.firings("default", NOW) == [Recorded(1, firing("r"), Outcome.SUCCESS, Source.DECLARED)]


def test_the_ledger_is_read_newest_first_in_parts(store: Store) -> None:
    store.append("default", [span("r")])
    lines = [firing("r", policy, NOW + at) for at, policy in enumerate(["odds", "other", "odds"])]
    store.add_firings("default", lines)
    first = store.firings("default", NOW, limit=2)
    assert [line.firing for line in first] == [lines[2], lines[1]]
    assert [line.firing for line in store.firings("default", NOW, before=first[-1].number)] == [lines[0]]
    assert [line.number for line in store.firings("default", NOW, wanted=Lines(policy="odds"))] == [3, 1]


def test_a_run_that_learns_its_session_keeps_its_firings(store: Store) -> None:
    store.append("default", [span("", "trace", session=False)])
    store.add_firings("default", [firing("trace")])
    store.append("default", [span("session", "trace", at_ns=NOW + 1)])
    store.declare("default", [Declaration("session", Outcome.FAILURE, NOW)])
    assert [line.outcome for line in store.firings("default", NOW)] == [Outcome.FAILURE]


def test_the_lines_of_a_run_are_found_those_written_under_its_trace_too(store: Store) -> None:
    store.append("default", [span("", "trace", session=False), span("other")])
    store.add_firings("default", [firing("trace"), firing("other")])
    store.append("default", [span("session", "trace", at_ns=NOW + 1)])
    store.add_firings("default", [firing("session", "strict"), firing("session")])
    of_run, both = Lines(run_id="session"), Lines("odds", "session")
    assert [line.number for line in store.firings("default", NOW, wanted=of_run)] == [4, 3, 1]
    assert [line.number for line in store.firings("default", NOW, wanted=both)] == [4, 1]
    for none in (Lines(run_id="none"), Lines(agent="none")):
        assert [line.number for line in store.firings("default", NOW, wanted=none)] == []
    assert store.tally("default", NOW, Lines(agent="bot")) == store.tally("default", NOW)
    assert [each[:4] for each in store.tally("default", NOW, of_run)] == [
        ("odds", "stop", "shadow", 1),
        ("strict", "stop", "shadow", 1),
    ]
    assert [each[:4] for each in store.tally("default", NOW, both)] == [("odds", "stop", "shadow", 1)]


def test_a_run_that_is_gone_leaves_no_line(store: Store) -> None:
    store.append("default", [span("r")])
    store.add_firings("default", [firing("r")])
    store.expire("default", NOW + 1, 1_000)
    assert store.firings("default", NOW) == []
    assert store.add_firings("default", [firing("r"), firing("never")]) == 0
    assert store.firings("default", NOW) == []


def test_runs_that_fuses_fired_in_are_counted_once_by_how_they_ended(store: Store) -> None:
    outcomes = {"a": Outcome.SUCCESS, "b": Outcome.FAILURE, "c": Outcome.ABANDONED, "d": None}
    for run_id, outcome in outcomes.items():
        store.append("default", [span(run_id)])
        store.declare("default", [Declaration(run_id, outcome, NOW)] if outcome is not None else [])
        store.add_firings("default", [firing(run_id), firing(run_id)])
    store.add_firings("default", [firing("b", "strict")])
    assert store.tally("default", NOW) == [
        Tally("odds", "stop", "shadow", 4, 1, 1, 1, 0, 0, 0, 1),
        Tally("strict", "stop", "shadow", 1, 0, 1, 0, 0, 0, 0, 0),
    ]


def test_outcomes_that_nobody_says_are_counted_beside_those_that_somebody_does(store: Store) -> None:
    """A run that was stopped ends after a good step: by its spans alone it looks like a success."""
    store.set_rules("default", "bot", [*parse_rules("pay -> success")])
    for run_id, name in {"stopped": "search", "ruled": "pay", "said": "search"}.items():
        call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "session.id": run_id}
        about = call | {"gen_ai.agent.name": "bot"}
        ended = Span(f"trace-{run_id}", "a", name, NOW, NOW + 1, attributes=about)
        store.append("default", [ended])
        store.add_firings("default", [firing(run_id)])
    store.declare("default", [Declaration("said", Outcome.FAILURE, NOW)])
    later = NOW + 2 * LIVE_NS
    assert [(line.outcome, line.source) for line in store.firings("default", later)] == [
        (Outcome.FAILURE, Source.DECLARED),
        (Outcome.SUCCESS, Source.RULE),
        (Outcome.SUCCESS, Source.INFERRED),
    ]
    assert store.tally("default", later) == [Tally("odds", "stop", "shadow", 3, 1, 1, 0, 1, 0, 0, 0)]
