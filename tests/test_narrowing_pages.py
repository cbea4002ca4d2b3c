"""Pages that are narrowed by an expression: what they show, what they say of one that cannot be read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, quote_plus

import pytest
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components.narrowing import SIGNS
from dashboard.service import Service
from dashboard.urls import Look
from engine.narrowing import examples
from engine.runs import Outcome, Source
from engine.sequences import parse
from tests.memory_store import HOUR_NS, make_run
from tests.test_pages import flowing, links, service_of, settled, text
from tests.test_runs_page import exported

AGENT = "desk"
LOOP = "find x3"
PAGES = (urls.MAP, urls.RUNS, urls.CALIBRATION)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Twelve runs that find once and succeed, six that find four times and fail, and one that still does."""
    path = "llm:m tool:find tool:close"
    good = [make_run(f"good-{n}", path, agent=AGENT, ticket=f"T-{n}") for n in range(12)]
    loop = "llm:m tool:find tool:find tool:find tool:find"
    bad = [make_run(f"bad-{n}", loop, Outcome.FAILURE, agent=AGENT, ticket=f"T-{n}") for n in range(6)]
    going = make_run("going", loop, agent=AGENT, source=Source.INFERRED, age_ns=HOUR_NS // 60)
    made = service_of([*good, *bad, going])
    yield made
    made.maps.close()


def body(service: Service, path: str, where: str, more: str = "") -> Component:
    return settled(service, f"{path}?agent={AGENT}&where={quote_plus(where)}{more}").body


def fields(node: Any) -> dict[str, list[str]]:
    """The values of every input of a page, by name."""
    found: dict[str, list[str]] = {}
    for child in node if isinstance(node, (list, tuple)) else [node]:
        if isinstance(child, Component):
            if type(child).__name__ == "Input":
                found.setdefault(vars(child)["name"], []).append(vars(child)["value"])
            for name, values in fields(getattr(child, "children", None)).items():
                found.setdefault(name, []).extend(values)
    return found


def test_a_map_is_of_the_runs_that_match_and_says_of_how_many(service: Service) -> None:
    page = body(service, urls.MAP, LOOP)
    said = flowing(text(page))
    assert "7 of 19 runs match find x3." in said and "6 completed runs" in said
    assert f"/map?agent={AGENT}" in links(page)
    assert fields(page)["where"][0] == LOOP


def test_what_leads_from_a_narrowed_map_to_its_runs_stays_narrowed(service: Service) -> None:
    to_runs = [link for link in links(body(service, urls.MAP, LOOP)) if link.startswith("/runs?")]
    assert to_runs and all(urls.parse(link.partition("?")[2]).where == LOOP for link in to_runs)


@pytest.mark.parametrize("path", PAGES)
def test_another_window_keeps_the_expression(service: Service, path: str) -> None:
    page = body(service, path, LOOP)
    week = [link for link in links(page) if link.startswith(path) and "window=7d" in link]
    assert [urls.parse(link.partition("?")[2]).where for link in week] == [LOOP]
    assert set(fields(page)["where"]) == {LOOP}


def test_a_list_of_runs_is_narrowed_beside_its_filters(service: Service) -> None:
    page = body(service, urls.RUNS, LOOP, "&outcome=failure&ticket=T-3")
    assert {link for link in links(page) if link.startswith("/run?")} == {"/run?run=bad-3"}
    kept = [parse_qs(link.partition("?")[2]) for link in links(page) if link.startswith("/runs?")]
    assert {"agent": [AGENT], "outcome": ["failure"], "ticket": ["T-3"]} in kept
    assert fields(page)["ticket"] == ["T-3"] * len(fields(page)["ticket"])


def test_verdicts_of_a_narrowed_list_are_by_all_runs_as_on_a_runs_own_page(service: Service) -> None:
    lines = exported(service, f"/runs.csv?agent={AGENT}&where=ticket:T-11").text.split("\r\n")[1:]
    assert {row["by_other_runs"] for row in csv.DictReader(io.StringIO("\n".join(lines)))} == {"on_track"}


def test_files_are_of_the_runs_that_match(service: Service) -> None:
    found = exported(service, f"/runs.json?agent={AGENT}&where=find+x3").json
    assert (found["rows"], found["where"]) == (7, LOOP)
    assert {run["run_id"] for run in found["runs"]} == {"going", *(f"bad-{n}" for n in range(6))}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (urls.MAP, "No completed run matches nothing; 19 runs of this window were asked."),
        (urls.RUNS, "No run matches nothing; 19 runs of this window were asked."),
    ],
)
def test_where_nothing_matches_the_way_back_is_there(service: Service, path: str, words: str) -> None:
    page = body(service, path, "nothing")
    assert words in flowing(text(page))
    assert f"{path}?agent={AGENT}" in links(page)


@pytest.mark.parametrize("path", PAGES)
def test_what_cannot_be_read_is_kept_and_told_beside_the_field(service: Service, path: str) -> None:
    page = body(service, path, "find > > close", "&window=7d")
    said = text(page)
    assert "Column 8: '>' stands where a step was expected." in said
    assert "find > > close\n       ^" in said
    assert "Nothing is shown until it can be read." in said and "good-1" not in said
    assert fields(page) == {"agent": [AGENT], "window": ["7d"], "where": ["find > > close"]}
    assert f"{path}?agent={AGENT}&window=7d" in links(page)


def test_what_is_too_long_is_refused_without_a_place(service: Service) -> None:
    said = text(body(service, urls.MAP, "a" * 10_000))
    assert "An expression has at most 1,000 characters, this one 10,000." in said and "^\n" not in said


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_file_of_what_cannot_be_read_is_refused_with_the_place(service: Service, kind: str) -> None:
    answer = exported(service, f"/runs.{kind}?agent={AGENT}&where=find+%3E")
    assert (answer.status_code, answer.text) == (400, "where: column 7: a step is missing.\nfind >\n      ^")


def test_examples_are_of_the_agents_own_steps_and_each_finds_its_way(service: Service) -> None:
    page = body(service, urls.MAP, "")
    offered = [urls.parse(link.partition("?")[2]).where for link in links(page) if "where=" in link]
    assert offered == ["error(*)", "find x3", "find .. !close", "close $"]
    assert "6 completed runs" in text(body(service, urls.MAP, offered[1]))


@pytest.mark.parametrize(
    "signatures", [(), ("llm:m",), ("tool:and", "tool:x3"), ('tool:look "up" *', "tool:a.b"), ("agent:é",)]
)
def test_every_example_can_be_read(signatures: tuple[str, ...]) -> None:
    for expression, meaning in examples(signatures):
        assert parse(expression) and meaning


def test_all_that_is_said_to_be_possible_is(service: Service) -> None:
    for signs, _ in SIGNS:
        for sign in re.split(r", ", signs.replace("(…)", "(A)")):
            assert parse(sign)


@pytest.mark.parametrize("path", PAGES)
def test_that_runs_were_picked_by_how_they_ended_is_told(service: Service, path: str) -> None:
    told = "The expression picks runs by how they ended"
    assert told in text(body(service, path, "find and outcome:failure"))
    assert told not in text(body(service, path, LOOP))


def test_an_address_says_what_narrows_it() -> None:
    look = Look(agent="a", where="b > c", view="tools")
    assert urls.map_url(look) == "/map?agent=a&view=tools&where=b+%3E+c"
    assert urls.runs_url(look) == "/runs?agent=a&view=tools&where=b+%3E+c"
    assert urls.calibration_url(look) == "/calibration?agent=a&where=b+%3E+c"
    assert urls.run_url(look._replace(run="r")) == "/run?run=r"
    for address in (urls.map_url(look), urls.map_data_url(look.cohort("t"), 7)):
        assert urls.parse(address.partition("?")[2]).cohort("t") == look.cohort("t")
