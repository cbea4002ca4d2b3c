"""Pictures of every page: theme × width × corpus, to be looked at.

``python -m benchmarks.screens FOLDER [--corpus demo] [--page map]``
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks import servers
from benchmarks.corpora import CORPORA, LARGE, TENANT
from engine.maps import BehaviourMap
from engine.queries import load_map
from engine.runs import ALL_TIME, Cohort
from engine.store import Store
from engine.store.sqlite import open_store
from tests.browser import FLAGS, find_chromium
from tests.screens import EVERY, NOWHERE

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1280, 390)
PATIENCE_MS = 60_000
SETTLING_MS = 400
"""How long charts take to be drawn once the page says that it is there."""


def addresses(corpus: str, store: Store) -> dict[str, str]:
    """The pages of a corpus, by name."""
    if corpus == "demo":
        return EVERY
    summaries = store.agents(TENANT, ALL_TIME, store.clock_ns() or 0)
    agent = LARGE if corpus == "large" else max(summaries, key=lambda each: each.completed).agent
    return of_agent(load_map(store, Cohort(TENANT, agent, ALL_TIME), store.clock_ns() or 0))


def of_agent(behaviour: BehaviourMap) -> dict[str, str]:
    """Every page of an agent, and of its first two runs."""
    agent = {"agent": behaviour.cohort.agent, "window": "all"}
    first, second = behaviour.run_ids[:2]
    found = {"agents": "/", "live": "/live", "fuses": "/fuses", "compare-choose": "/compare"}
    for name in ("map", "runs", "calibration", "rules"):
        found[name] = f"/{name}?{urlencode(agent)}"
    found["map-tools"] = f"/map?{urlencode(agent | {'view': 'tools'})}"
    found["run"] = f"/run?{urlencode({'run': first, 'window': 'all'})}"
    found["compare"] = f"/compare?{urlencode({'a': first, 'b': second})}"
    found["found"] = f"/found?{urlencode({'q': first[:4]})}"
    return found | NOWHERE


@contextmanager
def served(corpus: str) -> Iterator[tuple[str, dict[str, str]]]:
    """A server over a corpus: its address, and its pages by name."""
    with TemporaryDirectory() as folder:
        server = servers.forkmap(Path(folder))
        CORPORA[corpus](server.database)
        store = open_store(server.database)
        pages = addresses(corpus, store)
        store.close()
        with server.running():
            yield f"http://127.0.0.1:{server.port}", pages


def take(browser: Browser, base: str, pages: dict[str, str], folder: Path) -> None:
    """Every page in both themes and both widths, each as a whole."""
    for theme, width in product(THEMES, WIDTHS):
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        for name, address in pages.items():
            ready(page, f"{base}{address}")
            page.wait_for_timeout(SETTLING_MS)
            page.screenshot(path=folder / f"{name}-{theme}-{width}.png", full_page=True)
        page.close()


def ready(page: Page, address: str) -> None:
    """Go to a page and wait until nothing on it is being built."""
    page.goto(address)
    expect(page.locator("main h1, main h2").first).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".spinner")).to_have_count(0, timeout=PATIENCE_MS)
    if page.locator("#tree").count():
        expect(page.get_by_role("row").nth(1)).to_be_visible(timeout=PATIENCE_MS)
    for chart in page.locator(".dash-graph").all():
        expect(chart.locator(".main-svg").first).to_be_visible(timeout=PATIENCE_MS)


def main() -> None:
    """Take the pictures, a folder a corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", choices=CORPORA, action="append", help="only this one")
    parser.add_argument("--page", action="append", help="only pages of this name")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        for corpus in options.corpus or CORPORA:
            folder = options.folder / corpus
            folder.mkdir(parents=True, exist_ok=True)
            with served(corpus) as (base, pages):
                wanted = {name: pages[name] for name in pages if name in (options.page or pages)}
                take(browser, base, wanted, folder)
                print(f"{folder}: {len(wanted) * len(THEMES) * len(WIDTHS)} pictures")
        browser.close()


if __name__ == "__main__":
    main()
