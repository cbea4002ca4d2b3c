"""A page that asks again: only what differs is drawn, and the place that a person is at is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from dash import Dash, dcc, html
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from dashboard import app as dashboard_app
from dashboard import service as given
from dashboard.app import Settings, create_app
from dashboard.urls import Look
from tests.browser import served
from tests.memory_store import NOW_NS, MemoryStore, corpus

ROWS = 60
REFRESH_S = 0.2


@dataclass
class Growing:
    """A page that says how often it was asked, and gains a row on top with each ``rows``."""

    rows: int = ROWS
    asked: int = 0
    waits: bool = False
    seen: list[str] = field(default_factory=list)

    def layout(self, service: given.Service, look: Look) -> given.Page:
        """The page as it is now."""
        self.asked += 1
        head: list[Any] = [html.H1("Growing"), html.P(f"asked {self.asked} times", className="asked")]
        lines = [html.Li(self._row(number)) for number in range(self.rows, 0, -1)]
        box = dcc.Input(id="next-step", name="next", type="text")
        body = html.Div([*head, html.Ul(lines), html.Label(["Note", box]), dcc.Link("Runs", href="/nowhere")])
        return given.Page("Growing", body, self.waits, str(self.asked), refresh_s=REFRESH_S)

    def _row(self, number: int) -> html.Details:
        return html.Details(
            [html.Summary(f"row {chr(96 + number % 26)} {number}"), html.Pre(f"inside {number}")]
        )

    def register(self, app: Dash, service: given.Service) -> None:
        """No callbacks."""


@pytest.fixture
def growing() -> Iterator[Growing]:
    page = Growing()
    dashboard_app.PAGES["/growing"] = page
    yield page
    del dashboard_app.PAGES["/growing"]


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    store = MemoryStore(corpus())
    with served(create_app(store, Settings(now_ns=lambda: NOW_NS)).server) as url:
        context = chromium.new_context(base_url=url, viewport={"width": 1100, "height": 600})
        yield context
        context.close()


@pytest.fixture
def page(context: BrowserContext, growing: Growing) -> Iterator[Page]:
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto("/growing")
    expect(page.locator(".asked")).to_be_visible()
    yield page
    page.close()
    assert complaints == []


def again(page: Page, growing: Growing, rows: int = 0) -> None:
    """Let the page gain rows, and wait until it was drawn again, and settled."""
    growing.rows += rows
    expect(page.locator("main li")).to_have_count(growing.rows)
    told = growing.asked + 2
    while int(page.locator(".asked").inner_text().split()[1]) < told:
        page.wait_for_timeout(50)


def test_a_page_that_another_version_answers_is_loaded_again(page: Page) -> None:
    """Its scripts may not know what such an answer is made of."""

    def upgraded(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=re.sub(r"all\.js\?m=\w+", "all.js?m=newer", answer.text()))

    with page.expect_event("load", timeout=5_000):
        page.route("**/_dash-update-component*", upgraded, times=1)
    expect(page.locator(".asked")).to_be_visible()


def test_what_stays_the_same_is_not_drawn_again(page: Page, growing: Growing) -> None:
    page.evaluate("document.querySelectorAll('main li, main h1, .asked').forEach(each => (each.kept = true))")
    again(page, growing)
    assert page.locator("main li, main h1, .asked").evaluate_all("all => all.every(each => each.kept)")


@pytest.mark.parametrize("rows", [0, 3], ids=["as many rows", "more rows"])
def test_a_redraw_keeps_the_place(page: Page, growing: Growing, rows: int) -> None:
    row = page.locator("details", has_text="row d 30")
    row.locator("summary").click()
    row.locator("summary").focus()
    page.get_by_label("Note").evaluate("box => box.scrollIntoView({block: 'center'})")
    row.evaluate("row => row.scrollIntoView({block: 'center'})")
    before = row.bounding_box()
    again(page, growing, rows)
    assert (row.get_attribute("open"), page.locator("details[open]").count()) == ("", 1)
    assert row.bounding_box() == before
    assert row.locator("summary").evaluate("summary => summary === document.activeElement")


def test_what_is_typed_and_selected_stays(page: Page, growing: Growing) -> None:
    box = page.get_by_label("Note")
    box.press_sequentially("half a w")
    page.keyboard.press("ArrowLeft")
    again(page, growing, 1)
    page.keyboard.type("ord and ")
    expect(box).to_have_value("half a ord and w")
    page.locator("summary", has_text="row j 10").evaluate(
        "summary => getSelection().setBaseAndExtent(summary.firstChild, 0, summary.firstChild, 5)"
    )
    again(page, growing, 1)
    assert page.evaluate("getSelection().toString()") == "row j"


def test_what_is_under_the_cursor_stays_there(page: Page, growing: Growing) -> None:
    page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
    row = page.locator("summary", has_text="row b 54")
    row.hover()
    before = row.bounding_box()
    again(page, growing, 4)
    assert row.bounding_box() == before


def test_a_hidden_page_is_not_asked_for(page: Page, growing: Growing) -> None:
    hide = "state => Object.defineProperty(document, 'hidden', {value: state, configurable: true})"
    page.evaluate(hide, True)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(3 * 1000 * REFRESH_S)
    asked = growing.asked
    page.wait_for_timeout(4 * 1000 * REFRESH_S)
    assert growing.asked == asked
    page.evaluate(hide, False)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    again(page, growing)


def test_another_page_is_drawn_as_a_whole_and_asks_no_more(page: Page, growing: Growing) -> None:
    page.get_by_role("link", name="Runs", exact=True).last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No such page")
    page.wait_for_timeout(3 * 1000 * REFRESH_S)
    asked = growing.asked
    page.wait_for_timeout(4 * 1000 * REFRESH_S)
    assert growing.asked == asked
