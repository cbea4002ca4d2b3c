"""Signing in with a real browser: there, back, out, and what happens when a key ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Page, expect

from dashboard.app import create_app
from engine.keys import Role, mint, split
from tests.browser import served
from tests.memory_store import MemoryStore, corpus

MAP = "/map?agent=support-agent&window=all&view=tools"


class Door:
    """A served dashboard over one store, and a key to it."""

    def __init__(self, url: str, store: MemoryStore) -> None:
        self.url, self.store = url, store
        self.key = self.make(Role.READ)

    def make(self, role: Role) -> str:
        key, text = mint("acme", role, "ops", 0)
        self.store.add_key(key)
        return text

    def revoke_all(self) -> None:
        for key in self.store.keys("acme"):
            self.store.revoke_key("acme", key.key_id, 1)


@pytest.fixture
def door() -> Iterator[Door]:
    store = MemoryStore(corpus())
    with served(create_app(store).server) as url:
        yield Door(url, store)


@pytest.fixture
def context(chromium: Browser, door: Door) -> Iterator[BrowserContext]:
    context = chromium.new_context(base_url=door.url, viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def test_the_address_with_its_query_survives_the_sign_in(page: Page, door: Door) -> None:
    page.goto(MAP)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(page, door.key)
    expect(page.get_by_role("treegrid")).to_be_visible()
    assert page.url == door.url + MAP
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Strict", False)
    assert page.evaluate("document.cookie") == ""


def test_a_wrong_key_is_told_and_the_address_is_kept(page: Page, door: Door) -> None:
    page.goto(MAP)
    sign_in(page, "fmk_0a1b2c3d4e5f_guess")
    expect(page.get_by_role("alert")).to_contain_text("This key does not work")
    sign_in(page, door.key)
    expect(page.get_by_role("treegrid")).to_be_visible()
    assert page.url == door.url + MAP


def test_signing_out_ends_the_session(page: Page, door: Door) -> None:
    page.goto("/")
    sign_in(page, door.key)
    key_id, _ = split(door.key)
    expect(page.get_by_role("contentinfo")).to_contain_text(f"ops ({key_id}), read key of acme")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.context.cookies() == []
    page.goto("/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_an_open_page_whose_key_is_revoked_leads_to_the_sign_in_and_back(page: Page, door: Door) -> None:
    page.goto(MAP)
    sign_in(page, door.key)
    expect(page.get_by_role("treegrid")).to_be_visible()
    door.revoke_all()
    page.get_by_role("link", name="Calibration").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(page, door.make(Role.READ))
    expect(page).to_have_url(re.compile(r"/calibration\?agent=support-agent&window=all$"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_a_link_from_another_site_opens_signed_in(page: Page, door: Door) -> None:
    """``SameSite=Strict`` holds the cookie back at first; nobody is asked for the key again."""
    page.goto("/")
    sign_in(page, door.key)
    expect(page.get_by_role("contentinfo")).to_contain_text("ops")
    other = door.url.replace("127.0.0.1", "localhost")  # Another site, as the browser sees it.
    page.route(
        f"{other}/chat",
        lambda route: route.fulfill(content_type="text/html", body=f'<a href="{door.url}{MAP}">the map</a>'),
    )
    page.goto(f"{other}/chat")
    page.get_by_role("link", name="the map").click()
    expect(page.get_by_role("treegrid")).to_be_visible()
    assert page.url == door.url + MAP


def test_a_link_from_another_site_asks_for_the_key_of_who_is_signed_out(page: Page, door: Door) -> None:
    other = door.url.replace("127.0.0.1", "localhost")
    page.route(
        f"{other}/chat",
        lambda route: route.fulfill(content_type="text/html", body=f'<a href="{door.url}{MAP}">the map</a>'),
    )
    page.goto(f"{other}/chat")
    page.get_by_role("link", name="the map").click()
    sign_in(page, door.key)
    expect(page.get_by_role("treegrid")).to_be_visible()
    assert page.url == door.url + MAP


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sign_in_is_accessible_and_follows_the_theme(page: Page, door: Door, theme: str) -> None:
    page.goto("/signin")
    page.evaluate(f"localStorage.setItem('forkmap.theme', '{theme}')")
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto("/signin")
    expect(page.get_by_label("Key")).to_be_focused()
    assert page.locator("html").get_attribute("data-theme") == theme
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 700})
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) == 0
    assert complaints == []
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate("axe.run()")["violations"] == []


def test_nobody_signs_in_where_no_key_was_made(chromium: Browser) -> None:
    with served(create_app(MemoryStore(corpus())).server) as url:
        page = chromium.new_page(base_url=url)
        page.goto(f"/signin?next={MAP}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.url.startswith(f"{url}/map")
        expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
        page.close()
