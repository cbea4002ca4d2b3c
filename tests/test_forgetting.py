"""The commands that forget, and the one that verifies it: what they print, and their exit codes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dashboard.cli import main
from engine.spans import Span
from engine.store import tidying
from engine.store.sqlite import open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "forkmap.sqlite"
    store = open_store(place, create=True)
    for name in ("one", "two"):
        attributes = {"user.id": name, "forkmap.ticket": f"T-{name}"}
        store.append("default", [Span(name, name, "call", 10**18, 10**18 + 1, attributes=attributes)])
    store.settle("default")
    store.close()
    return place


class Command:
    """Runs the command on a store."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self.capsys = path, capsys

    def __call__(self, *words: str) -> tuple[int, Any, str]:
        """Exit code, the document that was printed, and what was said beside it."""
        code = main([*words, "--store", str(self.path), "--json"])
        printed = self.capsys.readouterr()
        return code, json.loads(printed.out or "null"), printed.err


@pytest.fixture
def command(path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(path, capsys)


@contextmanager
def read(path: Path) -> Iterator[None]:
    """Somebody reads the store as it is now, for long."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM spans").fetchone()
        yield


@pytest.mark.parametrize(
    "asked",
    [
        ("--run", "one"),
        ("--ticket", "T-one"),
        ("--attribute", "user.id=one"),
        ("--before", "2001-09-09T01:46:41Z"),
    ],
    ids=lambda asked: asked[0],
)
def test_what_is_erased_is_gone_until_it_is_sent_again(command: Command, asked: tuple[str, str]) -> None:
    code, receipt, said = command("erase", *asked)
    runs = 2 if asked[0] == "--before" else 1
    assert (code, receipt["state"], receipt["runs"], said) == (0, "done", runs, "")
    code, found, _ = command("doctor", "--erasure", receipt["erasure_id"])
    assert (code, found["gone"], found["vacuumed"], found["receipt"]) == (0, True, False, receipt)
    assert command("vacuum")[0] == 0
    assert command("doctor", "--erasure", receipt["erasure_id"])[1]["vacuumed"]

    store = open_store(command.path)
    again = {"user.id": "one", "forkmap.ticket": "T-one"}
    store.append("default", [Span("one", "one", "call", 10**18, 10**18 + 1, attributes=again)])
    store.settle("default")
    store.close()
    code, found, _ = command("doctor", "--erasure", receipt["erasure_id"])
    assert (code, found["gone"], "one" in found["back"]) == (1, False, True)


def test_what_is_not_there_is_said_to_be_unknown(command: Command) -> None:
    for name, value, nothing in (
        ("run", "nobody", "No run, trace or session of this id"),
        ("attribute", "user.id=tw", "No run with this value of the attribute user.id"),
        ("ticket", "one", "No run of this ticket"),
        ("before", "1999-01-01", "Nothing from before 1999-01-01T00:00:00+00:00"),
    ):
        asked = command("erase", f"--{name}", value)
        assert asked == (2, None, f"forkmap: {nothing} is in the store.\n")
    assert command("doctor", "--erasure", "nothing")[::2] == (
        2,
        f"forkmap: No erasure 'nothing' is in the store {command.path}.\n",
    )


def test_while_somebody_reads_from_the_log_it_is_said_that_it_holds_what_was_erased(command: Command) -> None:
    with read(command.path):
        code, receipt, said = command("erase", "--run", "one")
    assert (code, receipt["state"], receipt["runs"]) == (0, "done", 1)
    assert said.startswith("The log is still read from and holds what was erased")


def test_the_receipt_is_printed_even_where_the_store_cannot_be_written_anew(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "_TRIES", 1)
    with read(command.path):
        code, receipt, said = command("erase", "--run", "one", "--vacuum")
    assert (code, receipt["state"]) == (2, "done")
    assert said.endswith("was written anew, but is still read as it was: ask again\n")
    assert command("erase", "--run", "two", "--vacuum")[::2] == (0, "")
    assert b"two" not in command.path.read_bytes()
