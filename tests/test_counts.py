"""Every number that leads to runs says how many there are: all links of the demo, walked."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dash.development.base_component import Component

from dashboard import urls
from dashboard.cache_place import MEMORY
from dashboard.caching import open_cache
from dashboard.pages import behaviour as map_page
from dashboard.pages.runs import table_of
from dashboard.service import Service
from dashboard.urls import Look
from engine import demo
from engine.builder import Maps
from engine.listing import Table, narrow
from engine.runs import ALL_TIME, View
from engine.store.sqlite import open_store
from engine.strata import evidence
from tests.test_pages import settled, text

AGENTS = ("support-agent", "coding-agent", "research-agent", "repo-agent")
VIEWS: tuple[View, ...] = ("all", "tools")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    store = open_store(tmp_path_factory.mktemp("demo") / "demo.sqlite", create=True)
    demo.load(store)
    maps = Maps(store, open_cache(MEMORY, store), lambda: demo.NOW_NS)
    yield Service(store, maps, lambda: demo.NOW_NS, frozen=True)
    maps.close()
    store.close()


def counts(node: Any) -> list[tuple[int, str]]:
    """Each link to runs whose text begins with a count, and that count: of "3 of 6" the second."""
    if isinstance(node, (list, tuple)):
        return [found for child in node for found in counts(child)]
    if not isinstance(node, Component):
        return []
    href = getattr(node, "href", None) or ""
    number = re.match(r"(?:[\d,]+ of )?([\d,]+)(?! (?:days|hours))(?= |$)", text(node))
    if href.startswith(f"{urls.RUNS}?") and number:
        return [(int(number[1].replace(",", "")), href)]
    return counts(getattr(node, "children", None))


def listed(service: Service, href: str) -> int:
    """How many runs the page at an address lists."""
    look, deadline = urls.parse(href.partition("?")[2]), time.monotonic() + 10
    while not isinstance(found := table_of(service, look), Table):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return narrow(found, look.filters).size


def check(service: Service, body: Any) -> int:
    """How many counts a page links; each must be what is listed behind it."""
    found = counts(body)
    wrong = [(number, href) for number, href in found if listed(service, href) != number]
    assert wrong == []
    return len(found)


def test_home(service: Service) -> None:
    assert check(service, settled(service, urls.HOME).body) >= 2 * len(AGENTS)


@pytest.mark.parametrize(
    ("agent", "where"),
    [
        *((agent, "") for agent in AGENTS),
        ("support-agent", "error(*) or search_orders x3"),
        ("coding-agent", "!outcome:success"),
    ],
)
@pytest.mark.parametrize("view", VIEWS)
def test_a_map_and_every_one_of_its_steps(service: Service, agent: str, where: str, view: View) -> None:
    look = Look(agent=agent, view=view, where=where)
    assert check(service, settled(service, urls.map_url(look)).body) >= 5
    found = table_of(service, look)
    assert isinstance(found, Table)
    shown = evidence(found.behaviour)
    for node in range(len(found.behaviour)):
        assert check(service, map_page.panel(found.behaviour, node, shown, look)) >= 3


@pytest.mark.parametrize("where", ["", "!error(*)"])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_calibration(service: Service, agent: str, where: str) -> None:
    look = Look(agent=agent, window=ALL_TIME, where=where)
    assert check(service, settled(service, urls.calibration_url(look)).body) >= 2


@pytest.mark.parametrize(
    "query", ["", "&where=search_orders+x3", "&step=gpt-4o", "&outcome=failure&version=2.4.0"]
)
def test_the_runs_themselves(service: Service, query: str) -> None:
    assert check(service, settled(service, f"{urls.RUNS}?agent=support-agent{query}").body) >= 1


def test_a_number_that_is_not_what_is_listed_is_found(service: Service) -> None:
    from dash import dcc

    wrong = dcc.Link("7 runs", href=urls.runs_url(Look(agent="support-agent")))
    with pytest.raises(AssertionError):
        check(service, wrong)
