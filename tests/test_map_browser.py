"""The map page in a real browser: few clicks to the evidence, and a newer map that moves nothing."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, expect

from dashboard.app import Settings, create_app
from engine import demo
from engine.paths import Paths
from engine.runs import Cohort, Run
from engine.store.sqlite import open_store
from tests.browser import served
from tests.memory_store import HOUR_NS, NOW_NS, MemoryStore, make_run
from tests.test_journeys import THEMES, broken_rules

MAP = "/map?agent=support-agent"
WAYS = 40
WAIT_S = 20.0


class SlowStore(MemoryStore):
    """A store whose builds wait while the gate is shut."""

    def __init__(self, runs: list[Run]) -> None:
        super().__init__(runs, clock=None)
        self.gate = threading.Event()
        self.gate.set()
        self.stale: Callable[[], None] = lambda: None

    def paths(self, cohort: Cohort, now_ns: int, max_runs: int = 20_000) -> Paths:
        assert self.gate.wait(WAIT_S)
        return super().paths(cohort, now_ns, max_runs)


class Clock:
    """A clock that is set by hand."""

    now_ns = NOW_NS

    def __call__(self) -> int:
        return self.now_ns


def many_ways() -> list[Run]:
    """Forty first steps, each with two next ones: one of 2 runs, one of 1."""
    return [
        make_run(f"run-{way}-{n}", f"tool:way{way:02} tool:{then}", age_ns=HOUR_NS)
        for way in range(WAYS)
        for n, then in enumerate(("reply", "reply", "close"))
    ]


@pytest.fixture
def store() -> SlowStore:
    return SlowStore(many_ways())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def page(chromium: Browser, store: SlowStore, clock: Clock) -> Iterator[Page]:
    """A page that fails on any console message."""
    server = create_app(store, Settings(now_ns=clock)).server
    store.stale = partial(_outdate, server)
    with served(server) as url:
        context = chromium.new_context(base_url=url, viewport={"width": 1360, "height": 900})
        yield from watched(context)
        store.gate.set()
        context.close()


def _outdate(server: Flask) -> None:
    """Let every map of the agent count as stale, as whoever says by hand how a run ended does."""
    said = {"run": "run-0-0", "outcome": "success"}
    answer = server.test_client().post("/run/outcome", data=said, headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 303, answer.text


def watched(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    page.close()
    assert complaints == []


@pytest.fixture(scope="module")
def demo_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place: Path = tmp_path_factory.mktemp("demo") / "demo.sqlite"
    store = open_store(place, create=True)
    demo.load(store, "default")
    with served(create_app(store).server) as url:
        yield url
    store.close()


@pytest.fixture
def on_demo(chromium: Browser, demo_url: str) -> Iterator[Page]:
    context = chromium.new_context(base_url=demo_url, viewport={"width": 1360, "height": 900})
    yield from watched(context)
    context.close()


def ask_again(page: Page) -> None:
    """Let the page ask now what it would ask by itself in half a minute."""
    page.evaluate("forkmap.pause(true); forkmap.pause(false)")


# --- a newer map ----------------------------------------------------------------------------


def test_a_stale_map_is_shown_at_once_with_its_age_and_replaced_where_nothing_moves(
    page: Page, store: SlowStore, clock: Clock
) -> None:
    page.goto(MAP)
    grid, as_of = page.get_by_role("treegrid"), page.locator(".page-head")
    row = grid.locator(".tree-row", has_text="way30")
    grid.evaluate("grid => { grid.scrollTop = 900; }")
    row.click()
    page.keyboard.press("ArrowRight")
    expect(row).to_have_attribute("aria-expanded", "true")
    expect(page.locator("#node-panel h2")).to_contain_text("way30")
    expect(page).to_have_url(re.compile("node="))
    address = page.url
    before = row.bounding_box()

    store.gate.clear()
    store.become([*many_ways(), *busy()])
    store.stale()
    clock.now_ns += 12 * 60 * 10**9
    ask_again(page)
    expect(as_of).to_contain_text("as of 08:00:00 UTC, 12 minutes ago; a newer one is being built")
    expect(grid.locator(".tree-row", has_text="busy")).to_have_count(0)
    store.gate.set()
    expect(as_of).not_to_contain_text("12 minutes ago", timeout=10_000)
    expect(page.locator("#node-panel")).to_contain_text("3 runs came here")
    expect(page.locator(".stats")).to_contain_text("130")

    assert row.bounding_box() == before
    expect(row).to_have_attribute("aria-selected", "true")
    expect(row).to_have_attribute("aria-expanded", "true")
    expect(grid).to_be_focused()
    assert page.url == address
    grid.press("Home")
    grid.press("ArrowDown")
    expect(grid.locator("[aria-selected=true]")).to_contain_text("busy")


def busy() -> list[Run]:
    """A first step that more runs take than any other: it stands above all of them."""
    return [make_run(f"busy-{n}", "tool:busy tool:reply", age_ns=HOUR_NS) for n in range(10)]


def test_a_selected_step_that_a_newer_map_does_not_have_is_told(page: Page, store: SlowStore) -> None:
    page.goto(MAP)
    page.get_by_role("treegrid").locator(".tree-row", has_text="way05").click()
    expect(page.locator("#node-panel h2")).to_contain_text("way05")
    store.become([run for run in many_ways() if not run.run_id.startswith("run-5-")])
    store.stale()
    ask_again(page)
    expect(page.locator(".notice")).to_contain_text("is not in the map of this window", timeout=10_000)
    expect(page.locator("#node-panel h2")).to_contain_text("The start")


def test_a_map_that_takes_long_says_for_how_long(page: Page, store: SlowStore) -> None:
    store.gate.clear()
    page.goto(MAP)
    status = page.get_by_role("status").filter(has_text="Building")
    expect(status).to_contain_text("It appears here by itself. 2 seconds so far.", timeout=10_000)
    store.gate.set()
    expect(page.get_by_role("treegrid")).to_be_visible(timeout=10_000)


def test_who_comes_back_finds_the_tree_as_it_was_left(page: Page) -> None:
    page.goto(MAP)
    grid = page.get_by_role("treegrid")
    grid.evaluate("grid => { grid.scrollTop = 900; }")
    row = grid.locator(".tree-row", has_text="way30")
    row.click()
    page.keyboard.press("ArrowRight")
    top = grid.evaluate("grid => grid.scrollTop")
    page.locator("#node-panel a.run-id").first.click()
    expect(page.locator(".verdict")).to_be_visible()
    page.go_back()
    expect(row).to_have_attribute("aria-expanded", "true")
    assert grid.evaluate("grid => grid.scrollTop") == top


# --- from a fork to its evidence ------------------------------------------------------------


def test_two_clicks_lead_from_a_fork_to_its_two_runs_side_by_side(on_demo: Page) -> None:
    on_demo.goto(MAP)
    on_demo.evaluate("window.clicks = 0; addEventListener('click', () => { window.clicks += 1; }, true)")
    on_demo.locator("button.finding.fork").last.click()
    panel = on_demo.locator("#node-panel")
    expect(panel.locator("h2")).to_contain_text("issue_refund")
    expect(on_demo.locator("[aria-selected=true]")).to_contain_text("issue_refund")
    panel.get_by_role("link", name="compare", exact=True).click()
    expect(on_demo.locator(".lanes")).to_be_visible()
    expect(on_demo).to_have_url(re.compile(r"/compare\?a=[^&]+&b=[^&]+$"))
    assert on_demo.evaluate("window.clicks") == 2


def test_the_runs_of_a_step_are_one_click_away(on_demo: Page) -> None:
    on_demo.goto(MAP)
    panel = on_demo.locator("#node-panel")
    panel.get_by_role("link", name="runs", exact=True).click()
    expect(on_demo).to_have_url(re.compile(r"/runs\?agent=support-agent&node=[0-9a-f]{16}$"))
    expect(on_demo.get_by_role("heading", level=1)).to_contain_text("Runs of support-agent")


@pytest.mark.parametrize("theme", THEMES)
def test_a_step_that_helps_is_shown_in_the_tree_and_leads_to_its_runs(on_demo: Page, theme: str) -> None:
    on_demo.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    on_demo.goto(MAP)
    row = on_demo.locator(".wherever table.golden tr", has_text="issue_refund")
    row.get_by_role("button", name="in the tree").press("Enter")
    expect(on_demo.locator("#node-panel h2")).to_contain_text("★ golden fork")
    selected = on_demo.get_by_role("treegrid").locator("[aria-selected=true]")
    expect(selected).to_contain_text("issue_refund")
    expect(selected.locator(".badge-golden")).to_have_text("golden fork")
    assert broken_rules(on_demo) == []
    row.get_by_role("link", name="54 of 60").click()
    expect(on_demo).to_have_url(
        re.compile(r"/runs\?agent=support-agent&outcome=completed&token=tool%3Aissue_refund$")
    )
    expect(on_demo.locator(".chips")).to_contain_text("with tool:issue_refund once in a row")
    on_demo.go_back()
    failed = on_demo.locator(".wherever tr", has_text="0 of 38")
    failed.get_by_role("link", name="0 of 38").click()
    expect(on_demo).to_have_url(re.compile(r"where=error%28tool%3Asearch_orders%29"))
    expect(on_demo.get_by_role("heading", level=1)).to_contain_text("Runs of support-agent")


# --- windows and filters --------------------------------------------------------------------


def test_windows_are_chosen_by_name_or_since_a_date(on_demo: Page) -> None:
    on_demo.goto(MAP)
    on_demo.get_by_role("link", name="7 days").click()
    expect(on_demo).to_have_url(re.compile("window=7d"))
    expect(on_demo.locator(".page-head")).to_contain_text("last 7 days · 38 completed runs")
    on_demo.locator(".dates summary").click()
    on_demo.get_by_role("textbox", name="From").fill("2026-10-17")
    on_demo.get_by_role("textbox", name="From").press("Enter")
    expect(on_demo.locator(".page-head")).to_contain_text("since 2026-10-17")
    expect(on_demo.locator(".dates")).to_have_attribute("open", "")


def test_a_filter_is_kept_in_the_address_and_restored(on_demo: Page) -> None:
    on_demo.goto(MAP)
    box = on_demo.get_by_role("searchbox", name="Filter steps by name")
    box.fill("refund")
    on_demo.get_by_label("Which steps").select_option("forks")
    expect(on_demo).to_have_url(re.compile(r"find=refund&only=forks"))
    on_demo.reload()
    expect(box).to_have_value("refund")
    expect(on_demo.locator(".tree-tools [role=status]")).to_have_text("1 step")
    box.fill("")
    expect(on_demo).not_to_have_url(re.compile("find="))


def test_an_empty_window_leads_to_one_that_is_not(on_demo: Page) -> None:
    on_demo.goto(f"{MAP}&to=2020-01-01")
    expect(on_demo.locator(".state")).to_contain_text("24 hours 8 completed runs", use_inner_text=True)
    on_demo.locator(".held").get_by_role("link", name="7 days").click()
    expect(on_demo.locator(".page-head")).to_contain_text("last 7 days · 38 completed runs")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("path", [f"{MAP}&to=2020-01-01", "/calibration?agent=support-agent&to=2020-01-01"])
def test_empty_windows_are_accessible_in_both_themes(on_demo: Page, path: str, theme: str) -> None:
    on_demo.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    on_demo.goto(path)
    expect(on_demo.locator(".held")).to_be_visible()
    assert broken_rules(on_demo) == []


@pytest.mark.parametrize("path", [MAP, "/calibration?agent=support-agent", f"{MAP}&from=2026-10-17"])
def test_nothing_scrolls_sideways_at_1024_pixels(on_demo: Page, path: str) -> None:
    on_demo.set_viewport_size({"width": 1024, "height": 768})
    on_demo.goto(path)
    expect(on_demo.locator(".page-head")).to_be_visible()
    assert on_demo.evaluate("document.documentElement.scrollWidth") == 1024
