"""Saying how runs ended with a real browser: by hand, with undo, and by rules tried before saved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from dashboard.app import create_app
from engine.keys import Role, mint
from engine.runs import Run, Source
from tests.browser import served
from tests.memory_store import MemoryStore, corpus

RUN, RULES = "/run?run=good-1", "/rules?agent=support-agent"


class Site:
    """A served dashboard over one store."""

    def __init__(self, url: str, store: MemoryStore) -> None:
        self.url, self.store = url, store


def undeclared(run: Run) -> Run:
    """The run as nobody had said how it ended."""
    return replace(run, source=Source.INFERRED, inferred=run.outcome)


@pytest.fixture
def site() -> Iterator[Site]:
    store = MemoryStore(map(undeclared, corpus()))
    with served(create_app(store).server) as url:
        yield Site(url, store)


@pytest.fixture
def page(chromium: Browser, site: Site) -> Iterator[Page]:
    context = chromium.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def assert_accessible(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AXE_SCRIPT)
        assert page.evaluate("axe.run()")["violations"] == []


def test_an_outcome_is_said_by_hand_and_undone(page: Page) -> None:
    page.goto(RUN)
    card = page.locator(".outcome")
    expect(card).to_contain_text("Nobody has said so: it is inferred")
    assert_accessible(page)

    card.get_by_role("button", name="Failure").click()
    expect(card).to_contain_text("Declared by hand")
    expect(card.locator(".pill").first).to_have_text("failure")
    expect(card).not_to_contain_text("The map still counts this run")
    expect(page.locator(".verdict")).to_contain_text("other runs on this path")
    assert_accessible(page)

    card.get_by_role("button", name="Undo failure").click()
    expect(card).to_contain_text("Nobody has said so")
    expect(card.get_by_role("button", name="Undo")).to_have_count(0)


def test_the_keyboard_is_enough_to_say_it(page: Page) -> None:
    page.goto(RUN)
    button = page.get_by_role("button", name="Abandoned")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".outcome")).to_contain_text("Declared by hand")
    page.get_by_role("button", name="Undo abandoned").focus()
    page.keyboard.press("Space")
    expect(page.locator(".outcome")).to_contain_text("Nobody has said so")


def test_rules_are_tried_and_then_saved_and_the_map_follows(page: Page, site: Site) -> None:
    page.goto("/map?agent=support-agent")
    expect(page.locator(".headline")).to_contain_text("Outcomes: 60 inferred.")
    page.get_by_role("link", name="Write rules for outcomes").click()
    expect(page).to_have_url(f"{site.url}{RULES}")
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    assert_accessible(page)

    page.get_by_label("One rule a line").fill("search_orders x3 -> failure\nissue_refund > $ -> success")
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_role("status")).to_contain_text(
        "Of 61 runs that nobody declared an outcome of, 9 would"
    )
    assert site.store.rules("default", "support-agent") == ()
    assert_accessible(page)

    page.get_by_role("button", name="Save 2 rules").click()
    expect(page.locator(".page-head")).to_contain_text("2 rules")
    page.goto("/map?agent=support-agent")
    expect(page.locator(".headline")).to_contain_text("Outcomes: 60 by rule.")


def test_what_cannot_be_read_is_told_by_line_and_the_text_is_kept(page: Page) -> None:
    page.goto(RULES)
    page.get_by_label("One rule a line").fill("a -> success\nb > -> failure")
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_role("alert")).to_contain_text("line 2, column 4: a step is missing")
    expect(page.get_by_label("One rule a line")).to_have_value("a -> success\nb > -> failure")
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    assert_accessible(page)


def test_who_may_only_read_sees_no_button_and_may_try(page: Page, site: Site) -> None:
    key, text = mint("default", Role.READ, "reader", 0)
    site.store.add_key(key)
    page.goto(RUN)
    page.get_by_label("Key").fill(text)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".outcome")).to_contain_text("Nobody has said so")
    expect(page.locator(".outcome").get_by_role("button")).to_have_count(0)
    page.goto(f"{RULES}&rules=*+->+failure")
    expect(page.get_by_role("status")).to_contain_text("Saving them takes an admin key.")
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
