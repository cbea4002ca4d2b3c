"""An import of very many bad records holds a bounded number of them, and counts all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dashboard.cli import main
from engine.importing import NAMED


def test_the_first_refusals_are_named_and_all_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, missing = tmp_path / "bad.jsonl", tmp_path / "missing.jsonl"
    good = '{"type": "outcome", "run": "r", "outcome": "success", "time": "2026-01-01T10:00:00Z"}'
    path.write_text("\n".join([good, *["{oops"] * (NAMED + 7)]))
    asked = ["import", str(path), str(missing), "--store", str(tmp_path / "store.sqlite")]

    assert main([*asked, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["imported"], document["refused"], len(document["refusals"])) == (1, NAMED + 8, NAMED)
    assert main(asked) == 1
    told = capsys.readouterr()
    assert told.out == f"Records: 0 imported, 1 unchanged, {NAMED + 8:,} refused; 0 runs.\n"
    lines = told.err.splitlines()
    assert len(lines) == NAMED + 2
    assert lines[0].startswith(f"{path}:2: ")
    assert lines[NAMED:] == [
        "8 more were refused, which are not named",
        "1 outcome waits for a run not seen yet: r",
    ]
