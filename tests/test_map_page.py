"""The map and its calibration without a browser: windows, ages, ways on."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard import urls
from dashboard.app import find_page
from dashboard.components import states
from dashboard.service import Service
from engine.builder import Building, Maps
from engine.queries import in_windows
from engine.runs import ALL_TIME, Outcome, Window
from tests.memory_cache import DictCache
from tests.memory_store import DAY_NS, HOUR_NS, NOW_NS, MemoryStore, corpus, make_run
from tests.test_pages import links, service_of, settled, text

MAP = "/map?agent=support-agent"
AGED = [
    make_run("new", "tool:a", age_ns=HOUR_NS),
    make_run("young", "tool:a", Outcome.FAILURE, age_ns=3 * DAY_NS),
    make_run("old", "tool:a", age_ns=40 * DAY_NS),
]
"""One run of the last hour, one of the last week, one older than the default window."""


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("&window=1d", "last 24 hours · 1 completed run "),
        ("&window=7d", "last 7 days · 2 completed runs "),
        ("", "last 30 days · 2 completed runs "),
        ("&window=all", "all time · 3 completed runs "),
        ("&from=2027-01-14", "since 2027-01-14 · 1 completed run "),
        ("&to=2027-01-14", "before 2027-01-14 · 2 completed runs "),
        ("&from=2027-01-10&to=2027-01-14", "2027-01-10 to 2027-01-14 · 1 completed run "),
    ],
)
def test_a_window_is_named_or_bounded_on_either_side(window: str, said: str) -> None:
    assert said in text(settled(service_of(AGED), MAP + window).body)


def test_bounds_that_hold_no_moment_are_told() -> None:
    page = settled(service_of(AGED), f"{MAP}&from=2027-01-02&to=2027-01-01")
    assert "from= is not before to=; no run begins then." in text(page.body)


def test_the_same_symbol_is_the_same_cohort_whenever_it_is_asked() -> None:
    look = urls.parse("agent=a&window=7d")
    assert look.cohort("default").window == Window(days=7)
    assert look.cohort("default") == urls.parse(urls.map_url(look).partition("?")[2]).cohort("default")


def test_what_other_windows_hold_is_told_where_one_is_empty() -> None:
    page = settled(service_of(AGED), f"{MAP}&to=2020-01-01")
    assert (
        "No run of support-agent completed in this window (before 2020-01-01). Its latest run began  "
        "2027-01-15 07:00:00 UTC , 1 hour ago. The store has of it: "
        "24 hours 1 completed run, of which 100.0% succeeded (20.7–100.0%) "
        "7 days 2 completed runs, of which 50.0% succeeded (9.5–90.5%) "
        "30 days 2 completed runs, of which 50.0% succeeded (9.5–90.5%) "
        "All time 3 completed runs, of which 66.7% succeeded (20.8–93.9%)"
    ) in text(page.body)
    assert {f"{MAP}&window=1d", f"{MAP}&window=7d", MAP, f"{MAP}&window=all"} <= set(links(page.body))


def test_windows_without_a_run_are_not_offered() -> None:
    store = MemoryStore([AGED[-1]])
    held = in_windows(store, "default", "support-agent", [Window(), ALL_TIME], NOW_NS)
    assert [(window, summary.completed) for window, summary in held] == [(ALL_TIME, 1)]
    assert in_windows(store, "default", "nobody", [ALL_TIME], NOW_NS) == []


def test_a_calibration_of_nothing_leads_to_windows_that_hold_something() -> None:
    page = settled(service_of(AGED), "/calibration?agent=support-agent&to=2020-01-01")
    assert "Nothing to tell yet" in text(page.body)
    assert "/calibration?agent=support-agent&window=all" in links(page.body)


def test_a_map_that_is_no_better_than_the_average_is_told_so() -> None:
    alike = [
        make_run(f"{name}{n}", f"tool:{name}", Outcome(n % 2), age_ns=HOUR_NS)
        for name in "ab"
        for n in range(60)
    ]
    said = text(settled(service_of(alike), "/calibration?agent=support-agent").body)
    assert "No better than assuming the average" in said
    assert "After no number of steps are they better." in said


def test_the_panel_opens_the_same_in_runs_and_compare() -> None:
    service = service_of(corpus())
    page = settled(service, MAP)
    assert "Open this in: runs · compare" in text(page.body)
    assert "/compare?a=bad-1&b=good-1" in links(page.body)
    root = settled(service, f"{MAP}&node={'0' * 16}")
    pairs = [link for link in links(root.body) if link.startswith("/compare?a=")]
    assert len(set(pairs)) == 2, "the fork of the headline, and the latest failure beside the latest success"


def test_without_a_failure_there_is_nothing_to_compare() -> None:
    page = settled(service_of(AGED[:1]), MAP)
    assert "Open this in: runs" in text(page.body)
    assert "compare" not in text(page.body)


def test_a_stale_map_is_told_with_its_age_and_asked_for_again_soon() -> None:
    store, now_ns = MemoryStore(corpus()), [NOW_NS]
    maps = Maps(store, DictCache(), lambda: now_ns[0])
    service = Service(store, maps, lambda: now_ns[0])
    fresh = settled(service, MAP)
    maps.renew("default", "support-agent")
    now_ns[0] += 12 * 60 * 10**9
    stale = find_page(service, "/map", urls.parse("agent=support-agent"))
    maps.close()
    assert (fresh.waiting, fresh.refresh_s) == (False, 30.0)
    assert (stale.waiting, stale.refresh_s) == (False, 1.0)
    assert "as of 08:00:00 UTC, 12 minutes ago; a newer one is being built" in text(stale.body)
    assert "being built" not in text(fresh.body)


@pytest.mark.parametrize(
    ("how", "said"),
    [(None, "by itself."), (Building(1.9), "by itself."), (Building(7.2), "by itself. 7 seconds so far.")],
)
def test_a_build_says_for_how_long_it_has_been_going(how: Any, said: str) -> None:
    assert text(states.building("the map", how)).endswith(said)


def test_a_filter_of_the_tree_stands_in_the_address() -> None:
    look = urls.parse("agent=a&find=two+words&only=forks")
    assert (look.find, look.only) == ("two words", "forks")
    assert urls.map_url(look) == "/map?agent=a&find=two+words&only=forks"
    assert urls.parse("agent=a&only=strange").only == ""
