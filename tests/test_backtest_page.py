"""The page of a backtest, the API and the command: in words, as a document, and what the page arms."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace as swap
from pathlib import Path
from typing import Any

import pytest
from dash import html
from msgspec.structs import replace

from dashboard.app import create_app, find_page
from dashboard.cli import main
from dashboard.service import Page, Service
from dashboard.urls import parse
from engine import demo
from engine.builder import Ready
from engine.fuses import Policy
from engine.keys import Caller, Role
from engine.runs import Cohort
from engine.store.sqlite import open_store
from tests.memory_store import MemoryStore, corpus
from tests.test_fuses_page import ODDS, Site, fired, values
from tests.test_pages import links, service_of, settled, text

HERE = "/backtest?agent=support-agent&support=20"


@pytest.fixture
def service() -> Iterator[Service]:
    made = service_of(corpus())
    made.store.set_policies("default", [ODDS])
    yield made
    made.maps.close()


def said(service: Service, url: str = HERE) -> str:
    return " ".join(text(settled(service, url).body).split())


# --- what it says --------------------------------------------------------------------------------


def test_until_the_runs_are_read_it_says_so_and_asks_again(service: Service) -> None:
    first = find_page(service, "/backtest", parse("?agent=support-agent"))
    assert first.waiting
    assert "Building the backtest of support-agent…" in text(first.body)


def test_what_the_best_odds_would_have_done_is_said_first(service: Service) -> None:
    assert (
        "With odds below 50% It would have stopped 24 of 60 runs: 21 rightly, as they did not succeed, and "
        "3 wrongly, as they did: 12.5% false stops (4.3–31.0%). That is 21 of the 27 runs that did not "
        "succeed, and 3 of the 33 that did. Half of the rightly stopped would have been stopped 2 steps or "
        "more before their end: 42 steps that would not have been taken. Where a false stop costs as much as "
        "1 right stop brings, odds below 50% bring most: as much as 18 right stops and no false one. Even "
        "with the share of false stops at the upper bound of its interval, 31.0%, they would bring something."
    ) in said(service)


def test_the_odds_that_were_asked_for_are_told_of(service: Service) -> None:
    shown = said(service, f"{HERE}&odds=12.5&cost=9")
    assert "With odds below 12.5% It would have stopped none of 60 runs." in shown
    assert "right stops bring, no odds bring more than they cost: better arm none." in shown
    assert "No odds are worth it" in said(service, f"{HERE}&cost=9")


def test_who_judges_and_who_says_how_they_ended_is_said(service: Service) -> None:
    assert (
        "Each run was asked about before every call and judged by the runs that were over before it began. "
        "No odds stop 60 of them: they made no call after 3 steps, or too few others went their way. "
        "Outcomes: 60 declared."
    ) in said(service, f"{HERE}&history=earlier")


def test_the_table_has_a_line_for_each_change_and_leads_to_its_middle(service: Service) -> None:
    """Right at the edge each of three successes is judged by one success less, and stopped alone."""
    service.store.set_policies("default", [])
    page = settled(service, HERE)
    assert [link for link in links(page.body) if "odds=" in link] == [
        f"{HERE}&odds={odds}" for odds in (14, 30, 62, 93, 97)
    ]
    assert "27–32% 3 0 3 100.0% 43.8–100.0% – 0 – −3 33–91% 24 21 3 12.5% 4.3–31.0% 2 42 – 18" in said(
        service
    )


def test_what_an_address_says_wrongly_is_told(service: Service) -> None:
    shown = said(service, "/backtest?agent=support-agent&support=0&odds=150&cost=-1")
    assert "support=0 is no whole number from 1 to 1,000,000,000. cost=-1 is no number from 0" in shown


def test_without_an_agent_or_runs_it_leads_to_some(service: Service) -> None:
    assert links(settled(service, "/backtest?cost=2").body) == ["/backtest?agent=support-agent&cost=2"]
    assert "No such agent" in said(service, "/backtest?agent=nobody")
    none = settled(service, "/backtest?agent=support-agent&to=1990-01-01&cost=2")
    assert "No run of it is over in this window." in text(none.body)
    assert "/backtest?agent=support-agent&window=all&cost=2" in links(none.body)


def test_the_fuse_asks_a_map_that_is_not_narrowed_and_so_does_its_backtest(service: Service) -> None:
    assert "of 60 runs" in said(service, f"{HERE}&where=outcome:success")


def test_what_was_tried_is_kept_while_its_runs_are(service: Service) -> None:
    settled(service, HERE)
    cohort = Cohort("default", "support-agent")
    asked = service.maps.questions(cohort)
    assert isinstance(asked, Ready)
    assert service.trials(cohort, asked) is service.trials(cohort, asked)
    settled(service, HERE)
    assert service.trials(cohort, asked).tried.cache_info()[:2] == (1, 1)


def test_runs_that_still_go_are_not_asked_about() -> None:
    service = service_of([run for run in corpus() if run.run_id == "live-1"])
    assert "No run of it is over in this window." in said(service)
    service.maps.close()


# --- promise and practice ------------------------------------------------------------------------


def test_a_policy_stands_beside_its_ledger(service: Service) -> None:
    service.store.add_firings("default", [fired("bad-0"), fired("bad-1"), fired("live-1")])
    shown = said(service).partition("Kept? ")[2]
    assert shown == (
        "odds below 50% 24 of 60 runs stopped: 12.5% false stops "
        "(4.3–31.0%) stop, in shadow 3 runs, 2 with an outcome that somebody gave: 50.0% false stops "
        "(9.5–90.5%) So far: the two intervals overlap."
    )


def test_only_what_it_did_to_the_agents_own_runs_is_compared(service: Service) -> None:
    """A policy for every agent fires in the runs of others too."""
    service.store.add_firings("default", [replace(fired("bad-0"), agent="another")])
    assert "It has not fired yet." in said(service)


def test_runs_that_were_really_stopped_are_not_compared(service: Service) -> None:
    service.store.add_firings("default", [fired("bad-0", mode="enforce")])
    assert said(service).endswith("Cannot tell: a run that is really stopped can hardly succeed.")


def test_a_policy_that_has_not_fired_or_is_anothers_promises_only(service: Service) -> None:
    assert "24 of 60 runs stopped: 12.5% false stops (4.3–31.0%) It has not fired yet. –" in said(service)
    service.store.set_policies("default", [replace(ODDS, agent="another")])
    assert "No policy holds for this agent yet" in said(service)


# --- arming --------------------------------------------------------------------------------------


def armed(page: Page) -> dict[str, str]:
    """What the form that arms would send."""
    (form,) = [form for form in forms(page.body) if getattr(form, "method", "") == "post"]
    return values(Page("", form))


def forms(node: Any) -> list[html.Form]:
    children = node if isinstance(node, (list, tuple)) else getattr(node, "children", None)
    below = children if isinstance(children, (list, tuple)) else []
    own = [node] if isinstance(node, html.Form) else []
    return own + [form for child in below for form in forms(child)]


def test_what_was_tried_becomes_a_policy_in_shadow(service: Service) -> None:
    sent, site = armed(settled(service, f"{HERE}&odds=40&after=2")), Site()
    assert site.post("/fuses/save", sent | {"name": "tried"}) == (303, "/fuses?policy=tried")
    assert site.store.policies("default") == (
        ODDS,
        Policy(
            name="tried",
            agent="support-agent",
            min_success_odds=0.4,
            action="stop",
            foresight_min_support=20,
            foresight_after_steps=2,
            mode="shadow",
        ),
    )


def test_a_policy_that_is_set_is_changed_and_stays_everybodys(service: Service) -> None:
    sent, site = armed(settled(service, f"{HERE}&policy=odds&odds=40")), Site()
    assert site.post("/fuses/save", sent) == (303, "/fuses?policy=odds")
    assert site.store.policies("default") == (replace(ODDS, min_success_odds=0.4),)


def test_a_policy_of_another_agent_stays_that_agents_and_is_said_to(service: Service) -> None:
    service.store.set_policies("default", [replace(ODDS, agent="another")])
    page = settled(service, f"{HERE}&policy=odds&odds=40&after=1")
    assert armed(page)["agent"] == "another"
    assert "For runs of another, odds below 40%, at least 20 earlier runs, after 1 step." in text(page.body)


def test_a_reader_is_told_that_it_takes_an_admin(service: Service) -> None:
    reader = swap(service, caller=lambda: Caller("default", Role.READ))
    page = settled(reader, HERE)
    assert [getattr(form, "method", "") for form in forms(page.body)].count("post") == 0
    assert "Changing policies takes an admin key." in text(page.body)


# --- for programs --------------------------------------------------------------------------------


def asked(query: str, store: MemoryStore | None = None) -> tuple[int, Any]:
    """What the API answers once the runs are read."""
    app = create_app(store or MemoryStore(corpus()))
    client = app.server.test_client()
    deadline_s = time.monotonic() + 30
    while True:
        answer = client.get(f"/api/v1/backtest?{query}", headers={"Host": "127.0.0.1"})
        if answer.status_code != 202:
            return answer.status_code, answer.json
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_a_program_is_told_the_whole_curve() -> None:
    store = MemoryStore(corpus())
    store.set_policies("default", [ODDS])
    store.add_firings("default", [fired("bad-0")])
    status, found = asked("agent=support-agent&foresight_min_support=20&false_stop_cost=2", store)
    stopped = {
        **{"stopped": 24, "rightly": 21, "wrongly": 3, "steps_saved": 42, "tokens_saved": None},
        **{"low": pytest.approx(0.0434, abs=1e-4), "high": pytest.approx(0.31, abs=1e-4), "metered": 0},
        **{"median_lead": 2.0, "gain": 15.0},
    }
    assert status == 200
    assert found["recommended"] == found["chosen"] == stopped | {"min_success_odds": 0.33}
    assert [len(found["curve"]), found["curve"][49]] == [100, stopped | {"min_success_odds": 0.5}]
    assert {key: found[key] for key in ("runs", "successes", "declared", "unasked", "bounded")} == {
        **{"runs": 60, "successes": 33, "declared": 60, "unasked": 0, "bounded": False}
    }
    (promise,) = found["policies"]
    assert (promise["policy"], promise["backtest"]) == ("odds", stopped | {"min_success_odds": 0.5})
    assert [(each["runs"], each["successes"]) for each in promise["ledger"]] == [(1, 1)]


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("agent=nobody", 404, "No run of the agent 'nobody' is in the store."),
        ("agent=support-agent&min_success_odds=0", 400, "min_success_odds: expected `float` > 0.0."),
        ("agent=support-agent&odds=5", 400, "odds: no such field among agent, foresight_min_support,"),
        ("", 400, "agent: missing."),
    ],
)
def test_what_cannot_be_tried_is_said(query: str, status: int, said: str) -> None:
    found, problem = asked(query)
    assert (found, problem["detail"].startswith(said)) == (status, True), problem


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store = open_store(tmp_path / "demo.sqlite", create=True)
    demo.load(store)
    store.close()
    return tmp_path / "demo.sqlite"


def test_the_command_says_it_in_words(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backtest", "support-agent", "--cost", "2", "--store", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("With odds below 33% it would have stopped 50 of 180 runs: 45 rightly")
    assert "22–84% 50 45 5 10.0% 4.3–21.4% 3 124 41,004 35" in shown
    assert "hopeless: tried here, 50 of 180 runs stopped: 10.0% false stops (4.3–21.4%); in the " in shown
    assert "ledger, 11 runs, 8 with an outcome that somebody gave: 12.5% false stops" in shown


def test_the_command_tells_programs_what_the_api_does(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--earlier", "--support", "20", "--after", "2", "--odds", "40%", "--json"]
    assert main(["backtest", "support-agent", "--store", str(path), *flags]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["chosen"]["min_success_odds"], len(found["curve"])) == (180, 0.4, 100)
    assert [each["policy"] for each in found["policies"]] == ["doubtful", "hopeless"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--odds", "0"], "argument --odds: '0' is no percentage over 0"),
        (["--cost", "much"], "argument --cost: 'much' is no number from 0 to 1,000,000,000"),
        (["--after", "1.5"], "argument --after: '1.5' is no whole number"),
        (["--support", "0"], "argument --support: '0' is no whole number from 1 on"),
    ],
)
def test_the_command_says_which_flag_is_wrong(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["backtest", "support-agent", *flags])
    assert (stopped.value.code, said in capsys.readouterr().err) == (2, True)


def test_of_no_runs_the_command_says_so(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backtest", "support-agent", "--to", "1990-01-01", "--store", str(path)]) == 0
    assert "No run is over in this time: --all looks at all time." in capsys.readouterr().out
