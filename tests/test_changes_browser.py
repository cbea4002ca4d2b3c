"""The page of changes in a browser: the tree by the keyboard, and a version chosen by its form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.app import create_app
from tests.browser import served
from tests.two_versions import AGENT, make_changed


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = make_changed(tmp_path_factory.mktemp("changed") / "s.sqlite")
    with served(create_app(store).server) as url:
        yield url
    store.close()


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Page]:
    page = chromium.new_page(viewport={"width": 1360, "height": 900})
    page.goto(f"{address}/changes?agent={AGENT}")
    yield page
    page.close()


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.querySelector('.way-name')?.textContent"))


def test_two_versions_are_chosen_compared_and_walked_by_the_keyboard(page: Page) -> None:
    page.get_by_role("button", name="Compare").first.click()
    expect(page.get_by_role("heading", name="Success fell: −47.5 points")).to_be_visible(timeout=30_000)
    assert page.url.endswith(f"/changes?agent={AGENT}&old=v1&new=v2")
    first = page.locator("[data-ways] summary").first
    first.focus()
    assert focused(page) == "toola"
    page.keyboard.press("ArrowDown")
    assert focused(page) == "toolp"
    page.keyboard.press("ArrowDown")
    assert focused(page) == "toolcgone"
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-ways] details[open] details[open] > p")).to_be_visible()
    page.keyboard.press("ArrowRight")
    assert focused(page) == "toolp"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "toola"
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-ways] summary:visible")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("[data-ways] summary:visible")).to_have_count(4)
