"""The pages without a browser: what they say of a store, and what the server answers."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dash import Dash
from dash.development.base_component import Component
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from dashboard import app as dashboard_app
from dashboard import urls
from dashboard.app import Settings, create_app, find_page, show
from dashboard.components import steps
from dashboard.pages import behaviour as map_page
from dashboard.pages import found
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine.builder import Maps, Ready
from engine.ingest.conversation import TIMES
from engine.queries import Found
from engine.runs import ALL_TIME, SECOND_NS, Cohort, Outcome, Run, Source, View, Window
from engine.spans import Span
from tests.memory_cache import DictCache
from tests.memory_store import DAY_NS, NOW_NS, MemoryStore, corpus, make_run

AGENT = "support-agent"


def service_of(runs: list[Run]) -> Service:
    store = MemoryStore(runs)
    return Service(store, Maps(store, DictCache(), lambda: NOW_NS), lambda: NOW_NS, frozen=True)


@pytest.fixture
def service() -> Iterator[Service]:
    made = service_of(corpus())
    yield made
    made.maps.close()


def settled(service: Service, url: str) -> Page:
    """The page at a URL once nothing on it is being built."""
    path, _, search = url.partition("?")
    deadline = time.monotonic() + 30
    while (page := find_page(service, path, urls.parse(search))).waiting:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return page


def text(node: Any) -> str:
    """Everything a component says, in order."""
    if isinstance(node, Component):
        return text(getattr(node, "children", None) or getattr(node, "tree", None))
    if isinstance(node, (list, tuple)):
        return " ".join(part for part in map(text, node) if part)
    return "" if node is None else str(node)


def flowing(said: str) -> str:
    """A sentence without what its links put around their words."""
    return re.sub(r" +(?=[,.:])", "", re.sub(r" +", " ", said))


def links(node: Any) -> list[str]:
    """Every address a component links to."""
    own = [href] if (href := getattr(node, "href", None)) else []
    children = getattr(node, "children", node if isinstance(node, (list, tuple)) else None)
    below = children if isinstance(children, (list, tuple)) else [children]
    nested = [link for child in below if isinstance(child, (Component, list)) for link in links(child)]
    return own + nested


def classes(node: Any, name: str) -> list[str]:
    """The classes of every component that has one of that name."""
    if isinstance(node, (list, tuple)):
        return [found for child in node for found in classes(child, name)]
    if not isinstance(node, Component):
        return []
    own = getattr(node, "className", None) or ""
    return [own] * (name in own.split()) + classes(getattr(node, "children", None), name)


# --- the map --------------------------------------------------------------------------------


def test_a_map_that_is_not_there_yet_is_waited_for(service: Service) -> None:
    page = find_page(service, "/map", Look(agent=AGENT))
    assert (page.waiting, page.stamp) == (True, "building 0")
    assert "Building the map of support-agent…" in text(page.body)


def test_the_headline_says_what_is_wrong_where_how_sure_and_what_next(service: Service) -> None:
    said = text(settled(service, "/map?agent=support-agent").body)
    assert (
        "Runs go wrong at  tool search_orders ×3-5  after  llm gpt :  12.5% of 24 runs that take it succeed "
        ", against 83.3% of 36 that go another way.  That cost about  17 runs ; this is very unlikely to be "
        "chance, even with 2 branches tested.  Confirmed : holds within tickets.   Compare   bad-1 , which "
        "took it, with  good-1 , which went another way."
    ) in said


def test_the_evidence_of_the_worst_fork_stands_beside_the_tree(service: Service) -> None:
    page = settled(service, "/map?agent=support-agent")
    said = text(page.body)
    assert "24 runs came here: 3 succeeded, 21 failed. 1 live run is here or below now." in flowing(said)
    assert "1 live run  here or below live live-1 at gpt, step 3" in said
    assert "Fisher's exact test gives p = 4.7\xa0×\xa010⁻⁸, q = 4.7\xa0×\xa010⁻⁸" in said
    assert {"/run?run=bad-1", "/run?run=good-1"} <= set(links(page.body))


def test_a_fork_that_may_be_chance_is_marked_more_weakly() -> None:
    """One fork in many branches that do not differ: its q-value is no longer small."""
    runs = [
        make_run(f"{name}{n}", f"tool:{name}", Outcome.SUCCESS if n < won else Outcome.FAILURE)
        for name, won in (("bad", 2), *((f"way{place}", 6) for place in range(12)))
        for n in range(8)
    ]
    page = settled(service_of(runs), "/map?agent=support-agent")
    doubt = int(text(page.body).count("this may be chance"))
    weak = [*classes(page.body, "badge-fork"), *classes(page.body, "lost")]
    assert (doubt, weak) == (2, ["badge badge-fork maybe", "lost maybe", "lost maybe"])


def test_a_link_to_a_node_selects_it(service: Service) -> None:
    settled(service, "/map?agent=support-agent")
    answer = service.maps.get(Cohort("default", AGENT))
    assert isinstance(answer, Ready)
    root = answer.value.key_text(0)
    assert "The start" in text(settled(service, f"/map?agent=support-agent&node={root}").body)
    lost = text(settled(service, "/map?agent=support-agent&node=00000000000000ff").body)
    assert "is not in the map of this window and view" in lost


def test_selecting_a_node_gives_its_evidence(service: Service) -> None:
    settled(service, "/map?agent=support-agent")
    answer = service.maps.get(Cohort("default", AGENT))
    assert isinstance(answer, Ready)
    root = answer.value.key_text(0)
    said = text(map_page.show_node(service, root, "?agent=support-agent"))
    assert "60 runs came here: 33 succeeded, 27 failed." in flowing(said)
    lost = text(map_page.show_node(service, "00000000000000ff", "?agent=support-agent"))
    assert "no longer in it" in lost


def test_a_map_without_forks_says_why() -> None:
    impossible = [make_run(f"a{n}", "tool:a", Outcome.FAILURE) for n in range(5)]
    impossible += [make_run(f"b{n}", "tool:b", Outcome.FAILURE) for n in range(5)]
    few = [make_run("a", "tool:a"), make_run("b", "tool:b", Outcome.FAILURE)]
    alike = [make_run(f"{name}{n}", f"tool:{name}") for name in "ab" for n in range(5)]
    straight = [make_run(f"{n}", "tool:a tool:b") for n in range(5)]
    for runs, reason in (
        (impossible, "No fatal fork is possible"),
        (few, "No branch could be tested"),
        (alike, "No fatal forks: of 2 branches tested none"),
        (straight, "Nowhere do runs scatter by 1 bit or more."),
    ):
        assert reason in text(settled(service_of(runs), "/map?agent=support-agent").body)


def test_a_map_tells_of_cut_paths_and_runs_without_steps() -> None:
    runs = [make_run("long", " ".join(f"tool:t{n % 2}" for n in range(100))), make_run("none", "")]
    said = text(settled(service_of(runs), "/map?agent=support-agent").body)
    assert "1 run went on past 64 steps of a path or 192 in all and is cut there, at “…”." in said
    assert "1 run took no step." in said
    tools = text(settled(service_of(runs), "/map?agent=support-agent&view=tools").body)
    assert "1 run took no tool step." in tools


def test_a_map_of_one_run_speaks_of_one() -> None:
    said = text(settled(service_of([make_run("r", "tool:a")]), "/map?agent=support-agent").body)
    assert "Overall 100.0% of 1 completed run succeeded (95% interval 20.7–100.0%)." in said


def test_an_empty_window_leads_to_all_time() -> None:
    service = service_of([make_run("r", "tool:a", age_ns=40 * DAY_NS)])
    page = settled(service, "/map?agent=support-agent")
    assert "No run of support-agent completed in this window (last 30 days)." in text(page.body)
    assert "/map?agent=support-agent&window=all" in links(page.body)


def test_an_unknown_agent_and_an_unreadable_window_are_told(service: Service) -> None:
    assert "No run of “nobody” is in this store." in text(settled(service, "/map?agent=nobody").body)
    said = text(settled(service, "/map?agent=support-agent&from=yesterday").body)
    assert "from=yesterday is no RFC 3339 date or time; the last 30 days are shown." in said


def test_names_are_text_whatever_they_look_like() -> None:
    name = "tool:<img/src=x>[click](javascript:alert)"
    said = text(settled(service_of([make_run("r", name)]), "/map?agent=support-agent").body)
    assert "<img/src=x>[click](javascript:alert)" in said


# --- one run --------------------------------------------------------------------------------


def test_a_run_shows_its_verdict_its_odds_and_its_steps(service: Service) -> None:
    said = text(settled(service, "/run?run=live-1").body)
    for part in (
        "Likely failure 3 of 24 other runs on this path succeeded (12.5%, 95% interval 4.3–31.0%)",
        "The odds fell most at step 2, search_orders×3-5: from 55.0% to 12.5%.",
        "2 tool search_orders ×3-5 fell most here 24",
        "5 steps; the first began  2027-01-15 07:59:00 UTC",
        "5 spans as sent",
    ):
        assert part in said


def test_a_long_run_shows_its_first_steps_and_spans() -> None:
    long = make_run("long", " ".join(f"tool:t{place}" for place in range(1203)))
    said = text(settled(service_of([long]), "/run?run=long").body)
    assert "1,203 steps; the first began" in said
    assert "200 tool t199 +3 min 19 s 500 ms and 1,003 more." in said
    assert "The first 200 spans as sent; there is more" in said


def test_spans_are_shown_as_far_as_there_is_room() -> None:
    full = {f"key-{place:03}": "x" * 5000 for place in range(100)}
    sent = [Span("t", f"s{place}", "step", 0, 1, attributes=full) for place in range(150)]
    said = text(steps.spans(sent))
    assert "The first 2 spans as sent; there is more" in said
    assert 480_000 < len(said) < 520_000


def test_a_run_marks_its_best_next_step() -> None:
    runs = [*corpus(), make_run("fresh", "llm:gpt", age_ns=0)]
    fresh = runs[-1]
    live = Run(**{name: getattr(fresh, name) for name in fresh.__struct_fields__} | {"source": 2})
    said = text(settled(service_of([*runs[:-1], live]), "/run?run=fresh").body)
    assert "tool search_orders best next step 60" in said


def test_a_repeat_of_the_last_step_is_told_to_be_pooled() -> None:
    live = make_run("live", "tool:a tool:x tool:x tool:x", source=Source.INFERRED, age_ns=0)
    path = "tool:a tool:x tool:x tool:x tool:b"
    said = text(
        settled(service_of([*(make_run(f"r{n}", path) for n in range(30)), live]), "/run?run=live").body
    )
    assert "Another x counts with all runs that have as many in a row, or more: lines overlap." in said


def test_a_step_that_is_asked_about_is_judged(service: Service) -> None:
    said = text(settled(service, "/run?run=live-1&next=tool%3Adelete_all").body)
    assert "If it goes on with  tool delete_all : novel" in said


def test_a_step_may_be_named_without_its_kind_and_what_is_none_is_told(service: Service) -> None:
    assert "If it goes on with  tool search_orders" in text(
        settled(service, "/run?run=live-1&next=search_orders").body
    )
    said = text(settled(service, "/run?run=live-1&next=x").body)
    assert "'x' is no step: a step is kind:name, for example tool:search_orders" in said
    assert "If it goes on with " not in said


def test_a_step_that_the_map_calls_a_fatal_fork_is_never_shown_as_going_well() -> None:
    """Once is fatal, again and again is well: the open step is pooled, and on track."""
    runs = [
        make_run(f"{name}{n}", f"tool:a {path}", Outcome.SUCCESS if n < won else Outcome.FAILURE)
        for name, path, won in (
            ("once", "tool:x tool:b", 4),
            ("often", "tool:x tool:x tool:x tool:b", 28),
            ("other", "tool:y", 29),
        )
        for n in range(30)
    ]
    service = service_of([*runs, make_run("live", "tool:a", source=Source.INFERRED, age_ns=0)])
    page = settled(service, "/run?run=live&next=tool%3Ax")
    said = text(page.body)
    told = "On the map  step 2, x , is a fatal fork: 4 of 30 succeeded against 57 of 60 that went another way"
    assert "If it goes on with  tool x : on track" in said
    assert said.count(told) == 1
    assert classes(page.body, "verdict") == ["card verdict verdict-on-track", "verdict verdict-forked"]
    node = next(link for link in links(page.body) if "node=" in link)
    assert "tool x fatal fork" in text(settled(service, node).body)
    done = settled(service, "/run?run=once9")
    assert told in text(done.body)
    assert classes(done.body, "verdict") == ["card verdict verdict-likely-failure"]


def test_a_run_links_to_its_place_on_the_map(service: Service) -> None:
    page = settled(service, "/run?run=bad-1")
    on_map = next(link for link in links(page.body) if "node=" in link)
    assert "24 runs  came here" in text(settled(service, on_map).body)


def test_an_unknown_run_says_what_was_searched_and_what_is_near(service: Service) -> None:
    page = settled(service, "/run?run=live-12")
    assert "Nothing in this store is called  live-12 ." in text(page.body)
    assert (
        "Searched by run id, trace id (with dashes or without), ticket and agent name: "
        "61 runs of 1 agent, all there are."
    ) in text(page.body)
    assert "live live-1 support-agent  ·  1 minute ago" in text(page.body)
    assert links(page.body) == ["/run?run=live-1"]


# --- calibration and the rest ---------------------------------------------------------------


def test_calibration_says_what_predictions_were_worth(service: Service) -> None:
    said = text(settled(service, "/calibration?agent=support-agent").body)
    assert "better than assuming the average" in said
    assert "After steps Predictions Brier Average's Skill" in said
    assert "all, by back-off" in said
    assert "Runs in flight are listed in the order of the estimate" in said
    assert "Predicted Predictions Mean Observed 95% interval 10–20% 48 11.8% 12.5%" in said


def test_an_address_that_is_no_page(service: Service) -> None:
    assert "Nothing is at  /nowhere ." in text(find_page(service, "/nowhere", Look()).body)


def test_a_page_is_redrawn_only_when_something_changed(service: Service) -> None:
    body, _, clock, title, stamp, again_ms = show(service, "/nowhere", "", None, None)
    assert "No such page" in body
    assert (text(clock), title, again_ms) == (
        "Demo clock: stands at  2027-01-15 08:00:00 UTC",
        "No such page · Forkmap",
        0,
    )
    again = show(service, "/nowhere", "", 1, stamp)
    assert [type(part).__name__ for part in again] == ["NoUpdate"] * 5 + ["int"]


# --- the server -----------------------------------------------------------------------------


@pytest.fixture
def app() -> Dash:
    return create_app(MemoryStore(corpus()))


@pytest.fixture
def client(app: Dash) -> FlaskClient:
    client: FlaskClient = app.server.test_client()
    return client


def test_every_answer_carries_the_policy(client: FlaskClient) -> None:
    policy = client.get("/").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert client.get("/go?q=x").headers["X-Content-Type-Options"] == "nosniff"


def test_the_document_is_in_english_and_names_only_its_own_server(client: FlaskClient) -> None:
    document = client.get("/").text
    assert '<html lang="en">' in document
    assert "http://" not in document
    assert "https://" not in document


def test_another_host_name_is_refused(client: FlaskClient) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"Host": "[::1]:8050"}).status_code == 200
    assert client.get("/", headers={"Host": "LOCALHOST:8050"}).status_code == 200


def selecting(selected: object, search: object = f"?agent={AGENT}") -> bytes:
    """The request that the browser makes for a selected node."""
    asked = {
        "output": "node-panel.children",
        "outputs": {"id": "node-panel", "property": "children"},
        "inputs": [{"id": "tree", "property": "selected", "value": selected}],
        "state": [{"id": "url", "property": "search", "value": search}],
        "changedPropIds": ["tree.selected"],
    }
    return json.dumps(asked).encode()


ODD: tuple[object, ...] = (5, True, 1e99, [], {})


@pytest.mark.parametrize(
    "body",
    [
        *map(selecting, ODD),
        *(selecting("00ff", search) for search in ODD),
        *(b"null", b"[]", b"{}", b"", b"\xff", b'{"output": "x"}', b"[" * 100_000),
        selecting("x").replace(b"tree", b"node-panel"),
        selecting("x").replace(b'"property": "children"', b'"property": "id"'),
        selecting("x").replace(b'"id": "url"', b'"id": "stamp"'),
        selecting("x")[:-1] + b', "z": ' + b"[" * 982 + b"]" * 982 + b"}",
    ],
    ids=lambda body: body[:24].decode(errors="replace"),
)
def test_what_no_page_asks_is_refused_in_one_line(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    answer = client.post("/_dash-update-component", data=body, content_type="application/json")
    assert (answer.status_code, answer.text) == (400, "This is nothing that a page of Forkmap asks.")
    assert caplog.messages == ["refused with 400: POST '/_dash-update-component'"]


def test_what_a_page_asks_is_answered_and_no_more_than_fits(client: FlaskClient) -> None:
    for key in ("x", None):
        answer = client.post("/_dash-update-component", data=selecting(key), content_type="application/json")
        assert answer.status_code in (200, 204)
    huge = client.post("/_dash-update-component", data=b" " * 1_000_001, content_type="application/json")
    assert huge.status_code == 413


def test_a_script_that_is_not_there_is_refused_in_one_line(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.get("/_dash-component-suites/dash/nope.js")
    assert (answer.status_code, answer.text) == (404, "No such script is part of Forkmap.")
    assert caplog.messages == ["refused with 404: GET '/_dash-component-suites/dash/nope.js'"]


@pytest.mark.parametrize(
    ("pasted", "leads_to"),
    [
        ("live-1", "/run?run=live-1"),
        ("trace-live-1", "/run?run=live-1"),
        ("support-agent", "/map?agent=support-agent"),
        ("t-19", "/found?q=t-19"),
        ("no such", "/found?q=no+such"),
    ],
)
def test_a_pasted_text_leads_to_what_it_names(client: FlaskClient, pasted: str, leads_to: str) -> None:
    answer = client.get("/go", query_string={"q": pasted})
    assert (answer.status_code, answer.headers["Location"]) == (302, leads_to)


def test_a_pasted_text_leads_to_runs_of_all_time_where_the_agent_has_no_late_ones() -> None:
    old = service_of([make_run("r1", "tool:a", age_ns=400 * DAY_NS), make_run("r2", "", age_ns=400 * DAY_NS)])
    assert found.target(old, Found(("r1",), ())) == "/run?run=r1&window=all"
    assert found.target(old, Found((), (AGENT,))) == f"/map?agent={AGENT}&window=all"
    page = settled(old, "/run?run=r1")
    assert "No other run of support-agent completed in this window (last 30 days)." in text(page.body)
    assert "/run?run=r1&window=all" in links(page.body)
    assert "completed in this window" not in text(settled(old, "/run?run=r1&window=all").body)
    old.maps.close()


def test_a_run_is_shown_by_a_trace_of_it_too(service: Service) -> None:
    said = text(settled(service, "/run?run=trace-live-1").body)
    assert said.startswith("live-1 Copy")


def test_a_run_whose_file_told_no_times_says_so() -> None:
    told = [Span("t", "1", "a", 5), Span("t", "2", "b", 6)]
    assert steps.assumed(told) == []
    told[0] = Span("t", "1", "a", 5, attributes={TIMES: "assumed"})
    assert text(steps.assumed(told)).startswith("The file tells no times.")


def test_a_ticket_of_several_runs_lists_them(service: Service) -> None:
    page = settled(service, "/found?q=t-19")
    assert "2 runs named “t-19”" in text(page.body)
    assert links(page.body) == ["/compare?ticket=t-19", "/run?run=good-19", "/run?run=bad-19"]
    assert "failure bad-19 support-agent · ticket t-19  ·  2 days ago" in text(page.body)


@pytest.mark.parametrize(
    "url", ["/found?q=", "/map?agent=", "/run?run=", "/", "/map?agent=support-agent&from="]
)
def test_a_long_text_is_quoted_in_part(service: Service, url: str) -> None:
    said = text(settled(service, url + "a" * 10_000).body)
    assert "a" * 100 in said
    assert "a" * 300 not in said


def built_map_url(client: FlaskClient, window: str = "") -> str:
    """Address of the built map's columns, as the map page gives it."""
    asked = callback_of("/map", f"?agent={AGENT}&{window}")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        told = json.loads(client.post("/_dash-update-component", json=asked).text)["response"]
        if (source := re.search(r'"src":("[^"]+")', told["body"]["data"])) is not None:
            address: str = json.loads(source[1])
            return address
        time.sleep(0.01)
    raise AssertionError("the map was not built")


def callback_of(path: str, search: str) -> dict[str, Any]:
    """The request that the browser makes for a page."""
    outputs = [
        "body.data",
        "navigation.children",
        "clock.children",
        "title.data",
        "stamp.data",
        "refresh.data",
    ]
    parts = [dict(zip(("id", "property"), output.split("."), strict=True)) for output in outputs]
    return {
        "output": f"..{'...'.join(outputs)}..",
        "outputs": parts,
        "inputs": [
            {"id": "url", "property": "pathname", "value": path},
            {"id": "url", "property": "search", "value": search},
            {"id": "poll", "property": "n_intervals", "value": 0},
        ],
        "state": [{"id": "stamp", "property": "data", "value": None}],
        "changedPropIds": ["url.pathname"],
    }


def test_the_columns_come_gzipped_once_and_are_not_sent_again(client: FlaskClient) -> None:
    url = built_map_url(client)
    packed = client.get(url, headers={"Accept-Encoding": "gzip"})
    plain = client.get(url)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.data)) == plain.json
    tag = packed.headers["ETag"]
    again = client.get(url, headers={"If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")
    assert client.get(url.replace("built=", "built=1")).status_code == 409


def test_who_asks_for_the_columns_of_an_older_build_is_given_those_of_the_newest(client: FlaskClient) -> None:
    url = built_map_url(client)
    older = re.sub("built=[0-9]+", "built=1", url)
    newest, given = client.get(url), client.get(older)
    assert (given.json, given.headers["ETag"]) == (newest.json, newest.headers["ETag"])


def test_two_apps_live_in_one_process() -> None:
    one = create_app(MemoryStore(corpus())).server.test_client()
    two = create_app(MemoryStore([make_run("r", "tool:a", agent="another")])).server.test_client()
    for client, agent in ((one, "support-agent"), (two, "another"), (one, "support-agent")):
        assert agent in client.post("/_dash-update-component", json=callback_of("/", "")).text


def test_built_maps_may_be_kept_in_files(tmp_path: Path) -> None:
    settings = Settings(cache=str(tmp_path))
    app = create_app(MemoryStore(corpus()), settings)
    address = built_map_url(app.server.test_client())
    assert [*tmp_path.iterdir()] != []
    sharing = create_app(MemoryStore([]), settings).server.test_client()
    assert sharing.get(address).status_code == 200


def test_assets_are_found_in_a_checkout() -> None:
    assert (dashboard_app.assets() / "pages.js").is_file()


# --- addresses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        Look(agent="a/b c", window=ALL_TIME, view="tools", node="00ff"),
        Look(agent="é×2", window=Window(DAY_NS, 2 * DAY_NS)),
        Look(agent="a", window=Window(0, 2 * DAY_NS)),
        Look(agent="a", window=Window(DAY_NS, None)),
        Look(agent="a", window=Window(days=1)),
        Look(agent="a", window=Window(days=7)),
        Look(agent="a"),
    ],
)
def test_a_map_url_restores_what_was_looked_at(look: Look) -> None:
    seen = urls.parse(urls.map_url(look).partition("?")[2])
    assert seen._replace(filters=look.filters) == look


moments = st.integers(-(2**63), 2**63 - 1)
windows = st.builds(Window, moments, st.none() | moments, st.just(30))


@given(windows, st.sampled_from(("all", "tools")))
def test_every_nanosecond_of_a_window_survives_its_address(window: Window, view: View) -> None:
    look = Look(agent="a", window=window, view=view)
    cohort = look.cohort("default")
    assert urls.parse(urls.map_url(look).partition("?")[2])._replace(complaint="") == look
    assert urls.parse(urls.map_data_url(cohort, 7).partition("?")[2]).cohort("default") == cohort


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("from=2026-09-01T00:00:00.5Z", Window(1_788_220_800 * SECOND_NS + SECOND_NS // 2, None)),
        ("to=2027-01-15T10:00:00.000000001%2B02:00", Window(0, NOW_NS + 1)),
        ("from=0001-01-01", Window(-(2**63), None)),
        ("to=9999-12-31", Window(0, 2**63 - 1)),
        ("window=7d", Window(days=7)),
        ("window=7d&from=1970-01-02", Window(DAY_NS, None)),
    ],
)
def test_a_bound_is_read_exactly_and_kept_where_runs_can_be(
    client: FlaskClient, query: str, window: Window
) -> None:
    assert urls.parse(f"agent={AGENT}&{query}") == Look(agent=AGENT, window=window)
    assert client.get(built_map_url(client, query)).status_code == 200
