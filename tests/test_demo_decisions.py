"""The demo's tickets: a pair for each diagnosis, a finding of each kind, and what pages show of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from dashboard import urls
from dashboard.pages import run
from dashboard.service import Page, Service
from engine import demo
from engine.builder import Maps
from engine.comparing import load_pair
from engine.decisions.diff import Diagnosis
from engine.decisions.trace import Kind
from engine.demo.tickets import TICKETS
from engine.runs import Outcome
from engine.store import Store
from engine.store.sqlite import open_store
from tests.memory_cache import DictCache
from tests.test_pages import classes, links, settled, text


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    made = open_store(tmp_path_factory.mktemp("demo") / "demo.sqlite", create=True)
    demo.load(made)
    yield made
    made.close()


@pytest.fixture(scope="module")
def service(store: Store) -> Iterator[Service]:
    made = Service(store, Maps(store, DictCache(), lambda: demo.NOW_NS), lambda: demo.NOW_NS, frozen=True)
    yield made
    made.maps.close()


def diagnosis(store: Store, ticket: str, failure: int, success: int) -> Diagnosis:
    return load_pair(store, "default", f"{ticket}-{failure}", f"{ticket}-{success}").diff.diagnosis


def run_page(service: Service, run_id: str) -> Page:
    return settled(service, f"/run?run={run_id}")


def test_every_ticket_has_a_failure_and_then_a_success(store: Store) -> None:
    ended = {
        ticket.name: [
            store.run("default", f"{ticket.name}-{attempt}").outcome
            for attempt in range(1, len(ticket.runs) + 1)
        ]
        for ticket in TICKETS
    }
    assert len(ended) == 11
    assert {outcomes[-1] for outcomes in ended.values()} == {Outcome.SUCCESS}
    assert {outcome for outcomes in ended.values() for outcome in outcomes[:-1]} == {Outcome.FAILURE}


def test_there_is_a_pair_for_each_diagnosis(store: Store) -> None:
    made = {ticket: diagnosis(store, ticket, 1, 2) for ticket in ("repo-policy", "repo-long")}
    named = {each: diagnosis(store, f"repo-{each}", 1, 2) for each in Diagnosis if each != Diagnosis.MENU}
    assert made == {"repo-policy": Diagnosis.POLICY, "repo-long": Diagnosis.SCORING}
    assert named == {each: each for each in named}
    assert diagnosis(store, "repo-menu", 1, 3) == diagnosis(store, "repo-menu", 2, 3) == Diagnosis.MENU
    assert diagnosis(store, "repo-menu", 1, 2) == Diagnosis.IDENTICAL


def test_there_is_a_finding_of_each_kind_each_once_but_for_low_margins(store: Store) -> None:
    found: Counter[Kind] = Counter()
    for ticket in TICKETS:
        pair = load_pair(store, "default", f"{ticket.name}-1", f"{ticket.name}-{len(ticket.runs)}")
        assert pair.b.trace is not None
        assert pair.b.trace.findings == ()
        found.update(finding.kind for finding in (pair.a.trace.findings if pair.a.trace else ()))
    assert found == {kind: 2 if kind == Kind.LOW_MARGIN else 1 for kind in Kind}


def test_ranks_that_changed_before_the_fork_are_among_the_changes(store: Store) -> None:
    diff = load_pair(store, "default", "repo-scoring-1", "repo-scoring-2").diff
    assert (diff.fork, [(each.a, each.menu, each.ranks) for each in diff.before]) == (1, [(0, False, True)])


def test_the_map_of_its_agent_has_a_fork_with_two_runs_of_one_ticket_to_compare(service: Service) -> None:
    body = settled(service, "/map?agent=repo-agent").body
    assert "Open this in: runs · compare" in text(body)
    assert links(body).count(urls.compare_url("repo-menu-2", "repo-menu-3")) == 2


# --- the page of a run ----------------------------------------------------------------------


def test_findings_stand_beside_the_steps_they_concern_and_above_them_in_words(service: Service) -> None:
    said = text(run_page(service, "repo-journal-1").body)
    above, _, steps = said.partition("10 steps; the first began")
    told = "each told beside the step that it concerns, or here."
    assert f"10 decisions recorded; the audit finds 10 things wrong, {told}" in above
    nowhere = "unconsumed_decision No call carried out the decision decision-9."
    assert f"Beside no step that is shown: {nowhere}" in above
    beside = [
        "search_code +1.0 s 1.0 s duplicate_span The id result-0 was there before.",
        "read_file +5.0 s 1.0 s duplicate_option run_tests is among the options more than once.",
        "choice_mismatch edit_file was chosen, and read_file was called.",
        "missing_decision run_tests was called without a decision of its own.",
    ]
    assert [line for line in beside if line not in steps] == []


def test_a_decision_that_cannot_be_read_is_told_beside_the_call_that_hangs_from_it(service: Service) -> None:
    said = text(run_page(service, "repo-attributes-1").body)
    assert "read_file +5.0 s 1.0 s bad_json This is no JSON: options" in said
    assert "edit_file +9.0 s 1.0 s bad_record A field cannot be read: options[0].score" in said


def test_the_decision_behind_a_step_is_closed_under_it(service: Service) -> None:
    body = run_page(service, "repo-menu-1").body
    said = text(body)
    assert "3 decisions recorded; the audit finds nothing wrong." in said
    assert "Chosen: edit_file out of 2 options by argmax_score, margin 0.27" in said
    assert "see how the invoice test sets its date" in said
    assert len(classes(body, "decision")) == 3


def test_a_run_without_decisions_says_nothing_of_them(service: Service) -> None:
    body = run_page(service, "repo-unrecorded-1").body
    assert (classes(body, "decision"), classes(body, "audit")) == ([], [])


@pytest.mark.parametrize(
    ("run_id", "words", "other", "ticket"),
    [
        ("repo-menu-1", "a success of the same ticket", "repo-menu-3", "repo-menu"),
        ("repo-menu-3", "a failure of the same ticket", "repo-menu-2", "repo-menu"),
        ("live-doomed-0", "a success from the same point", "support-115", ""),
    ],
)
def test_a_run_leads_to_one_that_ended_otherwise_to_compare_it_with(
    service: Service, run_id: str, words: str, other: str, ticket: str
) -> None:
    body = run_page(service, run_id).body
    assert f"Compare with {words} {other}" in text(body)
    assert urls.compare_url(run_id, other, ticket) in links(body)


def test_of_a_run_of_very_many_spans_the_first_are_read_and_that_is_said(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "DECIDING_SPANS", 4)
    said = text(run_page(service, "repo-menu-1").body)
    assert "1 decision recorded; the audit finds nothing wrong. Only its first 4 spans were read" in said
