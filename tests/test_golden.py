"""Golden forks as the map's page tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from dashboard import urls
from dashboard.components.treegrid import columns
from dashboard.service import Service
from dashboard.urls import Look
from engine import queries
from engine.forks import Fork, golden_forks
from engine.maps import BehaviourMap
from engine.runs import Cohort
from tests.memory_store import NOW_NS, corpus
from tests.test_pages import classes, links, service_of, settled, text

AGENT = "support-agent"


@pytest.fixture
def service() -> Iterator[Service]:
    made = service_of(corpus())
    yield made
    made.maps.close()


@pytest.fixture
def behaviour(service: Service) -> BehaviourMap:
    return queries.load_map(service.store, Cohort("default", AGENT), NOW_NS)


@pytest.fixture
def golden(behaviour: BehaviourMap) -> Fork:
    (fork,) = golden_forks(behaviour)
    return fork


def test_it_is_listed_with_the_runs_it_gained(service: Service, golden: Fork) -> None:
    page = settled(service, urls.map_url(Look(agent=AGENT)))
    said = " ".join(text(page.body).split())
    assert re.search(
        r"Golden forks 1 tool search_orders after llm gpt 83\.3% of 36 succeed, 12\.5% of 24 going another "
        r"way p = \S+ × \S+ · q = \S+ × \S+ \+26 runs",
        said,
    )
    assert round(golden.runs_gained, 1) == 25.5
    assert "gained" in classes(page.body, "gained")


def test_its_panel_says_what_it_gained_and_shows_the_two_runs(service: Service, golden: Fork) -> None:
    page = settled(service, urls.map_url(Look(agent=AGENT, node=golden.key)))
    said = " ".join(text(page.body).split())
    assert "★ golden fork" in said
    assert "Had these runs fared like the others, about 26 fewer runs would have succeeded." in said
    assert f"success {golden.success} took this step" in said
    assert f"failure {golden.failure} went another way" in said
    assert urls.compare_url(str(golden.failure), str(golden.success)) in links(page.body)


def test_where_there_is_none_there_is_no_list() -> None:
    alike = [run for run in corpus() if run.run_id.startswith("good")]
    assert "Golden forks" not in text(settled(service_of(alike), f"/map?agent={AGENT}").body)


def test_the_tree_is_told_of_it_and_narrows_to_it(behaviour: BehaviourMap, golden: Fork) -> None:
    sent = columns(behaviour)
    assert list(sent["golden"]) == [str(golden.node)]  # type: ignore[call-overload]
    assert urls.parse("agent=a&only=golden").only == "golden"
