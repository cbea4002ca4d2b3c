"""The fuses' page without a browser: what it says of policies and their ledger, and what its forms change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as swap
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from msgspec.structs import replace

from dashboard import urls
from dashboard.app import create_app, find_page
from dashboard.components import drafts
from dashboard.components.drafts import TAKEN, WRONG, Draft
from dashboard.components.ledger import SHOWN
from dashboard.pages.fuses import ONLY_ADMINS
from dashboard.service import Page, Service
from engine.fuses import MAX_POLICIES, Firing, Policy
from engine.keys import Caller, Role, mint
from engine.runs import SECOND_NS
from tests.memory_store import NOW_NS, MemoryStore, corpus
from tests.test_pages import classes, links, service_of, settled, text

ODDS = Policy(name="odds", min_success_odds=0.5, action="stop", foresight_min_support=20, mode="shadow")
FORM = {
    **{"name": "odds", "agent": "", "percent": "50", "action": "stop", "mode": "shadow"},
    **{"foresight_min_support": "20", "foresight_after_steps": "3", "edit": "", "seen": ""},
}


def fired(run_id: str, policy: str = "odds", mode: Any = "shadow", next_step: str | None = None) -> Firing:
    why = "3 of 24 earlier runs on this path succeeded."
    return Firing(
        NOW_NS - SECOND_NS, run_id, "support-agent", policy, "stop", mode, next_step, 3, 24, 3, 0.5, why
    )


@pytest.fixture
def service() -> Iterator[Service]:
    made = service_of(corpus())
    made.store.set_policies("default", [ODDS])
    yield made
    made.maps.close()


def shown(service: Service, url: str = "/fuses") -> str:
    return " ".join(text(settled(service, url).body).split())


# --- what it says --------------------------------------------------------------------------------


def test_without_a_policy_it_says_what_one_is_and_how_to_begin() -> None:
    service = service_of([])
    said = shown(service)
    assert "No policy is set: every call is allowed, and nothing is written down." in said
    assert "A policy says how bad the odds of a run may be." in said
    assert "No fuse has fired yet" in said
    assert "/fuses?edit=" in links(settled(service, "/fuses").body)


def test_a_policy_is_said_in_words_with_what_it_would_fire_in_now(service: Service) -> None:
    said = shown(service)
    assert "1 policy, in shadow: every call is allowed, and what it would have said is written down." in said
    assert (
        "Would stop runs of every agent that have taken 3 steps, where at least 20 earlier runs went the "
        "same way and even the upper bound of their success rate's 95% interval is below 50%. Try it on runs "
        "that are over It has not fired yet. 1 of 1 run in flight would be stopped. live-1"
    ) in said


def test_until_the_map_is_there_it_says_so_and_asks_again(service: Service) -> None:
    first = find_page(service, "/fuses", urls.parse(""))
    assert first.waiting
    assert "Of 1 run in flight nothing can be said yet: the map of support-agent is not built." in text(
        first.body
    )
    assert "not built" not in shown(service)


def test_outcomes_since_are_counted_apart_from_what_is_inferred(service: Service) -> None:
    service.store.add_firings(
        "default", [fired("bad-0"), fired("bad-0"), fired("bad-1"), fired("live-1"), fired("x")]
    )
    assert (
        "Would have stopped 4 runs. By what was said of 2 of them, 1 succeeded after all: 50.0% false stops "
        "(9.5–90.5%). 2 are not over, or no longer stored."
    ) in shown(service)


def test_each_line_tells_what_it_went_by_and_how_the_run_ended(service: Service) -> None:
    lines = [
        fired("x"),
        fired("live-1"),
        fired("bad-1", next_step="tool:pay"),
        fired("bad-0", mode="enforce"),
    ]
    service.store.add_firings("default", lines)
    assert shown(service).partition("Ended since ")[2].split("just now ")[1:] == [
        "bad-0 support-agent odds stop 3 3 of 24 31.0% 50% success declared false stop ",
        "bad-1 support-agent odds stop, in shadow 3, then tool pay 3 of 24 31.0% 50% failure declared ",
        "live-1 support-agent odds stop, in shadow 3 3 of 24 31.0% 50% live ",
        "x support-agent odds stop, in shadow 3 3 of 24 31.0% 50% the run is gone",
    ]


def test_the_ledger_is_narrowed_down_to_a_policy_and_a_run(service: Service) -> None:
    service.store.add_firings("default", [fired("bad-0"), fired("bad-1"), fired("bad-1", "old")])
    assert runs_listed(settled(service, "/fuses?policy=old")) == ["bad-1"]
    assert runs_listed(settled(service, "/fuses?run=bad-1")) == ["bad-1", "bad-1"]
    assert runs_listed(settled(service, "/fuses?policy=odds&run=trace-bad-1")) == ["bad-1"]
    assert "The fuse of odds has not fired in the run good-1." in shown(
        service, "/fuses?policy=odds&run=good-1"
    )
    assert "No run in this store is called “nobody”" in shown(service, "/fuses?run=nobody")


def test_an_empty_ledger_of_one_policy_speaks_of_no_other(service: Service) -> None:
    service.store.add_firings("default", [fired("bad-1", "old")])
    assert "The fuse of odds has not fired yet: a line" in shown(service, "/fuses?policy=odds")


def runs_listed(page: Page) -> list[str]:
    """Runs of the ledger's lines."""
    return [
        parse_qs(urlsplit(href).query)["run"][0]
        for href in links(ledger_of(page))
        if href.startswith("/run?")
    ]


def ledger_of(page: Page) -> Any:
    (ledger,) = [part for part in page.body.children if getattr(part, "id", "") == "ledger"]
    return ledger


def test_the_ledger_goes_by_the_page(service: Service) -> None:
    service.store.add_firings("default", [fired(f"bad-{number % 24}") for number in range(SHOWN + 2)])
    first = settled(service, "/fuses?policy=odds")
    assert len(runs_listed(first)) == SHOWN
    assert links(ledger_of(first))[-1] == "/fuses?policy=odds&after=3"
    rest = settled(service, "/fuses?policy=odds&after=3")
    assert runs_listed(rest) == ["bad-1", "bad-0"]
    assert links(ledger_of(rest))[-1] == "/fuses?policy=odds"
    assert "There are no older lines." in shown(service, "/fuses?after=1")


def test_a_policy_that_is_set_no_more_keeps_its_ledger(service: Service) -> None:
    service.store.add_firings("default", [fired("bad-1", "old")])
    said = shown(service)
    assert "Set no more old Would have stopped 1 run. By what was said of 1 of them, none succeeded" in said
    assert "odds Would stop" not in shown(service, "/fuses?policy=old")


def test_a_policy_that_nobody_knows_leads_back(service: Service) -> None:
    page = settled(service, "/fuses?policy=none")
    assert "No policy is called “none”, and none of this name has fired." in text(page.body)
    assert links(page.body) == ["/fuses"]


def test_a_policy_for_an_agent_without_runs_says_that_it_waits(service: Service) -> None:
    service.store.set_policy("default", replace(ODDS, name="later", agent="sales"))
    said = shown(service, "/fuses?policy=later")
    assert "No run is in flight. No agent of this name has runs yet: the policy waits for one." in said


def test_who_may_only_read_sees_everything_and_no_form(service: Service) -> None:
    service.store.add_firings("default", [fired("bad-0")])
    reader = swap(service, caller=lambda: Caller("default", Role.READ))
    page = settled(reader, "/fuses")
    assert ONLY_ADMINS in text(page.body)
    assert "1 succeeded after all" in text(page.body)
    assert (classes(page.body, "policy-actions"), [link for link in links(page.body) if "edit" in link]) == (
        [],
        [],
    )
    assert ONLY_ADMINS in text(settled(reader, "/fuses?edit=odds").body)
    assert classes(settled(reader, "/fuses?edit=odds").body, "policy-form") == []


def test_a_name_that_is_written_backwards_turns_nothing_but_itself(service: Service) -> None:
    service.store.set_policy("default", replace(ODDS, name="turned", agent="a\u202eb"))
    assert "runs of \u2068a\u202eb\u2069 that have taken" in shown(service, "/fuses?policy=turned")


# --- the form ------------------------------------------------------------------------------------


def values(page: Page) -> dict[str, str]:
    """What the fields of the form hold, by name."""
    found: dict[str, str] = {}

    def look(node: Any) -> None:
        if isinstance(node, (list, tuple)):
            for child in node:
                look(child)
        elif hasattr(node, "_namespace"):
            if name := getattr(node, "name", None):
                chosen = [
                    each.value
                    for each in getattr(node, "children", None) or []
                    if hasattr(each, "selected") and each.selected
                ]
                found[name] = chosen[0] if chosen else getattr(node, "value", "")
            look(getattr(node, "children", None))

    look(page.body)
    return found


def test_the_form_of_a_policy_holds_what_is_set_and_says_what_it_does(service: Service) -> None:
    settled(service, "/fuses")
    page = settled(service, "/fuses?edit=odds")
    found = values(page)
    assert drafts.read(drafts.typed(found)) == ODDS
    assert (found["edit"], found["name"], found["seen"]) == ("odds", "odds", drafts.stamp(ODDS))
    asked = settled(service, urls.fuses_url(edit="odds", draft=drafts.write(drafts.draft_of(ODDS))))
    said = text(asked.body)
    assert (
        "Of the 60 runs of the last 30 days that are over, asked about before every call and judged by all "
        "others, it would have stopped 24. 3 of these succeeded: 12.5% false stops (4.3–31.0%). Of the 27 "
        "that did not succeed it would have stopped 21."
    ) in said
    assert "/backtest?agent=support-agent&policy=odds&support=20&odds=50" in links(asked.body)
    assert "Nothing is saved yet." not in said


def test_a_new_policy_begins_in_shadow(service: Service) -> None:
    found = values(settled(service, "/fuses?edit="))
    assert (found["name"], found["mode"], found["action"]) == ("", "shadow", "stop")
    assert (found["foresight_min_support"], found["foresight_after_steps"]) == ("30", "3")


def test_what_is_wrong_stands_beside_its_field_and_all_that_was_typed_stays(service: Service) -> None:
    typed = Draft("a b", "x", "150", "stop", "none", "3", "shadow")
    page = settled(service, urls.fuses_url(edit="", draft=drafts.write(typed)))
    assert {name: values(page)[name] for name in Draft._fields} == typed._asdict()
    said = text(page.body)
    for field in ("name", "percent", "foresight_min_support"):
        assert WRONG[field] in said
    assert WRONG["agent"] not in said
    assert "Nothing was saved: see what is marked." in said


def test_an_edited_policy_that_is_gone_or_changed_says_so(service: Service) -> None:
    draft = drafts.write(drafts.draft_of(replace(ODDS, min_success_odds=0.3)))
    said = text(settled(service, urls.fuses_url(edit="odds", draft=draft)).body)
    assert "The policy was changed meanwhile. Now it says: Would stop runs of every agent" in said
    service.store.remove_policy("default", "odds")
    page = settled(service, urls.fuses_url(edit="odds", draft=draft))
    assert "The policy odds was removed meanwhile; saving sets it again." in text(page.body)
    assert (values(page)["edit"], values(page)["seen"]) == ("", "")


def test_a_hundred_policies_leave_no_room(service: Service) -> None:
    service.store.set_policies(
        "default", [replace(ODDS, name=f"p{number}") for number in range(MAX_POLICIES)]
    )
    assert "There are 100 policies, and there may be no more" in text(settled(service, "/fuses?edit=").body)
    assert "may be no more" not in text(settled(service, "/fuses?edit=p7").body)


# --- what it changes -----------------------------------------------------------------------------


class Site:
    """A client signed in to a dashboard over a store."""

    def __init__(self, role: Role = Role.ADMIN) -> None:
        self.store = MemoryStore(corpus())
        self.store.set_policies("default", [ODDS])
        key, shown = mint("default", role, "", 0)
        self.store.add_key(key)
        self.client: FlaskClient = create_app(self.store).server.test_client()
        assert self.client.post("/signin", data={"key": shown}).status_code == 303

    def post(self, path: str, fields: dict[str, str], origin: str = "http://localhost") -> tuple[int, str]:
        answer = self.client.post(path, data=fields, headers={"Origin": origin})
        return answer.status_code, answer.headers.get("Location", "")


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_policy_is_made_and_shown(site: Site) -> None:
    new = FORM | {"name": "low", "agent": " desk ", "percent": "12,5 %", "mode": "enforce"}
    assert site.post("/fuses/save", new) == (303, "/fuses?policy=low")
    made = Policy(
        name="low",
        agent="desk",
        min_success_odds=0.125,
        action="stop",
        foresight_min_support=20,
        mode="enforce",
    )
    assert site.store.policies("default") == (ODDS, made)


def test_a_policy_is_edited_only_as_it_was_shown(site: Site) -> None:
    edited = FORM | {"edit": "odds", "seen": drafts.stamp(ODDS), "percent": "40"}
    assert site.post("/fuses/save", edited) == (303, "/fuses?policy=odds")
    assert site.store.policies("default") == (replace(ODDS, min_success_odds=0.4),)
    status, back = site.post("/fuses/save", edited | {"percent": "45"})
    assert (status, urlsplit(back).path) == (303, "/fuses")
    assert drafts.unwrite(parse_qs(urlsplit(back).query)["draft"][0]).percent == "45"
    assert site.store.policies("default") == (replace(ODDS, min_success_odds=0.4),)


@pytest.mark.parametrize(
    "fields", [{"percent": "0"}, {"name": "a b"}, {"name": "odds"}, {"name": "low", "try": "1"}]
)
def test_what_is_wrong_taken_or_only_tried_is_not_saved_and_comes_back(
    site: Site, fields: dict[str, str]
) -> None:
    sent = FORM | {"name": "low"} | fields
    status, back = site.post("/fuses/save", sent)
    query = parse_qs(urlsplit(back).query, keep_blank_values=True)
    assert (status, query["edit"]) == (303, [""])
    assert drafts.unwrite(query["draft"][0]) == drafts.typed(sent)
    assert site.store.policies("default") == (ODDS,)


def test_a_name_that_is_taken_is_said_beside_it(service: Service) -> None:
    page = settled(service, urls.fuses_url(edit="", draft=drafts.write(drafts.typed(FORM))))
    assert TAKEN in text(page.body)


def test_a_policy_is_enforced_and_put_back_in_shadow(site: Site) -> None:
    seen = drafts.stamp(ODDS)
    assert site.post("/fuses/mode", {"name": "odds", "mode": "enforce", "policy": "odds", "seen": seen}) == (
        303,
        "/fuses?policy=odds",
    )
    assert site.store.policies("default") == (replace(ODDS, mode="enforce"),)
    assert site.post("/fuses/mode", {"name": "odds", "mode": "shadow"}) == (303, "/fuses")
    assert site.store.policies("default") == (ODDS,)
    assert site.post("/fuses/mode", {"name": "odds", "mode": "loud"})[0] == 400
    assert site.post("/fuses/mode", {"name": "gone", "mode": "enforce"}) == (303, "/fuses")


def test_a_policy_is_enforced_only_as_it_was_shown(site: Site) -> None:
    changed = replace(ODDS, min_success_odds=0.9)
    site.store.set_policy("default", changed)
    sent = {"name": "odds", "mode": "enforce", "seen": drafts.stamp(ODDS)}
    status, back = site.post("/fuses/mode", sent)
    query = parse_qs(urlsplit(back).query)
    assert (status, query["edit"], drafts.unwrite(query["draft"][0]).mode) == (303, ["odds"], "enforce")
    assert site.store.policies("default") == (changed,)


def test_a_policy_is_removed(site: Site) -> None:
    assert site.post("/fuses/remove", {"name": "odds"}) == (303, "/fuses")
    assert site.store.policies("default") == ()


@pytest.mark.parametrize("path", ["/fuses/save", "/fuses/mode", "/fuses/remove"])
def test_nobody_but_an_admin_on_a_page_of_this_server_changes_anything(path: str) -> None:
    sent = FORM | {"name": "odds", "mode": "enforce", "edit": "odds", "seen": drafts.stamp(ODDS)}
    reader, foreign = Site(Role.READ), Site()
    assert reader.post(path, sent)[0] == 403
    assert foreign.post(path, sent, "http://evil.example")[0] == 403
    assert (reader.store.policies("default"), foreign.store.policies("default")) == ((ODDS,), (ODDS,))
