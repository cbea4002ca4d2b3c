"""What a policy would have done to runs that are over: asked before each call, each by all the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from engine.errors import UnknownRunError
from engine.fuses import Policy
from engine.queries import load_map
from engine.replaying import Replay, replay, replayed, would_fire
from engine.runs import Cohort, Outcome, Run
from engine.walk import Index
from tests.memory_store import NOW_NS, MemoryStore, corpus, make_run

AGENT = "support-agent"
ODDS = Policy(name="odds", min_success_odds=0.5, action="stop", foresight_min_support=20)


def maps_of(store: MemoryStore, *agents: str) -> Callable[[Cohort], Index | None]:
    """The maps of these agents, and of no others."""
    built = {agent: Index(load_map(store, Cohort("default", agent), NOW_NS)) for agent in agents}
    return lambda cohort: built.get(cohort.agent)


class Forgetful(MemoryStore):
    """A store that is told to forget a run between two questions."""

    def run(self, tenant: str, run_id: str) -> Run:
        raise UnknownRunError(f"No run {run_id!r} is in this store.")


def test_a_run_that_goes_meanwhile_is_passed_over() -> None:
    store = Forgetful(corpus())
    assert replay(store, "default", ODDS, [AGENT], NOW_NS, maps_of(store, AGENT)) == Replay()


def test_a_policy_is_tried_on_every_run_of_the_map_but_the_live() -> None:
    """Of 24 bad runs 3 succeed; each has taken 3 steps before its fourth call."""
    store = MemoryStore(corpus())
    found = replay(store, "default", ODDS, [AGENT], NOW_NS, maps_of(store, AGENT))
    assert found == Replay(runs=60, successes=33, fired=24, lost=3)


@pytest.mark.parametrize(("support", "fires"), [(23, True), (24, False)])
def test_a_run_is_left_out_of_what_it_is_judged_by(support: int, fires: bool) -> None:
    """24 runs went its way, itself among them."""
    store = MemoryStore(corpus())
    index = Index(load_map(store, Cohort("default", AGENT), NOW_NS))
    policy = replace(ODDS, foresight_min_support=support)
    assert would_fire(index, store.run("default", "bad-1"), policy) is fires


def test_it_is_asked_before_a_call_and_not_after_the_last() -> None:
    store = MemoryStore(corpus())
    index = Index(load_map(store, Cohort("default", AGENT), NOW_NS))
    run = store.run("default", "bad-1")
    assert would_fire(index, run, replace(ODDS, foresight_after_steps=4))
    assert not would_fire(index, run, replace(ODDS, foresight_after_steps=5))


def test_of_several_agents_as_many_each_are_tried() -> None:
    others = [make_run(f"shop-{number}", "tool:pay", agent="shop") for number in range(40)]
    store = MemoryStore([*corpus(), *others])
    maps = maps_of(store, AGENT, "shop")
    assert replay(store, "default", ODDS, [AGENT, "shop"], NOW_NS, maps, most=20).runs == 19  # one is live
    assert replay(store, "default", ODDS, ["shop"], NOW_NS, maps, most=20).runs == 20
    assert replay(store, "default", replace(ODDS, agent="none"), [AGENT, "shop"], NOW_NS, maps) == Replay()


def test_a_run_that_the_map_counts_otherwise_by_now_is_not_tried() -> None:
    store = MemoryStore(corpus())
    maps = maps_of(store, AGENT)
    told = [replace(run, outcome=Outcome.ABANDONED) if run.run_id == "bad-1" else run for run in corpus()]
    assert replay(MemoryStore(told), "default", ODDS, [AGENT], NOW_NS, maps).runs == 59


def test_nothing_is_tried_of_no_runs() -> None:
    index = Index(load_map(MemoryStore(corpus()), Cohort("default", AGENT), NOW_NS))
    assert replayed(index, [], ODDS) == Replay()
