"""What the pages say of outcomes and rules, without a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from dashboard import urls
from dashboard.app import find_page
from dashboard.service import Service
from engine.declaring import BY_HAND, say_now
from engine.keys import Caller, Role
from engine.rules import parse_rules
from engine.runs import Declaration, Outcome, Run, Source
from tests.memory_store import NOW_NS, corpus
from tests.test_pages import classes, links, service_of, settled, text

RUN = "/run?run=good-1"


@pytest.fixture
def service() -> Iterator[Service]:
    made = service_of([undeclared(run) for run in corpus()])
    yield made
    made.maps.close()


def undeclared(run: Run) -> Run:
    return replace(run, source=Source.INFERRED, inferred=run.outcome)


def test_a_run_says_that_its_outcome_is_inferred_and_leads_to_rules(service: Service) -> None:
    page = settled(service, RUN)
    assert "Nobody has said so: it is inferred from the status of the span that ended last." in text(
        page.body
    )
    assert "/rules?agent=support-agent" in links(page.body)


def test_a_live_run_says_that_it_is_live(service: Service) -> None:
    assert "It is live: nobody has said how it ended" in text(settled(service, "/run?run=live-1").body)


def test_a_run_names_the_rule_that_its_outcome_comes_from(service: Service) -> None:
    service.store.set_rules("default", "support-agent", parse_rules("issue_refund $ -> abandoned"))
    said = " ".join(text(settled(service, RUN).body).split())
    assert "By the rule issue_refund $ -> abandoned ." in said


def test_a_run_lists_all_that_was_declared_with_what_counts_first(service: Service) -> None:
    service.store.declare(
        "default",
        [
            Declaration("good-1", Outcome.ABANDONED, NOW_NS - 3600 * 10**9, "review.csv"),
            Declaration("good-1", Outcome.FAILURE, NOW_NS, "by hand: ann"),
        ],
    )
    page = settled(service, RUN)
    assert "Declared by hand: ann, just now." in text(page.body)
    listed = "failure by hand: ann just now counts"
    assert f"What has been declared {listed} Undo abandoned review.csv 1 hour ago" in text(page.body)
    assert len(classes(page.body, "say")) == 2  # to say, and to undo what was said by hand


def test_who_may_not_say_sees_no_form(service: Service) -> None:
    say_now(service.store, "default", "good-1", Outcome.FAILURE, BY_HAND, NOW_NS)
    reader = replace_caller(service, Caller("default", Role.READ))
    assert classes(settled(reader, RUN).body, "say") == []
    assert "Saving them takes an admin key." in text(
        settled(reader, "/rules?agent=support-agent&rules=a+->+success").body
    )


def replace_caller(service: Service, caller: Caller) -> Service:
    return Service(service.store, service.maps, service.now_ns, lambda: caller, frozen=True)


def test_a_page_says_that_the_map_follows_until_it_does(service: Service) -> None:
    settled(service, RUN)
    say_now(service.store, "default", "good-1", Outcome.FAILURE, BY_HAND, NOW_NS)
    first = find_page(service, "/run", urls.parse("run=good-1"))
    assert "The map still counts this run as success. It is being built anew" in text(first.body)
    assert first.waiting
    assert "The map still counts" not in text(settled(service, RUN).body)


def test_what_is_said_now_goes_before_what_a_clock_ahead_said(service: Service) -> None:
    ahead = Declaration("good-1", Outcome.SUCCESS, NOW_NS + 10**12, "file")
    service.store.declare("default", [ahead])
    said = say_now(service.store, "default", "good-1", Outcome.FAILURE, BY_HAND, NOW_NS)
    assert said.time_ns == ahead.time_ns + 1
    assert service.store.run("default", "good-1").outcome is Outcome.FAILURE


def test_rules_of_nobody_lead_back_to_the_agents(service: Service) -> None:
    page = settled(service, "/rules?agent=nobody")
    assert "No such agent" in text(page.body)
    assert links(page.body) == ["/"]


def test_no_rules_at_all_may_be_tried_and_saved(service: Service) -> None:
    service.store.set_rules("default", "support-agent", parse_rules("* -> failure"))
    said = text(settled(service, "/rules?agent=support-agent&rules=").body)
    assert "Of 61 runs that nobody declared an outcome of, 33 would change" in said
    assert "Leave it without a rule" in said


def test_rules_that_are_set_are_not_offered_to_be_saved(service: Service) -> None:
    service.store.set_rules("default", "support-agent", parse_rules("* -> failure"))
    said = text(settled(service, "/rules?agent=support-agent&rules=*+->+failure").body)
    assert "These are the rules that are set." in said
    assert "Save" not in said.replace("until you save", "")


def test_rules_longer_than_an_address_are_left_to_the_command(service: Service) -> None:
    said = text(settled(service, f"/rules?agent=support-agent&rules={'a' * 9000}").body)
    assert "These are 9,000 characters, and an address holds 8,000: forkmap rules AGENT --try FILE" in said
