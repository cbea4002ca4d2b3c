"""The palette, by keyboard; what a person sets; links that stay; and a server that goes away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from dashboard.app import Settings, create_app
from engine.runs import Outcome
from tests.browser import served
from tests.memory_store import NOW_NS, MemoryStore, corpus, make_run

AGENT = "support-agent"
HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.exe"


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    store = MemoryStore([*corpus(), make_run("odd-1", "tool:a", Outcome.SUCCESS, agent=HOSTILE)])
    with served(create_app(store, Settings(now_ns=lambda: NOW_NS)).server) as url:
        context = chromium.new_context(
            base_url=url, viewport={"width": 1280, "height": 900}, timezone_id="Asia/Kolkata"
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield context
        context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that fails the test on a console message, or a request to anywhere else."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if "//127.0.0.1:" in asked.url else complaints.append(asked.url))
    yield page
    page.evaluate("localStorage.clear()")
    page.close()
    assert complaints == []


def opened(page: Page, path: str) -> Page:
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    return page


def palette(page: Page) -> Page:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Find").get_by_role("combobox")).to_be_focused()
    return page


def offered(page: Page) -> list[str]:
    return page.locator("dialog").get_by_role("option").all_inner_texts()


# --- the palette --------------------------------------------------------------------------------


def test_before_anything_is_typed_it_offers_pages_and_actions(page: Page) -> None:
    told = [line.split("\n")[0] for line in offered(palette(opened(page, "/")))]
    assert told[:2] == ["Agents", "Runs"]
    assert told[-2:] == ["Print this page", "List the keys"]


@pytest.mark.parametrize(
    ("typed", "name", "leads_to"),
    [
        ("supp", "support-agent\nagent", rf"/map\?agent={AGENT}"),
        ("good-1", "good-1\nrun", r"/run\?run=good-1"),
        ("calib", "Calibration\ng\nc", r"/calibration"),
    ],
)
def test_a_line_is_followed_by_keyboard(page: Page, typed: str, name: str, leads_to: str) -> None:
    palette(opened(page, f"/map?agent={AGENT}")).keyboard.type(typed)
    first = page.locator("dialog").get_by_role("option").first
    expect(first).to_have_text(name.replace("\n", ""))
    page.keyboard.press("ArrowDown")
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(leads_to))
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_lines_go_round(page: Page) -> None:
    palette(opened(page, "/")).keyboard.press("ArrowUp")
    lines = page.locator("dialog").get_by_role("option")
    expect(lines.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(lines.first).to_have_attribute("aria-selected", "true")
    box = page.get_by_role("combobox")
    expect(box).to_have_attribute("aria-activedescendant", "palette-0")


def test_a_pasted_text_goes_where_it_leads(page: Page) -> None:
    palette(opened(page, "/")).keyboard.insert_text("  'good-2', ")
    expect(page.locator("dialog").get_by_role("option").first).to_contain_text("good-2")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/run\?run=good-2"))


def test_what_is_called_oddly_is_text(page: Page) -> None:
    palette(opened(page, "/")).keyboard.type("<img")
    expect(page.locator("dialog").get_by_role("option").first).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator(".palette-list img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_palette_is_accessible(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    palette(opened(page, "/")).keyboard.type("good")
    expect(page.locator("dialog").get_by_role("option").first).to_contain_text("good")
    page.keyboard.press("ArrowDown")
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run()")
    assert [each["id"] for each in found["violations"]] == []


# --- what a person sets ---------------------------------------------------------------------------


def test_times_are_told_in_utc_or_local_time(page: Page) -> None:
    time = opened(page, "/").locator("footer time")
    expect(time).to_have_text("2027-01-15 08:00:00 UTC")
    time.hover()
    expect(time).to_have_attribute("title", "2027-01-15 08:00:00 UTC · 2027-01-15 13:30:00 UTC+5:30")
    page.get_by_role("button", name="UTC", exact=True).click()
    expect(time).to_have_text("2027-01-15 13:30:00 UTC+5:30")
    page.get_by_role("link", name="Fuses").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fuses")
    expect(time).to_have_text("2027-01-15 13:30:00 UTC+5:30")
    opened(page, "/")
    expect(time).to_have_text("2027-01-15 13:30:00 UTC+5:30")
    page.keyboard.press("u")
    expect(time).to_have_text("2027-01-15 08:00:00 UTC")


def test_rows_are_dense_where_that_is_wanted(page: Page) -> None:
    row = opened(page, "/").locator("tbody tr").first
    high = row.bounding_box()
    page.keyboard.press("v")
    low = row.bounding_box()
    assert high and low and low["height"] < high["height"]
    opened(page, "/")
    assert row.bounding_box() == low


def test_the_menu_closes_as_menus_do(page: Page) -> None:
    menu = opened(page, "/").locator(".view")
    ways: tuple[Callable[[], None], ...] = (
        lambda: page.keyboard.press("Escape"),
        lambda: page.locator("h1").click(),
    )
    for leave in ways:
        menu.locator("summary").click()
        expect(menu).to_have_attribute("open", "")
        leave()
        expect(menu).not_to_have_attribute("open", "")


# --- links ------------------------------------------------------------------------------------------


def test_a_copied_link_stays_where_the_window_is_now(page: Page) -> None:
    opened(page, f"/map?agent={AGENT}&window=7d")
    expect(page.get_by_role("treegrid")).to_be_visible()
    page.locator("button.finding").first.click()
    expect(page).to_have_url(re.compile("node="))
    node = page.url.split("node=")[1]
    page.keyboard.press("y")
    expect(page.locator("#told")).to_have_text("Copied: a link to this page as it is now")
    link = page.evaluate("navigator.clipboard.readText()")
    expected = f"/map?agent={AGENT}&from=2027-01-08T08%3A00%3A00Z&to=2027-01-15T08%3A00%3A00Z&node={node}"
    assert link.endswith(expected)
    opened(page, link)
    expect(page.get_by_role("treegrid")).to_be_visible()


# --- a server that goes away --------------------------------------------------------------------------


def test_a_server_that_is_gone_is_told_of_until_it_is_back(context: BrowserContext) -> None:
    page = opened(context.new_page(), "/")

    def gone(route: Route) -> None:
        route.abort()

    for path in ("**/_dash-update-component*", "**/healthz"):
        page.route(path, gone)
    page.get_by_role("link", name="Fuses").click()
    banner = page.get_by_role("alert")
    expect(banner).to_have_text("Not connected to Forkmap; trying again…")
    page.unroute_all()
    expect(banner).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Fuses")
    page.close()


def test_what_the_server_refuses_is_told_with_a_way_out(context: BrowserContext) -> None:
    page = opened(context.new_page(), "/")
    page.route(
        "**/_dash-update-component*",
        lambda route: route.fulfill(status=403, content_type="text/plain", body="This takes another key."),
    )
    page.get_by_role("link", name="Fuses").click()
    expect(page.get_by_role("alert")).to_have_text("This takes another key. Load this page again")
    page.unroute_all()
    page.get_by_role("link", name="Load this page again").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fuses")
    page.close()
