"""Runs in flight as the store reads them: with their steps, the most recently active first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.runs import LIVE_NS, SECOND_NS, Declaration, Outcome
from engine.spans import Span
from engine.store import Store
from engine.store.sqlite import open_store

NOW_NS = 1_800_000_000 * SECOND_NS
TENANT = "default"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(tmp_path / "runs.sqlite", create=True)
    yield made
    made.close()


def send(store: Store, run_id: str, last_ns: int, agent: str = "desk") -> None:
    """A run of two steps, the second of which began at a moment."""
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.agent.name": agent, "session.id": run_id}
    store.append(
        TENANT,
        [
            Span(f"trace-{run_id}", tool, "call", at_ns, attributes=about | {"gen_ai.tool.name": tool})
            for tool, at_ns in (("search", last_ns - SECOND_NS), ("refund", last_ns))
        ],
    )


def read(store: Store, limit: int = 10, agent: str | None = None) -> list[str]:
    return [run.run_id for run in store.live_runs(TENANT, NOW_NS, limit, agent)]


def test_the_most_recently_active_come_first_whoever_they_are_of(store: Store) -> None:
    for age_s, agent in ((50, "desk"), (5, "other"), (500, "desk")):
        send(store, f"r{age_s}", NOW_NS - age_s * SECOND_NS, agent)
    assert read(store) == ["r5", "r50", "r500"]
    assert read(store, limit=2) == ["r5", "r50"]
    assert read(store, agent="desk") == ["r50", "r500"]
    assert read(store, agent="nobody") == []


def test_they_are_as_they_are_read_one_by_one(store: Store) -> None:
    send(store, "r", NOW_NS)
    assert store.live_runs(TENANT, NOW_NS, 10) == [store.run(TENANT, "r")]


def test_what_is_quiet_for_too_long_or_declared_is_not_in_flight(store: Store) -> None:
    send(store, "quiet", NOW_NS - LIVE_NS)
    send(store, "told", NOW_NS)
    send(store, "going", NOW_NS - LIVE_NS + 1)
    store.declare(TENANT, [Declaration("told", Outcome.FAILURE, NOW_NS)])
    assert read(store) == ["going"]
    assert store.live_runs("another", NOW_NS, 10) == []
