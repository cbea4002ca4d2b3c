"""Every page in both themes: accessible, silent, asking nobody else, and not wider than its window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from dashboard.app import PAGES, create_app
from engine import demo
from engine.store.sqlite import open_store
from tests.browser import served
from tests.screens import DEMO, EVERY

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PHONE = {"/", "/run"}
"""Pages that are read on a phone."""


def test_every_page_is_in_the_list() -> None:
    assert set(DEMO) == set(PAGES)


@pytest.fixture(scope="module")
def demo_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = open_store(tmp_path_factory.mktemp("demo") / "demo.sqlite", create=True)
    demo.load(store, "default")
    with served(create_app(store).server) as url:
        yield url
    store.close()


@pytest.fixture(scope="module")
def empty_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = open_store(tmp_path_factory.mktemp("empty") / "empty.sqlite", create=True)
    with served(create_app(store).server) as url:
        yield url
    store.close()


@pytest.fixture
def watched(chromium: Browser) -> Iterator[Page]:
    """A page that fails the test on a console message or a request to anywhere else."""
    page = chromium.new_page(viewport={"width": 1360, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if is_own(asked.url) else complaints.append(asked.url))
    yield page
    page.close()
    assert complaints == []


def is_own(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "blob:"))


def ready(page: Page, address: str) -> Page:
    """Go to a page and wait until nothing on it is being built."""
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".spinner")).to_have_count(0)
    return page


def is_clean(page: Page) -> list[tuple[str, str]]:
    """What axe finds wrong: the rule, and where."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("tags => axe.run({runOnly: tags})", WCAG)
    return [(rule["id"], node["html"][:200]) for rule in found["violations"] for node in rule["nodes"]]


def beyond(page: Page, width: int) -> int:
    """Pixels that the page is wider than its window, once its charts have followed."""
    page.set_viewport_size({"width": width, "height": 900})
    for _ in range(40):
        if (wider := int(page.evaluate(WIDER))) == 0:
            break
        page.wait_for_timeout(100)
    return wider


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("address", EVERY.values(), ids=EVERY.keys())
def test_every_page_is_accessible_and_fits(
    watched: Page, demo_url: str, address: str, theme: Literal["light", "dark"]
) -> None:
    watched.emulate_media(color_scheme=theme, reduced_motion="reduce")
    ready(watched, f"{demo_url}{address}")
    widths = (1024, 390) if address.partition("?")[0] in PHONE else (1024,)
    assert (is_clean(watched), [beyond(watched, width) for width in widths]) == ([], [0] * len(widths))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_empty_store_is_accessible_too(
    watched: Page, empty_url: str, theme: Literal["light", "dark"]
) -> None:
    watched.emulate_media(color_scheme=theme, reduced_motion="reduce")
    for path in PAGES:
        assert (path, is_clean(ready(watched, f"{empty_url}{path}"))) == (path, [])
