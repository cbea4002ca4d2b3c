"""The page of one run without a browser: its path, what the fuses say, the runs of its ticket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from dashboard import urls
from dashboard.app import find_page
from dashboard.components import same_ticket, steps
from dashboard.pages.run import REFRESH_S
from dashboard.service import Page, Service
from engine.builder import Maps
from engine.fuses import Firing, Policy
from engine.keys import Caller, Role
from engine.runs import SECOND_NS, Outcome, Run, Source
from engine.spans import Event, Span
from engine.store import RunRow
from tests.memory_cache import DictCache
from tests.memory_store import DAY_NS, NOW_NS, MemoryStore, corpus, make_run
from tests.test_pages import classes, links, service_of, settled, text

AGENT = "support-agent"
ODDS = Policy(name="odds", min_success_odds=0.5, action="stop", foresight_min_support=10)
WATCH = Policy(name="watch", min_success_odds=0.7, action="warn", mode="shadow", foresight_min_support=10)
STRICT = Policy(name="strict", min_success_odds=0.1, action="stop", foresight_min_support=10)


@pytest.fixture
def service() -> Iterator[Service]:
    made = service_of(corpus())
    yield made
    made.maps.close()


def said(service: Service, url: str) -> str:
    return text(settled(service, url).body)


def fuses(service: Service, url: str) -> str:
    """What the card of fuses says."""
    return said(service, url).partition("What the fuses say Policies ")[2].partition(" How it ended")[0]


# --- the path -----------------------------------------------------------------------------------


def test_the_path_is_a_strip_with_the_odds_of_each_step(service: Service) -> None:
    page = settled(service, "/run?run=live-1")
    path = text(page.body).partition(" Path ")[2].partition(" Compare with ")[0]
    assert path == (
        "The odds fell most at step 2, search_orders×3-5: from 55.0% to 12.5%. "
        "1  llm gpt 55.0%  of 60 "
        "2  tool search_orders ×3-5 12.5%  of 24 fatal fork fell most here "
        "3  llm gpt 12.5%  of 24 live"
    )
    assert classes(page.body, "strip-fell") == ["tone-2 strip-fell"]


def test_each_step_of_the_path_leads_to_its_place_on_the_map(service: Service) -> None:
    on_map = [link for link in links(settled(service, "/run?run=bad-1").body) if "node=" in link]
    assert len(dict.fromkeys(on_map)) == 3
    assert "tool search_orders ×3-5 fatal fork" in said(service, on_map[1])


def test_steps_that_no_other_run_took_are_told_and_lead_nowhere() -> None:
    service = service_of([*corpus(), make_run("odd", "llm:gpt tool:new", Outcome.FAILURE)])
    assert "2  tool new no other run failure" in said(service, "/run?run=odd")


def test_the_end_of_a_long_path_is_folded_away() -> None:
    path = " ".join(f"tool:t{place}" for place in range(20))
    service = service_of([make_run("long", path), make_run("other", "tool:t0")])
    page = settled(service, "/run?run=long")
    assert "12  tool t11 no other run 8 more, with under 10 other runs each 13  tool t12" in text(page.body)


def test_a_run_without_steps_says_so_and_asks_no_fuse() -> None:
    service = service_of([*corpus(), make_run("none", "")])
    service.store.set_policies("default", [ODDS])
    page = said(service, "/run?run=none")
    assert "Path It took no step." in page
    assert "It made no call: no fuse was ever to be asked." in page


# --- the fuses ----------------------------------------------------------------------------------


def test_each_fuse_says_whether_it_fires_and_why(service: Service) -> None:
    service.store.set_policies("default", [STRICT, WATCH, ODDS])
    assert fuses(service, "/run?run=live-1") == (
        "A check before its next call answers  stop . "
        "odds stop Says stop:  3 of 24 earlier runs on this path succeeded: even the upper bound, 31.0%, is "
        "below the 50.0% that policy odds asks for. "
        "watch warn, in shadow Would warn:  3 of 24 earlier runs on this path succeeded: even the upper "
        "bound, 31.0%, is below the 70.0% that policy watch asks for. "
        "strict stop Silent: even the upper bound would have to be below 10%, and it is 31.0%."
    )
    leads = links(settled(service, "/run?run=live-1").body)
    assert {"/fuses", "/fuses?policy=odds", "/fuses?policy=watch"} <= set(leads)


def test_what_is_in_shadow_only_allows(service: Service) -> None:
    service.store.set_policies("default", [WATCH])
    assert fuses(service, "/run?run=live-1").startswith("A check before its next call answers  allow . watch")


def test_a_named_step_is_asked_about_too(service: Service) -> None:
    service.store.set_policies("default", [replace(ODDS, foresight_min_support=24)])
    assert fuses(service, "/run?run=live-1&next=tool%3Anew").startswith(
        "If it names  tool new , a check answers  stop . odds stop Says stop:  3 of 24 earlier runs"
    )


def test_a_run_that_is_over_tells_before_which_call_they_would_have_fired(service: Service) -> None:
    service.store.set_policies("default", [ODDS, STRICT])
    assert fuses(service, "/run?run=bad-1") == (
        "It is over. Asked before each of its calls, by all other runs, they would have answered: "
        "odds stop Would have said stop before step 4,  tool search_orders : 3 of 23 earlier runs on this "
        "path succeeded: even the upper bound, 32.1%, is below the 50.0% that policy odds asks for. "
        "strict stop Silent to the end: even the upper bound would have to be below 10%, and it is 32.1%."
    )
    assert fuses(service, "/run?run=bad-0").startswith(
        "It is over. Asked before each of its calls, by all other runs, they would have answered: odds stop "
        "Would have said stop before step 4,  tool search_orders : 2 of 23 earlier runs"
    )
    assert "that policy odds asks for.  The run succeeded: a false stop." in fuses(service, "/run?run=bad-0")


def test_without_a_policy_about_it_every_call_is_allowed(service: Service) -> None:
    assert fuses(service, "/run?run=live-1") == "No policy is set: every call is allowed."
    service.store.set_policies("default", [replace(ODDS, agent="shop")])
    assert fuses(service, "/run?run=live-1") == (
        "No policy is about runs of support-agent: every call is allowed."
    )


def test_many_policies_are_folded_away(service: Service) -> None:
    service.store.set_policies("default", [replace(ODDS, name=f"p{number}") for number in range(7)])
    assert " 3 more p4 stop" in fuses(service, "/run?run=live-1")


def test_the_ledger_of_the_run_is_counted_and_linked(service: Service) -> None:
    line = Firing(NOW_NS, "live-1", AGENT, "odds", "stop", "enforce", None, 4, 24, 3, 0.5, "why")
    service.store.add_firings("default", [line, replace(line, steps=5)])
    page = settled(service, "/run?run=live-1")
    assert "2 lines about this run in the ledger" in text(page.body)
    assert "/fuses?run=live-1" in links(page.body)


def test_fuses_go_by_the_last_days_whichever_window_the_run_is_judged_in(service: Service) -> None:
    service.store.set_policies("default", [ODDS])
    assert "Says stop:  3 of 24" in fuses(service, "/run?run=live-1&from=2026-09-01")
    service.store.set_policies("default", [])


# --- the ticket ---------------------------------------------------------------------------------


def test_other_runs_of_the_ticket_stand_beside_each_other(service: Service) -> None:
    page = settled(service, "/run?run=good-1")
    assert (
        "Same ticket t-1 3 other runs: 1 succeeded, 2 failed Run Outcome Began Steps Compare "
        "good-21 success 1 day ago 4 Compare  with good-21 "
        "bad-1 failure 2 days ago 5 Compare  with bad-1 bad-21 failure"
    ) in text(page.body)
    assert {
        "/run?run=bad-1",
        "/compare?ticket=t-1",
        "/compare?ticket=t-1&a=good-1&b=bad-1",
    } <= set(links(page.body))


def test_many_runs_of_a_ticket_are_counted_and_lead_to_all() -> None:
    row = RunRow("r", AGENT, None, "t", NOW_NS, NOW_NS, Outcome.SUCCESS, Source.DECLARED, False, 2)
    live = row._replace(outcome=Outcome.UNKNOWN, live=True)
    assert same_ticket.in_words([row] * 101) == "More than 100 others; of the latest 100 100 succeeded"
    assert same_ticket.in_words([row, live]) == "2 other runs: 1 succeeded, 1 live"
    card = same_ticket.card(make_run("a", "tool:a", ticket="t"), [row] * 7, urls.Look(), NOW_NS)
    assert "/compare?ticket=t&a=a" in links(card)


def test_a_run_whose_ticket_nobody_shares_shows_no_other() -> None:
    service = service_of([make_run("a", "tool:a", ticket="t"), make_run("b", "tool:a")])
    assert "Same ticket" not in said(service, "/run?run=a")
    assert "Same ticket" not in said(service, "/run?run=b")


def test_version_and_ticket_lead_to_what_shares_them() -> None:
    run = replace(make_run("a", "tool:a", ticket="t 1"), version="2.0")
    leads = links(settled(service_of([run]), "/run?run=a").body)
    assert {"/runs?agent=support-agent&version=2.0", "/compare?ticket=t+1"} <= set(leads)


# --- texts that name no run, or several ----------------------------------------------------------


@pytest.mark.parametrize(
    "pasted", ["“live-1”", "trace_id%3Atrace-live-1", "http%3A%2F%2Fx.example%2Frun%3Frun%3Dlive-1"]
)
def test_a_run_is_shown_however_its_id_was_pasted(service: Service, pasted: str) -> None:
    assert said(service, f"/run?run={pasted}").startswith("live-1 Copy")


def test_a_text_that_names_several_runs_lists_them(service: Service) -> None:
    page = settled(service, "/run?run=t-19")
    assert text(page.body).startswith("2 runs named “t-19” Compare two runs of this ticket")
    assert "/run?run=bad-19" in links(page.body)


def test_whose_runs_were_searched_is_told_to_who_is_signed_in() -> None:
    store = MemoryStore(corpus())
    caller = Caller("acme", Role.READ, "ann")
    service = Service(store, Maps(store, DictCache(), lambda: NOW_NS), lambda: NOW_NS, lambda: caller)
    assert "61 runs of 1 agent, all that acme has." in said(service, "/run?run=nobody")
    assert "Nothing here has a name like it." in said(service, "/run?run=nobody")


# --- while it is live ------------------------------------------------------------------------------


def test_a_live_run_is_asked_about_again_and_one_that_is_over_is_not(service: Service) -> None:
    assert settled(service, "/run?run=live-1").refresh_s == REFRESH_S
    assert settled(service, "/run?run=bad-1").refresh_s == 0.0


def live(path: str, age_ns: int = 60 * SECOND_NS) -> Run:
    return make_run("live-1", path, Outcome.FAILURE, source=Source.INFERRED, age_ns=age_ns, ticket="t-1")


def test_a_page_is_drawn_anew_when_something_changed_and_only_then() -> None:
    others = [run for run in corpus() if run.run_id != "live-1"]
    store = MemoryStore([*others, live("llm:gpt")])
    clock = [NOW_NS]
    service = Service(store, Maps(store, DictCache(), lambda: clock[0]), lambda: clock[0])

    def stamp() -> str:
        return settled(service, "/run?run=live-1").stamp

    seen = [stamp()]
    clock[0] += SECOND_NS
    assert stamp() == seen[-1]
    store.become([*others, live("llm:gpt tool:search_orders")])
    seen.append(stamp())
    store.set_policies("default", [ODDS])
    seen.append(stamp())
    store.become([*others, live("llm:gpt tool:search_orders"), make_run("new", "tool:a", ticket="t-1")])
    seen.append(stamp())
    clock[0] += 60 * SECOND_NS
    seen.append(stamp())
    clock[0] += DAY_NS
    seen.append(stamp())
    assert len(set(seen)) == len(seen)
    service.maps.close()


# --- what went wrong -------------------------------------------------------------------------------


def test_what_a_failed_step_says_stands_under_it() -> None:
    run = make_run("r", "tool:a tool:b tool:c", Outcome.FAILURE)
    run = replace(run, steps=(run.steps[0], replace(run.steps[1], error=True), run.steps[2]))
    said = {"exception.type": "KeyError", "exception.message": "<img src=x onerror=alert(1)>"}
    sent = [
        Span(
            step.trace_id, step.span_id, "call", step.start_ns, events=(Event("exception", attributes=said),)
        )
        for step in run.steps
    ]
    shown = text(steps.steps(run, None, sent))
    assert shown.count("KeyError: <img src=x onerror=alert(1)>") == 1
    assert "tool b error +1.0 s 500 ms KeyError" in shown


def test_names_that_look_like_markup_or_turn_the_line_are_text() -> None:
    name = "tool:<img/src=x>"
    odd = replace(make_run("a\u202eb", name, ticket="\u202et"), version="v\u202e1")
    service = service_of([odd, make_run("<b>other</b>", name, ticket="\u202et")])
    page: Page = find_page(service, "/run", urls.Look(run="a\u202eb"))
    while page.waiting:
        page = find_page(service, "/run", urls.Look(run="a\u202eb"))
    assert "<b>other</b>" in text(page.body)
    assert "tool <img/src=x>" in text(page.body)
