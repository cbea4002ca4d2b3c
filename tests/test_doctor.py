"""What ``forkmap doctor`` says of stores that are sound, disagree with themselves, or are damaged."""

from __future__ import annotations

import json
import sqlite3
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from dashboard.cli import main
from engine.errors import NotAStoreError
from engine.runs import Declaration, Outcome
from engine.spans import Span
from engine.store.doctoring import NAMED, examine
from engine.store.sqlite import open_store


def call(trace: str, number: int) -> Span:
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"tool_{number % 3}"}
    named["gen_ai.agent.version"] = "1.0"
    return Span(trace, f"{trace}-{number}", "call", number, number + 1, attributes=named)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of three runs of four steps each, and a trace that is not settled yet."""
    place = tmp_path / "runs.sqlite"
    store = open_store(place, create=True)
    for trace in ("a", "b", "c"):
        store.append("default", [call(trace, number) for number in range(4)])
    store.declare("default", [Declaration("a", Outcome.FAILURE, 5)])
    store.settle("default")
    store.append("acme", [call("new", 1)])
    store.close()
    return place


def execute(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def test_a_sound_store_is_counted_and_left_as_it_was(path: Path) -> None:
    before = sha256(path.read_bytes()).digest()
    found = examine(path)

    assert found.findings == ()
    pages = {name: found.counts.pop(name) or 0 for name in ("pages", "free_pages", "page_bytes")}
    assert found.counts == {"tenants": 2, "runs": 3, "traces": 4, "spans": 13, "unsettled": 1}
    assert pages["pages"] * pages["page_bytes"] == found.size_bytes == path.stat().st_size
    assert sha256(path.read_bytes()).digest() == before


def test_the_log_counts_while_the_store_is_in_use(path: Path) -> None:
    store = open_store(path)
    store.append("default", [call("d", 1)])
    found = examine(path)
    assert (found.counts["spans"], found.findings) == (14, ())
    assert found.log_bytes > 4096
    store.close()


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        (
            "DELETE FROM traces WHERE trace_id = 'new'",
            "Spans belong to trace number 4, which is not there",
        ),
        ("DELETE FROM spans WHERE trace = 2", "The trace 'b' has no span"),
        ("UPDATE traces SET run = 99 WHERE no = 2", "The trace 'b' belongs to a run that is not there"),
        ("UPDATE traces SET run = 1 WHERE no = 2", "The run 'b' has no trace"),
        ("UPDATE runs SET agent = 9 WHERE run_id = 'b'", "The run 'b' has an agent that is not there"),
        ("DELETE FROM paths WHERE run = 2 AND view = 1", "The run 'b' has 1 of its 2 paths"),
        (
            "UPDATE paths SET path = x'0103000012ffffff' WHERE run = 2",
            "The run 'b' has a path that is not what its steps fold to",
        ),
        (
            "UPDATE paths SET names = '\"x\",null' WHERE run = 2",
            "The run 'b' has a path that is not what its steps fold to",
        ),
        ("DELETE FROM runs WHERE run_id = 'b'", "A path belongs to run number 2, which is not there"),
        (
            "DELETE FROM signatures WHERE signature = 'tool:tool_0'",
            "The run 'b' cannot be read: its step 'tool:tool_0' has no number",
        ),
        ("UPDATE runs SET step_count = 7 WHERE no = 2", "The run 'b' counts 7 steps and holds 4"),
        ("UPDATE runs SET outcome = 7 WHERE no = 2", "The run 'b' cannot be read: 7 is not a valid Outcome"),
        (
            "UPDATE runs SET steps = x'c1' WHERE no = 2",
            "The run 'b' cannot be read: MessagePack data is malformed: invalid opcode '\\xc1' (byte 0)",
        ),
        (
            "UPDATE spans SET body = x'93' WHERE span_id = 'b-1'",
            "The span 'b-1' of trace 'b' cannot be read: Expected `array` of at least length 9, got 3",
        ),
        (
            "UPDATE spans SET ended = 0 WHERE span_id = 'b-1'",
            "The span 'b-1' of trace 'b' is marked as ended if it has not, or the other way round",
        ),
        (
            "INSERT INTO outcomes (tenant, run_id, outcome, time_ns, declared_by) VALUES (9, 'x', 1, 1, '')",
            "The table outcomes has rows of tenant number 9, which is not there",
        ),
    ],
)
def test_what_does_not_agree_is_named(path: Path, statement: str, finding: str) -> None:
    execute(path, statement)
    assert finding in examine(path).findings


def test_what_is_found_again_and_again_is_named_a_few_times_and_counted(path: Path) -> None:
    store = open_store(path)
    store.append("default", [call(f"t{number}", 1) for number in range(50)])
    store.settle("default")
    store.close()
    execute(path, "DELETE FROM paths WHERE view = 0")

    findings = examine(path).findings
    assert len(findings) == NAMED + 1
    assert findings[0] == "The run 'a' has 1 of its 2 paths"
    assert findings[-1] == "33 more findings of this kind (runs)"


def test_whatever_bytes_are_damaged_it_ends_in_sentences(path: Path) -> None:
    """Bytes of one to four places in each of 200 copies are changed, of header, trees and rows alike."""
    whole = path.read_bytes()
    random, told = Random(1), 0
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            at = random.randrange(100, len(data) - 64)
            data[at : at + random.choice((1, 8, 64))] = random.randbytes(random.choice((1, 8, 64)))
        path.write_bytes(data[: len(whole)])
        findings = examine(path).findings
        assert all(len(each) > 10 and "Traceback" not in each for each in findings)
        told += bool(findings)
    assert told > 100


def test_a_page_that_is_lost_is_found(path: Path) -> None:
    data = bytearray(path.read_bytes())
    page = data.index(b"tool_2") // 4096 * 4096
    data[page : page + 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    assert any("database" in each or "cannot be read" in each for each in examine(path).findings)


def test_what_is_no_store_cannot_be_looked_over(tmp_path: Path) -> None:
    with pytest.raises(NotAStoreError, match="does not exist"):
        examine(tmp_path / "nowhere.sqlite")


def test_the_command_s_exit_code_says_what_it_found(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["doctor", "--store", str(path)]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["sound"], document["spans"], document["findings"]) == (True, 13, [])
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "It is sound."

    execute(path, "DELETE FROM paths WHERE run = 2 AND view = 1")
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["1 finding:", "- The run 'b' has 1 of its 2 paths"]

    path.write_text("no store")
    assert main(command) == 2
    assert capsys.readouterr().err == f"forkmap: {path} is not a Forkmap store: it is not a SQLite file\n"
