"""What a person does, in a real browser: import, see, follow a link, paste an id."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from dashboard import cli
from dashboard.app import Settings, create_app
from engine import demo
from engine.runs import SECOND_NS
from engine.store.sqlite import open_store
from tests.browser import served

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
THEMES = ("light", "dark")


@pytest.fixture(scope="module")
def demo_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = open_store(tmp_path_factory.mktemp("demo") / "demo.sqlite", create=True)
    demo.load(store, "default")
    with served(create_app(store).server) as url:
        yield url
    store.close()


@pytest.fixture
def watched(chromium: Browser) -> Iterator[Page]:
    """A page that fails the test on a console message or a request to anywhere else."""
    page = chromium.new_page(viewport={"width": 1360, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if _own(request.url) else complaints.append(request.url))
    yield page
    page.close()
    assert complaints == []


def _own(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "blob:"))


def requested(page: Page) -> list[str]:
    """A list that fills with the addresses the page asks for."""
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    return urls


def test_import_then_see_the_map(watched: Page, tmp_path: Path) -> None:
    file, store_path = tmp_path / "runs.jsonl", tmp_path / "runs.sqlite"
    file.write_text("\n".join(json.dumps(line) for number in range(20) for line in lines_of_a_run(number)))
    assert cli.main(["import", "--store", str(store_path), str(file)]) == 0
    store = open_store(store_path)
    with served(create_app(store, Settings(now_ns=lambda: START_NS)).server) as url:
        watched.goto(url)
        watched.get_by_role("link", name="refund-agent").click()
        expect(watched.get_by_role("heading", level=1)).to_have_text("refund-agent")
        expect(watched.locator(".headline")).to_contain_text("0.0% of 10 runs that take it succeed")
        expect(watched.get_by_role("row", selected=True)).to_contain_text("delete_order")
        watched.goto("about:blank")
    store.close()


START_NS = 1_800_000_000 * SECOND_NS


def lines_of_a_run(number: int) -> Iterator[dict[str, Any]]:
    """A run in Forkmap's own lines: even ones issue a refund and succeed, odd ones do not."""
    trace, start_ns = f"trace-{number}", START_NS - (number + 1) * 3600 * SECOND_NS
    calls = ["search_orders", "issue_refund" if number % 2 == 0 else "delete_order"]
    for place, (kind, name) in enumerate([("agent", "refund-agent"), *(("tool", call) for call in calls)]):
        yield {
            "type": "span",
            "trace_id": trace,
            "span_id": f"{trace}-{place}",
            "parent_id": f"{trace}-0" if place else None,
            "name": name,
            "start": start_ns + place * SECOND_NS,
            "end": start_ns + (place + 1 if place else 9) * SECOND_NS,
            "attributes": {"forkmap.kind": kind, "forkmap.name": name},
        }
    outcome = "failure" if number % 2 else "success"
    yield {"type": "outcome", "run": trace, "outcome": outcome, "time": start_ns + 10 * SECOND_NS}


def test_a_click_on_a_fatal_fork_shows_its_evidence(watched: Page, demo_url: str) -> None:
    watched.goto(f"{demo_url}/map?agent=support-agent")
    expect(watched.locator(".headline")).to_contain_text("Runs go wrong at")
    watched.locator("button.finding.hotspot").first.click()
    expect(watched.locator("#node-panel h2")).not_to_contain_text("fatal fork")
    watched.locator("button.finding.fork").first.click()
    panel = watched.locator("#node-panel")
    expect(panel).to_contain_text("fatal fork")
    expect(panel).to_contain_text("5 succeeded")
    expect(panel).to_contain_text("p = 2.2\xa0×\xa010⁻¹⁴")
    expect(watched).to_have_url(re.compile(r"node=[0-9a-f]{16}"))
    expect(watched.get_by_role("row", selected=True)).to_contain_text("search_orders")
    expect(watched.locator(".finding[aria-current=true]")).to_have_count(1)
    expect(watched.locator(".finding.fork").first).to_have_attribute("aria-current", "true")
    panel.locator("a.run-id").first.click()
    expect(watched.locator(".verdict")).to_be_visible()


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_in_a_narrow_window_a_picked_fork_comes_into_view(
    watched: Page, demo_url: str, motion: Literal["reduce", "no-preference"]
) -> None:
    watched.emulate_media(reduced_motion=motion)
    watched.set_viewport_size({"width": 1000, "height": 700})
    watched.goto(f"{demo_url}/map?agent=support-agent")
    watched.locator("button.finding.fork").last.click()
    heading = watched.locator("#node-panel h2")
    expect(heading).to_contain_text("issue_refund")
    expect(heading).to_be_in_viewport()


def test_the_live_runs_are_listed_and_lead_to_their_pages(watched: Page, demo_url: str) -> None:
    watched.goto(f"{demo_url}/map?agent=support-agent")
    watched.locator(".stats").get_by_role("link", name="6", exact=True).click()
    expect(watched.locator(".runs .pill-live")).to_have_count(6)
    watched.get_by_role("link", name="live-doomed-0").click()
    expect(watched.get_by_role("heading", level=1)).to_have_text("live-doomed-0")


def test_the_map_page_loads_no_chart_library(watched: Page, demo_url: str) -> None:
    asked = requested(watched)
    watched.goto(f"{demo_url}/map?agent=support-agent")
    expect(watched.get_by_role("treegrid")).to_be_visible()
    watched.wait_for_load_state("networkidle")
    assert [url for url in asked if "plotly" in url or "async-graph" in url] == []


def test_a_pasted_run_id_leads_to_its_verdict(watched: Page, demo_url: str) -> None:
    watched.goto(demo_url)
    search = watched.get_by_role("searchbox", name="Find")
    search.fill("live-doomed-0")
    search.press("Enter")
    expect(watched.get_by_role("heading", level=1)).to_have_text("live-doomed-0")
    expect(watched.locator(".verdict")).to_contain_text("Likely failure")
    expect(watched.locator(".verdict")).to_contain_text("5 of 50")
    expect(watched.locator(".js-plotly-plot .point").first).to_be_visible()
    expect(watched).to_have_title("live-doomed-0 · run · Forkmap")


def test_a_link_restores_node_view_and_window(watched: Page, demo_url: str) -> None:
    watched.goto(f"{demo_url}/map?agent=support-agent")
    watched.get_by_role("link", name="Tools only").click()
    watched.get_by_role("link", name="All time").click()
    expect(watched).to_have_url(re.compile("window=all.*view=tools"))
    watched.locator("button.finding.hotspot").first.click()
    expect(watched).to_have_url(re.compile("node="))
    expect(watched.locator("#node-panel h2")).to_contain_text("hotspot")
    heading = watched.locator("#node-panel h2").inner_text()
    link = watched.url
    watched.goto("about:blank")
    watched.goto(link)
    expect(watched.locator("#node-panel h2")).to_have_text(heading, use_inner_text=True)
    expect(watched.locator(".switch [aria-current]")).to_have_text(["All time", "Tools only"])


def test_back_returns_to_the_map_from_a_run(watched: Page, demo_url: str) -> None:
    watched.goto(f"{demo_url}/map?agent=support-agent")
    watched.locator("#node-panel a.run-id").first.click()
    expect(watched.locator(".verdict")).to_be_visible()
    watched.go_back()
    expect(watched.get_by_role("treegrid")).to_be_visible()


def test_a_step_can_be_asked_about(watched: Page, demo_url: str) -> None:
    watched.goto(f"{demo_url}/run?run=live-healthy-0")
    box = watched.get_by_label("If it went on with")
    box.fill("tool:delete_database")
    box.press("Enter")
    expect(watched.locator(".verdict-novel")).to_contain_text("delete_database")


def test_a_fatal_fork_leads_to_its_two_runs_side_by_side(watched: Page, demo_url: str) -> None:
    watched.goto(f"{demo_url}/map?agent=repo-agent")
    watched.locator("#node-panel").get_by_role("link", name="compare").click()
    expect(watched).to_have_url(f"{demo_url}/compare?a=repo-menu-2&b=repo-menu-3")
    expect(watched.get_by_role("heading", name="Menu changed")).to_be_visible()
    watched.go_back()
    watched.locator(".headline").get_by_role("link", name="Compare").click()
    expect(watched).to_have_url(f"{demo_url}/compare?a=repo-menu-2&b=repo-menu-3")


def test_a_run_shows_findings_beside_its_steps_and_decisions_by_keyboard(
    watched: Page, demo_url: str
) -> None:
    watched.goto(f"{demo_url}/run?run=repo-journal-1")
    row = watched.locator("tr", has_text="duplicate_option")
    expect(row).to_contain_text("run_tests is among the options more than once.")
    expect(row.locator(".menu")).to_be_hidden()
    row.locator("summary").focus()
    watched.keyboard.press("Enter")
    expect(row.locator(".menu .chosen")).to_contain_text("read_file")
    expect(row).to_contain_text("see how the invoice test sets its date")
    watched.get_by_role("link", name="Compare with a success of the same ticket").press("Enter")
    expect(watched).to_have_url(f"{demo_url}/compare?ticket=repo-journal&a=repo-journal-1&b=repo-journal-2")
    expect(watched.locator(".lanes")).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
def test_opened_decisions_are_accessible_in_both_themes(watched: Page, demo_url: str, theme: str) -> None:
    watched.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    watched.goto(f"{demo_url}/run?run=repo-journal-1")
    expect(watched.locator(".decision").first).to_be_visible()
    watched.evaluate("document.querySelectorAll('.decision').forEach(each => (each.open = true))")
    assert broken_rules(watched) == []


PAGES = {
    "agents": "/",
    "map": "/map?agent=support-agent",
    "tools": "/map?agent=coding-agent&view=tools&window=all",
    "run": "/run?run=live-healthy-0&next=tool%3Aissue_refund",
    "decisions": "/run?run=repo-attributes-1",
    "calibration": "/calibration?agent=support-agent",
    "unknown run": "/run?run=live-doomed",
    "unknown agent": "/map?agent=nobody",
    "unknown page": "/nowhere",
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES.keys())
def test_every_page_is_accessible_in_both_themes(watched: Page, demo_url: str, path: str, theme: str) -> None:
    watched.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    watched.goto(f"{demo_url}{path}")
    expect(watched.get_by_role("heading", level=1)).to_be_visible()
    expect(watched.locator(".spinner")).to_have_count(0)
    watched.wait_for_load_state("networkidle")
    assert broken_rules(watched) == []


def broken_rules(page: Page) -> list[tuple[str, str]]:
    """What axe finds wrong with a page: the rule, and where."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("tags => axe.run({runOnly: tags})", WCAG)
    return [(rule["id"], node["html"][:200]) for rule in found["violations"] for node in rule["nodes"]]
