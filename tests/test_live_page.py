"""The page of runs in flight without a browser: its words, its lines, and what it says of nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from dash.development.base_component import Component

from dashboard import ids, urls
from dashboard.app import find_page, show
from dashboard.components import flights
from dashboard.pages.live import EVERY_S
from dashboard.service import Page, Service
from engine.builder import Maps, Request, load
from engine.errors import ForkmapError
from engine.fuses import Policy
from engine.runs import SECOND_NS, Outcome, Run, Source
from engine.store import Store
from tests.memory_cache import DictCache
from tests.memory_store import NOW_NS, MemoryStore, make_run

GOOD, BAD = "llm:m tool:search tool:refund", "llm:m tool:delete"
STOP = Policy(name="low", min_success_odds=0.5, action="stop", foresight_after_steps=2)
WATCH = Policy(name="watch", min_success_odds=0.6, action="warn", mode="shadow", foresight_after_steps=2)


def in_flight(run_id: str, path: str, age_s: int = 60, agent: str = "desk", ticket: str | None = None) -> Run:
    age_ns = age_s * SECOND_NS
    return make_run(run_id, path, Outcome.ABANDONED, agent, Source.INFERRED, age_ns, ticket)


def over() -> list[Run]:
    """Forty runs that searched, of which 36 succeeded, and forty that deleted, of which 2 did."""
    good = [Outcome.SUCCESS if place < 36 else Outcome.FAILURE for place in range(40)]
    bad = [Outcome.SUCCESS if place < 2 else Outcome.FAILURE for place in range(40)]
    ended = [(GOOD, outcome) for outcome in good] + [(BAD, outcome) for outcome in bad]
    return [make_run(f"desk-{place}", path, outcome, "desk") for place, (path, outcome) in enumerate(ended)]


def service_of(runs: list[Run], policies: tuple[Policy, ...] = (STOP, WATCH)) -> Service:
    store = MemoryStore(runs)
    store.set_policies("default", policies)
    return Service(store, Maps(store, DictCache(), lambda: NOW_NS), lambda: NOW_NS)


@pytest.fixture
def service() -> Iterator[Service]:
    runs = [
        in_flight("fine", GOOD),
        in_flight("doomed", BAD, ticket="t-7"),
        in_flight("odd", "tool:new", 300),
    ]
    made = service_of([*over(), *runs])
    yield made
    made.maps.close()


def shown(service: Service, url: str = "/live") -> Page:
    """The page once the maps it judges by are there."""
    path, _, search = url.partition("?")
    until_s = time.monotonic() + 10
    while (page := find_page(service, path, urls.parse(search))).waiting:
        assert time.monotonic() < until_s
        time.sleep(0.005)
    return page


def text(node: Any) -> str:
    """Everything a component says, in order."""
    if isinstance(node, Component):
        return text(getattr(node, "children", None))
    if isinstance(node, (list, tuple)):
        return " ".join(part for part in map(text, node) if part)
    return "" if node is None else str(node)


def table(node: Any) -> list[dict[str, Any]]:
    """The lines of the table on a page."""
    if isinstance(node, flights.LiveRuns):
        lines: list[dict[str, Any]] = getattr(node, "data")  # noqa: B009 - Dash declares no such attribute
        return lines
    children = getattr(node, "children", node if isinstance(node, (list, tuple)) else None)
    below = children if isinstance(children, (list, tuple)) else [children]
    return [line for child in below if isinstance(child, (Component, list)) for line in table(child)]


def test_it_says_how_many_are_in_flight_and_how_they_stand(service: Service) -> None:
    said = text(shown(service).body)
    assert "3 runs in flight: 1 likely failure, 1 on track, 1 novel. In 1 a fuse would fire." in said


def test_a_line_says_all_that_is_known_of_a_run(service: Service) -> None:
    line = table(shown(service).body)[0]
    key = line["fork"]["href"].rpartition("node=")[2]
    assert line == {
        "run": "doomed",
        "href": "/run?run=doomed",
        "agent": "desk",
        "map": "/map?agent=desk",
        "ticket": {"text": "t-7", "href": "/compare?ticket=t-7"},
        "verdict": "Likely failure",
        "look": "verdict-likely-failure",
        "fork": {
            "text": "fatal fork at step 2",
            "title": "tool:delete",
            "href": f"/map?agent=desk&node={key}",
        },
        "estimate": "6%",
        "odds": {
            "tone": -3,
            "base": 38 / 80,
            "low": pytest.approx(0.0138, abs=1e-4),
            "high": pytest.approx(0.1650, abs=1e-4),
            "rate": 0.05,
            "success": "5.0%",
            "interval": "1.4–16.5%",
            "of": "2 of 40 earlier runs on this path succeeded",
        },
        "steps": "2 steps",
        "last": ("tool", "delete", ""),
        "idle": "58 s",
        "when": "2027-01-15 07:59:01 UTC",
        "fuses": [
            {"name": "low", "href": "/fuses?policy=low", "text": "stop", "look": "badge badge-fork"},
            {
                "name": "watch",
                "href": "/fuses?policy=watch",
                "text": "warn, in shadow",
                "look": "badge badge-cut maybe",
            },
        ],
        "more": 0,
    }


def test_a_path_that_nobody_took_has_no_odds(service: Service) -> None:
    odds = table(shown(service).body)[1]["odds"]
    assert {key: odds[key] for key in ("low", "high", "rate", "success", "interval", "of")} == {
        "low": None,
        "high": None,
        "rate": None,
        "success": "–",
        "interval": "no earlier run",
        "of": "0 of 0 earlier runs on this path succeeded",
    }


def test_it_asks_again_every_two_seconds_and_draws_only_what_is_new(service: Service) -> None:
    page = shown(service)
    assert (page.waiting, page.refresh_s) == (False, EVERY_S) == (False, 2.0)
    *_, stamp, after_ms = show(service, "/live", "", 0, None)
    again = show(service, "/live", "", 1, stamp)
    assert after_ms == again[-1] == 2000
    assert len({id(part) for part in again[:-1]}) == 1  # Nothing is told anew.


def test_while_maps_are_built_the_runs_are_there_already(service: Service) -> None:
    page = find_page(service, "/live", urls.parse(""))
    assert page.waiting
    assert [line["verdict"] for line in table(page.body)] == ["Not judged"] * 3
    said = text(page.body)
    assert (
        "3 runs in flight: 3 not judged. Being built, and used as soon as it is there: the map of desk."
        in said
    )


def test_one_agent_can_be_looked_at_alone() -> None:
    service = service_of([*over(), in_flight("ours", BAD), in_flight("theirs", "tool:a", agent="other")])
    page = shown(service, "/live?agent=other")
    assert [line["run"] for line in table(page.body)] == ["theirs"]
    assert page.agent == "other"
    service.maps.close()


def test_without_a_run_in_flight_it_says_when_the_last_one_began() -> None:
    service = service_of(over())
    said = text(shown(service).body)
    assert "No run is in flight." in said
    assert "The last run began 1 day ago: see  the runs of desk" in said
    service.maps.close()


def test_an_empty_store_and_an_unknown_agent_have_a_way_out(service: Service) -> None:
    assert "How to get runs into it" in text(shown(service_of([])).body)
    said = text(shown(service, "/live?agent=<img onerror=alert(1)>").body)
    assert "No run of “<img onerror=alert(1)>” is in this store." in said


def test_runs_whose_map_cannot_be_built_are_listed_and_that_is_said() -> None:
    def fail(request: Request, store: Store, now_ns: int) -> Any:
        if request.cohort.agent == "other":
            raise ForkmapError("No.")
        return load(request, store, now_ns)

    store = MemoryStore([*over(), in_flight("ours", BAD), in_flight("theirs", "tool:a", agent="other")])
    maps = Maps(store, DictCache(), lambda: NOW_NS, build=fail)
    page = shown(Service(store, maps, lambda: NOW_NS))
    maps.close()
    assert [(line["run"], line["verdict"]) for line in table(page.body)] == [
        ("ours", "Likely failure"),
        ("theirs", "Not judged"),
    ]
    assert "Not judged, as the map could not be built: runs of other." in text(page.body)


def test_the_navigation_leads_there(service: Service) -> None:
    assert urls.LIVE in str(show(service, "/", "", 0, None)[1])
    assert ids.LIVE == "live"
