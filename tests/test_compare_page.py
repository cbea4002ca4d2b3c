"""What the compare page says of tickets, of the runs of one, and of two of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dash.development.base_component import Component

from dashboard.components import lanes
from dashboard.components.menus import DRAWN as DRAWN_OPTIONS
from dashboard.service import Page, Service
from engine import comparing
from engine.builder import Maps
from engine.runs import SECOND_NS, Outcome
from engine.store.sqlite import open_store
from tests.decided import EDIT, HOUR_NS, READ, SEARCH, TEST, Pick, Told, send
from tests.memory_cache import DictCache
from tests.memory_store import NOW_NS
from tests.test_pages import classes, links, settled, text

FAILED = Told(Outcome.FAILURE, age_ns=2 * HOUR_NS)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    store = open_store(tmp_path / "runs.sqlite", create=True)
    made = Service(store, Maps(store, DictCache(), lambda: NOW_NS), lambda: NOW_NS, frozen=True)
    yield made
    made.maps.close()
    store.close()


def compared(service: Service, a: str = "good", b: str = "bad") -> Page:
    return settled(service, f"/compare?ticket=T-7&a={a}&b={b}")


def said(page: Page) -> str:
    return " ".join(text(page.body).split())


def send_pair(service: Service, good: list[Pick], bad: list[Pick]) -> None:
    send(service.store, "good", good)
    send(service.store, "bad", bad, FAILED)


# --- what there is to compare ---------------------------------------------------------------------


def test_a_store_without_tickets_says_so_and_offers_to_compare_by_id(service: Service) -> None:
    send(service.store, "r", [SEARCH], Told(ticket=None))
    page = settled(service, "/compare")
    assert "No run names a ticket yet." in said(page)
    assert "Or two runs by their ids" in said(page)


def test_tickets_are_listed_with_how_their_runs_ended(service: Service) -> None:
    send_pair(service, [SEARCH], [EDIT])
    send(service.store, "other", [SEARCH], Told(ticket="T-8"))
    page = settled(service, "/compare")
    assert "T-7 repo-agent 1 1 – – 1 hour ago" in said(page)
    assert said(page).index("T-7") < said(page).index("T-8")
    assert "/compare?ticket=T-7" in links(page.body)


def test_a_filter_keeps_the_tickets_that_hold_it(service: Service) -> None:
    send(service.store, "one", [SEARCH], Told(ticket="retail-1"))
    send(service.store, "two", [SEARCH], Told(ticket="airline-1"))
    assert "/compare?ticket=airline-1" not in links(settled(service, "/compare?q=retail").body)
    assert "No ticket has “bank” in its name." in said(settled(service, "/compare?q=bank"))


def test_a_ticket_lists_its_runs_and_leads_to_the_pair_that_tells_most(service: Service) -> None:
    send_pair(service, [SEARCH], [EDIT])
    send(service.store, "bare", [EDIT], FAILED._replace(recorded=False, age_ns=3 * HOUR_NS))
    page = settled(service, "/compare?ticket=T-7")
    assert "good success – 1 hour ago 1 recorded insufficient history Choose as A" in said(page)
    assert "Compare a success with a failure" in said(page)
    assert "bare failure – 3 hours ago 1 by steps only insufficient history Choose as A" in said(page)
    assert "/compare?ticket=T-7&a=good&b=bad" in links(page.body)


def test_a_run_that_is_chosen_waits_for_another_beside_it(service: Service) -> None:
    send_pair(service, [SEARCH], [EDIT])
    page = settled(service, "/compare?a=bad")
    assert "chosen as A" in said(page)
    assert "/compare?ticket=T-7&a=bad&b=good" in links(page.body)


def test_a_ticket_with_one_run_says_that_nothing_can_be_put_beside_it(service: Service) -> None:
    send(service.store, "good", [SEARCH])
    page = settled(service, "/compare?ticket=T-7")
    assert "Only one run is of this ticket so far: there is nothing to put beside it." in said(page)


def test_runs_of_several_agents_name_theirs(service: Service) -> None:
    send_pair(service, [SEARCH], [EDIT])
    send(service.store, "theirs", [SEARCH], Told(agent="other-agent"))
    page = settled(service, "/compare?ticket=T-7")
    assert "theirs other-agent" in said(page)
    assert page.agent == ""


# --- two runs -------------------------------------------------------------------------------------


def test_another_menu_is_named_with_what_to_look_at_first(service: Service) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH, EDIT])
    page = compared(service)
    assert "Menu changed At decision 2 A chose read and B chose edit: only A was offered read." in said(page)
    assert "Look first at the prompt and the tool catalogue" in said(page)
    assert "#row-2-2" in links(page.body)
    assert classes(page.body, "fork") == ["lane-item fork"]
    assert "read not offered" in said(page)


def test_options_stand_in_one_order_on_both_sides_and_scores_are_no_percentages(service: Service) -> None:
    ours = Pick("read", {"read": 0.7, "edit": 0.5, "test": 0.1})
    theirs = Pick("edit", {"test": 0.2, "edit": 0.6, "read": 0.4})
    send_pair(service, [ours], [theirs])
    page = compared(service)
    assert "read 0.70 , chosen edit 0.50 test 0.10" in said(page)
    assert "read 0.40 edit 0.60 , chosen test 0.20" in said(page)
    assert "%" not in said(page)


def test_a_pick_that_was_close_to_a_tie_is_marked(service: Service) -> None:
    send_pair(service, [READ], [Pick("edit", {"edit": 0.52, "read": 0.5, "test": 0.1})])
    page = compared(service)
    assert "B was close to a tie" in said(page)
    assert "margin 0.02 , close to a tie" in said(page)


def test_a_margin_that_is_not_told_is_not_put_down_to_scores_that_are_there(service: Service) -> None:
    send_pair(service, [READ], [Pick("gone", {"read": 0.7, "edit": 0.5})])
    page = compared(service)
    assert "gone no margin" in said(page)
    assert "The decision tells of none" in attributes(page.body, "title")


def test_menus_that_changed_before_the_fork_are_listed_as_its_possible_cause(service: Service) -> None:
    narrower = SEARCH._replace(menu={"search": 0.8})
    send_pair(service, [SEARCH, SEARCH, READ], [narrower, narrower, EDIT])
    page = compared(service)
    assert "Changed before the fork, the first may be its cause: decision 1: only A was offered edit" in said(
        page
    )
    assert "Same choice only A was offered edit" in said(page)


def test_a_single_menu_that_changed_before_the_fork_is_told_once_and_led_to(service: Service) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH._replace(menu={"search": 0.8}), EDIT])
    page = compared(service)
    told = "It may have begun before: decision 1: only A was offered edit. Go to decision 1 Go to the fork"
    assert told in said(page)
    assert "Changed before the fork" not in said(page)


def test_of_a_very_long_run_the_first_spans_are_read_and_that_is_said(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH])
    monkeypatch.setattr(comparing, "SPANS", len(service.store.spans(service.tenant, "bad")))
    assert comparing.load_pair(service.store, service.tenant, "good", "bad").cut == ("A",)


def test_a_run_that_stopped_stands_beside_a_gap(service: Service) -> None:
    send_pair(service, [SEARCH, READ, TEST], [SEARCH])
    page = compared(service)
    assert "One run ended At decision 2 A goes on with read, and B has ended." in said(page)
    assert said(page).count("no decision here") == 2


def test_arguments_that_differ_are_shown_at_once_only_where_nothing_else_does(service: Service) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH, READ._replace(args={"file": "b.py"})])
    page = compared(service)
    assert "Where the arguments differ Argument A B file a.py b.py" in said(page)
    assert opened(page.body, "mismatch") == [True]


def test_of_identical_runs_the_first_call_that_ended_otherwise_is_marked(service: Service) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH, READ._replace(ok=False)])
    page = compared(service)
    assert "Look first at what came of the calls under decision 2: it is not the same." in said(page)
    assert "Same choice the first call that came to something else is under it 2 read margin 0.20" in said(
        page
    )


def test_arguments_stay_closed_until_the_fork_is_read(service: Service) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH._replace(args={"query": "clock"}), EDIT])
    page = compared(service)
    assert opened(page.body, "mismatch") == [False]
    assert not any(opened(page.body, "payload"))


def test_a_call_that_only_follows_from_the_other_choice_is_no_mismatch_of_its_own(service: Service) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH, EDIT])
    page = compared(service)
    assert opened(page.body, "mismatch") == []
    assert "1 decision the same, 1 not" in said(page)


def test_the_four_questions_are_answered_for_each_run(service: Service) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH._replace(ran="edit"), READ])
    page = compared(service)
    assert "Did the chosen tool run? yes no: not at decision 1" in said(page)
    assert "Does every call cite a decision? yes yes" in said(page)


def test_runs_without_decisions_compare_by_steps_and_say_so(service: Service) -> None:
    send(service.store, "good", [SEARCH, READ])
    send(service.store, "bad", [SEARCH, EDIT], FAILED._replace(recorded=False))
    page = compared(service)
    assert "B recorded no decision: the two are compared by their steps." in said(page)
    assert "At step 2 A took tool:read and B took tool:edit" in said(page)
    assert "Did the chosen tool run? yes incomplete: cannot tell" in said(page)


def test_long_stretches_that_are_the_same_are_folded(service: Service) -> None:
    send_pair(service, [SEARCH] * 12 + [READ], [SEARCH] * 12 + [EDIT])
    page = compared(service)
    assert "10 decisions the same" in said(page)
    assert len(classes(page.body, "equal")) == 12


def test_a_long_pair_is_drawn_up_to_a_bound_that_is_told(service: Service) -> None:
    send_pair(service, [SEARCH, *[READ] * 300], [SEARCH, *[EDIT] * 300])
    page = compared(service)
    assert len(classes(page.body, "lane-item")) == lanes.DRAWN
    assert len(classes(page.body, "menu")) == 2 * lanes.OPEN
    assert "forkmap diff good bad" in said(page)


def test_the_fork_is_drawn_with_its_options_however_much_differs_before_it(service: Service) -> None:
    narrower = SEARCH._replace(menu={"search": 0.8})
    send_pair(service, [SEARCH] * 300 + [READ, TEST], [narrower] * 300 + [EDIT, TEST])
    page = compared(service)
    assert "#row-301-301" in links(page.body)
    assert attributes(page.body, "id")[-1] == "row-301-301"
    assert len(classes(page.body, "menu")) == 2 * (lanes.OPEN + 1)
    assert "100 rows before the fork not drawn First divergence Menu changed" in said(page)
    assert "The first 200 rows and the fork are drawn" in said(page)


def test_beyond_the_bound_nothing_folded_stands_as_if_it_followed(service: Service) -> None:
    send_pair(service, [READ, *[SEARCH] * 12] * 60, [EDIT, *[SEARCH] * 12] * 60)
    page = compared(service)
    assert len(classes(page.body, "lane-item")) - 8 * len(classes(page.body, "lane-fold")) == lanes.DRAWN
    assert len(classes(page.body, "lane-fold")) < 60


def test_the_command_for_a_long_pair_can_be_pasted_whatever_a_run_is_called(service: Service) -> None:
    send(service.store, "a; rm b", [SEARCH, *[READ] * 300])
    send(service.store, "bad", [SEARCH, *[EDIT] * 300], FAILED)
    assert "forkmap diff 'a; rm b' bad" in said(compared(service, a="a; rm b".replace(" ", "+")))


def test_of_many_options_the_telling_ones_are_drawn(service: Service) -> None:
    many: dict[str, float | None] = {f"tool-{number:05}": 0.5 for number in range(10_000)}
    ours, theirs = Pick("last", many | {"last": 0.1}), Pick("tool-00000", many)
    send_pair(service, [ours], [theirs])
    page = compared(service)
    assert len(classes(page.body, "option")) == 2 * DRAWN_OPTIONS
    assert said(page).count("and 9,989 more options") == 2
    assert "last not offered" in said(page)


def test_swapping_and_copying_are_offered(service: Service) -> None:
    send_pair(service, [SEARCH, READ], [SEARCH, EDIT])
    page = compared(service)
    assert "/compare?ticket=T-7&a=bad&b=good" in links(page.body)
    (copied,) = attributes(page.body, "data-copy")
    assert copied.startswith("**Menu changed.** At decision 2 A chose read and B chose edit")


# --- pairs that cannot be compared, or not without a word ------------------------------------------


def test_a_run_that_is_not_there_is_named_with_those_like_it(service: Service) -> None:
    send_pair(service, [SEARCH], [EDIT])
    page = compared(service, b="badly")
    assert "No run is called badly ." in said(page)
    assert "/compare?ticket=T-7&a=good&b=bad" in links(page.body)
    assert "/compare?ticket=T-7&a=good" in links(page.body)


def test_the_same_run_twice_leads_to_another(service: Service) -> None:
    send_pair(service, [SEARCH], [EDIT])
    page = compared(service, b="good")
    assert "A and B are both good. Choose another run to put beside it." in said(page)
    assert "/compare?ticket=T-7&a=good" in links(page.body)


def test_a_live_run_and_runs_of_two_agents_and_tickets_are_told(service: Service) -> None:
    send(service.store, "good", [SEARCH])
    young = Told(None, "T-8", "other-agent", age_ns=60 * SECOND_NS)
    send(service.store, "bad", [SEARCH], young)
    page = compared(service)
    assert "B is still going: this compares what is there by now. Compare again" in said(page)
    assert "/compare?a=good&b=bad" in links(page.body)
    assert "A is a run of repo-agent, B of other-agent" in said(page)
    assert "A worked on ticket T-7, B on ticket T-8" in said(page)


def test_a_ticket_that_is_not_there_leads_back(service: Service) -> None:
    page = settled(service, "/compare?ticket=nothing")
    assert "No run is of the ticket “nothing”." in said(page)
    assert "/compare" in links(page.body)


def test_a_run_without_a_ticket_asks_for_the_other(service: Service) -> None:
    send(service.store, "alone", [SEARCH], Told(ticket=None))
    assert "The run alone names no ticket." in said(settled(service, "/compare?a=alone"))


def test_a_pasted_ticket_leads_to_the_comparison_of_its_runs(service: Service) -> None:
    send_pair(service, [SEARCH], [EDIT])
    assert "/compare?ticket=T-7" in links(settled(service, "/found?q=T-7").body)


def opened(node: object, name: str) -> list[bool]:
    """Of all of that class, whether each is open."""
    own = [bool(getattr(node, "open", False))] if name in str(getattr(node, "className", "")).split() else []
    return own + [found for child in below(node) for found in opened(child, name)]


def attributes(node: object, name: str) -> list[str]:
    """Every value of an attribute."""
    own = [value] if (value := getattr(node, name, None)) else []
    return own + [found for child in below(node) for found in attributes(child, name)]


def below(node: object) -> list[Component]:
    """The components in one."""
    children = getattr(node, "children", None)
    inside = children if isinstance(children, (list, tuple)) else [children]
    return [child for child in inside if isinstance(child, Component)]
