"""``forkmap compare``, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dashboard.cli import main
from dashboard.urls import write_time
from engine.narrowing import PICKED_BY_OUTCOME
from engine.store.sqlite import open_store
from tests.two_versions import AGENT, DEPLOYED_NS, make_changed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store = make_changed(tmp_path / "s.sqlite")
    store.add_marker("default", "deploy v2", DEPLOYED_NS, AGENT)
    store.close()
    return tmp_path / "s.sqlite"


def asked(path: Path, *words: str) -> list[str]:
    return ["compare", AGENT, "--store", str(path), *words]


def test_versions_are_compared_in_sentences(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked(path, "--versions", "v1", "v2")) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(
        "desk · last 30 days 12 of 40 (30.0%) runs succeeded with v2, 31 of 40 (77.5%) with v1: "
        "−47.5 points, more than chance (Fisher p = 4e-05). Holds within tickets: −47.5 points"
    )
    assert (
        "- Gone: after tool:a, runs no longer take tool:c: 0 of 40 (0.0%) with v2, 30 of 40 (75.0%) with v1"
        in said
    )
    assert "Forks at which most changed: - tool:a: −47.5 points: " in said


def test_a_moment_and_its_marker_part_the_same_sides(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for how in (["--since", write_time(DEPLOYED_NS)], ["--marker", "deploy v2"]):
        assert main(asked(path, *how, "--json")) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert (found[0]["before"]["support"], found[0]["after"]["support"]) == (40, 40)
    assert found[0]["parted"]["since"] == write_time(DEPLOYED_NS)


def test_only_some_runs_are_compared(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked(path, "--versions", "v1", "v2", "--where", "!c", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["before"]["support"], found["after"]["support"]) == (10, 40)
    assert main(asked(path, "--versions", "v1", "v2", "--where", "!outcome:abandoned")) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(f"desk · last 30 days · !outcome:abandoned {PICKED_BY_OUTCOME} 12 of 40")


def test_what_cannot_be_compared_is_said(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked(path, "--marker", "v9")) == 2
    assert "no marker of 'desk' is called 'v9'; these are: deploy v2" in capsys.readouterr().err
    assert main(asked(path, "--versions", "v1", "v1")) == 2
    assert "--versions needs two: both are 'v1'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main(asked(path))
    assert left.value.code == 2
    assert main(asked(path, "--versions", "v1", "v9")) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "none completed with v9: there is nothing to compare. Versions of these runs: v2, v1" in said
    assert main(asked(path, "--since", "1990-01-01")) == 0
    assert "since 1990-01-01 Among these runs none completed before" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_store_that_is_only_read_has_no_markers_to_lose(path: Path) -> None:
    store = open_store(path, read_only=True)
    assert [marker.name for marker in store.markers("default")] == ["deploy v2"]
    store.close()
