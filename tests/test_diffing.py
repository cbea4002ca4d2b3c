"""``forkmap diff``: two runs out of files or a store, what is printed of them, and the exit codes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from dashboard.cli import main
from dashboard.documents import rfc3339
from engine.runs import SECOND_NS
from engine.store.sqlite import open_store
from tests.decided import HOUR_NS, READ, SEARCH, spans_of
from tests.memory_store import NOW_NS
from tests.samples import SHARED

TAU = SHARED / "data" / "tau-bench" / "gpt-4o-airline.json"
SUCCESS, FAILURE = "2d322901731c9ee8-102", "2d322901731c9ee8-2"
"""Two runs of one task, of which one got what the customer asked for."""

READ_EDIT = {"read_file": 0.75, "edit_file": 0.5}
Lines = list[dict[str, Any]]


def decided(
    number: int, chosen: str, scores: dict[str, float], run: str = "run_91", margin: float = 0.25, **args: Any
) -> Lines:
    """A decision and the call under it."""
    at = f"2026-09-13T02:{number:02}"
    options = [{"tool": tool, "score": score} for tool, score in scores.items()]
    decision: dict[str, Any] = {
        "type": "decision",
        "span_id": f"d{number}",
        "parent_id": run,
        "ts": f"{at}:00Z",
    }
    decision |= {"goal": "fix it", "options": options, "chosen": chosen, "policy": "argmax", "margin": margin}
    call = {"type": "tool_call", "span_id": f"c{number}", "parent_id": f"d{number}", "ts": f"{at}:01Z"}
    return [decision, call | {"tool": chosen, "args": args}]


A = decided(1, "read_file", READ_EDIT, path="a.py") + decided(2, "read_file", READ_EDIT)
B = decided(1, "read_file", READ_EDIT, path="b.py") + decided(
    2, "edit_file", {"edit_file": 0.53125, "run_tests": 0.5}, margin=0.03125
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of files as short as they are written, and no store but those that are named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORKMAP_STORE", "none.sqlite")


def write(name: str, lines: Iterable[dict[str, Any]]) -> str:
    Path(name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return name


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code and what was printed, without blanks at line ends."""
    code = main(["diff", *arguments])
    out, err = capsys.readouterr()
    return code, "\n".join(line.rstrip() for line in out.splitlines()), err


HEADLINE = (
    "At decision 2 A chose read_file and B chose edit_file: "
    "only A was offered read_file; only B was offered run_tests; B won by 0.031, close to a tie."
)
LOOK_FIRST = (
    "Look first at the prompt and the tool catalogue: what made the menus differ? "
    "It may have begun before: the call of read_file under decision 1 is the first that differs."
)
REPORT = f"""\
Menu changed
{HEADLINE}
{LOOK_FIRST}

 A: a.jsonl        B: b.jsonl
 ─────────────────────────────
 1 read_file   =   1 read_file
 2 read_file   ≠   2 edit_file


 options at decision 2   A              B
 ──────────────────────────────────────────────────────
 read_file               0.75, chosen   not offered
 edit_file               0.5            0.53125, chosen
 run_tests               not offered    0.5

A picked read_file by argmax, with a margin of 0.25.
B picked edit_file by argmax, with a margin of 0.03125.

 arguments of the first call that differs   A        B
 ──────────────────────────────────────────────────────────
 path                                       "a.py"   "b.py"


                                    A                    B
 ──────────────────────────────────────────────────────────────────────────
 Does every call cite a decision?   yes                  yes
 Did the chosen tool run?           yes                  yes
 Was a margin too small to trust?   no                   yes: at decision 2
 Did the other run part from it?    yes: at decision 2   yes: at decision 2
"""


def test_the_diagnosis_comes_first_then_the_sequences_then_the_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert told(capsys, write("a.jsonl", A), write("b.jsonl", B)) == (1, REPORT, "")


def test_arguments_of_two_tools_are_not_held_against_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = (decided(1, tool, READ_EDIT, path="a.py") for tool in ("read_file", "edit_file"))
    _, out, _ = told(capsys, write("a.jsonl", a), write("b.jsonl", b))
    assert "arguments" not in out


def test_where_one_run_ended_the_options_of_the_other_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capsys, write("a.jsonl", A), write("b.jsonl", decided(1, "read_file", READ_EDIT)))
    assert code == 1
    assert [line.split() for line in out.splitlines() if "no decision" in line] == [
        ["read_file", "0.75,", "chosen", "no", "decision"],
        ["edit_file", "0.5", "no", "decision"],
    ]
    assert "A picked read_file by argmax, with a margin of 0.25.\nB" not in out


def test_of_many_options_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    menus = (
        {f"tool_{place}": place / 1000 for place in range(300)} | {tool: 1.0} for tool in ("one", "other")
    )
    files = (decided(1, max(menu, key=menu.__getitem__), menu) for menu in menus)
    _, out, _ = told(
        capsys, *(write(f"{name}.jsonl", lines) for name, lines in zip("ab", files, strict=True))
    )
    assert ("tool_199" in out, "tool_200" in out, "102 more, see --format json" in out) == (True, False, True)


def test_of_many_arguments_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = (decided(1, "read_file", READ_EDIT, lines=[number] * 300) for number in (1, 2))
    _, out, _ = told(capsys, write("a.jsonl", a), write("b.jsonl", b))
    assert ("lines[199]" in out, "lines[200]" in out, "100 more, see --format json" in out) == (
        True,
        False,
        True,
    )


def test_a_threshold_that_is_asked_for_counts(capsys: pytest.CaptureFixture[str]) -> None:
    paths = write("a.jsonl", A), write("b.jsonl", B)
    _, out, _ = told(capsys, *paths, "--format", "json", "--low-margin", "0.03")
    found = json.loads(out)
    assert (found["fork"]["b"]["low"], found["low_margin"]) == (False, 0.03)


def test_json_holds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capsys, write("a.jsonl", A), write("b.jsonl", B), "--format", "json")
    answered = {"every_call_cites_a_decision": True, "chosen_ran": True, "forked_here": True}
    assert code == 1
    assert json.loads(out) == {
        "a": {"name": "a.jsonl", "sequence": ["read_file", "read_file"]},
        "b": {"name": "b.jsonl", "sequence": ["read_file", "edit_file"]},
        "by": "decisions",
        "diagnosis": "menu",
        "headline": HEADLINE,
        "look_first": LOOK_FIRST,
        "fork": {
            "place": 1,
            "a": {
                "chosen": "read_file",
                "policy": "argmax",
                "margin": 0.25,
                "low": False,
                "options": [
                    {"tool": "read_file", "score": 0.75, "reason": None},
                    {"tool": "edit_file", "score": 0.5, "reason": None},
                ],
            },
            "b": {
                "chosen": "edit_file",
                "policy": "argmax",
                "margin": 0.03125,
                "low": True,
                "options": [
                    {"tool": "edit_file", "score": 0.53125, "reason": None},
                    {"tool": "run_tests", "score": 0.5, "reason": None},
                ],
            },
            "only_a": ["read_file"],
            "only_b": ["run_tests"],
            "ranks_differ": False,
        },
        "rows": [{"mark": "=", "a": 0, "b": 0}, {"mark": "≠", "a": 1, "b": 1}],
        "changes": [],
        "mismatch": {
            "a": 0,
            "b": 0,
            "call": 0,
            "tool_a": "read_file",
            "tool_b": "read_file",
            "arguments": [{"path": "path", "a": "a.py", "b": "b.py"}],
        },
        "returned": None,
        "answers": {
            "a": answered | {"margin_too_small": False},
            "b": answered | {"margin_too_small": True},
        },
        "low_margin": 0.05,
    }


def test_equal_runs_leave_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(capsys, write("a.jsonl", A), write("b.jsonl", A))
    assert (code, out.splitlines()[0], err) == (0, "Identical", "")


def test_lines_may_end_and_begin_as_on_windows_and_be_compressed(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("a.jsonl", A)
    Path("b.jsonl").write_bytes(b"\xef\xbb\xbf" + Path(path).read_bytes().replace(b"\n", b"\r\n"))
    Path("c.jsonl.gz").write_bytes(gzip.compress(Path(path).read_bytes()))
    assert [told(capsys, path, other)[0] for other in ("b.jsonl", "c.jsonl.gz")] == [0, 0]


def test_equal_as_far_as_they_could_be_read_is_not_equal(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("a.jsonl", A)
    Path("cut.jsonl").write_text(Path(path).read_text() + '{"type": "decision", "span_id"')
    code, out, err = told(capsys, path, "cut.jsonl")
    assert (code, out.splitlines()[0]) == (2, "Identical")
    assert err.startswith("cut.jsonl:5: ")
    assert out.count("incomplete: cannot tell") == 5


def test_a_decision_of_the_store_that_cannot_be_read_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(Path("s.sqlite"), create=True)
    picks = list(spans_of("r1", [SEARCH, READ]))
    picks[3] = structs.replace(picks[3], attributes=picks[3].attributes | {"forkmap.decision.goal": 7})
    store.append("default", picks)
    store.close()
    code, out, err = told(capsys, "r1", "r1", "--store", "s.sqlite")
    assert (code, out.splitlines()[0]) == (2, "Identical")
    assert err == "r1:3: goal: expected `str`, got `int`\n" * 2


def test_a_run_of_a_file_of_several_is_named_behind_a_hash(capsys: pytest.CaptureFixture[str]) -> None:
    other = [
        line | {"span_id": f"x{line['span_id']}"} for line in decided(3, "read_file", READ_EDIT, "run_104")
    ]
    other[1]["parent_id"] = "xd3"
    path = write("two.jsonl", A + other)
    assert told(capsys, path, "two.jsonl#run_91") == (
        2,
        "",
        "forkmap: two.jsonl: there are 2 runs in it, name one behind a #: run_91, run_104\n",
    )
    code, out, _ = told(capsys, "two.jsonl#run_91", "two.jsonl#run_104")
    assert (code, out.splitlines()[0]) == (1, "One run ended")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.jsonl", "a.jsonl#r7"], "a.jsonl: there is no run 'r7' in it, but 1 run: run_91"),
        (["a.jsonl", "b.jsonl"], "'b.jsonl' is no file, and the store none.sqlite does not exist either"),
        (
            ["a.jsonl", "note.txt"],
            "note.txt: no format fits: forkmap import --format names one, if you know it",
        ),
        (
            ["a.jsonl", "none.jsonl"],
            "none.jsonl: there is no run in it; line 1: options: expected `array`, got `int`",
        ),
        (["a.jsonl", "run_7", "--store", "s.sqlite"], "No run 'run_7' is in the store."),
        (["a.jsonl", "r" * 300, "--store", "s.sqlite"], f"No run '{'r' * 300}' is in the store."),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    write("a.jsonl", A)
    write("none.jsonl", [A[0] | {"options": 1}])
    Path("note.txt").write_text("once upon a time")
    open_store(Path("s.sqlite"), create=True).close()
    assert told(capsys, *arguments) == (2, "", f"forkmap: {said}\n")


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"\xef\xbb\xbf{", b"[" * 100_000, b'{"type": "decision"}', b"\x1f\x8b\x08cut off"],
    ids=["nothing", "no UTF-8", "a cut line", "deep nesting", "no field", "damaged gzip"],
)
def test_whatever_a_file_holds_is_told_in_a_sentence(
    capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    Path("bad.jsonl").write_bytes(content)
    code, out, err = told(capsys, write("a.jsonl", A), "bad.jsonl")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("forkmap: bad.jsonl: ")


@pytest.mark.parametrize("margin", ["-1", "nan", "inf", "small"])
def test_a_threshold_is_a_number_from_0(capsys: pytest.CaptureFixture[str], margin: str) -> None:
    with pytest.raises(SystemExit) as left:
        told(capsys, "a", "b", f"--low-margin={margin}")
    assert (left.value.code, f"{margin!r} is no margin: a number from 0" in capsys.readouterr().err) == (
        2,
        True,
    )


def test_a_run_of_the_store_is_named_by_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    paths = write("a.jsonl", A), write("b.jsonl", B)
    assert main(["import", "--store", "s.sqlite", paths[0]]) == 0
    capsys.readouterr()
    code, out, _ = told(capsys, "run_91", paths[0], "--store", "s.sqlite")
    assert (code, out.splitlines()[0]) == (0, "Identical")
    code, out, _ = told(capsys, "run_91", paths[1], "--store", "s.sqlite")
    assert (code, out.splitlines()[:3]) == (1, REPORT.splitlines()[:3])


def test_a_run_that_is_still_going_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(Path("s.sqlite"), create=True)
    store.append("default", list(spans_of("r1", [SEARCH])) + list(spans_of("r2", [SEARCH, READ])))
    store.close()
    soon = rfc3339(NOW_NS - HOUR_NS + 60 * SECOND_NS)
    code, out, err = told(capsys, "r1", "r2", "--store", "s.sqlite", "--now", soon)
    assert (code, out.splitlines()[0]) == (1, "One run ended")
    going = [f"forkmap: run {name} is still going: what is there by now is compared" for name in ("r1", "r2")]
    assert err.splitlines() == going


@pytest.mark.skipif(not TAU.is_file(), reason=f"no recorded runs in {TAU}")
def test_a_recorded_success_and_failure_of_one_task_compare_by_steps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = told(capsys, f"{TAU}#{FAILURE}", f"{TAU}#{SUCCESS}")
    assert (code, out.splitlines()[:2]) == (
        1,
        [
            "Forked, options not recorded",
            "At step 5 A took tool:get_reservation_details and B took llm:gpt-4o.",
        ],
    )
