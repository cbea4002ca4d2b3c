"""The tree and the overview in a real browser, on columns written by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from dash import Dash, Input, Output, ctx, html
from dash.development.base_component import Component
from flask import Response
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from dashboard import security
from dashboard.components.treegrid import Icicle, TreeGrid, columns
from dashboard.theme import PALETTES, Theme, tone, tones
from engine.maps import BehaviourMap, build
from engine.paths import Paths, fold, half
from engine.runs import Cohort
from engine.statistics import wilson
from tests.browser import served
from tests.test_maps import map_of

ASSETS = Path(__file__).resolve().parents[1] / "assets"


class Node(NamedTuple):
    """One line of a tree: indent, kind, name, bucket, successes and support."""

    depth: int
    kind: str
    name: str
    successes: int
    support: int
    bucket: str = ""


def payload(*nodes: Node, **sparse: Any) -> dict[str, Any]:
    """Columns of a tree; a node's key is its place in it."""
    support = np.array([node.support for node in nodes])
    successes = np.array([node.successes for node in nodes])
    low, high = wilson(successes, support)
    base = float(successes[0] / support[0])
    return {
        "kinds": [node.kind for node in nodes[1:]],
        "names": [node.name for node in nodes[1:]],
        "buckets": [node.bucket for node in nodes[1:]],
        "token": list(range(-1, len(nodes) - 1)),
        "depth": [node.depth for node in nodes],
        "key": [key_of(place) for place in range(len(nodes))],
        "support": support.tolist(),
        "successes": successes.tolist(),
        "rate": np.rint(1000 * successes / support).astype(int).tolist(),
        "low": np.rint(1000 * low).astype(int).tolist(),
        "high": np.rint(1000 * high).astype(int).tolist(),
        "tone": tones(low, high, base, support).tolist(),
        **{"live": {}, "fork": {}, "golden": {}, "doubt": {}, "hotspot": {}, "cut": {}},
        "base": round(1000 * base),
        **sparse,
    }


def key_of(place: int) -> str:
    return f"{place + 0xA0:016x}"


SMALL = payload(
    Node(0, "", "", 60, 100),
    Node(1, "llm", "gpt-4o", 60, 100),
    Node(2, "tool", "search_orders", 50, 60),
    Node(3, "tool", "issue_refund", 40, 44),
    Node(3, "tool", "send_email", 10, 16),
    Node(4, "agent", "critic", 10, 16),
    Node(2, "tool", "search_orders", 4, 30, "×3-5"),
    Node(3, "tool", "lookup", 1, 10),
    Node(3, "tool", "escalate", 3, 8),
    Node(2, "tool", "close_ticket", 6, 10),
    live={"0": 3, "1": 3, "6": 2},
    fork={"6": "= 1.2 × 10⁻⁶"},
    hotspot={"1": 1.295},
    cut={"6": True},
)
"""The start and gpt-4o share a row, and so do send_email and critic."""

ROWS = [
    "start gpt-4o",
    "search_orders",
    "issue_refund",
    "send_email critic",
    "search_orders ×3-5",
    "lookup",
    "escalate",
    "close_ticket",
]


class Shown(NamedTuple):
    """A page that shows one map, twice."""

    page: Page
    complaints: list[str]

    @property
    def grid(self) -> Locator:
        return self.page.get_by_role("treegrid")

    def names(self) -> list[str]:
        """The rows on show, by the names of their steps."""
        rows: list[str] = self.page.evaluate(
            """() => [...document.querySelectorAll(".tree-row")]
                .sort((a, b) => a.getAttribute("aria-rowindex") - b.getAttribute("aria-rowindex"))
                .map((row) => [...row.querySelectorAll(".step-name, .step-repeat")])
                .map((parts) => parts.map((part) => part.textContent).join(" "))"""
        )
        return rows

    def row(self, name: str) -> Locator:
        return self.page.locator(".tree-row", has=self.page.get_by_text(name, exact=True))

    def current(self) -> Locator:
        return self.page.get_by_role("row", selected=True)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def selected(self) -> Locator:
        """What the server was told is selected."""
        return self.page.locator("#said-selected")


class Stage:
    """One application for all of these tests; what it shows is set before a page is opened."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context, self.url = context, url
        self.source: dict[str, Any] = {}
        self.selected = ""
        self.answers: list[Response] = []
        self.shown: list[Shown] = []

    def layout(self) -> Component:
        return html.Main(
            [
                Icicle(id="icicle", selected=self.selected, **self.source),
                TreeGrid(id="tree", selected=self.selected, label="Behaviour of a test", **self.source),
                html.Div(id="said-selected"),
            ]
        )

    def open(self, theme: Theme = "light") -> Shown:
        page = self.context.new_page()
        page.emulate_media(color_scheme=theme)
        shown = Shown(page, [])
        page.on("console", lambda message: shown.complaints.append(message.text))
        page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        page.on("dialog", lambda dialog: shown.complaints.append(f"dialog: {dialog.message}"))
        page.goto(self.url)
        self.shown.append(shown)
        return shown


@pytest.fixture(scope="module")
def stage(chromium: Browser) -> Iterator[Stage]:
    """The two components, linked, under the dashboard's own policy for scripts."""
    app = Dash("tree", assets_folder=str(ASSETS), update_title="", add_log_handler=False)
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    stage = Stage(context, "")
    app.layout = stage.layout
    app.callback(
        Output("tree", "selected"),
        Output("icicle", "selected"),
        Output("said-selected", "children"),
        Input("tree", "selected"),
        Input("icicle", "selected"),
    )(link)
    app.server.add_url_rule("/columns/<name>", "columns", lambda name: stage.answers.pop(0))
    security.harden(app)
    with served(app.server) as stage.url:
        yield stage
    context.close()


def link(in_tree: str, in_icicle: str) -> tuple[str, str, str]:
    chosen = in_icicle if ctx.triggered_id == "icicle" else in_tree
    return chosen, chosen, chosen


Show = Callable[..., Shown]


@pytest.fixture
def show(stage: Stage) -> Iterator[Show]:
    """Shows a map in a page of its own; the page must stay silent in the console."""

    def show_map(data: dict[str, Any], selected: str = "", theme: Theme = "light") -> Shown:
        stage.source, stage.selected = {"data": data}, selected
        shown = stage.open(theme)
        expect(shown.grid).to_be_visible()
        if selected:
            expect(shown.selected()).not_to_be_empty()
        return shown

    yield show_map
    complaints = [shown.complaints for shown in stage.shown]
    for shown in stage.shown:
        shown.page.close()
    stage.shown.clear()
    assert complaints == [[] for _ in complaints]


# ---- columns ------------------------------------------------------------------------------------


def test_columns_are_the_map_in_its_own_order() -> None:
    behaviour = map_of(("ab", "s", 3), ("ab", "f", 1), ("ac", "f", 4), ("ac", "-", 2))
    assert columns(behaviour) == {
        "kinds": ["tool", "tool", "tool"],
        "names": ["a", "b", "c"],
        "buckets": ["", "", ""],
        "token": [-1, 0, 1, 2],
        "depth": [0, 1, 2, 2],
        "key": [behaviour.key_text(node) for node in range(4)],
        "support": [8, 8, 4, 4],
        "successes": [3, 3, 3, 0],
        "rate": [375, 375, 750, 0],
        "low": [137, 137, 301, 0],
        "high": [694, 694, 954, 490],
        "tone": [0, 0, 0, 0],
        "live": {"0": 2, "1": 2, "3": 2},
        "fork": {},
        "golden": {},
        "doubt": {},
        "hotspot": {"1": 1.0},
        "cut": {},
        "base": 375,
    }


def test_a_name_with_a_multiplication_sign_is_sent_as_it_is() -> None:
    behaviour = build(Cohort("default", "a"), paths([["tool:a×2", "tool:b", "tool:b"]], [0]), 0)
    sent = columns(behaviour)
    assert (sent["kinds"], sent["names"], sent["buckets"]) == (["tool", "tool"], ["a×2", "b"], ["", "×2"])


def test_a_map_without_a_completed_run_is_its_start() -> None:
    sent = columns(map_of(("ab", "-", 2)))
    assert (sent["token"], sent["support"], sent["tone"], sent["live"], sent["base"]) == (
        [-1],
        [0],
        [0],
        {"0": 2},
        None,
    )


# ---- rows ---------------------------------------------------------------------------------------


def test_only_children_with_the_same_runs_share_a_row(show: Show) -> None:
    assert show(SMALL).names() == ROWS


def test_every_row_says_where_it_stands(show: Show) -> None:
    shown = show(SMALL)
    attributes = ("rowindex", "level", "posinset", "setsize", "expanded")
    said = shown.page.evaluate(
        """(names) => [...document.querySelectorAll(".tree-row")]
            .map((row) => names.map((name) => row.getAttribute("aria-" + name)).join(" "))""",
        attributes,
    )
    assert said == [
        "2 1 1 1 true",
        "3 2 1 3 true",
        "4 3 1 2 ",
        "5 3 2 2 ",
        "6 2 2 3 true",
        "7 3 1 2 ",
        "8 3 2 2 ",
        "9 2 3 3 ",
    ]
    expect(shown.grid).to_have_attribute("aria-rowcount", "9")
    expect(shown.grid).to_have_accessible_name("Behaviour of a test")


def test_badges_are_shown_whatever_else_is_in_the_row(show: Show) -> None:
    shown = show(SMALL)
    badges = shown.page.evaluate(
        """() => [...document.querySelectorAll(".tree-row")]
            .map((row) => [...row.querySelectorAll(".badge")])
            .map((badges) => badges.map((badge) => badge.innerText.replace(/\\s+/g, " ").trim()))"""
    )
    assert badges == [["1.29 bits", "3 live"], [], [], [], ["fatal fork", "2 live", "cut"], [], [], []]
    expect(shown.page.locator(".badge-fork")).to_have_attribute("title", "Fatal fork: p = 1.2 × 10⁻⁶")


def test_a_fork_that_may_be_chance_says_so(show: Show) -> None:
    badge = show(SMALL | {"doubt": {"6": "= 0.12"}}).page.locator(".badge-fork.maybe")
    expect(badge).to_have_attribute("title", "Fatal fork: p = 1.2 × 10⁻⁶; may be chance: q = 0.12")


def test_a_golden_fork_is_told_by_a_word_and_a_sign_of_its_own(show: Show) -> None:
    shown = show(SMALL | {"golden": {"2": "= 0.003"}, "doubt": {"2": "= 0.06"}})
    badge = shown.page.locator(".badge-golden.maybe")
    expect(badge).to_have_text("golden fork")
    expect(badge).to_have_attribute("title", "Golden fork: p = 0.003; may be chance: q = 0.06")
    expect(badge.locator("svg")).to_have_count(1)
    shown.page.get_by_label("Which steps").select_option("Golden forks")
    expect(shown.page.get_by_role("status")).to_have_text("1 step")


def test_the_legend_says_what_its_shades_mean(show: Show) -> None:
    legend = show(SMALL).page.locator(".legend")
    expect(legend).to_contain_text("below base by over 25, 10, 0 points")
    titles = [legend.locator(".swatch").nth(place).get_attribute("title") or "" for place in range(7)]
    assert [re.findall(r"\d+ points|under \d+ runs", title) for title in titles] == [
        ["25 points"],
        ["10 points"],
        ["10 points"],
        ["under 10 runs"],
        ["10 points"],
        ["10 points"],
        ["25 points"],
    ]


def test_a_row_reads_as_runs_rate_and_interval(show: Show) -> None:
    row = show(SMALL).row("close_ticket")
    assert re.sub(r"\s+", " ", row.locator(".tree-runs").inner_text()) == "10"
    assert re.sub(r"\s+", " ", row.locator(".tree-figures").inner_text()) == "60.0% 31.3 – 83.2"
    expect(row.locator(".tree-interval")).to_have_accessible_name("not told apart from the base rate")


def test_figures_line_up_on_the_decimal_point(show: Show) -> None:
    data = payload(
        Node(0, "", "", 60, 120),
        Node(1, "tool", "all", 20, 20),
        Node(1, "tool", "none", 0, 60),
        Node(1, "tool", "some", 40, 40),
    )
    points = show(data).page.evaluate(
        """() => [...document.querySelectorAll(".tree-row .tree-figures")].map((cell) =>
            [...cell.children].filter((part) => part.textContent.includes(".")).map((part) => {
                const range = document.createRange(), text = part.firstChild, at = text.data.indexOf(".");
                range.setStart(text, at);
                range.setEnd(text, at + 1);
                return Math.round(range.getBoundingClientRect().left);
            }).join())"""
    )
    assert len(points) == 4
    assert len(set(points)) == 1


def test_the_base_rate_is_one_line_through_all_rows(show: Show) -> None:
    middle, line, height = show(SMALL).page.evaluate(
        """() => {
            const body = document.querySelector(".tree-body"), box = body.getBoundingClientRect();
            const point = document.querySelector(".tree-row .whisker-point").getBoundingClientRect();
            const line = getComputedStyle(body, "::before");
            const at = box.right - parseFloat(line.right);
            return [point.left + point.width / 2, at, parseFloat(line.height) - box.height];
        }"""
    )
    assert (line, height) == (pytest.approx(middle, abs=1.5), 0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_rows_are_coloured_by_the_rule_and_the_palette(show: Show, theme: Theme) -> None:
    above = [(70, 100), (80, 100), (60, 60)]
    counts = [(1, 40), (4, 20), (45, 100), (50, 100), (5, 9), (2, 2), (0, 9), (0, 10), *above]
    won, runs = sum(won for won, _ in counts), sum(runs for _, runs in counts)
    nodes = [Node(1, "tool", f"step {place}", *each) for place, each in enumerate(counts)]
    shown = show(payload(Node(0, "", "", won, runs), *nodes), theme=theme)
    bounds = [tuple(map(float, wilson(*each))) for each in [(won, runs), *counts]]
    expected = [
        tone(low, high, won / runs, support)
        for (low, high), support in zip(bounds, [runs, *(s for _, s in counts)], strict=True)
    ]
    painted = shown.page.evaluate(
        """() => [...document.querySelectorAll(".tree-edge")]
            .map((edge) => getComputedStyle(edge).backgroundColor)"""
    )
    assert len(set(expected)) == 7
    assert painted == [rgb(PALETTES[theme].marks[each + 3]) for each in expected]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_sources_of_colour_hold_the_same_ones(show: Show, theme: Theme) -> None:
    palette = PALETTES[theme]
    names = [*(f"--area{each}" for each in range(-3, 4)), "--panel", "--line", "--ink", "--dim"]
    resolved = show(SMALL, theme=theme).page.evaluate(
        """(names) => names.map((name) => {
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.color = `var(${name})`;
            return getComputedStyle(probe).color;
        })""",
        names,
    )
    assert resolved == [
        rgb(each) for each in (*palette.areas, palette.panel, palette.line, palette.ink, palette.dim)
    ]


def rgb(colour: str) -> str:
    """A colour as the browser writes it.

    >>> rgb("#0a4680")
    'rgb(10, 70, 128)'
    """
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_the_focus_ring_leaves_the_colour_edge_alone(show: Show) -> None:
    shown = show(SMALL, selected=key_of(2))
    shown.grid.focus()
    shown.press("ArrowDown")
    edge, ring, offset = shown.page.evaluate(
        """() => {
            const row = document.querySelector(".tree-row.current"), left = row.getBoundingClientRect().left;
            return [row.querySelector(".tree-edge").getBoundingClientRect().right - left,
                parseFloat(getComputedStyle(row, "::after").left),
                getComputedStyle(document.querySelector(".treegrid")).outlineOffset];
        }"""
    )
    assert edge < ring
    assert offset == "2px"


# ---- names --------------------------------------------------------------------------------------

NAMES = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "{{7*7}} ${7*7} &lt;b&gt; \"quoted\" 'too'",
    "بحث في الطلبات",
    "abc\u202edcba",
    "👩‍💻 🔧 émigré ñ 検索",
    "é" * 80,
    "constructor",
    "__proto__",
    "a×2",
]


def test_names_are_text_everywhere(show: Show) -> None:
    nodes = [Node(1, "tool", name, 10, 20) for name in NAMES]
    shown = show(payload(Node(0, "", "", 100, 200), *nodes))
    assert shown.names() == ["start", *NAMES]
    assert shown.page.locator("#tree img, #tree script, #tree b:not(.tree-grid b)").count() == 0
    shown.page.locator(".icicle canvas").hover(position={"x": 400, "y": 10})
    expect(shown.page.locator(".icicle-tip bdi")).to_have_text(NAMES[0])
    titles = shown.page.evaluate(
        "() => [...document.querySelectorAll('.tree-name[title]')].map((e) => e.title)"
    )
    assert titles == ["start", *(f"tool {name}" for name in NAMES)]


def test_a_name_that_nobody_can_see_is_spelt_out(show: Show) -> None:
    nodes = [Node(1, "tool", name, 5, 10) for name in ("\u200b\u200d", "\u3164", "visible\u200b")]
    assert show(payload(Node(0, "", "", 15, 30), *nodes)).names() == [
        "start",
        "U+200B U+200D",
        "U+3164",
        "visible\u200b",
    ]


def test_a_filter_takes_its_text_literally(show: Show) -> None:
    shown = show(
        payload(Node(0, "", "", 10, 20), Node(1, "tool", ".*", 5, 10), Node(1, "tool", "plain", 5, 10))
    )
    shown.page.get_by_label("Filter steps by name").fill(".*")
    expect(shown.page.locator(".tree-row")).to_have_count(2)
    assert shown.names() == ["start", ".*"]


# ---- keys ---------------------------------------------------------------------------------------

KEYS = [
    (["ArrowDown"], "search_orders"),
    (["ArrowDown", "ArrowDown", "ArrowUp"], "search_orders"),
    (["End"], "close_ticket"),
    (["End", "Home"], "start"),
    (["PageDown"], "close_ticket"),
    (["PageDown", "PageUp"], "start"),
    (["ArrowUp"], "start"),
    (["ArrowRight"], "search_orders"),
    (["ArrowRight", "ArrowRight"], "issue_refund"),
    (["ArrowRight", "ArrowRight", "ArrowRight"], "issue_refund"),
    (["ArrowRight", "ArrowRight", "ArrowLeft"], "search_orders"),
    (["End", "ArrowLeft"], "start"),
    (["c"], "close_ticket"),
    (["s", "e", "n"], "send_email"),
    (["S", "E", "A"], "search_orders"),
    (["x"], "start"),
]


@pytest.mark.parametrize(("keys", "name"), KEYS, ids=["-".join(keys) for keys, _ in KEYS])
def test_keys_move_as_in_every_treegrid(show: Show, keys: list[str], name: str) -> None:
    shown = show(SMALL, selected=key_of(0))
    shown.grid.focus()
    shown.press(*keys)
    expect(shown.current().locator(".step-name").first).to_have_text(name)
    expect(shown.grid).to_be_focused()
    pointed = shown.grid.get_attribute("aria-activedescendant")
    assert pointed == shown.current().get_attribute("id")


def test_left_and_right_close_and_open(show: Show) -> None:
    shown = show(SMALL, selected=key_of(2))
    shown.grid.focus()
    shown.press("ArrowLeft")
    expect(shown.current()).to_have_attribute("aria-expanded", "false")
    assert shown.names() == [ROWS[0], ROWS[1], *ROWS[4:]]
    shown.press("ArrowRight")
    expect(shown.current()).to_have_attribute("aria-expanded", "true")
    assert shown.names() == ROWS


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_enter_and_space_open_and_close(show: Show, key: str) -> None:
    shown = show(SMALL, selected=key_of(6))
    shown.grid.focus()
    shown.press(key)
    expect(shown.current()).to_have_attribute("aria-expanded", "false")
    assert shown.names() == [*ROWS[:5], "close_ticket"]
    shown.press(key)
    expect(shown.current()).to_have_attribute("aria-expanded", "true")
    assert shown.names() == ROWS


def test_a_star_opens_all_siblings(show: Show) -> None:
    shown = show(SMALL, selected=key_of(2))
    shown.grid.focus()
    shown.press("ArrowLeft", "ArrowDown", "ArrowLeft")
    assert shown.names() == [ROWS[0], ROWS[1], ROWS[4], ROWS[7]]
    shown.press("*")
    expect(shown.page.locator(".tree-row")).to_have_count(8)
    assert shown.names() == ROWS


# ---- selecting ----------------------------------------------------------------------------------


def test_a_click_tells_the_key_of_where_the_row_leads(show: Show) -> None:
    shown = show(SMALL)
    shown.row("send_email").locator(".tree-runs").click()
    expect(shown.selected()).to_have_text(key_of(5))


def test_a_fatal_fork_is_selected_itself_though_its_row_goes_on(show: Show) -> None:
    nodes = [
        Node(0, "", "", 60, 100),
        Node(1, "tool", "a", 55, 60),
        Node(1, "tool", "b", 5, 40),
        Node(2, "tool", "c", 5, 40),
    ]
    shown = show(payload(*nodes, fork={"2": "= 10⁻⁹"}))
    shown.row("b").locator(".tree-runs").click()
    expect(shown.selected()).to_have_text(key_of(2))
    shown.row("b").get_by_text("c", exact=True).click()
    expect(shown.selected()).to_have_text(key_of(3))
    expect(shown.current().locator(".step.chosen")).to_have_text("toolc")


def test_a_selected_key_opens_the_way_to_itself(show: Show) -> None:
    shown = show(SMALL, selected=key_of(8))
    expect(shown.current().locator(".step-name")).to_have_text("escalate")
    expect(shown.current()).to_be_in_viewport()


def test_a_key_that_is_not_in_the_map_selects_the_start(show: Show) -> None:
    shown = show(SMALL, selected="ffffffffffffffff")
    expect(shown.current().locator(".step-name").first).to_have_text("start")


def test_the_toggle_opens_without_selecting(show: Show) -> None:
    shown = show(SMALL, selected=key_of(9))
    shown.page.locator(".tree-row .tree-toggle:not(.leaf)").nth(2).click()
    expect(shown.page.locator(".tree-row")).to_have_count(6)
    assert shown.names() == [*ROWS[:5], "close_ticket"]
    expect(shown.current().locator(".step-name")).to_have_text("close_ticket")


# ---- filtering ----------------------------------------------------------------------------------


def test_a_filter_shows_hits_and_the_way_to_them(show: Show) -> None:
    shown = show(SMALL)
    shown.press("/")
    box = shown.page.get_by_label("Filter steps by name")
    box.press_sequentially("esc")
    expect(shown.page.get_by_role("status")).to_have_text("1 step")
    assert shown.names() == ["start gpt-4o", "search_orders ×3-5", "escalate"]
    expect(shown.row("escalate")).to_have_attribute("aria-setsize", "1")
    box.press("Enter")
    shown.press("End")
    expect(shown.selected()).to_have_text(key_of(8))
    shown.press("ArrowLeft", "ArrowLeft")
    assert shown.names() == ["start gpt-4o", "search_orders ×3-5"]
    box.press("Escape")
    expect(box).to_have_value("")
    expect(shown.page.locator(".tree-row")).to_have_count(8)


def test_every_word_must_be_in_the_step(show: Show) -> None:
    shown = show(SMALL)
    shown.page.get_by_label("Filter steps by name").fill("tool: orders ×3")
    expect(shown.page.locator(".tree-row")).to_have_count(2)
    assert shown.names() == ["start gpt-4o", "search_orders ×3-5"]


def test_nothing_matches_is_said(show: Show) -> None:
    shown = show(SMALL)
    shown.page.get_by_label("Filter steps by name").fill("nowhere")
    expect(shown.page.get_by_text("No step matches.")).to_be_visible()
    expect(shown.page.get_by_role("status")).to_have_text("0 steps")


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("Fatal forks", ["start gpt-4o", "search_orders ×3-5"]),
        ("Hotspots", ["start gpt-4o"]),
        (
            "Off the base rate",
            ["start gpt-4o", "search_orders", "issue_refund", "search_orders ×3-5", "lookup"],
        ),
    ],
)
def test_steps_can_be_chosen_by_what_was_found(show: Show, choice: str, names: list[str]) -> None:
    shown = show(SMALL)
    shown.page.get_by_label("Which steps").select_option(choice)
    expect(shown.page.locator(".tree-row")).to_have_count(len(names))
    assert shown.names() == names


# ---- overview -----------------------------------------------------------------------------------


def test_a_click_in_the_overview_selects_in_the_tree_and_back(show: Show) -> None:
    shown = show(SMALL)
    canvas = shown.page.locator(".icicle canvas")
    columns_px = (canvas.evaluate("canvas => canvas.clientWidth") - 64) / 4
    canvas.click(position={"x": 64 + 2.5 * columns_px, "y": 20})
    expect(shown.selected()).to_have_text(key_of(3))
    expect(shown.current().locator(".step-name")).to_have_text("issue_refund")
    before = canvas.screenshot()
    shown.row("close_ticket").locator(".tree-runs").click()
    expect(shown.selected()).to_have_text(key_of(9))
    assert canvas.screenshot() != before


def test_a_double_click_zooms_and_escape_goes_back(show: Show) -> None:
    shown = show(SMALL)
    canvas = shown.page.locator(".icicle canvas")
    whole = canvas.screenshot()
    canvas.dblclick(position={"x": 200, "y": 100})
    way = shown.page.locator(".icicle-way")
    expect(way).to_contain_text("start › gpt-4o")
    assert canvas.screenshot() != whole
    shown.press("Escape")
    expect(way).to_contain_text("Double-click")
    canvas.dblclick(position={"x": 200, "y": 100})
    shown.page.get_by_role("button", name="Back up").click()
    expect(way).to_contain_text("Double-click")


def test_a_selection_outside_the_zoom_leaves_it(show: Show) -> None:
    shown = show(SMALL)
    shown.page.locator(".icicle canvas").dblclick(position={"x": 600, "y": 60})
    way = shown.page.locator(".icicle-way")
    expect(way).to_contain_text("search_orders")
    shown.row("close_ticket").locator(".tree-runs").click()
    expect(way).to_contain_text("Double-click")


# ---- where columns come from --------------------------------------------------------------------


def test_both_components_fetch_one_address_once(stage: Stage, show: Show) -> None:
    stage.source, stage.answers = {"src": "/columns/small"}, [sent(SMALL)]
    shown = stage.open()
    expect(shown.grid).to_be_visible()
    expect(shown.page.locator(".icicle canvas")).to_be_visible()
    assert (shown.names(), stage.answers) == (ROWS, [])


def test_columns_that_do_not_come_can_be_asked_for_again(stage: Stage, show: Show) -> None:
    stage.source, stage.answers = {"src": "/columns/late"}, [Response(status=503), sent(SMALL)]
    shown = stage.open()
    expect(shown.page.get_by_role("alert").first).to_contain_text("the server answered 503")
    shown.page.get_by_role("button", name="Try again").last.click()
    expect(shown.grid).to_be_visible()
    assert ["503" in each for each in shown.complaints] == [True]
    shown.complaints.clear()


def test_a_page_older_than_its_map_loads_itself_again(stage: Stage, show: Show) -> None:
    stage.source, stage.answers = {"src": "/columns/old"}, [Response(status=409), sent(SMALL)]
    shown = stage.open()
    expect(shown.grid).to_be_visible()
    assert stage.answers == []
    shown.complaints.clear()


def test_but_only_once_and_then_says_so(stage: Stage, show: Show) -> None:
    stage.source, stage.answers = {"src": "/columns/old"}, [Response(status=409), Response(status=409)]
    shown = stage.open()
    expect(shown.page.get_by_role("alert").first).to_contain_text("Load the page again")
    shown.complaints.clear()


def sent(data: dict[str, Any]) -> Response:
    return Response(json.dumps(data), mimetype="application/json")


# ---- large --------------------------------------------------------------------------------------


def paths(runs: list[list[str]], outcomes: list[int]) -> Paths:
    """Paths of completed runs, given their signatures."""
    folded = [fold(each) for each in runs]
    signatures = sorted({each.signature for path in folded for each in path})
    place = {signature: number for number, signature in enumerate(signatures)}
    ids = tuple(f"r{number}" for number in range(len(runs)))
    return Paths(
        signatures=tuple(signatures),
        code=np.array([place[each.signature] for path in folded for each in path], np.int32),
        count=np.array([each.count for path in folded for each in path], np.uint8),
        offset=np.concatenate([[0], np.cumsum([len(path) for path in folded])]).astype(np.int64),
        outcome=np.array(outcomes, np.uint8),
        source=np.zeros(len(runs), np.uint8),
        half=np.array([half(each) for each in ids], np.uint8),
        run_ids=ids,
        tickets=(None,) * len(runs),
        versions=(None,) * len(runs),
    )


def large_map() -> BehaviourMap:
    """A map of exactly 50,000 nodes: 6,000 runs that wander over 24 tools."""
    chance = np.random.default_rng(7)
    favour = 1 / np.arange(1, 25)
    runs = [
        ["llm:gpt-4o", *(f"tool:step_{each:02d}" for each in chance.choice(24, 14, p=favour / favour.sum()))]
        for _ in range(6_000)
    ]
    return build(
        Cohort("default", "large"), paths(runs, (chance.random(6_000) < 0.6).astype(int).tolist()), 0
    )


def test_fifty_thousand_nodes_paint_and_answer(show: Show) -> None:
    behaviour = large_map()
    data = columns(behaviour)
    assert len(behaviour) == 50_000
    shown = show(data, selected=behaviour.key_text(0))
    assert shown.page.locator(".tree-row").count() < 60
    shown.grid.focus()
    shown.press("ArrowDown", "*", "End")
    rows = int(shown.grid.get_attribute("aria-rowcount") or 0)
    expect(shown.current()).to_have_attribute("aria-rowindex", str(rows))
    expect(shown.current()).to_be_in_viewport()
    shown.page.get_by_label("Filter steps by name").fill("step_23")
    hits = sum(1 for token in behaviour.token[1:] if "step_23" in behaviour.tokens[token].signature)
    expect(shown.page.get_by_role("status")).to_have_text(f"{hits:,} steps")
    expect(shown.grid).not_to_have_attribute("aria-rowcount", str(rows))


def test_the_deepest_node_of_a_large_map_is_restored_by_its_key(show: Show) -> None:
    behaviour = large_map()
    deepest = int(np.argmax(behaviour.depth))
    shown = show(columns(behaviour), selected=behaviour.key_text(deepest))
    expect(shown.current()).to_be_in_viewport()
    expect(shown.current().locator(".tree-name")).to_have_attribute(
        "title", re.compile(re.escape(behaviour.path(deepest)[-1].signature.removeprefix("tool:")))
    )
    shown.page.get_by_role("button", name="Zoom to the selected step").click()
    expect(shown.page.locator(".icicle-way bdi").last).to_contain_text(
        behaviour.path(deepest)[-2].signature.removeprefix("tool:")
    )
    expect(shown.page.get_by_role("button", name="Zoom to the selected step")).to_have_count(0)
