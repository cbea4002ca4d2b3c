"""Comparing two runs with a real browser: choosing, keys, the address, both themes, a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from dashboard.app import Settings, create_app
from engine.runs import Outcome
from engine.store.sqlite import open_store
from tests.browser import served
from tests.decided import EDIT, HOUR_NS, READ, SEARCH, TEST, Told, send
from tests.memory_store import NOW_NS

FAILED = Told(Outcome.FAILURE, age_ns=2 * HOUR_NS)
PAIR = "/compare?ticket=T-7&a=good&b=bad"
BEHIND = SEARCH._replace(menu={"search": 0.8, "edit": 0.4, "test": 0.1})


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = open_store(tmp_path_factory.mktemp("compare") / "runs.sqlite", create=True)
    send(store, "good", [*[SEARCH] * 12, SEARCH, READ, EDIT, TEST])
    send(store, "bad", [*[SEARCH] * 12, BEHIND, EDIT, TEST], FAILED)
    send(store, "other", [SEARCH, READ], Told(ticket="T-8"))
    send(store, "otherwise", [SEARCH, READ._replace(args={"file": "b.py"})], FAILED._replace(ticket="T-8"))
    send(store, "bare", [SEARCH, EDIT], FAILED._replace(recorded=False, age_ns=3 * HOUR_NS))
    with served(create_app(store, Settings(now_ns=lambda: NOW_NS)).server) as address:
        yield address
    store.close()


@pytest.fixture
def page(chromium: Browser, url: str) -> Iterator[Page]:
    """A page that fails the test on a console message."""
    context = chromium.new_context(base_url=url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


def assert_accessible(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AXE_SCRIPT)
        assert page.evaluate("axe.run()")["violations"] == []


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/compare", "Compare two runs of a ticket"),
        ("/compare?ticket=T-7&a=good", "Ticket T-7"),
        (PAIR, "Two runs side by side"),
        ("/compare?a=other&b=otherwise", "Two runs side by side"),
        ("/compare?a=good&b=bare", "Two runs side by side"),
        ("/compare?a=good&b=nobody", "No such run"),
        ("/compare?a=good&b=good", "The same run twice"),
    ],
)
def test_every_state_is_accessible_in_both_themes(page: Page, address: str, shown: str) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text(shown)
    page.evaluate("document.querySelectorAll('details').forEach((closed) => (closed.open = true))")
    assert_accessible(page)


def test_from_a_ticket_to_two_of_its_runs_and_back(page: Page, url: str) -> None:
    page.goto("/")
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("link", name="T-7").click()
    page.get_by_role("link", name="Choose as A bad").click()
    page.get_by_role("link", name="Put beside A good").click()
    expect(page).to_have_url(f"{url}/compare?ticket=T-7&a=bad&b=good")
    expect(page.get_by_role("region", name="Diagnosis")).to_contain_text("At decision 14 A chose edit")
    page.get_by_role("link", name="Swap").click()
    expect(page).to_have_url(f"{url}{PAIR}")
    expect(page.get_by_role("region", name="Diagnosis")).to_contain_text("At decision 14 A chose read")
    page.reload()
    expect(page.get_by_role("region", name="Diagnosis")).to_contain_text("At decision 14 A chose read")
    page.go_back()
    expect(page.get_by_role("region", name="Diagnosis")).to_contain_text("At decision 14 A chose edit")


def test_keys_go_from_difference_to_difference(page: Page) -> None:
    page.goto(PAIR)
    expect(page.locator(".fork")).to_be_visible()
    page.keyboard.press("n")
    expect(page.locator("#row-13-13")).to_be_focused()
    page.keyboard.press("n")
    expect(page.locator(".fork")).to_be_focused()
    expect(page.locator("#said")).to_have_text("Difference 2 of 3")
    page.keyboard.press("Tab")
    expect(page.locator(".fork summary").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".fork .payload").first).to_contain_text("Goal fix the test")
    page.keyboard.press("p")
    expect(page.locator("#row-13-13")).to_be_focused()
    page.keyboard.press("p")
    expect(page.locator("#row-13-13")).to_be_focused()


def test_the_keyboard_reaches_the_page_and_names_its_keys(page: Page, url: str) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page).to_have_url(f"{url}/compare")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("go to the next difference, the previous one")


def test_the_link_to_the_fork_brings_it_into_view(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 320})
    page.goto(PAIR)
    page.get_by_role("link", name="Go to the fork, decision 14").click()
    expect(page.locator(".fork .lane-line")).to_be_in_viewport()


def test_which_run_a_lane_is_of_stays_in_view_over_the_rows(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(PAIR)
    page.get_by_role("link", name="Go to the fork, decision 14").click()
    heads, fork = page.locator(".lane-heads"), page.locator(".fork")
    expect(fork).to_be_in_viewport()
    page.evaluate("scrollBy(0, 60)")
    expect(heads).to_be_in_viewport(ratio=1)
    page.evaluate("document.querySelector('.fork').scrollIntoView()")
    head, row = heads.bounding_box(), fork.bounding_box()
    assert head and row and row["y"] >= head["y"] + head["height"]


def test_what_is_the_same_is_unfolded_by_key(page: Page) -> None:
    page.goto(PAIR)
    fold = page.locator(".lane-fold summary")
    expect(page.locator(".lane-fold li").first).to_be_hidden()
    fold.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".lane-fold li").first).to_be_visible()


def test_a_comparison_is_copied_as_markdown(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(PAIR)
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("**Menu changed.** At decision 14")


def test_two_runs_are_compared_by_their_ids(page: Page, url: str) -> None:
    page.goto("/compare")
    page.get_by_label("Run A").fill("good")
    page.get_by_label("Run B").fill("trace-bad")
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(f"{url}/compare?a=good&b=trace-bad")
    expect(page.get_by_role("region", name="Diagnosis")).to_contain_text("At decision 14 A chose read")


@pytest.mark.parametrize("address", ["/compare", "/compare?ticket=T-7", PAIR, "/compare?a=other&b=otherwise"])
def test_a_narrow_screen_shows_all_of_it_without_sideways_scrolling(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_printed_it_is_the_comparison_without_what_only_a_screen_has(page: Page) -> None:
    page.goto(PAIR)
    expect(page.locator(".fork")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    expect(page.locator(".fork .menu").first).to_be_visible()
