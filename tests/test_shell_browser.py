"""What works on every page: keys, sheets, the theme, copying, and any width of window."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from dashboard.app import Settings, create_app
from tests.browser import served
from tests.memory_store import NOW_NS, MemoryStore, corpus

AGENT = "support-agent"


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    store = MemoryStore(corpus())
    with served(create_app(store, Settings(now_ns=lambda: NOW_NS)).server) as url:
        context = chromium.new_context(base_url=url, viewport={"width": 1280, "height": 900})
        yield context
        context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that fails the test on a console message."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    page.close()
    assert complaints == []


def opened(page: Page, path: str) -> Page:
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    return page


def theme_of(page: Page) -> str | None:
    return page.locator("html").get_attribute("data-theme")


def test_the_theme_goes_round_and_is_kept(page: Page) -> None:
    button = opened(page, "/").get_by_role("button", name="Theme")
    page.get_by_text("View", exact=True).click()
    expect(button).to_have_text("Theme: auto")
    seen = [theme_of(page)]
    for _ in range(2):
        button.click()
        seen.append(theme_of(page))
    assert seen == [None, "light", "dark"]
    opened(page, "/")
    page.get_by_text("View", exact=True).click()
    expect(button).to_have_text("Theme: dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(12, 17, 24)"
    button.click()
    assert theme_of(page) is None


def test_the_theme_is_there_before_anything_is_drawn(page: Page) -> None:
    opened(page, "/").evaluate("localStorage.setItem('forkmap.theme', 'dark')")
    page.add_init_script(
        """new MutationObserver((_, observer) => {
            if (!document.body) return;
            window.themeAtFirst = document.documentElement.dataset.theme;
            observer.disconnect();
        }).observe(document, { childList: true, subtree: true })"""
    )
    opened(page, "/")
    assert page.evaluate("window.themeAtFirst") == "dark"
    page.evaluate("localStorage.clear()")


def test_g_and_a_letter_change_the_page(page: Page) -> None:
    opened(page, f"/map?agent={AGENT}")
    for letter, path in (("c", "calibration"), ("m", "map"), ("a", "")):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        expect(page).to_have_url(re.compile(rf":\d+/{path}(\?|$)"))


def test_a_question_mark_lists_the_keys(page: Page) -> None:
    opened(page, "/").keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    expect(sheet).to_contain_text("filter the steps of the tree")
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    page.get_by_role("button", name="Keys").click()
    sheet.get_by_role("button", name="Close").click()
    expect(sheet).to_have_count(0)


@pytest.mark.parametrize("keys", ["Control+k", "Meta+k"])
def test_a_pasted_id_is_found_from_everywhere(page: Page, keys: str) -> None:
    opened(page, f"/map?agent={AGENT}").keyboard.press(keys)
    box = page.get_by_role("dialog", name="Find").get_by_role("combobox")
    expect(box).to_be_focused()
    box.fill(f"  {RUN}\n")
    box.press("Enter")
    expect(page).to_have_url(re.compile(rf"/run\?run={RUN}"))


RUN = corpus()[0].run_id


def test_a_slash_focuses_the_filter_or_else_the_search(page: Page) -> None:
    opened(page, f"/map?agent={AGENT}")
    expect(page.get_by_role("treegrid")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Filter steps by name")).to_be_focused()
    opened(page, "/").keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Find")).to_be_focused()


def test_keys_typed_into_a_field_are_text(page: Page) -> None:
    box = opened(page, "/").get_by_role("searchbox", name="Find")
    box.press_sequentially("g a/t?")
    expect(box).to_have_value("g a/t?")
    assert (theme_of(page), page.get_by_role("dialog").count()) == (None, 0)


def test_a_run_id_can_be_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = opened(page, f"/run?run={RUN}").locator("button[data-copy]").first
    button.click()
    expect(page.locator("#said")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == RUN
    expect(button).to_have_text("Copy")


PAGES = ["/", f"/map?agent={AGENT}", f"/run?run={RUN}", f"/calibration?agent={AGENT}", "/run?run=none"]
PAGES += ["/compare", "/compare?ticket=t-1", "/compare?a=good-1&b=bad-1"]
ENDLESS = "a" * 10_000
LONG = ["/found?q=", "/map?agent=", "/run?run=", "/", f"/map?agent={AGENT}&from="]
LONG += ["/compare?q=", "/compare?ticket=", "/compare?a=good-1&b="]


@pytest.mark.parametrize("path", [*PAGES, *(path + ENDLESS for path in LONG)], ids=lambda path: path[:40])
def test_no_page_is_wider_than_its_window(page: Page, path: str) -> None:
    opened(page, path).wait_for_load_state("networkidle")
    beyond = {}
    for width in (360, 480, 768, 1024, 1280, 1920, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        beyond[width] = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
    assert beyond == dict.fromkeys(beyond, 0)


def test_on_a_narrow_screen_the_names_of_steps_are_whole(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    names = opened(page, f"/run?run={RUN}").locator("main .step-name:visible")
    expect(names.first).to_be_visible()
    assert names.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0
