"""A cohort narrowed by a sequence expression: how it is read, and which runs are left of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ExpressionError, InputError
from engine.listing import Listing
from engine.maps import build
from engine.narrowing import asks_how_runs_ended, pointed, read, selected, step_text
from engine.paths import clean_name, path_text
from engine.queries import load_map
from engine.requests import Request
from engine.runs import ALL_TIME, LIVE_NS, Cohort, Declaration, Outcome, Source
from engine.sequences import Taken, matches, parse
from engine.sequences.matching import taken
from engine.spans import Status
from engine.store import Store, Wanted, narrowed
from engine.store.packing import pack_steps, unpack_taken
from engine.store.sqlite import open_store
from tests.memory_store import NOW_NS, MemoryStore, make_run
from tests.test_store import LONG_AGO, NOW, call, run_of

BOT = Cohort("default", "bot", ALL_TIME)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Three runs that are over, the newest first c, b, a; and a live one."""
    opened = open_store(tmp_path / "runs.sqlite", create=True)
    opened.append("default", run_of("a", "look", "pay", at=LONG_AGO, more={"ticket.id": "t-1"}))
    opened.append("default", run_of("b", "look", "look", "look", "pay", at=LONG_AGO + 1000))
    failed = call("c", 1, "pay", LONG_AGO + 2000, status=Status.ERROR)
    opened.append("default", [run_of("c", at=LONG_AGO + 2000, more={"ticket.id": "t-2"})[0], failed])
    opened.append("default", run_of("live", "look", at=NOW - 10**9))
    opened.declare("default", [Declaration("c", Outcome.FAILURE, NOW)])
    yield opened
    opened.close()


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a > ", 4),
        ("a > > b", 5),
        ('a .. "b', 6),
        ("a x0", 3),
        ("outcome:great and a", 1),
        ("a > ticket:t", 3),
        ("(a x2 .. b) x2 > c x3 .. (a > !(b > c)) x2", 41),
        ("a .. !b .. !c", 3),
        ("(a > b and c) $", 15),
        ("a" * 1001, 0),
    ],
)
def test_a_complaint_names_the_place_it_is_about(text: str, column: int) -> None:
    with pytest.raises(ExpressionError) as told:
        read(text)
    assert told.value.column == column


def test_what_says_nothing_narrows_nothing() -> None:
    assert (read(""), read(" \n\t ")) == ("", "")


def test_ten_thousand_characters_are_refused() -> None:
    with pytest.raises(ExpressionError, match="at most 1,000 characters, this one 10,000"):
        read("a" * 10_000)


def test_the_caret_stands_under_the_place_of_a_long_or_wide_expression() -> None:
    assert pointed("検索 > > b", 6) == ("検索 > > b", " " * 7 + "^")
    long = pointed("a > " * 30 + "> b", 121)
    assert long.text[len(long.caret) - 1] == ">" and long.text.startswith("…") and len(long.text) < 64
    assert long.text[len(long.caret) - 1 :] == "> b"
    assert pointed("a > b" + " > c" * 40, 1).text.endswith("…")


@given(st.sampled_from(("llm", "tool", "agent")), st.text(max_size=12), st.text(max_size=12))
def test_the_text_of_a_step_means_that_step_alone(kind: str, name: str, other: str) -> None:
    mine, others = f"{kind}:{clean_name(name)}", f"{kind}:{clean_name(other)}"
    asked = parse(step_text(mine))
    found = [matches(asked, Taken([text], [0], [False]), {}) for text in (mine, others, f"{mine}x")]
    assert found == [True, others == mine, False]


def test_an_expression_asks_how_runs_ended_or_not() -> None:
    asked = ("a", "outcome:failure", "a and !(b or outcome:*)", "ticket:t", "")
    assert [asks_how_runs_ended(each) for each in asked] == [False, True, True, False, False]


# --- asking -------------------------------------------------------------------------------------


def test_packed_steps_are_asked_as_a_runs_are() -> None:
    steps = make_run("r", "llm:m tool:a tool:a llm:m").steps
    assert unpack_taken(pack_steps(steps, ())) == (("llm:m", "tool:a"), [0, 1, 1, 0], [False] * 4)
    assert taken(steps) == (("llm:m", "tool:a"), (0, 1, 1, 0), (False,) * 4)


EXPRESSIONS = {
    "pay": ["c", "b", "a"],
    "look x2 > pay": ["b"],
    "error(pay)": ["c"],
    "!error(*)": ["b", "a", "live"],
    "ticket:t-*": ["c", "a"],
    "outcome:failure": ["c"],
    "outcome:unknown": ["live"],
    "look $ or look > pay and ticket:t-1": ["a", "live"],
    "nothing": [],
}


@pytest.mark.parametrize(("where", "found"), EXPRESSIONS.items())
def test_all_that_a_store_says_of_a_cohort_is_of_the_runs_it_lets_through(
    store: Store, where: str, found: list[str]
) -> None:
    cohort = BOT._replace(where=where)
    assert list(store.paths(cohort, NOW).run_ids) == found
    assert list(store.paths(cohort._replace(view="tools"), NOW).run_ids) == found
    assert [run.run_id for run in store.histories(cohort, NOW)] == found
    assert [row.run_id for row in store.runs(cohort, NOW)] == sorted(found, key=["live", "c", "b", "a"].index)


def test_what_is_left_of_the_paths_is_as_it_was(store: Store) -> None:
    whole, some = store.paths(BOT, NOW), store.paths(BOT._replace(where="ticket:t-1 or outcome:unknown"), NOW)
    assert some.run_ids == ("a", "live") and some.narrowed_from == 4 and whole.narrowed_from == 0
    assert [path_text(some.folds(run)) for run in range(2)] == [["tool:look", "tool:pay"], ["tool:look"]]
    assert (some.tickets, some.versions) == (("t-1", None), (None, None))
    assert (some.outcome.tolist(), some.half.tolist()) == ([0, 3], [whole.half[2], whole.half[3]])
    assert [getattr(some, name).dtype for name in ("code", "count", "offset")] == [
        getattr(whole, name).dtype for name in ("code", "count", "offset")
    ]
    assert store.paths(BOT._replace(where="error(*)"), NOW).signatures == ("tool:pay",)


def test_no_run_and_every_run_can_be_selected(store: Store) -> None:
    whole = store.paths(BOT, NOW)
    none, every = (selected(whole, np.full(4, keep)) for keep in (False, True))
    assert (none.signatures, none.run_ids, none.offset.tolist()) == ((), (), [0])
    assert build(BOT, none, NOW).totals.completed == 0
    assert every.run_ids == whole.run_ids and np.array_equal(every.code, whole.code)


def test_the_bound_is_of_the_runs_that_are_asked(store: Store) -> None:
    paths = store.paths(BOT._replace(where="look"), NOW, max_runs=1)
    assert (paths.run_ids, paths.narrowed_from, paths.bounded) == (("live",), 2, True)
    assert [run.run_id for run in store.histories(BOT._replace(where="look"), NOW, 1)] == ["live"]


def test_a_narrowed_list_goes_on_where_a_page_ended(store: Store) -> None:
    cohort, pages, after = BOT._replace(where="pay"), [], None
    while rows := store.runs(cohort, NOW, 1, Wanted(after=after)):
        pages += [row.run_id for row in rows]
        after = rows[-1].place
    assert pages == ["c", "b", "a"]
    failed = store.runs(cohort, NOW, 9, Wanted(outcome=Outcome.FAILURE, ticket="t-2"))
    assert [row.run_id for row in failed] == ["c"]


def test_an_expression_that_cannot_be_read_is_an_error_wherever_it_is_asked(store: Store) -> None:
    wrong = BOT._replace(where="a > > b")
    for ask in (store.paths, store.runs, lambda cohort, now: list(store.histories(cohort, now))):
        with pytest.raises(ExpressionError, match="column 5"):
            ask(wrong, NOW)


def test_asking_for_too_long_is_given_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowed, "MAX_S", -1.0)
    with pytest.raises(InputError, match="takes over 10 s"):
        store.paths(BOT._replace(where="pay"), NOW)


# --- what is made of it -------------------------------------------------------------------------


def test_a_map_is_of_the_runs_that_are_let_through(store: Store) -> None:
    behaviour = load_map(store, BOT._replace(where="look"), NOW)
    assert (behaviour.run_ids, behaviour.live_run_ids, behaviour.narrowed_from) == (("b", "a"), ("live",), 4)
    assert [str(token) for token in behaviour.tokens] == ["tool:look", "tool:look×3-5", "tool:pay"]


def test_the_list_of_its_runs_is_as_the_map_is() -> None:
    runs = [make_run(f"r-{number}", "tool:a" if number % 3 else "tool:b") for number in range(2_000)]
    store = MemoryStore([*runs, make_run("live", "tool:a", age_ns=LIVE_NS // 2, source=Source.INFERRED)])
    cohort = Cohort("default", "support-agent", where="b")
    table = Listing(store)(load_map(store, cohort, NOW_NS))
    assert len(table) == 667 and table.start_ns.all() and table.paths.signatures == ("tool:b",)


def test_each_expression_has_a_map_of_its_own() -> None:
    keys = {Request("map", BOT._replace(where=where)).key(0) for where in ("", "a", "b", "a ")}
    assert len(keys) == 4
