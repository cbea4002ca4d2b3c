"""The questions that the command and the pages ask."""

from __future__ import annotations

import pytest

from engine import queries
from engine.errors import UnknownAgentError, UnknownRunError, UnknownStepError
from engine.queries import Example, Found
from engine.runs import ALL_TIME, Cohort, Outcome, Run, Window
from engine.store import AgentSummary
from tests.memory_store import DAY_NS, NOW_NS, MemoryStore, corpus, make_run

COHORT = Cohort("default", "support-agent")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(corpus())


def test_the_overview_lists_every_agent_those_with_recent_runs_first() -> None:
    store = MemoryStore(
        [
            make_run("r1", "tool:a", agent="small"),
            *(make_run(f"b{number}", "tool:a", agent="big") for number in range(3)),
            *(make_run(f"o{number}", "tool:a", agent="old", age_ns=90 * DAY_NS) for number in range(9)),
        ]
    )
    lines = queries.overview(store, "default", NOW_NS)
    assert [
        (line.window.agent, line.window.completed, line.all_time.completed, line.recent) for line in lines
    ] == [
        ("big", 3, 3, True),
        ("small", 1, 1, True),
        ("old", 0, 9, False),
    ]


class Changing(MemoryStore):
    """Has its agents only the first, or only the second time it is asked."""

    turn, asked = 1, 0

    def agents(self, tenant: str, window: Window, now_ns: int) -> list[AgentSummary]:
        self.asked += 1
        return super().agents(tenant, window, now_ns) if self.asked == self.turn else []


@pytest.mark.parametrize("turn", [1, 2])
def test_an_agent_that_comes_or_goes_between_two_questions_is_left_out(turn: int) -> None:
    store = Changing(corpus())
    store.turn = turn
    assert queries.overview(store, "default", NOW_NS) == []


def test_a_map_is_built_from_the_store(store: MemoryStore) -> None:
    behaviour = queries.load_map(store, COHORT, NOW_NS)
    assert behaviour.totals[:5] == (60, 33, 27, 0, 1)
    assert behaviour.fork.sum() == 1


def test_an_unknown_agent_is_told(store: MemoryStore) -> None:
    with pytest.raises(UnknownAgentError, match="nobody"):
        queries.load_map(store, COHORT._replace(agent="nobody"), NOW_NS)


def compared_with(runs: list[Run]) -> str | None:
    """What the run ``asked`` is compared with."""
    store = MemoryStore(runs)
    judged = queries.load_verdict(store, "default", "asked", NOW_NS)
    found = queries.contrast_beside(queries.load_map(store, COHORT, NOW_NS), judged)
    return found and found.run_id


def test_a_run_is_compared_with_the_latest_success_that_went_its_way_the_longest() -> None:
    asked = make_run("asked", "tool:a tool:b tool:c", Outcome.FAILURE)
    far = [make_run(f"far-{age}", "tool:a tool:b tool:d", age_ns=age * DAY_NS) for age in (3, 2)]
    near = make_run("near", "tool:a tool:d", age_ns=DAY_NS)
    elsewhere = make_run("elsewhere", "tool:e", age_ns=DAY_NS)
    failed = make_run("failed", "tool:a tool:b tool:c", Outcome.FAILURE)
    assert compared_with([asked, *far, near, failed]) == "far-2"
    assert compared_with([asked, near, elsewhere, failed]) == "near"
    assert compared_with([asked, elsewhere, failed]) == "elsewhere"
    assert compared_with([asked, failed]) is None


def test_a_run_is_compared_with_a_success_of_its_ticket_before_any_other() -> None:
    asked = make_run("asked", "tool:a tool:b", Outcome.FAILURE, ticket="t")
    same = make_run("same", "tool:e", ticket="t", age_ns=9 * DAY_NS)
    other = make_run("other", "tool:a tool:b", ticket="u")
    assert compared_with([asked, same, other]) == "same"
    assert compared_with([make_run("asked", "tool:a tool:b", Outcome.FAILURE), same, other]) == "other"


def test_a_success_is_compared_with_a_run_that_was_none_and_never_with_itself() -> None:
    asked = make_run("asked", "tool:a tool:b", ticket="t")
    won = make_run("won", "tool:a tool:b", ticket="t")
    near = make_run("near", "tool:a tool:b", Outcome.ABANDONED, ticket="u")
    same = make_run("same", "tool:e", Outcome.FAILURE, ticket="t")
    assert compared_with([asked, won, near, same]) == "same"
    assert compared_with([asked, won, near]) == "near"
    assert compared_with([asked, won]) is None


def test_a_live_run_is_judged_with_its_last_step_open(store: MemoryStore) -> None:
    judged = queries.load_verdict(store, "default", "live-1", NOW_NS)
    assert (judged.verdict.live, judged.verdict.verdict) == (True, "likely_failure")
    assert (judged.verdict.successes, judged.verdict.support) == (3, 24)
    assert judged.asked is None


def test_a_completed_run_is_judged_without_itself(store: MemoryStore) -> None:
    verdict = queries.load_verdict(store, "default", "good-1", NOW_NS).verdict
    assert (verdict.live, verdict.successes, verdict.support) == (False, 29, 35)


def test_a_named_next_step_is_judged_beside_the_path(store: MemoryStore) -> None:
    asked = queries.load_verdict(store, "default", "live-1", NOW_NS, ALL_TIME, "tool:delete_all").asked
    assert asked is not None
    assert (asked.verdict, str(asked.path[-1])) == ("novel", "tool:delete_all")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("search_orders", "tool:search_orders"),
        (" tool:search_orders ", "tool:search_orders"),
        ("gpt", "llm:gpt"),
        ("tool:delete_all", "tool:delete_all"),
        ("tool:a\nb", "tool:a\ufffdb"),
        ("agent:a:b", "agent:a:b"),
    ],
)
def test_a_step_may_be_named_with_or_without_its_kind(store: MemoryStore, text: str, meant: str) -> None:
    assert queries.named_step(queries.load_map(store, COHORT, NOW_NS), text) == meant


@pytest.mark.parametrize("text", ["x", "", ":", "tool:", "llm: ", "other:x", "tool:search_orders×3-5", "…"])
def test_a_text_that_means_no_step_is_told(store: MemoryStore, text: str) -> None:
    with pytest.raises(
        UnknownStepError, match="is no step: a step is kind:name, for example tool:search_ord"
    ):
        queries.load_verdict(store, "default", "live-1", NOW_NS, ALL_TIME, text)


def test_a_name_that_is_known_of_two_kinds_means_neither_and_an_odd_one_that_is_known_is_meant() -> None:
    store = MemoryStore([make_run("r", "tool:desk agent:desk tool:a×2 tool:srv:get")])
    behaviour = queries.load_map(store, COHORT._replace(window=ALL_TIME), NOW_NS)
    with pytest.raises(UnknownStepError, match="'desk' is no step"):
        queries.named_step(behaviour, "desk")
    assert queries.named_step(behaviour, "tool:a×2") == "tool:a×2"
    assert queries.named_step(behaviour, "srv:get") == "tool:srv:get"


def test_an_unknown_run_is_told(store: MemoryStore) -> None:
    with pytest.raises(UnknownRunError):
        queries.load_verdict(store, "default", "no-such", NOW_NS)


def test_examples_of_a_node_are_its_members_of_the_wanted_outcome(store: MemoryStore) -> None:
    behaviour = queries.load_map(store, COHORT, NOW_NS)
    fork = int(behaviour.fork.nonzero()[0][0])
    won = queries.examples(behaviour, fork, lambda outcome: outcome == Outcome.SUCCESS)
    assert won == [
        Example("bad-0", "t-0", Outcome.SUCCESS),
        Example("bad-8", "t-8", Outcome.SUCCESS),
        Example("bad-16", "t-16", Outcome.SUCCESS),
    ]
    assert len(queries.examples(behaviour, 0, lambda outcome: True, limit=100)) == 60


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (" good-1 ", Found(("good-1",), (), "good-1")),
        ("trace-good-1", Found(("good-1",), (), "trace-good-1")),
        ("t-19", Found(("good-19", "bad-19"), (), "t-19")),
        ("support-agent", Found((), ("support-agent",), "support-agent")),
        ("“good-1”,", Found(("good-1",), (), "good-1")),
        ("run_id: 'good-1'", Found(("good-1",), (), "good-1")),
        ("https://tool.example/t/trace-good-1?tab=7", Found(("good-1",), (), "trace-good-1")),
        ("http://127.0.0.1:8050/map?agent=support-agent", Found((), ("support-agent",), "support-agent")),
        ("support", Found((), ())),
        ("  ", Found((), ())),
    ],
)
def test_a_pasted_text_names_runs_and_agents(store: MemoryStore, text: str, found: Found) -> None:
    assert queries.find(store, "default", text, NOW_NS) == found


def test_what_a_text_is_counts_before_what_it_holds() -> None:
    odd = make_run("run=r1", "tool:a")
    store = MemoryStore([odd, make_run("r1", "tool:a")])
    assert queries.find(store, "default", "run=r1", NOW_NS).run_ids == ("run=r1",)
    assert queries.find(store, "default", "(run=r1)", NOW_NS).run_ids == ("run=r1",)


def test_names_like_a_text_that_names_nothing(store: MemoryStore) -> None:
    def near(text: str) -> tuple[list[str], list[str]]:
        found = queries.near(store, "default", text, NOW_NS)
        assert (found.searched_runs, found.searched_agents) == (61, 1)
        return [each.run.run_id for each in found.runs], [name for name, _ in found.agents]

    assert near("support") == ([], ["support-agent"])
    assert near("LIVE-1b") == (["live-1"], [])
    assert near("run: 'live-l'") == (["live-1"], [])
    assert near("zzz") == ([], [])


def test_runs_that_are_named_tell_in_which_window_to_look_at_them() -> None:
    old, new = make_run("old", "tool:a", agent="b", age_ns=90 * DAY_NS), make_run("new", "tool:a")
    store = MemoryStore([old, new])
    assert queries.named(store, "default", ["old", "gone", "new"], NOW_NS) == [
        (old, ALL_TIME),
        (new, Window()),
    ]
