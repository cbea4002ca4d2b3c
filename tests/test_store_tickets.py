"""The tickets of a store: which there are, how their runs ended, and which recorded decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.runs import LIVE_NS, SECOND_NS, Declaration, Outcome
from engine.spans import Span
from engine.store import RunRow, Store, TicketRow
from engine.store.sqlite import open_store

NOW_NS = 1_800_000_000 * SECOND_NS
HOUR_NS = 3600 * SECOND_NS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "runs.sqlite", create=True)
    yield store
    store.close()


def send(
    store: Store,
    run_id: str,
    ticket: str | None,
    outcome: Outcome | None = Outcome.SUCCESS,
    agent: str = "desk",
    age_ns: int = HOUR_NS,
    **more: str,
) -> None:
    """A run of two spans that began so long ago; without an outcome nobody declared one."""
    start_ns = NOW_NS - age_ns
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent, "session.id": run_id}
    about |= {"forkmap.ticket": ticket} if ticket else {}
    said: dict[str, Any] = {name.replace("_", "."): value for name, value in more.items()}
    times = start_ns, start_ns + SECOND_NS
    store.append(
        "default",
        [
            Span(f"trace-{run_id}", "0", "root", *times, attributes=about),
            Span(f"trace-{run_id}", "1", "work", *times, "0", attributes=said),
        ],
    )
    if outcome is not None:
        store.declare("default", [Declaration(run_id, outcome, start_ns)])


def names(rows: list[TicketRow]) -> list[str]:
    return [row.ticket for row in rows]


def ids(rows: list[RunRow]) -> list[str]:
    return [row.run_id for row in rows]


def test_a_ticket_counts_how_its_runs_ended_whoever_took_them(store: Store) -> None:
    send(store, "r1", "T-1", Outcome.SUCCESS)
    send(store, "r2", "T-1", Outcome.FAILURE, agent="buyer", age_ns=2 * HOUR_NS)
    send(store, "r3", "T-1", Outcome.ABANDONED, age_ns=3 * HOUR_NS)
    send(store, "r4", "T-1", None, age_ns=60 * SECOND_NS)
    send(store, "r5", None)
    assert store.tickets("default", NOW_NS) == [
        TicketRow("T-1", ("buyer", "desk"), 1, 1, 1, 1, NOW_NS - 60 * SECOND_NS)
    ]


def test_a_run_is_live_only_for_a_while(store: Store) -> None:
    send(store, "r", "T", None, age_ns=60 * SECOND_NS)
    (now,) = store.tickets("default", NOW_NS)
    (later,) = store.tickets("default", NOW_NS + LIVE_NS)
    assert (now.live, now.successes) == (1, 0)
    assert (later.live, later.successes) == (0, 1)


def test_tickets_with_a_success_and_another_ending_come_first_then_the_latest(store: Store) -> None:
    send(store, "a1", "only-good", age_ns=HOUR_NS)
    send(store, "b1", "only-bad", Outcome.FAILURE, age_ns=2 * HOUR_NS)
    send(store, "c1", "both", age_ns=4 * HOUR_NS)
    send(store, "c2", "both", Outcome.ABANDONED, age_ns=5 * HOUR_NS)
    send(store, "d1", "both-before", age_ns=6 * HOUR_NS)
    send(store, "d2", "both-before", Outcome.FAILURE, age_ns=7 * HOUR_NS)
    found = store.tickets("default", NOW_NS)
    assert names(found) == ["both", "both-before", "only-good", "only-bad"]
    assert [row.contrasts for row in found] == [True, True, False, False]
    assert names(store.tickets("default", NOW_NS, limit=1)) == ["both"]


def test_a_text_finds_tickets_that_hold_it(store: Store) -> None:
    for ticket in ("Retail-7", "airline-7", "100%_sure"):
        send(store, f"run of {ticket}", ticket)
    assert names(store.tickets("default", NOW_NS, " RETAIL ")) == ["Retail-7"]
    assert sorted(names(store.tickets("default", NOW_NS, "-7"))) == ["Retail-7", "airline-7"]
    assert names(store.tickets("default", NOW_NS, "%_")) == ["100%_sure"]
    assert store.tickets("default", NOW_NS, "nothing like it") == []


def test_runs_of_a_ticket_are_those_of_all_its_agents_newest_first(store: Store) -> None:
    send(store, "r1", "T", age_ns=3 * HOUR_NS)
    send(store, "r2", "T", Outcome.FAILURE, agent="buyer", age_ns=2 * HOUR_NS)
    send(store, "r3", "T-2")
    found = store.runs_of_ticket("default", "T", NOW_NS)
    assert [(row.run_id, row.agent, row.outcome) for row in found] == [
        ("r2", "buyer", Outcome.FAILURE),
        ("r1", "desk", Outcome.SUCCESS),
    ]
    assert ids(store.runs_of_ticket("default", "T", NOW_NS, limit=1)) == ["r2"]
    assert store.runs_of_ticket("default", "t", NOW_NS) == []


def test_who_recorded_a_decision_is_told_by_its_attributes_in_any_convention(store: Store) -> None:
    send(store, "ours", "T", forkmap_decision_chosen="search")
    send(store, "inference", "T", decision_chosen="search")
    send(store, "genai", "T")
    spoken = {"gen_ai.decision.chosen": "search"}
    store.append("default", [Span("trace-genai", "2", "d", NOW_NS, attributes=spoken)])
    send(store, "speaks", "T", note="decision.chosen is what we did not record")
    asked = ["ours", "inference", "genai", "speaks", "nobody"]
    assert store.deciding("default", asked) == {"ours", "inference", "genai"}
