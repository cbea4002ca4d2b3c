"""Markers as the store keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import erasing, retention
from engine.errors import InputError
from engine.runs import ALL_TIME
from engine.selections import Before
from engine.spans import Span
from engine.store import MAX_MARKERS, Expired, Marker, Store
from engine.store.sqlite import open_store

NOW = 1_800_000_000 * 10**9
DAY = 86_400 * 10**9


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "markers.sqlite", create=True)
    yield store
    store.close()


def names(store: Store, agent: str | None = None) -> list[str]:
    return [marker.name for marker in store.markers("default", agent)]


def test_markers_come_back_latest_first_an_agents_own_and_everybodys(store: Store) -> None:
    store.add_marker("default", " deploy 41 ", NOW - DAY, "bot")
    store.add_marker("default", "new prompts", NOW)
    store.add_marker("default", "other", NOW - 2 * DAY, "other")
    assert names(store) == ["new prompts", "deploy 41", "other"]
    assert names(store, "bot") == ["new prompts", "deploy 41"]
    assert store.markers("nobody") == []


def test_a_marker_is_of_the_agent_that_runs_of_that_name_are_of(store: Store) -> None:
    long = "é" * 100
    store.add_marker("default", "deploy", NOW, f" {long} ")
    store.append(
        "default", [Span("t", "1", "invoke_agent", NOW, NOW + 1, attributes={"gen_ai.agent.name": long})]
    )
    (known,) = store.agents("default", ALL_TIME, NOW)
    assert names(store, known.agent) == ["deploy"]


def test_the_same_marker_once_more_is_the_one_that_is_there(store: Store) -> None:
    first, is_new = store.add_marker("default", "deploy", NOW, "bot")
    assert (first, is_new) == (Marker(first.number, "deploy", NOW, "bot"), True)
    assert store.add_marker("default", "deploy", NOW, "bot") == (first, False)
    assert store.add_marker("default", "deploy", NOW)[1] is True
    assert store.add_marker("default", "deploy", NOW + 1, "bot")[1] is True


def test_a_removed_marker_is_gone_and_its_number_is_never_given_again(store: Store) -> None:
    marker, _ = store.add_marker("default", "deploy", NOW)
    assert store.remove_marker("other", marker.number) is False
    assert store.remove_marker("default", marker.number) is True
    assert store.remove_marker("default", marker.number) is False
    assert store.remove_marker("default", 10**30) is False
    assert store.add_marker("default", "deploy", NOW)[0].number > marker.number


def test_a_tenant_has_a_bounded_number_of_them(store: Store) -> None:
    for number in range(MAX_MARKERS):
        store.add_marker("default", f"deploy {number}", NOW)
    with pytest.raises(InputError, match="1,000 markers already"):
        store.add_marker("default", "one more", NOW)
    assert store.add_marker("default", "deploy 7", NOW)[1] is False


def test_markers_go_with_the_runs_of_their_time(store: Store) -> None:
    store.add_marker("default", "old", NOW - 31 * DAY)
    store.add_marker("default", "young", NOW - 29 * DAY)
    assert retention.expire(store, NOW - 30 * DAY) == Expired(markers=1)
    assert names(store) == ["young"]
    assert retention.expire(store, NOW - 30 * DAY) == Expired()


def test_an_erasure_of_all_before_a_moment_takes_them_too(store: Store) -> None:
    store.append("default", [Span("t", "1", "run", NOW - 31 * DAY, NOW - 31 * DAY + 1)])
    store.add_marker("default", "old", NOW - 31 * DAY)
    store.add_marker("default", "young", NOW - 29 * DAY)
    store.add_marker("other", "of others", NOW - 31 * DAY)
    store.begin_erasure("default", Before(NOW - 30 * DAY), "a person", NOW)
    erasing.end_begun(store, lambda: NOW)
    assert (names(store), len(store.markers("other"))) == (["young"], 1)
    store.begin_erasure("other", Before(NOW), "a person", NOW)
    erasing.end_begun(store, lambda: NOW)
    assert store.markers("other") == [], "where there is nothing else either"
