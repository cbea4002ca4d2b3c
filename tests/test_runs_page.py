"""The page of runs without a browser, and the same runs as files."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dash.development.base_component import Component
from flask import Flask
from flask.testing import FlaskClient

from dashboard import exports, urls
from dashboard.app import find_page
from dashboard.pages.runs import table_of
from dashboard.service import Service
from dashboard.urls import Look
from engine.listing import PAGE, Filters, Table, narrow, tabulate
from engine.runs import Outcome, Run, Source
from tests.memory_store import DAY_NS, make_run
from tests.test_pages import flowing, links, service_of, settled, text

AGENT = "desk"
HOSTILE = '<img src=x onerror="alert(1)">'
TURNED = "\u202egnp.exe"


def desk_run(run_id: str, path: str = "llm:m tool:a", outcome: Outcome = Outcome.SUCCESS, **more: Any) -> Run:
    return make_run(run_id, path, outcome, agent=AGENT, **more)


def corpus() -> list[Run]:
    """Twenty that go well, twelve that search three times and fail, one live, one that took no step."""
    return [
        *(
            desk_run(f"good-{number:02}", age_ns=DAY_NS + number, ticket=f"T-{number}")
            for number in range(20)
        ),
        *(
            desk_run(f"bad-{number:02}", "llm:m tool:b tool:b tool:b", Outcome.FAILURE, age_ns=2 * DAY_NS)
            for number in range(12)
        ),
        desk_run("going", source=Source.INFERRED, age_ns=60 * 10**9),
        desk_run("idle", "", Outcome.ABANDONED, age_ns=3 * DAY_NS),
    ]


@pytest.fixture
def service() -> Iterator[Service]:
    made = service_of(corpus())
    yield made
    made.maps.close()


def table(service: Service, look: Look) -> Table:
    """The table of what is looked at, once its map is built."""
    deadline = time.monotonic() + 10
    while not isinstance(found := table_of(service, look), Table):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return found


def said(service: Service, query: str) -> str:
    return flowing(text(settled(service, f"/runs?agent={AGENT}&{query}").body))


def rows(service: Service, query: str) -> list[str]:
    """The runs that a page lists, in order."""
    return re.findall(
        r"/run\?run=([\w.-]+)", " ".join(links(settled(service, f"/runs?agent={AGENT}&{query}").body))
    )


# --- the page ------------------------------------------------------------------------------------


def test_without_an_agent_it_asks_of_which() -> None:
    runs = [*corpus(), make_run("old", "tool:a", agent="past one", age_ns=40 * DAY_NS)]
    page = find_page(service_of(runs), "/runs", Look())
    assert (
        flowing(text(page.body)) == "Runs of which agent? desk 34 runs, last 30 days past one 1 run, all time"
    )
    assert links(page.body) == ["/runs?agent=desk", "/runs?agent=past+one&window=all"]


def test_it_waits_for_the_map_whose_runs_it_lists(service: Service) -> None:
    page = find_page(service, "/runs", Look(agent=AGENT))
    assert (page.waiting, page.agent) == (True, AGENT)
    assert "Building the map of desk, whose runs these are…" in text(page.body)


def test_an_agent_that_nobody_knows_is_told() -> None:
    page = settled(service_of([]), "/runs?agent=nobody")
    assert "No run of “nobody” is in this store." in text(page.body)


def test_the_count_comes_first_with_how_the_runs_ended(service: Service) -> None:
    assert (
        "34 runs: 20 succeeded, 12 failed, 1 abandoned, 1 live. "
        "60.6% of 33 completed runs succeeded (95% interval 43.7–75.3%)." in said(service, "")
    )


def test_what_is_filtered_is_counted_against_all(service: Service) -> None:
    found = said(service, "step=b")
    assert "12 of 34 runs: 12 failed. 0.0% of 12 completed runs succeeded" in found
    assert "against 60.6% of all 33." in found
    assert "with the step b" in found


def test_a_rate_is_not_told_of_runs_that_were_chosen_by_it(service: Service) -> None:
    found = said(service, "outcome=failure")
    assert "12 of 34 runs: 12 failed. outcome" not in found
    assert "completed runs succeeded" not in found


def test_the_newest_come_first_and_a_heading_sorts(service: Service) -> None:
    assert rows(service, "")[:3] == ["going", "good-00", "good-01"]
    assert rows(service, "sort=run")[:2] == ["bad-00", "bad-01"]
    page = settled(service, f"/runs?agent={AGENT}&sort=-steps")
    assert "/runs?agent=desk&sort=steps" in links(page.body)
    assert aria_sorts(page.body) == ["descending"]


def aria_sorts(node: Any) -> list[str]:
    """What every heading says of the order."""
    if isinstance(node, (list, tuple)):
        return [found for child in node for found in aria_sorts(child)]
    if not isinstance(node, Component):
        return []
    own = getattr(node, "aria-sort", None)
    return ([own] if own else []) + aria_sorts(getattr(node, "children", None))


def test_pages_part_the_runs_and_one_past_the_last_is_the_last() -> None:
    service = service_of([desk_run(f"run-{number:03}", age_ns=DAY_NS + number) for number in range(PAGE + 2)])
    assert rows(service, "page=2") == [f"run-{PAGE:03}", f"run-{PAGE + 1:03}"]
    assert rows(service, "page=99") == rows(service, "page=2")
    assert f"{PAGE + 1}–{PAGE + 2} of {PAGE + 2} First Previous Next Last" in said(service, "page=2")
    assert f"/runs?agent={AGENT}&page=2" in links(settled(service, f"/runs?agent={AGENT}").body)


def test_where_nothing_passes_it_says_which_filter_to_leave(service: Service) -> None:
    page = settled(service, f"/runs?agent={AGENT}&outcome=failure&step=a")
    assert (
        "No run passes these filters. 21 runs  without  outcome: failure 12 runs  without  with the step a"
        in (text(page.body))
    )
    assert f"/runs?agent={AGENT}&step=a" in links(page.body)


def test_an_empty_window_leads_to_all_time() -> None:
    page = settled(service_of([desk_run("old", age_ns=50 * DAY_NS)]), f"/runs?agent={AGENT}")
    assert "No run of desk began in this window (last 30 days)." in text(page.body)
    assert f"/runs?agent={AGENT}&window=all" in links(page.body)


def test_a_step_that_this_map_does_not_have_is_told(service: Service) -> None:
    found = said(service, "node=00000000000000ff")
    assert "The step that this link names is not in the map of this window and view." in found
    assert "34 runs without passed a step that this map does not have" in found


def test_a_filter_that_is_none_is_told_and_filters_nothing(service: Service) -> None:
    found = said(service, "outcome=lost&steps=-3")
    assert "outcome=lost is none: it filters nothing. steps=-3 is no number: it filters nothing." in found
    assert "34 runs: 20 succeeded" in found


def test_tools_only_judges_runs_as_their_own_pages_do(service: Service) -> None:
    whole, tools = Look(agent=AGENT), Look(agent=AGENT, view="tools")
    by_run = dict(zip(table(service, whole).run_ids, table(service, whole).verdict.tolist(), strict=True))
    shown = table(service, tools)
    assert dict(zip(shown.run_ids, shown.verdict.tolist(), strict=True)) == by_run
    assert shown.behaviour.cohort.view == "tools"


def test_names_from_traces_are_text_and_go_through_addresses_unharmed() -> None:
    runs = [
        desk_run(f"{HOSTILE} {TURNED} {number}", f"tool:{HOSTILE.replace(' ', '_')}", ticket=f"=cmd {TURNED}")
        for number in range(3)
    ]
    service = service_of(runs)
    page = settled(service, urls.runs_url(Look(agent=AGENT), Filters(ticket=f"=cmd {TURNED}")))
    assert "3 runs: 3 succeeded" in flowing(text(page.body))
    assert HOSTILE in text(page.body)


def test_every_number_of_the_sentence_leads_to_so_many_runs(service: Service) -> None:
    page = settled(service, f"/runs?agent={AGENT}&step=m")
    assert counted(service, page.body) == 3  # succeeded, failed, live


def counted(service: Service, node: Any) -> int:
    """How many links to runs say a number; each must say as many as there are."""
    found = counts(node)
    for number, href in found:
        look = urls.parse(href.partition("?")[2])
        assert narrow(table(service, look), look.filters).size == number, href
    return len(found)


def counts(node: Any) -> list[tuple[int, str]]:
    """Each link to runs whose text begins with a count, and that count."""
    if isinstance(node, (list, tuple)):
        return [found for child in node for found in counts(child)]
    if not isinstance(node, Component):
        return []
    href, words = getattr(node, "href", None) or "", text(node)
    number = re.match(r"[\d,]+(?! (days|hours))(?= |$)", words)
    if href.startswith("/runs?") and number and getattr(node, "children", None):
        return [(int(number[0].replace(",", "")), href)]
    return counts(getattr(node, "children", None))


# --- the files -----------------------------------------------------------------------------------


def client_of(service: Service) -> FlaskClient:
    server = Flask("runs")
    exports.register(server, service)
    client: FlaskClient = server.test_client()
    return client


def exported(service: Service, address: str) -> Any:
    """The answer once the map is there."""
    client, deadline = client_of(service), time.monotonic() + 10
    while (answer := client.get(address)).status_code == 202:
        assert (answer.headers["Retry-After"], answer.headers["Refresh"]) == ("1", "1")
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return answer


def test_csv_says_how_many_rows_there_are_and_holds_them_in_the_order_of_the_page(service: Service) -> None:
    answer = exported(service, f"/runs.csv?agent={AGENT}&outcome=failure&sort=run&page=7")
    first, *lines = answer.text.split("\r\n")
    assert first == "# 12 rows"
    found = [*csv.DictReader(io.StringIO("\n".join(lines)))]
    assert [row["run_id"] for row in found] == [f"bad-{number:02}" for number in range(12)]
    assert found[0] == {
        "run_id": "bad-00",
        "agent": AGENT,
        "outcome": "failure",
        "outcome_source": "declared",
        "by_other_runs": "likely_failure",
        "steps": "4",
        "started": "2027-01-13T08:00:00.000000Z",
        "last_activity": "2027-01-13T08:00:03.500000Z",
        "version": "",
        "ticket": "",
        "node": found[0]["node"],
        "ended_at": "tool:b×3-5",
    }
    assert answer.headers["Content-Disposition"] == 'attachment; filename="runs-desk-2027-01-15.csv"'
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"


def test_json_says_how_many_rows_there_are_and_of_what(service: Service) -> None:
    found = exported(service, f"/runs.json?agent={AGENT}&outcome=live").json
    (run,) = found.pop("runs")
    assert found == {
        "rows": 1,
        "agent": AGENT,
        "window": "last 30 days",
        "steps": "all",
        "where": None,
        "as_of": "2027-01-15T08:00:00.000000Z",
        "filters": {"outcome": "live"},
        "sort": "-started",
    }
    assert (run["run_id"], run["outcome"], run["outcome_source"]) == ("going", "live", None)


def test_json_of_no_run_is_whole(service: Service) -> None:
    found = exported(service, f"/runs.json?agent={AGENT}&version=none").json
    assert (found["rows"], found["runs"]) == (0, [])


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A1", "+1", "-1", "@SUM(A1)"])
def test_a_cell_that_begins_as_a_formula_does_no_harm(name: str) -> None:
    answer = exported(service_of([desk_run(name, ticket=name)]), f"/runs.csv?agent={AGENT}")
    (row,) = csv.DictReader(io.StringIO(answer.text.partition("\r\n")[2]))
    assert (row["run_id"], row["ticket"]) == (f"'{name}", f"'{name}")


def test_the_name_of_a_file_holds_nothing_that_a_header_or_a_folder_could_mind() -> None:
    agent = '../"a\r\nb" \u202e💥'
    service = service_of([make_run("r", "tool:a", agent=agent)])
    found = table(service, Look(agent=agent))
    assert exports.file_name(Look(agent=agent), found, "csv") == "runs-a-b-2027-01-15.csv"


def test_a_file_of_an_agent_that_nobody_knows_is_refused_in_a_sentence(service: Service) -> None:
    answer = exported(service, "/runs.csv?agent=nobody")
    assert answer.status_code == 404
    assert "nobody" in answer.text


def test_a_run_that_is_gone_from_the_store_has_empty_cells(service: Service) -> None:
    found = table(service, Look(agent=AGENT))
    gone = exports.run(tabulate(found.behaviour, found.paths, {}), 0)
    assert (gone["run_id"], gone["outcome"]) == ("good-00", "success")
    assert [gone[name] for name in ("steps", "started", "last_activity", "version")] == [None] * 4
