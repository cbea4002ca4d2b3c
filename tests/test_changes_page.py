"""The page of what changed, without a browser: what it says, and where its links lead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from dashboard import urls
from dashboard.app import find_page
from dashboard.components.sides import OFFERED, chooser
from dashboard.components.sparkline import Mark, sparkline
from dashboard.components.waygrid import SHOWN, shown
from dashboard.service import Page, Service
from dashboard.urls import write_time
from engine.builder import Maps
from engine.faring import Day
from engine.narrowing import PICKED_BY_OUTCOME
from engine.store import Marker, Store, narrowed
from engine.store.sqlite import open_store
from tests.memory_cache import DictCache
from tests.test_changes import changed
from tests.test_maps import Row
from tests.test_pages import flowing, links, text
from tests.two_versions import AGENT, DEPLOYED_NS, NOW_NS, make_changed

SINCE = urls.changes_url(urls.Look(agent=AGENT, since_ns=DEPLOYED_NS))
VERSIONS = f"/changes?agent={AGENT}&old=v1&new=v2"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    made = make_changed(tmp_path_factory.mktemp("changed") / "s.sqlite")
    made.add_marker("default", "deploy v2", DEPLOYED_NS, AGENT)
    made.add_marker("default", "of another", DEPLOYED_NS, "other")
    yield made
    made.close()


@pytest.fixture(scope="module")
def service(store: Store) -> Iterator[Service]:
    made = Service(store, Maps(store, DictCache(), lambda: NOW_NS), lambda: NOW_NS, frozen=True)
    yield made
    made.maps.close()


def settled(service: Service, url: str) -> Page:
    path, _, search = url.partition("?")
    deadline = time.monotonic() + 60
    while (page := find_page(service, path, urls.parse(search))).waiting:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return page


def said(service: Service, url: str) -> str:
    return flowing(text(settled(service, url).body)).replace("\xa0", " ")


def test_nothing_chosen_offers_the_versions_and_the_markers_there_are(service: Service) -> None:
    page = settled(service, f"/changes?agent={AGENT}")
    told = flowing(text(page.body))
    assert "v1 (40 runs)" in told and "v2 (40 runs)" in told
    assert "deploy v2" in told and "of another" not in told
    assert SINCE in links(page.body)


def test_markers_that_are_not_offered_are_counted() -> None:
    def offered(count: int) -> str:
        markers = [Marker(each, f"deploy {each}", DEPLOYED_NS, None) for each in range(count)]
        return flowing(text(chooser(urls.Look(agent=AGENT), [], markers, NOW_NS)))

    assert "older" not in offered(OFFERED)
    assert "3 older: forkmap compare --marker takes each by its name" in offered(OFFERED + 3)


def test_two_versions_are_told_in_sentences_and_way_by_way(service: Service) -> None:
    told = said(service, VERSIONS)
    assert (
        "Success fell: −47.5 points 12 of 40 (30.0%) runs succeeded with v2, 31 of 40 (77.5%) with v1" in told
    )
    assert "Holds within tickets: −47.5 points" in told
    assert "Gone: after tool:a, runs no longer take tool:c: 0 of 40 (0.0%) with v2" in told
    assert "gone 75.0% · 30 runs 0.0% · 0 runs 90.0% (74.4–96.5%) – −27.2 points" in told
    assert "ended here new 0.0% · 0 runs 10.0% · 4 runs – 0.0% (0.0–49.0%)" in told


def test_every_count_leads_to_the_runs_it_counts(service: Service) -> None:
    for url, before in ((VERSIONS, {"version": ["v1"]}), (SINCE, {"to": [write_time(DEPLOYED_NS)]})):
        lists = [
            parse_qs(link.partition("?")[2]) for link in links(settled(service, url).body) if "/runs" in link
        ]
        assert len(lists) == 9, "two of the whole, and one of each side of each way that has any"
        first = next(each for each in lists if "node" in each)
        assert before.items() <= first.items()
        assert first["outcome"] == ["completed"] and first["view"] == ["tools"]


def test_examples_are_of_the_agents_own_steps(service: Service) -> None:
    for url in (f"/changes?agent={AGENT}", VERSIONS):
        assert any("where=a+.." in link for link in links(settled(service, url).body)), url


def test_a_moment_is_told_as_before_and_since_then(service: Service) -> None:
    told = said(service, SINCE)
    assert "12 of 40 (30.0%) runs succeeded since then, 31 of 40 (77.5%) before" in told
    assert write_time(DEPLOYED_NS) in str(settled(service, SINCE).body)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (
            f"{VERSIONS}&to=1990-01-01",
            "Too few runs to compare Among these runs none completed with v1 or with v2",
        ),
        (
            f"/changes?agent={AGENT}&old=v1&new=v9",
            "Too few runs to compare Among these runs none completed with v9",
        ),
        (f"/changes?agent={AGENT}&old=v1&new=v1", "Both versions are the same."),
        (f"/changes?agent={AGENT}&since=noon", "since=noon is no RFC 3339 date or time."),
        (f"/changes?agent={AGENT}&to=1990-01-01", "No run completed in this window."),
        (f"{VERSIONS}&where=a+%3E", "Nothing is shown until it can be read."),
        ("/changes?agent=nobody&old=a&new=b", "No such agent"),
        ("/changes", "Two sides of one agent are compared. Whose? desk"),
    ],
)
def test_what_cannot_be_compared_is_said(service: Service, url: str, sentence: str) -> None:
    assert sentence in said(service, url)


def test_only_some_runs_are_compared(service: Service) -> None:
    assert "3 of 10" not in said(service, VERSIONS)
    assert "12 of 40 (30.0%) runs succeeded with v2, 4 of 10 (40.0%) with v1" in said(
        service, f"{VERSIONS}&where=!c"
    )


def test_success_that_was_picked_is_said_to_be(service: Service) -> None:
    assert PICKED_BY_OUTCOME in said(service, f"{VERSIONS}&where=!outcome:abandoned")
    assert PICKED_BY_OUTCOME not in said(service, VERSIONS)


@pytest.mark.parametrize("page", [VERSIONS, *(f"{path}?agent={AGENT}" for path in urls.NARROWED)])
def test_an_expression_that_took_too_long_stays_to_be_changed(
    store: Store, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrowed, "MAX_S", -1.0)
    service = Service(store, Maps(store, DictCache(), lambda: NOW_NS), lambda: NOW_NS)
    found = settled(service, f"{page}&where=b")
    service.maps.close()
    assert "takes over 10 s" in text(found.body)
    assert page in links(found.body), "the way back to all runs"


def test_that_no_run_matches_is_said_beside_what_was_asked(service: Service) -> None:
    page = settled(service, f"/changes?agent={AGENT}&where=nowhere")
    told = flowing(text(page.body))
    assert "No completed run matches nowhere; 80 runs of this window were asked." in told
    assert "Only runs where" in told and "No run completed" not in told


def test_an_empty_store_says_so(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s.sqlite", create=True)
    service = Service(store, Maps(store, DictCache(), lambda: NOW_NS), lambda: NOW_NS)
    assert "No run is in this store yet." in said(service, "/changes")
    service.maps.close()
    store.close()


def test_of_a_large_tree_those_that_changed_are_drawn_first() -> None:
    letters = [chr(number) for number in range(0x4E00, 0x4E00 + 2 * SHOWN)]
    same: list[Row] = [(f"x{letter}", "s", 3) for letter in letters]
    found = changed([*same, ("yz", "s", 30)], [*same, ("yw", "s", 30)])
    wanted, told = shown(found)
    assert wanted.sum() == SHOWN
    drawn = {
        "".join(str(token)[-1] for token in found.behaviour.path(way)) for way in told.nonzero()[0].tolist()
    }
    assert drawn == {"", "y", "yz", "yw"}
    assert (wanted[found.parent[wanted.nonzero()[0][1:]]]).all(), "whatever leads there is drawn"


def test_the_list_of_agents_marks_a_deploy_and_leads_to_what_it_changed(service: Service) -> None:
    page = settled(service, "/")
    assert SINCE in links(page.body)
    assert "since deploy v2" in text(page.body)


def test_a_mark_stands_where_its_moment_does() -> None:
    drawn = sparkline([Day(8, 2), Day(1, 1)], [Mark(0.25, "deploy")])
    marked = drawn.to_plotly_json()["props"]
    assert marked["children"][-1].style == {"left": "25.00%"}
    assert marked["title"].endswith("; marked: deploy")
