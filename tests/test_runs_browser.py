"""The page of runs with a real browser: its form, its headings, its pages, its files, both themes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from dashboard.app import Settings, create_app
from engine.spans import Span
from engine.store.sqlite import open_store
from tests.browser import served

NOW_NS = 1_800_000_000 * 10**9
HOUR_NS = 3600 * 10**9
HOSTILE = '<img src=x onerror="console.error(1)"> \u202egnp.exe 💥'
LONG = "search_" + "n" * 153


def spans_of(number: int) -> list[Span]:
    """A run: every third fails, after a step of a long name."""
    fails, start_ns = number % 3 == 0, NOW_NS - (number + 1) * HOUR_NS
    run_id = HOSTILE if number == 0 else f"run-{number:03}"
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "desk",
        "gen_ai.agent.version": f"1.{number % 2}",
        "session.id": run_id,
        "forkmap.ticket": f"=T-{number % 5}",
        "session.outcome": "failure" if fails else "success",
    }
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": LONG if fails else "search"}
    return [
        Span(f"trace-{number}", "0", "root", start_ns, start_ns + 9 * 10**9, attributes=about),
        Span(f"trace-{number}", "1", "tool", start_ns + 1, start_ns + 10**9, "0", attributes=tool),
    ]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = open_store(tmp_path_factory.mktemp("runs") / "runs.sqlite", create=True)
    store.append("default", [span for number in range(120) for span in spans_of(number)])
    with served(create_app(store, Settings(now_ns=lambda: NOW_NS)).server) as address:
        yield address
    store.close()


@pytest.fixture
def page(chromium: Browser, url: str) -> Iterator[Page]:
    """A page that fails the test on a console message."""
    context = chromium.new_context(
        base_url=url, viewport={"width": 1280, "height": 900}, accept_downloads=True
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


STATES = (
    "/runs",
    "/runs?agent=desk",
    "/runs?agent=desk&outcome=failure&version=1.0&step=search&steps=3",
    "/runs?agent=desk&sort=-took&page=2",
    "/runs?agent=nobody",
)


@pytest.mark.parametrize("address", STATES)
def test_every_state_is_accessible_in_both_themes(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AXE_SCRIPT)
        assert page.evaluate("axe.run()")["violations"] == []


@pytest.mark.parametrize("width", [1024, 390])
@pytest.mark.parametrize("address", STATES)
def test_a_narrow_screen_does_not_scroll_sideways(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_form_filters_and_its_answer_is_an_address(page: Page, url: str) -> None:
    page.goto("/runs?agent=desk&sort=run")
    page.get_by_label("Outcome").select_option("failure")
    page.get_by_label("Version").select_option("1.0")
    page.get_by_label("Ticket").fill("=T-0")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator(".headline")).to_contain_text("4 of 120 runs: 4 failed.")
    expect(page.get_by_label("Outcome")).to_have_value("failure")
    expect(page).to_have_url(f"{url}/runs?agent=desk&sort=run&outcome=failure&version=1.0&ticket=%3DT-0")
    page.reload()
    expect(page.locator(".headline")).to_contain_text("4 of 120 runs: 4 failed.")
    page.get_by_role("link", name="Without: version 1.0").click()
    expect(page.locator(".headline")).to_contain_text("8 of 120 runs: 8 failed.")
    expect(page.get_by_label("Version")).to_have_value("")
    page.go_back()
    expect(page.locator(".headline")).to_contain_text("4 of 120 runs: 4 failed.")
    expect(page.get_by_label("Version")).to_have_value("1.0")


def test_headings_sort_by_key_and_pages_follow(page: Page) -> None:
    page.goto("/runs?agent=desk")
    heading = page.get_by_role("columnheader", name="Run", exact=True)
    heading.get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page.locator(".runs tbody th").nth(1)).to_have_text("run-001")
    page.get_by_role("navigation", name="Pages of runs").first.get_by_role("link", name="Last").click()
    expect(page.get_by_text("101–120 of 120").first).to_be_visible()
    expect(page.locator(".runs tbody tr")).to_have_count(20)


def test_g_and_r_go_to_the_runs_and_a_run_opens(page: Page, url: str) -> None:
    page.goto("/map?agent=desk")
    expect(page.get_by_role("treegrid")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_url(f"{url}/runs?agent=desk")
    page.get_by_role("link", name="run-001").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("run-001")


def test_names_from_traces_are_shown_as_text(page: Page) -> None:
    page.goto("/runs?agent=desk")
    expect(page.locator(".runs tbody th").first).to_have_text(HOSTILE)
    assert page.locator(".runs img").count() == 0


def test_the_listed_runs_are_saved_with_their_number(page: Page, tmp_path: Path) -> None:
    page.goto("/runs?agent=desk&outcome=failure")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    assert waiting.value.suggested_filename == "runs-desk-2027-01-15.csv"
    first, _, *lines = (tmp_path / waiting.value.suggested_filename).read_text().splitlines()
    assert (first, len(lines)) == ("# 40 rows", 40)
    assert all(",'=T-" in line for line in lines)
