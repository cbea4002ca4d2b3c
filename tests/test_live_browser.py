"""Runs in flight in a browser: they refresh, hold their places, go by keyboard, and are clean under axe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Locator, Page, expect

from dashboard.app import Settings, create_app
from engine.fuses import Policy
from engine.runs import SECOND_NS, Outcome, Run, Source
from tests.browser import served
from tests.memory_store import NOW_NS, MemoryStore, make_run

GOOD, BAD = "llm:m tool:search tool:refund", "llm:m tool:delete"
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
BEYOND = "all => all.map(each => each.scrollWidth - each.clientWidth)"
HOSTILE = ("<img src=x onerror=alert(1)>", "\u202eevil\u202c run", "é" * 80, "🔥 run")


def in_flight(run_id: str, path: str, age_s: int = 60, agent: str = "desk", ticket: str | None = None) -> Run:
    age_ns = age_s * SECOND_NS
    return make_run(run_id, path, Outcome.ABANDONED, agent, Source.INFERRED, age_ns, ticket)


def over() -> list[Run]:
    """Forty runs that searched, of which 36 succeeded, and forty that deleted, of which 2 did."""
    good = [Outcome.SUCCESS if place < 36 else Outcome.FAILURE for place in range(40)]
    bad = [Outcome.SUCCESS if place < 2 else Outcome.FAILURE for place in range(40)]
    ended = [(GOOD, outcome) for outcome in good] + [(BAD, outcome) for outcome in bad]
    return [make_run(f"desk-{place}", path, outcome, "desk") for place, (path, outcome) in enumerate(ended)]


DOOMED, FINE, ODD = in_flight("doomed", BAD), in_flight("fine", GOOD), in_flight("odd", "tool:new", 300)
FLYING = [DOOMED, FINE, ODD]


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore([*over(), *FLYING], clock=None)
    made.set_policies("default", [Policy(name="low", min_success_odds=0.5, action="stop")])
    return made


@pytest.fixture
def page(chromium: Browser, store: MemoryStore) -> Iterator[Page]:
    """The page of runs in flight, which fails the test on a console message."""
    with served(create_app(store, Settings(now_ns=lambda: NOW_NS)).server) as url:
        page = chromium.new_page(base_url=url, viewport={"width": 1280, "height": 800})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto("/live")
        expect(runs(page).first).to_be_visible()
        expect(page.get_by_role("row", name="Likely failure").first).to_be_visible()
        yield page
        page.close()
        assert complaints == []


def runs(page: Page) -> Locator:
    return page.locator(".live-run")


def test_what_begins_and_ends_is_seen_without_loading_the_page_again(page: Page, store: MemoryStore) -> None:
    expect(runs(page)).to_have_text(["doomed", "odd", "fine"])
    store.become([*over(), DOOMED, in_flight("second", BAD, age_s=5)])
    expect(runs(page)).to_have_text(["second", "doomed"])
    expect(page.locator(".headline")).to_contain_text("2 runs in flight: 2 likely failures.")
    store.become(over())
    expect(page.locator(".headline")).to_have_text("No run is in flight.")
    store.become([*over(), FINE])
    expect(runs(page)).to_have_text(["fine"])


@pytest.mark.parametrize("by", ["pointer", "focus"])
def test_lines_keep_their_places_until_they_are_left(page: Page, store: MemoryStore, by: str) -> None:
    note = page.locator(".live-held")
    expect(note).to_be_hidden()
    if by == "pointer":
        page.locator(".live tbody tr").nth(1).hover()
    else:
        runs(page).nth(1).focus()
    expect(note).to_be_visible()
    store.become([*over(), in_flight("new", BAD, age_s=5), FINE, ODD])
    expect(runs(page)).to_have_text(["doomed", "odd", "fine", "new"])
    expect(page.get_by_role("row", name="doomed")).to_contain_text("No longer in flight")
    if by == "pointer":
        page.locator("h1").hover()
    else:
        page.get_by_role("button", name="Pause").focus()
    expect(runs(page)).to_have_text(["new", "odd", "fine"])
    expect(note).to_be_hidden()


def test_a_refresh_leaves_the_focus_where_it_is(page: Page, store: MemoryStore) -> None:
    runs(page).nth(2).focus()
    store.become([*over(), DOOMED, in_flight("fine", f"{GOOD} llm:m"), ODD])
    expect(page.get_by_role("row", name="fine")).to_contain_text("4 steps")
    expect(runs(page).nth(2)).to_be_focused()


def test_space_and_the_button_pause(page: Page, store: MemoryStore) -> None:
    page.locator("h1").click()
    page.keyboard.press(" ")
    button = page.get_by_role("button", name="Go on")
    expect(button).to_be_visible()
    store.become(over())
    page.wait_for_timeout(3_000)
    expect(runs(page)).to_have_count(3)
    button.click()
    expect(runs(page)).to_have_count(0)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_keys_go_from_run_to_run_and_open_one(page: Page) -> None:
    for key, at in (("j", 0), ("j", 1), ("ArrowDown", 2), ("j", 2), ("k", 1), ("ArrowUp", 0)):
        page.keyboard.press(key)
        expect(runs(page).nth(at)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/run\?run=doomed$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("doomed")
    page.go_back()
    expect(runs(page)).to_have_text(["doomed", "odd", "fine"])


def test_a_line_opens_its_run_and_a_link_in_it_what_it_says(page: Page) -> None:
    page.get_by_role("row", name="odd").get_by_text("1 step").click()
    expect(page).to_have_url(re.compile(r"/run\?run=odd$"))
    page.go_back()
    page.get_by_role("link", name="fatal fork at step 2").click()
    expect(page).to_have_url(re.compile(r"/map\?agent=desk&node=[0-9a-f]{16}"))
    page.go_back()
    page.get_by_role("row", name="doomed").get_by_role("link", name="desk").click()
    expect(page).to_have_url(re.compile(r"/map\?agent=desk"))


def test_it_is_a_key_away_and_narrows_to_an_agent(page: Page, store: MemoryStore) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    store.become([*over(), *FLYING, in_flight("theirs", "tool:a", agent="other")])
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(runs(page)).to_have_count(4)
    page.get_by_label("Agent", exact=True).select_option("other")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"/live\?agent=other$"))
    expect(runs(page)).to_have_text(["theirs"])


def test_names_are_text_and_the_page_is_no_wider_than_its_window(page: Page, store: MemoryStore) -> None:
    hostile = [in_flight(name, "tool:a", 60 + place, name, name) for place, name in enumerate(HOSTILE)]
    store.become([*over(), *FLYING, *hostile])
    expect(runs(page)).to_have_count(7)
    assert runs(page).all_text_contents() == ["doomed", "odd", "fine", *HOSTILE]
    assert page.locator(".live img").count() == 0
    for width in (1024, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.locator(":is(html, .card.scroll)").evaluate_all(BEYOND) == [0, 0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, theme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=theme)
    runs(page).first.focus()
    page.evaluate(AXE_SCRIPT)
    options = {"runOnly": {"type": "tag", "values": WCAG}}
    found = page.evaluate("options => axe.run(document, options)", options)
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
