"""How far a fork is shown, in words, on every screen that names one."""

from __future__ import annotations

from msgspec.structs import replace

from dashboard.service import Service
from engine.runs import Outcome, Run
from tests.memory_store import make_run
from tests.test_pages import flowing, service_of, settled, text

MAP = "/map?agent=support-agent"


def two_ways(ticket: str | None, lost: int, won: int, way: tuple[int, int] = (0, 20)) -> list[Run]:
    """Runs of a ticket: so many that take ``bad`` and fail, so many ``good`` that succeed, and the others."""
    name = ticket or "none"
    counts = [
        ("bad", Outcome.FAILURE, lost),
        ("bad", Outcome.SUCCESS, way[0]),
        ("good", Outcome.SUCCESS, won),
        ("good", Outcome.FAILURE, way[1]),
    ]
    return [
        make_run(f"{name}-{step}-{ended.name}-{n}", f"llm:m tool:{step}", ended, ticket=ticket)
        for step, ended, many in counts
        for n in range(many)
    ]


def confirmed() -> Service:
    return service_of([*two_ways("t", 10, 10, (0, 1)), *two_ways("u", 10, 10, (1, 0))])


def mixed() -> Service:
    """The hard ticket takes the bad step; within each of the two both ways fare alike."""
    return service_of([*two_ways("easy", 1, 45, (9, 5)), *two_ways("hard", 45, 1, (5, 9))])


def said(service: Service, url: str = MAP) -> str:
    return flowing(text(settled(service, url).body)).replace("\xa0", " ")


def test_a_confirmed_fork_says_so_in_the_headline_the_list_and_the_panel() -> None:
    told = said(confirmed())
    assert "Runs go wrong at tool bad after llm m" in told
    assert "Confirmed: holds within tickets." in told
    assert "It is confirmed. Chance and the mix of tickets would make 0.0 fatal forks" in told
    assert "confirmed holds within tickets" in told
    assert "Holds within tickets: beside others of the same ticket, runs that took it succeed 9" in told
    assert "42 runs of 2 tickets could show it." in told


def test_what_a_mix_of_tickets_makes_is_significant_and_not_shown_within_them() -> None:
    told = said(mixed())
    assert "Runs end worse at tool bad after llm m" in told
    assert "Not confirmed: not shown within tickets, 120 runs could have shown it." in told
    assert "It is not confirmed. Chance and the mix of tickets would make 1.0 fatal forks" in told
    assert "200 of 200 shuffles made 1 or more." in told
    assert "runs that took it succeed as often (95% interval of the difference" in told


def test_a_confirmed_fork_comes_before_one_that_cost_more_runs_and_is_not_confirmed() -> None:
    ways = (("worst", Outcome.FAILURE), ("best", Outcome.SUCCESS))
    small = [
        make_run(f"{step}{n}", f"llm:n tool:{step}", ended, ticket="t")
        for step, ended in ways
        for n in range(8)
    ]
    runs = [*two_ways("easy", 1, 45, (9, 5)), *two_ways("hard", 45, 1, (5, 9)), *small]
    told = said(service_of(runs))
    assert "Runs go wrong at tool worst after llm n" in told
    assert "That cost about 8 runs" in told
    assert "1 more fatal fork is listed." in told
    assert "tool worst Open this in: runs" in told, "its panel is open"


def test_without_tickets_the_screen_says_what_one_would_add() -> None:
    told = said(service_of(two_ways(None, 20, 20, (0, 0))))
    assert "Not confirmed: no run names its ticket." in told
    assert "Chance alone would make" in told
    assert "a fork can be significant here, but not confirmed. Send forkmap.ticket with each run" in told


def test_of_several_versions_each_comparison_stands_in_the_panel() -> None:
    runs = [*two_ways("t", 10, 10, (0, 0)), *two_ways("u", 10, 10, (0, 0))]
    told = said(service_of([replace(run, version="12"[place % 2]) for place, run in enumerate(runs)]))
    for within in ("tickets", "versions", "tickets and versions together"):
        assert f"Holds within {within}: beside others of the same" in told


def test_where_no_version_ran_a_ticket_twice_chance_is_counted_within_tickets_alone() -> None:
    runs = [*two_ways("t", 10, 0, (0, 0)), *two_ways("t", 0, 10, (0, 0))]
    told = said(service_of([replace(run, version=run.outcome.name) for run in runs]))
    assert "Chance and the mix of tickets would make 0.0 fatal forks" in told
    assert "What the mix of versions makes is not in it: no two runs of one ticket and version ended" in told


def test_a_map_where_nothing_can_be_tested_says_nothing_of_chance() -> None:
    assert "hance" not in said(service_of([make_run("one", "llm:m")])).partition("Wherever")[0]


def test_a_runs_page_names_its_fork_with_the_label() -> None:
    told = said(confirmed(), "/run?run=t-bad-FAILURE-0")
    assert "is a fatal fork: 1 of 21 succeeded against 20 of 21" in told
    assert "confirmed holds within tickets" in told


def test_two_runs_that_part_at_a_fork_are_told_what_other_runs_say_of_it() -> None:
    service, pair = mixed(), "/compare?a=hard-bad-FAILURE-0&b=hard-good-SUCCESS-0"
    told = said(service, pair)
    assert "What other runs say of where they part" in told
    assert "On the map A takes step 2, bad, a fatal fork: 14 of 60 succeeded against 46 of 60" in told
    assert "significant not shown within tickets, 120 runs could have shown it" in told
    swapped = said(service, "/compare?a=hard-good-SUCCESS-0&b=hard-bad-FAILURE-0")
    assert "On the map B takes step 2, bad, a fatal fork: 14 of 60" in swapped
    together = said(service, "/compare?a=hard-bad-FAILURE-0&b=hard-bad-FAILURE-1")
    assert "What other runs say of where they part" not in together


def test_the_list_of_agents_counts_what_is_confirmed() -> None:
    assert "1 fork, confirmed" in said(confirmed(), "/")
    assert "(confirmed)" in said(confirmed(), "/")
    assert "1 fork, not confirmed" in said(mixed(), "/")
