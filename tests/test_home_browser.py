"""The list of agents in a browser: files dropped on it, at any width, in both themes, whatever names hold."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FileChooser, Page, expect

from dashboard.app import Settings, create_app
from engine.ingest.limits import LIMITS
from engine.runs import Outcome
from engine.store import Store
from engine.store.sqlite import open_store
from tests.browser import served
from tests.memory_store import NOW_NS, MemoryStore, corpus, make_run
from tests.test_journeys import THEMES, broken_rules

HOSTILE = {
    "markup": '<img src=x onerror="alert(1)">',
    "turned": "\u202egnp.exe",
    "long": "n" * 160,
    "emoji": "\U0001f525\U0001f469\u200d\U0001f680",
}
START_NS = time.time_ns() - 60 * 10**9


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page that fails the test on a console message or a request to anywhere else."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if _own(asked.url) else complaints.append(asked.url))
    yield page
    page.close()
    assert complaints == []


def _own(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "blob:"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "forkmap.sqlite", create=True)
    yield opened
    opened.close()


@pytest.fixture
def url(store: Store) -> Iterator[str]:
    settings = Settings(limits=LIMITS._replace(max_file_bytes=200_000))
    with served(create_app(store, settings).server) as address:
        yield address


def lines(runs: int, agent: str = "desk") -> bytes:
    """Runs in Forkmap's own lines, a span each."""
    spans = [
        {
            **{"type": "span", "trace_id": f"{agent}-{n}", "span_id": "s", "name": "x"},
            **{"start": START_NS + n, "end": START_NS + n + 1},
            "attributes": {"forkmap.kind": "tool", "forkmap.name": "x", "gen_ai.agent.name": agent},
        }
        for n in range(runs)
    ]
    return "\n".join(map(json.dumps, spans)).encode()


def drop(page: Page, files: dict[str, bytes]) -> None:
    """Drag files over the page and let them go."""
    page.evaluate(
        """files => {
            const dataTransfer = new DataTransfer();
            for (const [name, text] of Object.entries(files)) dataTransfer.items.add(new File([text], name));
            for (const type of ["dragover", "drop"])
                document.body.dispatchEvent(
                    new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        {name: body.decode() for name, body in files.items()},
    )


def test_files_dropped_on_an_empty_store_are_imported_and_shown(url: str, page: Page) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_have_text("No runs yet")
    page.evaluate("document.querySelector('#page').dataset.seen = 'once'")
    bad = lines(2, "second") + b"\n{oops"
    drop(page, {"one.jsonl": lines(3, "first"), "two.jsonl": bad, "holiday.txt": b"hello"})
    tray = page.get_by_role("region", name="Import: 3 of 3 files done")
    files = tray.locator("> ul > li")
    expect(files.nth(0)).to_contain_text("3 imported, 0 unchanged, 0 refused; 3 runs.")
    expect(files.nth(1)).to_contain_text("2 imported, 0 unchanged, 1 refused; 2 runs.")
    expect(files.nth(1)).to_contain_text("line 3")
    expect(files.nth(2)).to_contain_text("no format fits")
    expect(page.get_by_role("heading", level=1)).to_have_text("Agents")
    expect(page.get_by_role("link", name="first", exact=True)).to_be_visible()
    assert page.locator("#page").get_attribute("data-seen") == "once"
    assert broken_rules(page) == []
    tray.get_by_role("button", name="Close").click()
    expect(page.locator(".tray")).to_have_count(0)
    expect(page.get_by_role("button", name="Import trace files…")).to_be_focused()


def test_files_are_chosen_by_key_too(url: str, page: Page, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines(4))
    page.goto(url)
    button = page.get_by_role("button", name="Choose files…")
    button.focus()
    with page.expect_file_chooser() as chosen:
        page.keyboard.press("Enter")
    chooser: FileChooser = chosen.value
    assert chooser.is_multiple()
    chooser.set_files(path)
    expect(page.locator(".tray")).to_contain_text("4 imported")
    expect(page.locator("#tray-said")).to_contain_text("runs.jsonl: 4 imported")


def test_what_is_too_long_or_empty_is_not_even_sent(url: str, page: Page) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    sent: list[str] = []
    page.on("request", lambda asked: sent.append(asked.url) if "/import" in asked.url else None)
    drop(page, {"long.jsonl": b"x" * 200_001, "empty.jsonl": b""})
    files = page.locator(".tray > ul > li")
    expect(files.nth(0)).to_contain_text("It holds more than 200 kB: import it with the command")
    expect(files.nth(1)).to_contain_text("The file is empty, or a folder")
    assert sent == []


def test_a_folder_that_is_dropped_is_told_and_not_sent(url: str, page: Page, tmp_path: Path) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    (tmp_path / "traces").mkdir()
    dropping = page.context.new_cdp_session(page)
    what = {"items": [], "files": [str(tmp_path / "traces")], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        dropping.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": what})
    expect(page.locator(".tray > ul > li")).to_contain_text("The file is empty, or a folder")


def test_a_file_over_the_page_shows_where_it_may_be_dropped(url: str, page: Page) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    over = """type => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["x"], "x"));
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
        return document.documentElement.className;
    }"""
    assert [page.evaluate(over, type) for type in ("dragover", "dragleave")] == ["dropping", ""]


def test_the_commands_of_an_empty_store_can_be_copied(url: str, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(url)
    copy = page.locator(".ways button.copy").first
    copy.click()
    expect(copy).to_have_text("Copied")
    text = page.evaluate("navigator.clipboard.readText()")
    assert f"export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={url}/v1/traces" in text


@pytest.mark.parametrize("theme", THEMES)
def test_how_to_begin_is_accessible_in_both_themes(url: str, page: Page, theme: Any) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert broken_rules(page) == []


# --- agents of all kinds -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded() -> Iterator[str]:
    """An agent that loses runs, and some with names that do harm where they are not text."""
    runs = [
        make_run(f"{kind}-{n}", "tool:a", Outcome.SUCCESS if n % 3 else Outcome.FAILURE, agent=name)
        for kind, name in HOSTILE.items()
        for n in range(5)
    ]
    store = MemoryStore([*corpus(), *runs])
    with served(create_app(store, Settings(now_ns=lambda: NOW_NS)).server) as address:
        yield address


def settled(page: Page, url: str) -> Page:
    page.goto(url)
    expect(page.locator(".headline")).to_contain_text("support-agent loses most")
    return page


def test_names_are_text(page: Page, crowded: str) -> None:
    names = settled(page, crowded).locator(".agent-name")
    assert {*names.all_inner_texts()} == {"support-agent", *HOSTILE.values()}
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize("width", [390, 760, 1024, 1280, 1920])
def test_every_figure_is_on_the_screen_at_any_width(page: Page, crowded: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    settled(page, crowded)
    beyond = page.locator(".agents td > *").evaluate_all(
        "all => all.filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth)"
        ".map(one => one.outerHTML)"
    )
    assert beyond == []
    cut = page.locator(".agents td").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML)"
    )
    assert cut == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [390, 1280])
def test_the_list_is_accessible_in_both_themes(page: Page, crowded: str, theme: Any, width: int) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 800})
    settled(page, crowded)
    assert broken_rules(page) == []


def test_the_runs_lost_lead_to_the_fork_and_the_days_to_the_runs(page: Page, crowded: str) -> None:
    settled(page, crowded).get_by_role("link", name=re.compile("≈ 17")).click()
    expect(page.get_by_role("row", selected=True)).to_contain_text("search_orders")
    page.go_back()
    row = page.get_by_role("row").filter(has_text="support-agent")
    row.get_by_role("img", name=re.compile("Runs by day")).click()
    expect(page).to_have_url(re.compile(r"/runs\?agent=support-agent$"))
