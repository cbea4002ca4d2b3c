"""The fuses with a real browser: a policy is made, tried, enforced, removed; its ledger is looked through."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from dashboard.app import Settings, create_app
from engine.fuses import Policy
from engine.keys import Role, mint
from engine.runs import Outcome
from tests.browser import served
from tests.memory_store import NOW_NS, MemoryStore, corpus, make_run
from tests.test_fuses_page import ODDS, fired

HOSTILE = "<img onerror=alert(1)>\u202e" + "n" * 120 + "🔥"


class Site:
    """A served dashboard over one store."""

    def __init__(self, url: str, store: MemoryStore) -> None:
        self.url, self.store = url, store

    def policies(self) -> tuple[Policy, ...]:
        return self.store.policies("default")


@pytest.fixture
def site() -> Iterator[Site]:
    store = MemoryStore(corpus())
    store.set_policies("default", [ODDS])
    store.add_firings("default", [fired(f"bad-{number % 24}") for number in range(60)])
    with served(create_app(store, Settings(now_ns=lambda: NOW_NS)).server) as url:
        yield Site(url, store)


@pytest.fixture
def page(chromium: Browser, site: Site) -> Iterator[Page]:
    """A page that fails the test on a console message, and on a request to another machine."""
    context = chromium.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(site.url) else complaints.append(asked.url))
    yield page
    context.close()
    assert complaints == []


def assert_accessible(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AXE_SCRIPT)
        assert page.evaluate("axe.run()")["violations"] == []


def test_a_policy_is_made_tried_and_saved(page: Page, site: Site) -> None:
    page.goto("/fuses")
    page.get_by_role("link", name="New policy").click()
    assert_accessible(page)
    page.get_by_label("Name", exact=True).fill("low odds")
    page.get_by_label("Whose runs").fill("support-agent")
    page.get_by_label("Odds of success below").fill("40")
    page.get_by_label("Earlier runs").fill("20")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("alert")).to_have_text("Nothing was saved: see what is marked.")
    name = page.get_by_label(re.compile("^Name ?A name begins with a letter"))
    expect(name).to_have_value("low odds")
    expect(page.get_by_label("Whose runs")).to_have_value("support-agent")
    assert_accessible(page)

    name.fill("low")
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_role("status")).to_contain_text("it would have stopped 24. 3 of these succeeded")
    expect(page.get_by_role("status")).to_contain_text("1 of 1 run in flight would be stopped.")
    assert site.policies() == (ODDS,)
    assert_accessible(page)

    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile(r"/fuses\?policy=low$"))
    expect(page.locator("#policy-low")).to_contain_text("Would stop runs of support-agent")
    assert site.policies() == (ODDS, replace(ODDS, name="low", agent="support-agent", min_success_odds=0.4))


def test_enforcing_and_removing_are_asked_about_once_more(page: Page, site: Site) -> None:
    page.goto("/fuses")
    odds = page.locator("#policy-odds")
    expect(odds).to_contain_text("1 of 1 run in flight would be stopped. live-1")
    odds.get_by_text("Enforce", exact=True).click()
    expect(odds).to_contain_text(
        "agents that ask are told to stop. At this moment that is 1 run. In shadow so far: 3"
    )
    assert_accessible(page)
    assert site.policies() == (ODDS,)
    odds.get_by_role("button", name="Yes, enforce it: odds").click()
    expect(odds.locator(".badge")).to_have_text("stop")
    assert site.policies() == (replace(ODDS, mode="enforce"),)

    odds.get_by_text("Remove", exact=True).click()
    odds.get_by_role("button", name="Yes, remove it: odds").click()
    expect(page.get_by_role("heading", name="Set no more")).to_be_visible()
    assert site.policies() == ()


def test_the_keyboard_is_enough(page: Page, site: Site) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="Fuses")).to_be_visible()
    page.locator("summary", has_text="Enforce").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Yes, enforce it: odds")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#policy-odds .badge")).to_have_text("stop")
    assert site.policies() == (replace(ODDS, mode="enforce"),)


def test_the_ledger_is_narrowed_and_goes_back(page: Page) -> None:
    page.goto("/fuses")
    rows = page.locator(".ledger tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("link", name="Older").click()
    expect(rows).to_have_count(10)
    page.go_back()
    expect(rows).to_have_count(50)
    page.get_by_label("Policy", exact=True).select_option("odds")
    page.get_by_label("Run", exact=True).fill("bad-3")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(3)
    expect(page.get_by_label("Policy", exact=True)).to_have_value("odds")
    rows.first.get_by_role("link", name="bad-3").click()
    expect(page).to_have_url(re.compile(r"/run\?run=bad-3$"))


def test_a_hostile_name_is_text_and_fits(page: Page, site: Site) -> None:
    site.store.set_policies("default", [ODDS, replace(ODDS, name="n" * 100, agent=HOSTILE)])
    site.store.add_firings("default", [replace(fired("bad-1"), agent=HOSTILE, next_step=f"tool:{HOSTILE}")])
    page.goto("/fuses")
    expect(page.locator(".ledger tbody tr").first).to_contain_text("<img onerror=alert(1)>")
    assert page.locator("main img").count() == 0
    for width in (390, 1024, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        root = "document.documentElement"
        assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0
    assert_accessible(page)


def test_a_menu_of_long_names_fits(page: Page, site: Site) -> None:
    site.store.become([*corpus(), make_run("run", "tool:a", Outcome.SUCCESS, "X" * 160)])
    page.goto(f"/live?agent={'X' * 160}")
    expect(page.get_by_label("Agent", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 1280


def test_who_may_only_read_is_offered_nothing_to_change(page: Page, site: Site) -> None:
    key, text = mint("default", Role.READ, "reader", 0)
    site.store.add_key(key)
    page.goto("/fuses")
    page.get_by_label("Key").fill(text)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("main")).to_contain_text("Changing policies takes an admin key.")
    expect(page.get_by_role("link", name="New policy")).to_have_count(0)
    expect(page.locator("main summary")).to_have_count(0)
    assert_accessible(page)
