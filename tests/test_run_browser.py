"""The page of one run in a browser: it follows a live run and keeps one's place; keys, axe, a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from dashboard.app import Settings, create_app
from dashboard.pages import run as run_page
from engine.fuses import Policy
from engine.runs import SECOND_NS, Outcome, Run, Source
from tests.browser import served
from tests.memory_store import NOW_NS, MemoryStore, corpus, make_run

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HOSTILE = "\u202e<img/src=x/onerror=alert(1)>🔥" + "é" * 60
ODDS = Policy(name="odds", min_success_odds=0.5, action="stop", foresight_min_support=10)
WATCH = Policy(name="watch", min_success_odds=0.1, action="warn", mode="shadow")


def in_flight(path: str) -> Run:
    return make_run("flying", path, source=Source.INFERRED, age_ns=60 * SECOND_NS, ticket="t-1")


def odd() -> Run:
    """A run whose every name is hostile, and whose last step failed."""
    run = make_run(
        HOSTILE, f"llm:gpt tool:{HOSTILE} " + "tool:x tool:y " * 20, Outcome.FAILURE, ticket=HOSTILE
    )
    return replace(run, version=HOSTILE, steps=(*run.steps[:-1], replace(run.steps[-1], error=True)))


OTHERS = [*corpus(), odd(), make_run("twin", "llm:gpt", ticket=HOSTILE)]
START = "llm:gpt tool:search_orders"


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore([*OTHERS, in_flight(START)], clock=None)
    made.set_policies("default", [ODDS, WATCH])
    return made


@pytest.fixture
def page(chromium: Browser, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page that fails the test on a console message or a request to anywhere else."""
    monkeypatch.setattr(run_page, "REFRESH_S", 0.3)
    server = create_app(store, Settings(now_ns=lambda: NOW_NS)).server
    server.test_client().get("/")
    with served(server) as url:
        page = chromium.new_page(base_url=url, viewport={"width": 1280, "height": 700})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: None if own(asked.url, url) else complaints.append(asked.url))
        yield page
        page.close()
        assert complaints == []


def own(address: str, server: str) -> bool:
    return address.startswith((server, "data:", "blob:"))


def opened(page: Page, path: str) -> Page:
    page.goto(path)
    expect(page.locator(".verdict")).to_be_visible()
    expect(page.locator(".js-plotly-plot .point").first).to_be_visible()
    return page


def test_a_live_run_is_followed_until_it_is_over(page: Page, store: MemoryStore) -> None:
    opened(page, "/run?run=flying")
    expect(page.locator(".strip li")).to_have_count(3)
    expect(page.locator(".verdict h2")).to_have_text("On track")
    store.become([*OTHERS, in_flight(START + " tool:search_orders tool:search_orders")])
    expect(page.locator(".verdict h2")).to_have_text("Likely failure")
    expect(page.locator(".fuses-say")).to_contain_text("A check before its next call answers stop.")
    expect(page.locator(".strip")).to_contain_text("×3-5")
    store.become([*OTHERS, replace(in_flight(START), outcome=Outcome.SUCCESS, source=Source.DECLARED)])
    expect(page.locator(".page-head .pill")).to_have_text("success")
    expect(page.locator(".verdict h2")).to_contain_text("By other runs")


def test_following_a_run_keeps_place_focus_text_and_what_is_open(page: Page, store: MemoryStore) -> None:
    opened(page, "/run?run=flying")
    page.locator(".spans > summary").click()
    page.locator(".span > summary").first.click()
    box = page.get_by_label("If it went on with")
    box.fill("tool:half_typ")
    page.evaluate("window.scrollTo(0, 400)")
    box.click()
    box.evaluate("each => each.setSelectionRange(2, 6)")
    at = box.evaluate("each => each.getBoundingClientRect().top")
    store.become([*OTHERS, in_flight(START + " llm:gpt tool:issue_refund")])
    expect(page.locator(".strip li")).to_have_count(5)
    expect(box).to_be_focused()
    expect(box).to_have_value("tool:half_typ")
    assert box.evaluate("each => [each.selectionStart, each.selectionEnd]") == [2, 6]
    assert abs(box.evaluate("each => each.getBoundingClientRect().top") - at) < 2
    expect(page.locator(".spans")).to_have_attribute("open", "")
    expect(page.locator(".span").first).to_have_attribute("open", "")


def test_the_path_and_the_ticket_lead_on_by_keyboard(page: Page) -> None:
    opened(page, "/run?run=bad-1")
    page.locator(".strip a").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#node-panel h2")).to_contain_text("search_orders")
    page.go_back()
    page.get_by_role("link", name="Compare with good-1", exact=True).press("Enter")
    expect(page).to_have_url(re.compile(r"/compare\?ticket=t-1&a=bad-1&b=good-1$"))
    page.go_back()
    page.get_by_role("link", name="odds").press("Enter")
    expect(page).to_have_url(re.compile(r"/fuses\?policy=odds$"))


def test_a_pasted_address_leads_to_its_run_and_an_unknown_id_to_its_nearest(page: Page) -> None:
    opened(page, "/run?run=bad-1")
    search = page.get_by_role("searchbox", name="Find")
    search.fill("see (https://tool.example/traces/trace-good-7?tab=1)")
    search.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("good-7")
    page.goto("/run?run=god-7")
    expect(page.get_by_role("heading", name="Nearest matches")).to_be_visible()
    page.get_by_role("link", name="good-7").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("good-7")


PATHS = {
    "live": "/run?run=flying&next=llm%3Agpt",
    "over": "/run?run=bad-1",
    "hostile": f"/run?run={HOSTILE}",
    "several": "/run?run=t-1",
    "unknown": "/run?run=nobody-1",
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_it_is_accessible_and_fits_every_window(
    page: Page, path: str, theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".spinner")).to_have_count(0)
    page.wait_for_timeout(500)
    page.evaluate("document.querySelectorAll('main details').forEach(each => (each.open = true))")
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("tags => axe.run({runOnly: tags})", WCAG)
    assert [(rule["id"], node["html"][:200]) for rule in found["violations"] for node in rule["nodes"]] == []
    for width in (390, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert (
            page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        )
