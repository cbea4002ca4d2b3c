"""A store that an earlier version wrote comes forward with everything in it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StoreError
from engine.runs import ALL_TIME, READ_AS_IS, Cohort, Outcome, Source
from engine.store import migrating
from engine.store.schema import VERSION
from engine.store.sqlite import open_store

STORES = Path(__file__).parent / "stores"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of version 1."""
    path = tmp_path / "old.sqlite"
    db = sqlite3.connect(path)
    db.executescript((STORES / "version-1.sql").read_text())
    db.close()
    return path


def tables(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table's columns, by name, whatever order they were added in."""
    db = sqlite3.connect(path)
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {
        name: sorted(
            (column, kind, needed, str(key))
            for _, column, kind, needed, _, key in db.execute(f"PRAGMA table_info({name})")
        )
        for name in names
    }
    db.close()
    return found


def test_it_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    open_store(old).close()
    open_store(tmp_path / "new.sqlite", create=True).close()
    assert tables(old) == tables(tmp_path / "new.sqlite")
    db = sqlite3.connect(old)
    assert migrating.version(db) == VERSION
    db.close()


def test_it_keeps_its_runs_and_its_tenants(old: Path) -> None:
    store = open_store(old)
    run = store.run("default", "t1")
    assert [step.signature for step in run.steps] == ["tool:search", "tool:refund"]
    assert run.outcome is Outcome.FAILURE
    assert store.find("acme", "t1") == ["t1"]
    assert store.run("acme", "t1").steps[0].signature == "tool:mail"
    store.close()


def test_outcomes_told_by_the_id_of_a_trace_count_however_it_was_spelt(old: Path) -> None:
    trace = "0123456789abcdef0123456789abcdef"
    told = ("01234567-89AB-CDEF-0123-456789ABCDEF", trace.upper(), trace)
    with sqlite3.connect(old) as db:
        db.execute("UPDATE traces SET trace_id = ?, stamp = settled WHERE trace_id = 't2'", (trace,))
        rows = [(1, name, by, 7000, "file") for name in told for by in (0, 1)]
        db.executemany(
            "INSERT INTO outcomes (tenant, run_id, outcome, time_ns, declared_by) VALUES (?,?,?,?,?)", rows
        )
        db.execute("UPDATE meta SET value = ?", (READ_AS_IS.fingerprint(),))
    db.close()
    store = open_store(old)
    assert store.run("default", trace).source is Source.DECLARED
    assert len(store.declarations("default", trace)) == 2
    store.close()


def test_versions_come_to_stand_beside_paths(old: Path) -> None:
    with sqlite3.connect(old) as db:
        db.execute("UPDATE runs SET version = '2 \"b\"' WHERE run_id = 't1' AND tenant = 1")
        db.execute("UPDATE meta SET value = ?", (READ_AS_IS.fingerprint(),))
    db.close()
    store = open_store(old)
    agent = store.run("default", "t1").agent
    paths = store.paths(Cohort("default", agent, ALL_TIME), 10_000)
    assert dict(zip(paths.run_ids, paths.versions, strict=True)) == {"t1": '2 "b"', "t2": None}
    store.close()


def test_erasures_that_were_counted_together_count_for_every_tenant(old: Path) -> None:
    with sqlite3.connect(old) as db:
        db.execute("INSERT INTO meta VALUES ('erasures', 4), ('tidied', 2)")
    db.close()
    store = open_store(old)
    assert store.tidied() == {"default": (4, 2), "acme": (4, 2)}
    assert (store.erasures("acme"), store.erasures("nobody")) == (4, 0)
    store.close()


def test_coming_forward_twice_changes_nothing(old: Path) -> None:
    open_store(old).close()
    db = sqlite3.connect(old)
    before = "\n".join(db.iterdump())
    migrating.migrate(db)
    assert "\n".join(db.iterdump()) == before
    db.close()


def test_where_it_may_only_be_read_it_says_what_to_do(old: Path) -> None:
    before = old.read_bytes()
    with pytest.raises(StoreError, match="earlier version of Forkmap: open it once where it can be written"):
        open_store(old, read_only=True)
    assert old.read_bytes() == before
