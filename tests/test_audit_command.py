"""``forkmap audit`` and ``forkmap schema``: what they print, and with which exit code."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given

from dashboard.cli import main
from engine.decisions.schema import BadLine, json_schema, parse
from engine.decisions.trace import Finding, Kind
from engine.decisions.wording import finding
from tests.test_audit import Record, call, decision, records, result, text

Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Ask the command; its exit code, and what it says on both streams."""

    def asked(*arguments: str | Path) -> tuple[int, str, str]:
        code = main([*map(str, arguments)])
        return (code, *capsys.readouterr())

    return asked


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.jsonl"
    path.write_bytes(text(decision(), call(), result()))
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken,1.jsonl"
    path.write_bytes(text(decision(goal="g" * 300), call(tool="ed\tit%"), "{"))
    return path


def test_a_sound_file_has_no_findings(ask: Ask, sound: Path) -> None:
    assert ask("audit", sound) == (0, "finding_count\t0\n", "")


def test_findings_are_columns_by_line(ask: Ask, broken: Path) -> None:
    assert ask("audit", broken) == (
        1,
        "long_goal\tL1\t300 characters\n"
        "choice_mismatch\tL2\tread->ed\ufffdit%\n"
        "bad_json\tL3\tInput data was truncated\n"
        "finding_count\t3\n",
        "",
    )


def test_of_several_files_the_file_is_the_fourth_column(ask: Ask, sound: Path, broken: Path) -> None:
    code, out, _ = ask("audit", broken, sound, broken)
    *lines, last = out.splitlines()
    assert (code, last) == (1, "finding_count\t6")
    assert [line.split("\t")[3] for line in lines] == [str(broken)] * 6


def test_low_margins_are_those_below_the_one_given(ask: Ask, sound: Path) -> None:
    assert ask("audit", sound, "--low-margin", "0.3")[1].startswith("low_margin\tL1\t0.25\n")
    assert ask("audit", sound, "--low-margin", "0.25")[0] == 0
    with pytest.raises(SystemExit) as left:
        ask("audit", sound, "--low-margin", "nan")
    assert left.value.code == 2


def test_programs_are_given_json(ask: Ask, broken: Path, sound: Path) -> None:
    code, out, _ = ask("audit", broken, "--format", "json")
    document = json.loads(out)
    assert (code, document["finding_count"], document["unread"]) == (1, 3, [])
    assert document["findings"][1] == {
        "file": str(broken),
        "line": 2,
        "kind": "choice_mismatch",
        "detail": "read->ed\tit%",
        "span_id": "call of d",
    }
    assert json.loads(ask("audit", sound, "--format", "json")[1]) == {
        "findings": [],
        "finding_count": 0,
        "unread": [],
    }


def test_github_is_given_annotations(ask: Ask, broken: Path) -> None:
    long = finding(Finding(1, Kind.LONG_GOAL, "300 characters"))
    file = str(broken).replace(",", "%2C")
    assert ask("audit", broken, "--format", "github") == (
        1,
        f"::warning file={file},line=1,title=long_goal::{long}\n"
        f"::error file={file},line=2,title=choice_mismatch::read was chosen, and ed\ufffdit%25 was called.\n"
        f"::error file={file},line=3,title=bad_json::This is no JSON: Input data was truncated.\n"
        "finding_count\t3\n",
        "",
    )


def test_standard_input_is_a_file_too(
    ask: Ask, sound: Path, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO(gzip.compress(broken.read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(packed))
    code, out, _ = ask("audit", "-", sound)
    assert (code, out.splitlines()[2]) == (1, "bad_json\tL3\tInput data was truncated\tstandard input")


def test_a_packed_file_that_is_cut_is_read_as_far_as_it_goes(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    turns = [text(decision(str(turn)), call("nobody", span_id=f"call-{turn}")) for turn in range(2_000)]
    path.write_bytes(gzip.compress(b"\n".join(turns), 0)[:-20_000])
    code, out, err = ask("audit", path)
    assert code == 2
    assert "missing_decision\tL2000\tread\n" in out
    assert err == f"forkmap: {path}: it cannot be read: the compressed data is cut off\n"


def test_what_cannot_be_read_is_named_and_the_rest_is_audited(ask: Ask, broken: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    assert ask("audit", missing) == (
        2,
        "",
        f"forkmap: {missing}: it cannot be read: No such file or directory\n",
    )
    code, out, err = ask("audit", tmp_path, broken)
    assert (code, out.splitlines()[-1]) == (2, "finding_count\t3")
    assert err == f"forkmap: {tmp_path}: it cannot be read: Is a directory\n"


def test_a_name_that_cannot_be_looked_at_costs_itself_only(ask: Ask, broken: Path) -> None:
    name = "n" * 300
    code, out, err = ask("audit", name, broken)
    assert (code, out.splitlines()[-1]) == (2, "finding_count\t3")
    assert err == f"forkmap: {name}: it cannot be read: File name too long\n"


def test_programs_are_given_json_of_files_that_cannot_be_read_too(ask: Ask, tmp_path: Path) -> None:
    code, out, _ = ask("audit", tmp_path, "--format", "json")
    unread = [{"file": str(tmp_path), "reason": "it cannot be read: Is a directory"}]
    assert (code, json.loads(out)) == (2, {"findings": [], "finding_count": 0, "unread": unread})


def test_a_full_disk_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"{\n" * 350_000)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); "
        "from dashboard.cli import main; sys.exit(main(['audit', sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("forkmap: the temporary file (TMPDIR says where) cannot be used: ")
    assert done.stderr.count("\n") == 1


def test_an_audit_loads_neither_scipy_nor_pandas(sound: Path) -> None:
    program = (
        "import sys; from dashboard.cli import main; code = main(['audit', sys.argv[1]]); "
        "sys.exit(code or 10 * bool({'scipy', 'pandas', 'dash', 'flask'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", program, str(sound)], check=False).returncode == 0


def test_the_schema_is_printed(ask: Ask) -> None:
    code, out, _ = ask("schema")
    assert (code, json.loads(out)) == (0, json_schema())
    jsonschema.Draft202012Validator.check_schema(json_schema())


VALIDATOR = jsonschema.Draft202012Validator(json_schema())


@given(records)
def test_the_schema_takes_what_is_read_and_nothing_else(record: Record) -> None:
    try:
        is_read = parse(json.dumps(record).encode()) is not None
    except BadLine as bad:
        is_read = False
        if bad.kind == "bad_json" or "datetime" in bad.detail or "out of range" in bad.detail:
            return  # A schema says nothing of how JSON is written, of times, or of how large numbers may be.
    assert VALIDATOR.is_valid(record) is is_read
