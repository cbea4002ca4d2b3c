"""One builder for several processes: nothing is built twice at once, and nothing is left when one dies."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from engine.builder import Absent, Building
from engine.claims import AT_ONCE, claimed
from tests.builders import (
    AGENTS,
    WAIT_S,
    Builder,
    cohort,
    made,
    one_build,
    read,
    readers,
    started,
    until,
    write,
)

PROCESSES, THREADS = 4, 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path)


def built_by_all(folder: Path, *, claims: bool) -> list[str]:
    """What is written down while every thread of every process wants every map at once."""
    processes = [started(readers, folder, THREADS, 0.1, claims) for _ in range(PROCESSES)]
    until(folder, "here", PROCESSES)
    write(folder, "go")
    for process in processes:
        process.join(WAIT_S)
        assert process.exitcode == 0
    return read(folder)


def most_at_once(lines: list[str]) -> int:
    running = most = 0
    for line in lines:
        running += line.startswith("begin ") - line.startswith("end ")
        most = max(most, running)
    return most


def test_eight_threads_of_four_processes_have_each_map_built_once_and_two_at_a_time(folder: Path) -> None:
    lines = built_by_all(folder, claims=True)
    counts = Counter(line for line in lines if line.startswith(("begin ", "end ")))
    assert counts == {f"{what} {agent}": 1 for what in ("begin", "end") for agent in AGENTS}
    assert most_at_once(lines) <= AT_ONCE
    given = Counter(line for line in lines if line.startswith("ready "))
    assert sorted(given.values()) == [PROCESSES * THREADS] * len(AGENTS), "all were given the same build"


def test_without_claims_they_would_build_the_same(folder: Path) -> None:
    lines = built_by_all(folder, claims=False)
    assert lines.count(f"begin {AGENTS[0]}") > 1


def test_what_a_killed_process_was_building_another_builds(folder: Path) -> None:
    dying = started(one_build, folder, 3600.0)
    until(folder, f"begin {AGENTS[0]}")
    builder = Builder(folder, 0.0)
    assert builder.maps.get(cohort(AGENTS[0])) == Absent()
    time.sleep(0.3)
    assert builder.maps.get(cohort(AGENTS[0])) == Building()
    assert read(folder).count(f"begin {AGENTS[0]}") == 1
    dying.kill()
    builder.until_ready(AGENTS[0])
    builder.close()
    assert read(folder)[-2:] == [f"begin {AGENTS[0]}", f"end {AGENTS[0]}"]


def test_a_process_that_is_told_to_end_ends_with_its_build(folder: Path) -> None:
    ending = started(one_build, folder, 0.5)
    until(folder, f"begin {AGENTS[0]}")
    ending.terminate()
    ending.join(WAIT_S)
    assert ending.exitcode == 0
    builder = Builder(folder, 0.0)
    builder.until_ready(AGENTS[0])
    builder.close()
    assert read(folder) == [f"begin {AGENTS[0]}", f"end {AGENTS[0]}"]


def test_where_nothing_can_be_claimed_it_is_built_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store-claims").write_text("a file where the folder should be")
    with claimed(tmp_path / "store")("key") as mine:
        assert mine
    assert "nothing can be claimed in" in caplog.text


def test_a_claim_is_had_by_one_and_two_at_a_time(tmp_path: Path) -> None:
    claim = claimed(tmp_path / "store")
    with claim("a") as first, claim("a") as again:
        assert (first, again) == (True, False)
        with claim("b") as second, claim("c") as third:
            assert (second, third) == (True, False)
    with claim("c") as later:
        assert later
    assert {file.stat().st_size for file in (tmp_path / "store-claims").iterdir()} == {0}
