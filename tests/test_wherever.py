"""Steps that hurt wherever they stand, as they are told: on the map's page, over HTTP, in the command."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dashboard import urls
from dashboard.app import create_app, find_page
from dashboard.cli import main
from dashboard.components import wherever
from dashboard.documents.steps import steps
from dashboard.pages.runs import table_of
from dashboard.service import Service
from dashboard.urls import Look
from engine import demo, queries
from engine.builder import Failed, Maps, Request, load
from engine.errors import StoreError
from engine.listing import Table, narrow
from engine.runs import Cohort, Outcome
from engine.store import Store
from engine.store.sqlite import open_store
from tests.memory_cache import DictCache
from tests.memory_store import NOW_NS, MemoryStore, make_run
from tests.test_counts import service as service
from tests.test_pages import service_of, settled, text

AGENT = "support-agent"
COHORT = Cohort("default", AGENT)


def test_the_map_tells_which_steps_hurt_and_which_help(service: Service) -> None:
    page = settled(service, urls.map_url(Look(agent=AGENT)))
    said = " ".join(text(page.body).split())
    assert "Wherever they stand Each step for itself, whatever came before: of 180 completed runs" in said
    assert (
        "Steps that hurt 2 Steps that hurt Step With it Without Runs lost How far it is shown "
        "tool search_orders ×3-5 in the tree 5 of 50 , 10.0% 4.3–21.4% 93 of 130, 71.5% −31 "
        "confirmed holds within tickets and versions together"
    ) in said
    assert "Failed calls that hurt" in said
    assert "Of 3 failed calls tested none ends 25 points better than the runs without it" in said


def test_a_step_leads_to_its_runs_and_to_where_most_runs_take_it(service: Service) -> None:
    found = queries.load_occurrences(service.store, COHORT, service.now_ns())
    behaviour = queries.load_map(service.store, COHORT, service.now_ns())
    listed = (*found.steps.harmful, *found.steps.golden, *found.failed.harmful, *found.failed.golden)
    assert len(listed) == 6
    for each in listed:
        assert runs_behind(service, wherever.runs_url(each, Look(agent=AGENT))) == each.support
        node = wherever.place(behaviour, each)
        assert behaviour.path(node)[-1].signature == each.step.signature
        assert each.failed or behaviour.path(node)[-1] == each.step


def runs_behind(service: Service, href: str) -> int:
    look, deadline = urls.parse(href.partition("?")[2]), time.monotonic() + 10
    while not isinstance(table := table_of(service, look), Table):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return narrow(table, look.filters).size


def test_a_map_does_not_wait_for_the_comparison_of_steps() -> None:
    go, store = threading.Event(), MemoryStore([make_run("r", "tool:a")])

    def build(request: Request, store: Store, now_ns: int) -> Any:
        if request.what == "steps":
            assert go.wait(10)
        return load(request, store, now_ns)

    maps = Maps(store, DictCache(), lambda: NOW_NS, build=build)
    service = Service(store, maps, lambda: NOW_NS)
    while "Building" in text((page := find_page(service, "/map", Look(agent=AGENT))).body):
        time.sleep(0.005)
    assert page.waiting
    assert "Comparing the runs that have a step with those that have not…" in text(page.body)
    go.set()
    last = settled(service, f"/map?agent={AGENT}")
    maps.close()
    assert "Comparing" not in text(last.body)
    assert last.stamp != page.stamp


def test_why_a_comparison_failed_is_told() -> None:
    answer = Failed("The store cannot be read.", StoreError("The store cannot be read."))
    behaviour = queries.load_map(service_of([make_run("r", "tool:a")]).store, COHORT, NOW_NS)
    shown = wherever.wherever(behaviour, answer, Look(agent=AGENT))
    assert text(shown) == "Wherever they stand The store cannot be read."


def test_where_nothing_is_found_one_sentence_says_so() -> None:
    runs = [make_run(f"{step}{n}", f"tool:{step}", Outcome(n % 2)) for step in "ab" for n in range(6)]
    said = text(settled(service_of(runs), f"/map?agent={AGENT}").body)
    assert (
        "Of 2 steps tested none ends 25 points worse or better than the runs without it with p < 0.05."
    ) in said
    assert "No failed call could be tested" in said
    assert "Steps that" not in said


def test_over_http_they_are_those_of_the_cohort(store: Store) -> None:
    client = create_app(store).server.test_client()
    for query, cohort in (("", COHORT), ("&steps=tools", COHORT._replace(view="tools"))):
        expected = steps(queries.load_occurrences(store, cohort, demo.NOW_NS))
        deadline = time.monotonic() + 30
        while (answer := client.get(f"{urls.API_STEPS}?agent={AGENT}{query}")).status_code == 202:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert (answer.status_code, answer.json) == (200, msgspec.to_builtins(expected))
        again = client.get(
            f"{urls.API_STEPS}?agent={AGENT}{query}", headers={"If-None-Match": answer.headers["ETag"]}
        )
        assert again.status_code == 304
    unknown = client.get(f"{urls.API_STEPS}?agent=nobody")
    assert (unknown.status_code, unknown.mimetype) == (404, "application/problem+json")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("steps") / "demo.sqlite"
    demo_store = open_store(made, create=True)
    demo.load(demo_store)
    demo_store.close()
    return made


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = open_store(path)
    yield opened
    opened.close()


def test_the_command_says_the_same(path: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steps", AGENT, "--store", str(path), "--json"]) == 0
    expected = steps(queries.load_occurrences(store, COHORT, demo.NOW_NS))
    assert json.loads(capsys.readouterr().out) == msgspec.to_builtins(expected)
    assert main(["steps", AGENT, "--store", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(f"{AGENT} · last 30 days · 180 completed runs Those that have a step")
    assert "69 of 90 runs that took tool:search_orders once in a row, wherever it stood, succeeded" in said
    assert (
        "tool:search_orders×3-5 5 of 50 runs that took tool:search_orders×3-5, wherever it stood, succeeded "
        "(10.0%, 95% interval 4.3–21.4%), against 93 of 130 (71.5%) that did not; Fisher p = 2.2e-14, q = "
        "1e-13. 31 runs lost against that rate; confirmed: holds within tickets and versions together."
    ) in said
    assert main(["steps", "nobody", "--store", str(path)]) == 2
