"""The list of agents without a browser: what it says, in which order, and how an empty store begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard import urls
from dashboard.app import create_app, find_page
from dashboard.components.agents import FAILED, NOT_ASKED
from dashboard.components.beginning import beginning
from dashboard.pages.home import ASKED, SHOWN
from dashboard.service import Service
from dashboard.urls import Look
from engine.builder import Maps, Request, load
from engine.errors import ForkmapError
from engine.keys import Caller, Role
from engine.runs import Outcome, Run
from engine.store import Store
from tests.memory_cache import DictCache
from tests.memory_store import DAY_NS, HOUR_NS, NOW_NS, MemoryStore, corpus, make_run
from tests.test_pages import classes, flowing, links, service_of, settled, text

AGENT = "support-agent"


@pytest.fixture
def service() -> Iterator[Service]:
    made = service_of(corpus())
    yield made
    made.maps.close()


def said(service: Service) -> str:
    return flowing(text(settled(service, "/").body))


def runs_of(agent: str, won: int, lost: int, age_ns: int = 2 * DAY_NS) -> list[Run]:
    """Runs of one step: no fork can be among them."""
    outcomes = [Outcome.SUCCESS] * won + [Outcome.FAILURE] * lost
    return [
        make_run(f"{agent}-{age_ns}-{n}", "tool:a", outcome, agent, age_ns=age_ns)
        for n, outcome in enumerate(outcomes)
    ]


def order(service: Service) -> list[str]:
    return [text(row.children[0].children[0]) for row in _rows(settled(service, "/").body)]


def _rows(body: Any) -> list[Any]:
    section = body.children[2]
    return list(section.children[0].children[2].children)


# --- an agent's line -----------------------------------------------------------------------------


def test_a_line_says_what_is_lost_the_last_day_and_how_the_agent_fares(service: Service) -> None:
    (row,) = _rows(settled(service, "/").body)
    assert [flowing(text(cell)) for cell in row.children] == [
        "support-agent",
        "≈ 17 1 fork, confirmed",
        "better 30 of 36, before 12.5%",
        "55.0% 42.5–66.9%",
        "",
        "60",
        "1",
        "1 minute ago",
    ]


def test_its_counts_lead_to_the_runs_they_count(service: Service) -> None:
    page = settled(service, "/")
    assert {
        f"/runs?agent={AGENT}&outcome=completed",
        f"/runs?agent={AGENT}&outcome=live",
        f"/runs?agent={AGENT}&window=1d&outcome=completed",
        f"/runs?agent={AGENT}&window=1d&outcome=success",
        f"/runs?agent={AGENT}",
    } <= set(links(page.body))


def test_the_headline_names_the_agent_the_runs_lost_the_step_and_how_sure_it_is(service: Service) -> None:
    assert (
        "support-agent loses most: about 17 runs at a fatal fork, where its runs take tool search_orders "
        "×3-5 (confirmed); this is very unlikely to be chance, even with 2 branches tested."
    ) in said(service)


def test_the_headline_says_which_agents_ended_worse_of_late() -> None:
    runs = [*runs_of("steady", 40, 10), *runs_of("steady", 8, 2, HOUR_NS)]
    for place in range(3):
        runs += [*runs_of(f"broken {place}", 40, 10), *runs_of(f"broken {place}", 0, 10 + place, HOUR_NS)]
    told = said(service_of(runs))
    assert (
        "broken 2 ended clearly worse in the last 24 hours: 0.0% of 12 runs succeeded, 80.0% of 50 in the "
        "days before. broken 1 ended clearly worse"
    ) in told
    assert "1 more agent ended clearly worse, too." in told
    assert "steady" not in told.partition("Runs of the last 30 days")[0]


def test_where_nothing_hurts_the_headline_says_so() -> None:
    told = said(service_of(runs_of("steady", 40, 10)))
    assert "No fatal fork was found to cost runs, and no agent ended clearly worse" in told
    assert "steady 0 no run completed 80.0% 67.0–88.8% 50 0 2 days ago" in told


def test_a_fork_that_may_be_chance_is_said_to() -> None:
    runs = [
        make_run(f"{name}{n}", f"tool:{name}", Outcome.SUCCESS if n < won else Outcome.FAILURE)
        for name, won in (("bad", 2), *((f"way{place}", 6) for place in range(12)))
        for n in range(8)
    ]
    page = settled(service_of(runs), "/")
    assert classes(page.body, "lost") == ["lost maybe"]
    assert "support-agent may lose most: about" in flowing(text(page.body))


# --- the order -----------------------------------------------------------------------------------


def test_what_hurts_most_comes_first() -> None:
    """Runs lost at forks, then a worse last day, then failures; last those of long ago."""
    runs = [
        *runs_of("few failures", 40, 1),
        *runs_of("many failures", 40, 30),
        *[*runs_of("worse of late", 40, 10), *runs_of("worse of late", 0, 10, HOUR_NS)],
        *corpus(),
        *runs_of("of long ago", 0, 90, 40 * DAY_NS),
    ]
    assert order(service_of(runs)) == [
        *(AGENT, "worse of late", "many failures", "few failures"),
        "of long ago",
    ]


def test_home_waits_for_the_maps(service: Service) -> None:
    first = find_page(service, "/", Look())
    assert first.waiting
    assert "Looking for fatal forks…" in flowing(text(first.body))
    page = settled(service, "/")
    assert page.stamp != first.stamp
    assert page.stamp == find_page(service, "/", Look()).stamp


def test_an_agent_without_recent_runs_is_linked_to_all_time() -> None:
    service = service_of([make_run("r", "tool:a", agent="old one", age_ns=40 * DAY_NS)])
    page = settled(service, "/")
    assert "no run in the last 30 days: all time" in text(page.body)
    assert {"/map?agent=old+one&window=all", "/runs?agent=old+one&window=all&outcome=completed"} <= set(
        links(page.body)
    )


def test_a_failed_map_is_told_from_one_that_was_not_asked_for() -> None:
    runs = [run for n in range(ASKED + 2) for run in runs_of(f"agent {n:02}", 1, 0)]
    store = MemoryStore(runs)
    maps = Maps(store, DictCache(), lambda: NOW_NS, build=failing_for("agent 01"))
    service = Service(store, maps, lambda: NOW_NS, frozen=True)
    lost = [flowing(text(row.children[1])) for row in _rows(settled(service, "/").body)]
    maps.close()
    assert lost == ["0", FAILED, *["0"] * (ASKED - 2), NOT_ASKED, NOT_ASKED]


def failing_for(agent: str) -> Callable[[Request, Store, int], Any]:
    """Builds every map but one agent's."""

    def build(request: Request, store: Store, now_ns: int) -> Any:
        if request.cohort.agent == agent:
            raise ForkmapError("No.")
        return load(request, store, now_ns)

    return build


def test_the_agents_with_most_runs_are_listed_and_the_rest_are_counted() -> None:
    runs = [make_run(f"r{n}", "tool:a", agent=f"agent {n:03}") for n in range(SHOWN + 2)]
    runs.append(make_run("more", "tool:a", agent=f"agent {SHOWN + 1:03}"))
    told = said(service_of(runs))
    assert f"agent {SHOWN + 1:03}" in told
    assert f"agent {SHOWN - 2:03}" in told
    assert f"agent {SHOWN:03}" not in told
    assert "2 more agents, with fewer runs: find one by its name, above." in told


# --- an empty store ------------------------------------------------------------------------------


def shown_to(caller: Caller) -> str:
    service = service_of([])
    asked = Service(service.store, service.maps, service.now_ns, caller=lambda: caller)
    return flowing(text(find_page(asked, "/", Look()).body))


def test_an_empty_store_names_three_ways_in() -> None:
    told = flowing(text(beginning("https://forkmap.example", True, "/var/my runs.sqlite", "acme", None)))
    assert "export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://forkmap.example/v1/traces" in told
    assert "export OTEL_EXPORTER_OTLP_TRACES_HEADERS=Authorization=Bearer%20KEY" in told
    assert "forkmap import --store '/var/my runs.sqlite' --tenant acme traces.jsonl" in told
    assert "Drop files here" in told
    assert "forkmap demo" in told


def test_who_only_reads_is_told_why_nothing_can_be_dropped() -> None:
    told = shown_to(Caller("acme", Role.READ))
    assert "Your key may look, and not send" in told
    assert "Choose files…" not in told
    assert "Choose files…" in shown_to(Caller("acme", Role.ADMIN))


def test_an_empty_page_names_the_address_that_the_browser_has() -> None:
    client: FlaskClient = create_app(MemoryStore([])).server.test_client()
    with client.application.test_request_context("/", headers={"Origin": "http://[::1]:9000"}):
        told = flowing(text(find_page(service_of([]), urls.HOME, Look()).body))
    assert "ENDPOINT='http://[::1]:9000/v1/traces'" in told
