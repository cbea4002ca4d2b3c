"""What a person waits for, in Chromium, beside what was asked for: ``python -m benchmarks.browser``.

A server over a store of its own, whose map is built before anybody looks. What is called cold is a
browser that has seen nothing yet; an act is timed from the key or the click to the frame that shows
what it did.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from playwright.sync_api import Browser, Page, Request, Response, expect, sync_playwright

from benchmarks import servers
from benchmarks.corpora import CORPORA, LARGE
from benchmarks.timing import print_table
from tests.browser import FLAGS, find_chromium

LARGE_MAP = f"/map?agent={LARGE}"
DEMO_MAP = "/map?agent=support-agent"
DEMO_PAGES = (
    *("/", DEMO_MAP, "/runs?agent=support-agent", "/live", "/run?run=live-doomed-0", "/fuses"),
    *(
        "/calibration?agent=support-agent",
        "/compare?a=repo-menu-2&b=repo-menu-3",
        "/rules?agent=support-agent",
    ),
)
CALLBACK = "_dash-update-component"
PATIENCE_MS = 120_000
QUIET_MS = 600
"""How long a page is left alone before it is asked for something."""

WATCH = """() => {
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    CanvasRenderingContext2D.prototype.clearRect = function (...where) {
        window.drawnAt = performance.now();
        return clear.apply(this, where);
    };
    /* After the next frame is painted. */
    const painted = (then) => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = then;
        channel.port2.postMessage(0);
    });
    const rows = () => document.querySelector('[role=treegrid]')?.getAttribute('aria-rowcount');
    const chosen = '[role=row][aria-selected=true]';
    const selected = () => document.querySelector(chosen)?.getAttribute('aria-rowindex');
    const saw = {
        rows: (before) => rows() !== before.rows,
        selected: (before, begun) => selected() !== before.selected && window.drawnAt > begun,
    };
    window.untilFirst = () => new Promise((done) => {
        const look = () => document.querySelector('.tree-row') && window.drawnAt
            ? painted(() => done(performance.now())) : requestAnimationFrame(look);
        look();
    });
    window.untilSeen = (kind, what) => void (window.seen = new Promise((done) => {
        document.addEventListener(kind, (event) => {
            const before = { rows: rows(), selected: selected() };
            const begun = event.timeStamp;
            const look = () => saw[what](before, begun) ? painted(() => done(performance.now() - begun))
                : performance.now() - begun > 3000 ? done(null) : requestAnimationFrame(look);
            look();
        }, { capture: true, once: true });
    }));
}"""
"""Tells when rows of the tree and the overview were painted, by the clock of the page."""


class Figure(NamedTuple):
    """What was measured, the most that was asked for, and both in which unit."""

    name: str
    value: float
    bound: float
    unit: str = "ms"

    def row(self) -> tuple[str, str, str, str]:
        """A line of the table."""
        kept = "yes" if self.value <= self.bound else "no"
        return self.name, f"{self.value:,.0f} {self.unit}", f"≤ {self.bound:,.0f} {self.unit}", kept


@contextmanager
def served(corpus: str) -> Iterator[str]:
    """A server over a corpus; its address."""
    with TemporaryDirectory() as folder:
        server = servers.forkmap(Path(folder))
        CORPORA[corpus](server.database)
        with server.running():
            yield f"http://127.0.0.1:{server.port}"


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """A page in a browser that has seen nothing; whoever asks waits for the map."""
    page = browser.new_page(viewport={"width": 1360, "height": 900})
    page.set_default_timeout(PATIENCE_MS)
    page.add_init_script(f"({WATCH})()")
    page.goto(address, wait_until="commit")
    yield page
    page.close()


def first_paint_ms(browser: Browser, address: str, rounds: int) -> float:
    """From the beginning of a navigation to painted rows and overview; the median of some rounds."""
    taken = []
    for _ in range(rounds + 1):
        with opened(browser, address) as page:
            taken.append(float(page.evaluate("untilFirst()")))
    return statistics.median(taken[1:])


def act_ms(page: Page, kind: str, what: str, acts: Sequence[Callable[[], None]]) -> float:
    """From the event to the frame that shows what it did; the median of those that did something."""
    taken = []
    for act in acts:
        page.evaluate("([kind, what]) => untilSeen(kind, what)", [kind, what])
        act()
        seen = page.evaluate("window.seen")
        taken += [] if seen is None else [float(seen)]
        page.wait_for_timeout(120)
    return statistics.median(taken)


def acts(page: Page, rounds: int) -> tuple[float, float, float]:
    """Median milliseconds to open a step, to go to the next one, and to select one in the overview."""
    page.wait_for_timeout(QUIET_MS)
    page.locator(".tree-row").nth(1).click()

    def press(key: str) -> Callable[[], None]:
        return lambda: page.keyboard.press(key)

    arrow = act_ms(page, "keydown", "selected", [press("ArrowDown")] * rounds)
    page.keyboard.press("Home")
    opening = act_ms(page, "keydown", "rows", [press("ArrowLeft"), press("ArrowRight")] * rounds)
    canvas = page.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    chance = np.random.default_rng(3)

    def click(x: float, y: float) -> Callable[[], None]:
        return lambda: page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])

    points = [click(*chance.uniform((0.33, 0.02), (0.5, 0.9)).tolist()) for _ in range(rounds)]
    return opening, arrow, act_ms(page, "click", "selected", points)


def weight_kb(browser: Browser, address: str) -> float:
    """Kilobytes of everything a page asks for, gzipped if it does not come so."""
    answers: list[Response] = []
    with opened(browser, "about:blank") as page:
        page.on("response", lambda answer: answers.append(answer))
        page.goto(address)
        expect(page.locator(".tree-row").first).to_be_visible(timeout=PATIENCE_MS)
        page.wait_for_load_state("networkidle")
        bodies = [(each, each.body()) for each in answers if each.ok]
    assert not [each.url for each, _ in bodies if "plotly" in each.url]
    return sum(min(len(gzip.compress(body, 6)), len(body)) for _, body in bodies) / 1e3


def callbacks_p95_ms(browser: Browser, base: str, rounds: int) -> float:
    """From the first byte asked to the last answered, as the browser counts, over the demo's pages."""
    asked: list[Request] = []
    with opened(browser, "about:blank") as page:
        for number in range(rounds + 1):
            if number == 1:
                page.on("requestfinished", lambda each: asked.append(each))
            for path in DEMO_PAGES:
                page.goto(f"{base}{path}")
                page.wait_for_timeout(QUIET_MS)
        times = [each.timing for each in asked if CALLBACK in each.url]
    taken = [each["responseEnd"] - each["requestStart"] for each in times]
    return float(np.percentile(taken, 95))


def large(browser: Browser, rounds: int) -> Iterator[Figure]:
    """What was asked for with 50,000 nodes."""
    with served("large") as base:
        first_paint_ms(browser, f"{base}{LARGE_MAP}", 1)
        yield Figure(
            "50,000 nodes: first paint, cold", first_paint_ms(browser, f"{base}{LARGE_MAP}", rounds), 1_200
        )
        with opened(browser, f"{base}{LARGE_MAP}") as page:
            page.evaluate("untilFirst()")
            opening, arrow, overview = acts(page, 3 * rounds)
        yield Figure("50,000 nodes: open or close a step", opening, 35)
        yield Figure("50,000 nodes: arrow key, overview included", arrow, 45)
        yield Figure("50,000 nodes: select in the overview", overview, 100)


def small(browser: Browser, rounds: int) -> Iterator[Figure]:
    """What was asked for of the demo."""
    with served("demo") as base:
        first_paint_ms(browser, f"{base}{DEMO_MAP}", 1)
        yield Figure("demo: map ready, cold", first_paint_ms(browser, f"{base}{DEMO_MAP}", rounds), 800)
        yield Figure(
            "demo: weight of the map page, gzipped", weight_kb(browser, f"{base}{DEMO_MAP}"), 320, "kB"
        )
        yield Figure("demo: callbacks, p95", callbacks_p95_ms(browser, base, rounds), 50)


def main() -> None:
    """Print every figure beside its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        figures = [*large(browser, rounds), *small(browser, rounds)]
        print_table(
            f"In Chromium {browser.version}",
            ("what", "median of rounds", "asked", "kept"),
            [figure.row() for figure in figures],
        )
        browser.close()


if __name__ == "__main__":
    main()
