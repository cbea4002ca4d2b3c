"""What is asked to be forgotten goes, all of it and nothing else, and a receipt says so."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine import erasing
from engine.erasing import Erasing, end_begun
from engine.errors import BusyStoreError, CacheError, UnknownErasureError, UnknownRunError
from engine.fuses import Firing
from engine.runs import Declaration, Outcome, Source
from engine.selections import Before, ByAttribute, ByRun, ByTicket, Selection
from engine.spans import Event, Span
from engine.store import Receipt, tidying
from engine.store.doctoring import examine
from engine.store.opening import log_bytes
from engine.store.sqlite import SQLiteStore, open_store
from engine.store.verifying import verify

SECOND = 10**9
NOW = 2_000_000_000 * SECOND
TRACE = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    opened = open_store(tmp_path / "runs.sqlite", create=True)
    assert isinstance(opened, SQLiteStore)
    yield opened
    opened.close()


def call(trace: str, number: int = 0, tool: str = "search", **more: Any) -> Span:
    """A tool call of a trace, a second after the one before."""
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    attributes = named | {key.replace("__", "."): value for key, value in more.items()}
    at = NOW + number * SECOND
    return Span(trace, f"{trace}-{number}", "call", at, at + 1, attributes=attributes)


def told(name: str, time_ns: int = NOW) -> Declaration:
    return Declaration(name, Outcome.FAILURE, time_ns, "judge")


def fired(run_id: str) -> Firing:
    return Firing(NOW, run_id, "unknown", "odds", "warn", "enforce", None, 3, 40, 2, 0.12, f"{run_id}: no")


def erase(store: SQLiteStore, selection: Selection, limit: int = 100) -> Receipt:
    erasure_id = store.begin_erasure("default", selection, "ann", NOW)
    for _ in store.go_on_erasing("default", erasure_id, lambda: NOW + 1, limit):
        pass
    receipt = store.receipt("default", erasure_id)
    assert receipt is not None
    return receipt


def counted(receipt: Receipt) -> tuple[int, ...]:
    """Runs, traces, spans, outcomes and firings; the erasure is done."""
    assert receipt.done_ns == NOW + 1
    return receipt[6:]


TABLES = ("agents", "traces", "sessions", "spans", "outcomes", "runs", "paths", "firings")


def rows(store: SQLiteStore, tables: tuple[str, ...] = TABLES) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table that holds something of a run."""
    db = sqlite3.connect(store.path)
    found = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}
    db.close()
    return found


def test_a_run_goes_with_all_that_belongs_to_it_and_nothing_else_does(store: SQLiteStore) -> None:
    store.append("default", [call("kept", 0), call("kept", 1)])
    store.declare("default", [told("kept")])
    store.settle("default")
    store.add_firings("default", [fired("kept")])
    before = rows(store)
    store.append("default", [call("gone", number) for number in range(3)])
    store.declare("default", [told("gone"), told("gone", NOW + 1)])
    store.settle("default")
    store.add_firings("default", [fired("gone")])

    assert counted(erase(store, ByRun("gone"))) == (1, 1, 3, 2, 1)
    assert rows(store) == before
    assert examine(store.path).findings == ()
    with pytest.raises(UnknownRunError):
        store.run("default", "gone")


@pytest.mark.parametrize("name", [TRACE, "01234567-89ab-cdef-0123-456789abcdef", TRACE.upper(), "chat"])
def test_a_run_of_several_traces_goes_by_any_of_its_names(store: SQLiteStore, name: str) -> None:
    store.append("default", [call(TRACE, session__id="chat"), call("other", session__id="chat")])
    store.declare("default", [told(TRACE.upper()), told("chat"), told("other")])
    assert counted(erase(store, ByRun(name))) == (1, 2, 2, 3, 0)
    assert not any(rows(store).values())


def test_a_run_that_got_its_name_late_goes_by_the_name_it_had_before(store: SQLiteStore) -> None:
    store.append("default", [call("t", 0, session__id="chat")])
    store.declare("default", [told("chat")])
    store.settle("default")
    store.add_firings("default", [fired("chat")])
    store.append("default", [call("t", 1, session__id="chat", forkmap__run__id="job")])
    assert store.find("default", "job") == ["job"]

    assert counted(erase(store, ByRun("chat"))) == (1, 1, 2, 1, 1)
    assert not any(rows(store).values())


def test_what_was_told_of_a_name_that_others_still_have_stays(store: SQLiteStore) -> None:
    store.append("default", [call("t", 0, session__id="chat", forkmap__run__id="job")])
    store.append("default", [call("u", 0, session__id="chat")])
    store.declare("default", [told("chat")])
    assert counted(erase(store, ByRun("job"))) == (1, 1, 1, 0, 0)
    assert store.run("default", "chat").source is Source.DECLARED


def test_a_name_of_256_bytes_or_more_is_found_whole_or_as_it_is_kept(store: SQLiteStore) -> None:
    long = "s" * 300
    store.append("default", [call("t", session__id=long)])
    assert counted(erase(store, ByRun(long))) == (1, 1, 1, 0, 0)
    assert not any(rows(store).values())


@pytest.mark.parametrize("name", [" chat 7 ", "chat\n7", "\tchat\u20287", "chat\ufffd7"])
def test_a_run_goes_by_its_id_as_it_was_sent_or_as_it_is_kept(store: SQLiteStore, name: str) -> None:
    store.append("default", [call("t", session__id=name)])
    [kept] = store.find("default", "t")
    store.append("default", [call("u", session__id=name)])
    store.declare("default", [told(name)])
    store.add_firings("default", [fired(kept)])
    assert counted(erase(store, ByRun(name))) == (1, 2, 2, 1, 1)
    assert not any(rows(store).values())
    store.append("default", [call("t", session__id=name)])
    assert counted(erase(store, ByAttribute("session.id", name))) == (1, 1, 1, 0, 0)


def test_all_runs_of_a_ticket_go(store: SQLiteStore) -> None:
    store.append("default", [call(each, forkmap__ticket="T-1") for each in ("a", "b")])
    store.append("default", [call("c", forkmap__ticket="T-2")])
    store.append("default", [call("d", forkmap__ticket=" T\t3 ")])
    assert counted(erase(store, ByTicket("T-1"))) == (2, 2, 2, 0, 0)
    assert counted(erase(store, ByTicket("T\t3"))) == (1, 1, 1, 0, 0)
    assert store.find("default", "T-1") == []
    assert store.find("default", "T-2") == ["c"]


@pytest.mark.parametrize("value", ["u-7", "417", "true"])
def test_runs_go_by_an_attribute_of_any_span_of_its_resource_or_of_an_event(
    store: SQLiteStore, value: str
) -> None:
    held: object = {"417": 417, "true": True}.get(value, value)
    store.append("default", [call("a", 0), call("a", 1, user__id=held), call("b", text="user.id u-7")])
    store.append("default", [Span("c", "c", "n", NOW, NOW + 1, resource={"user.id": held})])
    event = Event("said", NOW, {"user.id": held})
    store.append("default", [Span("d", "d", "n", NOW, NOW + 1, events=(event,)), call("e", user__id="u-77")])
    assert counted(erase(store, ByAttribute("user.id", value))) == (3, 3, 4, 0, 0)
    assert [store.find("default", each) for each in "abcde"] == [[], ["b"], [], [], ["e"]]


def test_runs_that_ended_before_a_moment_go_and_what_was_told_before_of_runs_never_seen(
    store: SQLiteStore,
) -> None:
    store.append("default", [call("old", 0), call("old", 1), call("young", 2)])
    store.declare(
        "default", [told("old", NOW + 9 * SECOND), told("nobody", NOW), told("later", NOW + 3 * SECOND)]
    )
    assert counted(erase(store, Before(NOW + 2 * SECOND))) == (1, 1, 2, 2, 0)
    assert store.find("default", "young") == ["young"]
    assert [row[2] for row in rows(store)["outcomes"]] == ["later"]


UNKNOWN = [
    ByRun("b"),
    ByRun(""),
    ByTicket("T-2"),
    ByTicket(""),
    ByAttribute("user.id", "u-8"),
    ByAttribute("name", "u-7"),
    ByAttribute("user.id", ""),
    Before(NOW),
]


@pytest.mark.parametrize("selection", UNKNOWN, ids=str)
def test_what_is_not_there_is_unknown_and_nothing_is_written_down(
    store: SQLiteStore, selection: Selection
) -> None:
    store.append("default", [call("a", user__id="u-7", forkmap__ticket="T-1")])
    store.settle("default")
    before = rows(store)
    for tenant in ("default", "acme"):
        with pytest.raises(UnknownRunError, match=r"^No.* is in the store\.$"):
            store.begin_erasure(tenant, selection, "ann", NOW)
    assert (rows(store), store.erasures("default"), store.receipts("default")) == (before, 0, [])


def test_what_another_tenant_holds_is_unknown_and_stays(store: SQLiteStore) -> None:
    for tenant in ("default", "acme"):
        store.append(tenant, [call("a", forkmap__ticket="T-1")])
    assert counted(erase(store, ByTicket("T-1"))) == (1, 1, 1, 0, 0)
    assert (store.find("default", "a"), store.find("acme", "a")) == ([], ["a"])
    (receipt,) = store.receipts("default")
    assert store.receipt("acme", receipt.erasure_id) is None


def test_an_outcome_of_a_run_that_was_never_seen_can_be_forgotten(store: SQLiteStore) -> None:
    store.declare("default", [told("nobody")])
    assert counted(erase(store, ByRun("nobody"))) == (0, 0, 0, 1, 0)
    assert not any(rows(store).values())


def test_names_of_agents_that_have_no_run_left_go(store: SQLiteStore) -> None:
    store.append("default", [call("a", gen_ai__agent__name="one"), call("b", gen_ai__agent__name="two")])
    erase(store, ByRun("a"))
    assert [row[2] for row in rows(store)["agents"]] == ["two"]


def signatures(store: SQLiteStore) -> list[object]:
    return [row[2] for row in rows(store, ("signatures",))["signatures"]]


def test_signatures_that_no_run_has_any_more_go_when_the_file_is_written_anew(store: SQLiteStore) -> None:
    begun = msgspec.structs.replace(call("run-17", 0, "begin run-17"), end_ns=None)
    store.append("default", [begun])
    store.settle("default")
    tools = ("search", "open run-17", "close run-17")
    store.append("default", [call("run-17", n, tool) for n, tool in enumerate(tools)])
    store.append("default", [call("other", 0, "close run-17"), call("other", 1, "closed")])
    store.append("acme", [call("other", 0, "open run-17")])
    for tenant in ("default", "acme"):
        store.settle(tenant)
    erase(store, ByRun("run-17"))
    store.vacuum(NOW)
    assert sorted(map(str, signatures(store))) == ["tool:close run-17", "tool:closed", "tool:open run-17"]
    assert examine(store.path).findings == ()
    store.append("default", [call("again", n, tool) for n, tool in enumerate(tools)])
    store.settle("default")
    assert len(signatures(store)) == 5
    assert examine(store.path).findings == ()


def test_a_file_that_is_still_read_as_it_was_does_not_count_as_written_anew(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "_TRIES", 1)
    store.append("default", [call("gone-4711"), call("kept")])
    store.settle("default")
    store.cut_log()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM spans").fetchone()
        receipt = erase(store, ByRun("gone-4711"))
        with pytest.raises(BusyStoreError, match="still read as it was: ask again"):
            store.vacuum(NOW + 1)
        assert b"gone-4711" in store.path.read_bytes()
        assert not verify(store.path, receipt.erasure_id).is_vacuumed
    store.vacuum(NOW + 1)
    assert b"gone-4711" not in store.path.read_bytes()
    assert verify(store.path, receipt.erasure_id).is_vacuumed


# --- what comes meanwhile ------------------------------------------------------------------------


def test_spans_that_nobody_has_settled_are_known_and_go(store: SQLiteStore) -> None:
    store.append("default", [call("t", session__id="chat")])
    assert counted(erase(store, ByRun("chat"))) == (1, 1, 1, 0, 0)


def test_what_comes_for_the_run_before_it_is_done_goes_too(store: SQLiteStore) -> None:
    store.append("default", [call("t", session__id="chat")])
    erasure_id = store.begin_erasure("default", ByRun("chat"), "", NOW)
    turns = store.go_on_erasing("default", erasure_id, lambda: NOW, 100)
    next(turns)
    store.append("default", [call("late", session__id="chat"), call("t", 1), call("new", 0)])
    store.declare("default", [told("chat", NOW + 5)])
    for _ in turns:
        pass
    assert store.find("default", "chat") == []
    assert store.find("default", "t") == ["t"], "it names no session: a trace of its own, sent afterwards"
    assert store.find("default", "new") == ["new"]


def test_a_run_keeps_its_selection_while_its_spans_are_swept(store: SQLiteStore) -> None:
    """The span that says whose it is may be the first to go; what is left is not read as another's run."""
    store.append("default", [call("t", n, **({"user__id": "u"} if n == 0 else {})) for n in range(30)])
    erasure_id = store.begin_erasure("default", ByAttribute("user.id", "u"), "", NOW)
    turns = store.go_on_erasing("default", erasure_id, lambda: NOW + 1, 10)
    next(turns)
    assert store.settle("default") == set()
    assert store.find("default", "t") == []
    assert len(rows(store)["spans"]) == 20
    for _ in turns:
        pass
    assert not any(rows(store).values())


def test_a_trace_that_moves_to_another_run_meanwhile_goes_all_the_same(store: SQLiteStore) -> None:
    """Every run that it moves to may have been looked at already."""
    store.append("default", [call("b", session__id="B"), call("x", session__id="X", user__id="u")])
    store.append("default", [call(f"z{number}") for number in range(3)])
    store.append("default", [call("t", session__id="A", user__id="u")])
    erasure_id = store.begin_erasure("default", ByAttribute("user.id", "u"), "", NOW)
    turns = store.go_on_erasing("default", erasure_id, lambda: NOW + 1, 8)
    next(turns)
    store.append("default", [call("t", 1, forkmap__run__id="B")])
    store.settle("default")
    for _ in turns:
        pass
    assert verify(store.path, erasure_id).back == ()
    assert [row[2] for row in rows(store)["runs"]] == ["z0", "z1", "z2"]


@pytest.mark.parametrize("selection", [ByRun("chat"), ByAttribute("user.id", "u")])
def test_a_number_that_another_tenant_has_been_given_meanwhile_is_not_theirs(
    store: SQLiteStore, selection: Selection
) -> None:
    sent = [call("t", session__id="chat", user__id="u", forkmap__ticket="T-1")]
    store.append("default", sent)
    store.begin_erasure("default", selection, "", NOW)

    class Other(SQLiteStore):
        @contextmanager
        def _writing(self) -> Iterator[sqlite3.Connection]:
            if not store.find("acme", "chat"):
                erase(store, ByTicket("T-1"))
                store.append("acme", sent)
                store.settle("acme")
            with super()._writing() as db:
                yield db

    other = Other(store.path)
    end_begun(other, lambda: NOW)
    other.close()
    assert store.find("acme", "chat") == ["chat"]


def test_spans_that_are_being_folded_while_their_run_goes_bring_nothing_back(store: SQLiteStore) -> None:
    store.append("default", [call("t", number) for number in range(5)])

    class Erased(SQLiteStore):
        def _write_batch(self, tenant: str, folded: object) -> object:  # type: ignore[override]
            erase(store, ByRun("t"))
            return super()._write_batch(tenant, folded)  # type: ignore[arg-type]

    other = Erased(store.path)
    assert other.settle("default") == set()
    other.close()
    assert not any(rows(store).values())


@pytest.mark.parametrize(("tenant", "trace"), [("acme", "u"), ("default", "t")])
def test_a_trace_that_gets_the_number_of_one_that_went_while_it_was_folded_is_not_taken_for_it(
    store: SQLiteStore, tenant: str, trace: str
) -> None:
    store.append("default", [call("t", number) for number in range(5)])

    class Erased(SQLiteStore):
        def _write_batch(self, tenant_: str, folded: object) -> object:  # type: ignore[override]
            erase(store, ByRun("t"))
            store.append(tenant, [call(trace)])
            return super()._write_batch(tenant_, folded)  # type: ignore[arg-type]

    other = Erased(store.path)
    other.settle("default")
    other.close()
    assert [span.span_id for span in store.spans(tenant, trace)] == [f"{trace}-0"]
    assert [each.span_id for each in store.run(tenant, trace).steps] == [f"{trace}-0"]
    assert len(rows(store)["runs"]) == 1


def test_while_others_write_and_settle_what_is_asked_for_goes_and_the_store_stays_sound(
    store: SQLiteStore,
) -> None:
    told_to_end = threading.Event()

    def write(name: str) -> None:
        other = open_store(store.path)
        for number in count():
            if told_to_end.is_set():
                break
            about = {"session__id": f"{name}-{number % 7}", "forkmap__ticket": f"T-{number % 5}"}
            other.append("default", [call(f"{name}{number}", each, **about) for each in range(3)])
            if number % 4 == 0:
                other.settle("default")
        other.close()

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    runs, deadline_s = 0, time.monotonic() + 60
    while runs < 40 and time.monotonic() < deadline_s:
        for number in range(5):
            with suppress(UnknownRunError):
                runs += erase(store, ByTicket(f"T-{number}"), limit=40).runs
    told_to_end.set()
    for writer in writers:
        writer.join()
    for number in range(5):
        with suppress(UnknownRunError):
            erase(store, ByTicket(f"T-{number}"))
    assert runs >= 40
    assert examine(store.path).findings == ()
    assert not any(rows(store).values())


# --- stopped, asked twice, gone on with ----------------------------------------------------------


def fill(store: SQLiteStore) -> None:
    for number in range(40):
        for each in range(3):
            sent = call(f"t{number}", each, session__id=f"s{number % 20}", forkmap__ticket="T-1")
            store.append("default", [sent])
    store.append("default", [call("kept", 0)])
    store.declare("default", [told(f"t{number}") for number in range(40)])
    store.settle("default")


@pytest.mark.parametrize("turns", range(0, 18, 3))
def test_wherever_it_is_stopped_it_is_gone_on_with_and_ends_the_same(store: SQLiteStore, turns: int) -> None:
    fill(store)
    erasure_id = store.begin_erasure("default", ByTicket("T-1"), "", NOW)
    stopped = store.go_on_erasing("default", erasure_id, lambda: NOW + 1, 8)
    for _ in range(turns):
        next(stopped, None)
    del stopped
    again = open_store(store.path)
    assert again.begun_erasures() == [("default", erasure_id)]
    assert examine(store.path).findings == ()
    end_begun(again, lambda: NOW + 1)
    assert again.begun_erasures() == []
    receipt = again.receipt("default", erasure_id)
    again.close()

    assert receipt is not None and counted(receipt) == (20, 40, 120, 40, 0)
    assert {name: len(found) for name, found in rows(store).items() if found} == {
        "agents": 1,
        "traces": 1,
        "spans": 1,
        "runs": 1,
        "paths": 2,
    }
    assert examine(store.path).findings == ()


def test_until_it_is_written_down_nothing_happens_and_from_then_on_it_will(store: SQLiteStore) -> None:
    fill(store)
    before = rows(store)
    erasure_id = store.begin_erasure("default", ByTicket("T-1"), "ann", NOW)
    assert rows(store) == before
    assert (store.begun_erasures(), store.erasures("default")) == ([("default", erasure_id)], 1)
    assert store.begin_erasure("default", ByTicket("T-1"), "bob", NOW) == erasure_id
    assert store.erasures("default") == 1


def test_asking_again_while_the_last_of_it_goes_finds_the_same_erasure(store: SQLiteStore) -> None:
    store.append("default", [call("t", number) for number in range(30)])
    erasure_id = store.begin_erasure("default", ByRun("t"), "", NOW)
    next(store.go_on_erasing("default", erasure_id, lambda: NOW, 10))
    assert (store.find("default", "t"), len(rows(store)["spans"])) == ([], 20)
    assert store.begin_erasure("default", ByRun("t"), "", NOW) == erasure_id


def test_what_was_asked_for_is_known_until_it_is_done_and_then_forgotten(store: SQLiteStore) -> None:
    fill(store)
    erasure_id = store.begin_erasure("default", ByTicket("T-1"), "ann", NOW)
    assert b"T-1" in bytes(str(rows(store, ("erasures",))), "utf-8")
    end_begun(store, lambda: NOW + 1)
    assert "T-1" not in str(rows(store, (*TABLES, "erasures", "meta")))
    (receipt,) = store.receipts("default")
    assert (receipt.erasure_id, receipt.what, receipt.asked_by) == (erasure_id, "ticket", "ann")
    assert (receipt.asked_ns, receipt.done_ns, len(receipt.digest)) == (NOW, NOW + 1, 32)


def test_two_at_once_erase_everything_once(store: SQLiteStore) -> None:
    fill(store)
    erasure_id = store.begin_erasure("default", ByTicket("T-1"), "", NOW)
    other = open_store(store.path)
    both = [each.go_on_erasing("default", erasure_id, lambda: NOW + 1, 16) for each in (store, other)]
    while [next(each, 1) for each in both] != [1, 1]:
        pass
    receipt = store.receipt("default", erasure_id)
    other.close()
    assert receipt is not None and counted(receipt) == (20, 40, 120, 40, 0)


# --- what was made of it -------------------------------------------------------------------------


class Forgetting:
    """A cache that does not answer the first times."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.times = failures, 0

    def __call__(self, tenant: str, shared: bool) -> None:
        if self.failures:
            self.failures -= 1
            raise CacheError("The cache is away")
        self.times += 1


def test_caches_are_emptied_once_it_is_done_and_every_process_empties_its_own(store: SQLiteStore) -> None:
    fill(store)
    mine, theirs = Forgetting(), Forgetting()
    here, there = (Erasing(store, forget, lambda: NOW) for forget in (mine, theirs))
    assert here.erase("default", ByTicket("T-1")).done_ns == NOW
    assert (mine.times, store.tidied(), store.erasures("default")) == (1, {"default": (2, 2)}, 2)
    assert store.erasures("acme") == 0
    for _ in range(2):
        here.look()
        there.look()
    assert (mine.times, theirs.times) == (1, 1)


def test_a_cache_that_is_away_is_emptied_later_by_whichever_process(store: SQLiteStore) -> None:
    fill(store)
    away = Erasing(store, Forgetting(2), lambda: NOW)
    assert away.erase("default", ByTicket("T-1")).done_ns == NOW
    with pytest.raises(CacheError):
        away.look()
    assert (store.tidied(), log_bytes(store.path)) == ({"default": (2, 0)}, 0)
    forget = Forgetting()
    Erasing(store, forget, lambda: NOW).look()
    assert (forget.times, store.tidied()) == (1, {"default": (2, 2)})


def test_while_a_cache_is_away_it_is_tried_again_as_often_as_a_server_looks(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(erasing, "LOOK_S", 0.01)
    fill(store)
    erase(store, ByTicket("T-1"))
    with Erasing(store, Forgetting(3), lambda: NOW).running():
        until_s = time.monotonic() + 10
        while store.tidied() != {"default": (2, 2)}:
            assert time.monotonic() < until_s
            time.sleep(0.01)
    assert caplog.messages == ["erasing is tried again later: The cache is away"]


def test_who_waits_no_longer_is_told_so_and_it_ends_in_the_background(store: SQLiteStore) -> None:
    fill(store)
    here = Erasing(store, Forgetting(), lambda: NOW)
    receipt = here.erase("default", ByTicket("T-1"), wait_s=-1)
    assert receipt.done_ns is None
    here.look()
    done = store.receipt("default", receipt.erasure_id)
    assert done is not None and done.done_ns == NOW


# --- verifying -----------------------------------------------------------------------------------


def test_an_erasure_is_verified_and_tells_what_came_back(store: SQLiteStore) -> None:
    store.append("default", [call(TRACE, user__id="u", session__id="chat", forkmap__ticket="T-1")])
    receipts = [erase(store, ByRun("chat"))]
    for selection in (ByAttribute("user.id", "u"), ByTicket("T-1"), Before(NOW + SECOND)):
        store.append("default", [call("x", user__id="u", forkmap__ticket="T-1")])
        receipts.append(erase(store, selection))
    found = [verify(store.path, receipt.erasure_id) for receipt in receipts]
    assert [each.receipt for each in found] == receipts
    assert {(each.tenant, each.back, each.is_tidied, each.is_vacuumed) for each in found} == {
        ("default", (), False, False)
    }
    store.append("default", [call(TRACE, user__id="u", forkmap__ticket="T-1")])
    store.declare("default", [told("chat")])
    store.settle("default")
    store.vacuum(NOW + 1)
    again = [verify(store.path, receipt.erasure_id) for receipt in receipts]
    assert [each.back for each in again] == [(TRACE, "chat"), ("u",), ("T-1",), ()]
    assert {each.is_vacuumed for each in again} == {True}


def test_a_ticket_that_any_span_names_is_not_gone_whatever_its_run_goes_by(store: SQLiteStore) -> None:
    store.append("default", [call("a", 5, forkmap__ticket="T-1")])
    erasure_id = store.begin_erasure("default", ByTicket("T-1"), "", NOW)
    store.append("default", [call("a", 1, forkmap__ticket="T-0")])
    end_begun(store, lambda: NOW)
    assert verify(store.path, erasure_id).back == ("T-1",)
    assert counted(erase(store, ByAttribute("forkmap.ticket", "T-1")))[0] == 1
    assert verify(store.path, erasure_id).back == ()
    store.append("default", [call("b", 0, task__id=" T-1 ")])
    assert verify(store.path, erasure_id).back == ("T-1",)


def test_an_erasure_that_is_nobody_s_cannot_be_verified(store: SQLiteStore) -> None:
    with pytest.raises(UnknownErasureError, match="No erasure 'nothing'"):
        verify(store.path, "nothing")


class Locked(SQLiteStore):
    """A store that others write to for too long once an erasure is written down."""

    def go_on_erasing(self, *asked: Any, **more: Any) -> Iterator[None]:
        raise BusyStoreError("the store is busy")


def test_a_store_that_is_busy_once_it_is_written_down_is_a_matter_of_time(store: SQLiteStore) -> None:
    fill(store)
    locked = Locked(store.path)
    receipt = Erasing(locked, Forgetting(), lambda: NOW).erase("default", ByTicket("T-1"))
    locked.close()
    assert receipt.done_ns is None
    Erasing(store, Forgetting(), lambda: NOW).look()
    assert store.begun_erasures() == []
