"""The command: its documents, its tables, its exit codes, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from dashboard.cli import main
from dashboard.commands import answers, listening
from dashboard.commands.terminal import console, shown
from engine import importing
from engine.errors import UnwritableStoreError
from engine.importing import Imported
from engine.spans import Span
from engine.store import Appended
from engine.store.sqlite import SQLiteStore, open_store

FORKMAP = (sys.executable, "-c", "import sys; from dashboard.cli import main; sys.exit(main())")
NOW = "2026-01-02T09:00:00Z"
GOOD: tuple[str, ...] = ("llm:m", "tool:find")
LOOP: tuple[str, ...] = ("llm:m", "tool:find", "tool:find", "tool:find")


def span(run: str, number: int, call: str, ticket: str, end: str | None) -> dict[str, Any]:
    """A step of a run, or with number 0 the run's outer agent span."""
    kind, _, name = call.partition(":")
    minute = int(run.removeprefix("r"))
    start = f"2026-01-0{2 if end is None else 1}T08:{minute:02}:{number:02}Z"
    found: dict[str, Any] = {"type": "span", "trace_id": run, "span_id": str(number), "name": call}
    found |= {"start": start, "end": end and start, "parent_id": "0"}
    found["attributes"] = {"forkmap.kind": kind, "forkmap.name": name, "forkmap.ticket": ticket}
    return {
        key: value for key, value in found.items() if value is not None and (key != "parent_id" or number)
    }


def run_lines(run: str, calls: tuple[str, ...], outcome: str | None, ticket: str = "t") -> Iterator[str]:
    end = None if outcome is None else "ended"
    for number, call in enumerate(("agent:desk", *calls)):
        yield json.dumps(span(run, number, call, ticket, end))
    if outcome:
        line = {"type": "outcome", "run": run, "outcome": outcome, "time": "2026-01-01T10:00:00Z"}
        yield json.dumps(line)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs that find and succeed, four that search in a loop and do not, one in flight."""
    ended = [(f"r{number}", GOOD, "success") for number in range(1, 5)]
    ended += [(f"r{number}", LOOP, "failure") for number in range(5, 8)] + [("r8", LOOP, "abandoned")]
    lines = [line for run in ended for line in run_lines(*run, ticket=f"t{run[0]}")]
    lines += run_lines("r50", ("llm:m", "tool:find"), None)
    path = tmp_path_factory.mktemp("recorded") / "runs.jsonl"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def store(recorded: Path) -> str:
    path = recorded.with_name("store.sqlite")
    assert main(["import", str(recorded), "--store", str(path)]) == 0
    return str(path)


@pytest.fixture
def ask(store: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """Ask the store for a document; rates are rounded to four places."""

    def answer(*words: str) -> Any:
        assert main([*words, "--store", store, "--now", NOW, "--json"]) == 0
        return json.loads(capsys.readouterr().out, parse_float=lambda text: round(float(text), 4))

    return answer


TOTALS = {
    "completed": 8,
    "successes": 4,
    "failures": 3,
    "abandoned": 1,
    "unknown": 1,
    "declared": 8,
    "by_rule": 0,
    "inferred": 0,
    "base_rate": 0.5,
    "low": 0.2152,
    "high": 0.7848,
}
ALL_WON = {"support": 4, "successes": 4, "low": 0.5101, "high": 1.0}
ALL_LOST = {"support": 4, "successes": 0, "low": 0.0, "high": 0.4899}
NO_TICKET_SHARED = {
    "held": "cannot tell",
    "p": 1.0,
    **dict.fromkeys(("difference", "low", "high")),
    **dict.fromkeys(("strata", "runs", "support", "shared"), 0),
}
HALF_WON = {"support": 8, "successes": 4, "low": 0.2152, "high": 0.7848}


def test_agents(ask: Any) -> None:
    assert ask("agents") == [{"tenant": "default", "agent": "desk", **TOTALS}]


def test_agents_in_another_time(ask: Any) -> None:
    (desk,) = ask("agents", "--from", "2026-01-01T08:05:00Z", "--to", "2026-01-01T08:07:00Z")
    assert (desk["completed"], desk["successes"], desk["unknown"]) == (2, 0, 0)
    (desk,) = ask("agents", "--to", "2026-01-01")
    assert (desk["completed"], desk["base_rate"], desk["low"], desk["high"]) == (0, None, 0.0, 1.0)


def test_map(ask: Any) -> None:
    found = ask("map", "desk")
    keys = [node.pop("key") for node in found["nodes"]]
    assert len({*keys}) == 4 and all(len(key) == 16 for key in keys)
    plain = {
        "ended": 0,
        "abandoned": 0,
        "fork": False,
        "golden": False,
        "entropy_bits": 0.0,
        "hotspot": False,
    }
    lost = {"depth": 2, "ended": 4, "abandoned": 1, "fork": True}
    assert found == {
        "cohort": {
            "tenant": "default",
            "agent": "desk",
            "from": "2025-12-03T09:00:00Z",
            "to": None,
            "steps": "all",
            "where": None,
        },
        "totals": TOTALS | {"no_steps": 0, "cut_paths": 0, "bounds_met": []},
        "nodes": [
            plain | HALF_WON | {"path": [], "depth": 0, "abandoned": 1},
            plain
            | HALF_WON
            | {"path": ["llm:m"], "depth": 1, "abandoned": 1, "entropy_bits": 1.0, "hotspot": True},
            plain | ALL_WON | {"path": ["llm:m", "tool:find"], "depth": 2, "ended": 4, "golden": True},
            plain | ALL_LOST | lost | {"path": ["llm:m", "tool:find×3-5"]},
        ],
        "tested": 2,
    }


def test_map_without_model_steps_of_all_time(ask: Any) -> None:
    found = ask("map", "desk", "--steps", "tools", "--all")
    assert found["cohort"] == {
        "tenant": "default",
        "agent": "desk",
        "from": None,
        "to": None,
        "steps": "tools",
        "where": None,
    }
    assert [node["path"] for node in found["nodes"]] == [[], ["tool:find"], ["tool:find×3-5"]]


def test_a_map_of_the_runs_that_an_expression_lets_through(ask: Any) -> None:
    found = ask("map", "desk", "--steps", "tools", "--where", " find x3 and outcome:failure ")
    assert found["cohort"]["where"] == "find x3 and outcome:failure"
    assert [found["totals"][key] for key in ("completed", "failures", "unknown")] == [3, 3, 0]
    assert [node["path"] for node in found["nodes"]] == [[], ["tool:find×3-5"]]
    assert ask("forks", "desk", "--where", "find x3")["tested"] == 0
    every = ask("calibrate", "desk")
    assert (
        ask("calibrate", "desk", "--where", "llm:m")
        == every
        != ask("calibrate", "desk", "--where", "find x3")
    )


def test_how_many_runs_are_as_an_expression_says_is_told(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "desk", "--where", "find x3", "--store", store, "--now", NOW]) == 0
    assert "4 of 9 runs match find x3" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["map", "forks", "calibrate"])
def test_an_expression_that_cannot_be_read_is_shown_with_a_caret_under_the_place(
    store: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "desk", "--where", "find > > close", "--store", store]) == 2
    assert capsys.readouterr() == (
        "",
        "forkmap: --where: column 8: '>' stands where a step was expected\n  find > > close\n         ^\n",
    )
    assert main([command, "desk", "--where", "a" * 10_000, "--store", store]) == 2
    told = "forkmap: --where: an expression has at most 1,000 characters, this one 10,000\n"
    assert capsys.readouterr() == ("", told)


def test_forks(ask: Any) -> None:
    found = ask("forks", "desk")
    (fork,), (spot,), (golden,) = found["forks"], found["hotspots"], found["golden"]
    assert len(fork.pop("key")) == len(spot.pop("key")) == len(golden.pop("key")) == 16
    assert found == {
        "tested": 2,
        "impossible": 1,
        "confirmed": 0,
        "chance": {
            "shuffles": 200,
            "forks": 1.0,
            "found": 1,
            "as_many": 200,
            "moved": 0,
            "within_tickets": True,
            "within_versions": False,
        },
        "forks": [
            {
                "path": ["llm:m", "tool:find×3-5"],
                **ALL_LOST,
                "rate": 0.0,
                "sibling_support": 4,
                "sibling_successes": 4,
                "sibling_rate": 1.0,
                "p": 0.0286,
                "q": 0.0286,
                "label": "significant",
                "within": {"tickets": NO_TICKET_SHARED, "versions": None, "both": None},
                "runs_lost": 4.0,
                "examples": {"failure": "r8", "success": "r4"},
            }
        ],
        "hotspots": [
            {
                "path": ["llm:m"],
                "visits": 8,
                "entropy_bits": 1.0,
                "options": [{"token": "tool:find", "support": 4}, {"token": "tool:find×3-5", "support": 4}],
            }
        ],
        "golden": [
            {
                "path": ["llm:m", "tool:find"],
                **ALL_WON,
                "rate": 1.0,
                "sibling_support": 4,
                "sibling_successes": 0,
                "sibling_rate": 0.0,
                "p": 0.0286,
                "q": 0.0286,
                "label": "significant",
                "within": {"tickets": NO_TICKET_SHARED, "versions": None, "both": None},
                "runs_gained": 4.0,
                "examples": {"failure": "r8", "success": "r4"},
            }
        ],
    }


def test_forks_say_in_words_how_far_they_are_shown(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forks", "desk", "--store", store, "--now", NOW]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "It is not confirmed." in said
    assert "there is nothing to shuffle" in said
    assert (
        "significant: cannot tell within tickets. Cannot tell within tickets: no ticket has runs both" in said
    )


def test_run_that_ended_is_judged_without_itself(ask: Any) -> None:
    others = {"support": 7, "successes": 4, "rate": 0.5714, "low": 0.2505, "high": 0.8418}
    here = {"successes": 0, "support": 3, "rate": 0.0, "low": 0.0, "high": 0.5615}
    found = ask("run", "r5")
    assert found.pop("sentence").startswith("0 of 3 other runs on this path succeeded")
    assert found == {
        "run_id": "r5",
        "agent": "desk",
        "outcome": "failure",
        "outcome_source": "declared",
        "said_by": None,
        "live": False,
        "path": ["llm:m", "tool:find×3-5"],
        "verdict": "insufficient_history",
        **here,
        "base_rate": 0.5714,
        "depths": [{"token": "llm:m", **others}, {"token": "tool:find×3-5", **here}],
        "fell_most": None,
        "next_steps": [],
        "best_next_step": None,
        "forks": ask("forks", "desk")["forks"],
    }


def test_a_run_names_the_fatal_forks_on_its_path(ask: Any) -> None:
    (fork,) = ask("forks", "desk")["forks"]
    assert fork["path"] == ["llm:m", "tool:find×3-5"]
    assert ask("run", "r8")["forks"] == [fork]
    assert ask("run", "r4")["forks"] == []


def test_run_in_flight_and_its_next_step(ask: Any) -> None:
    now = ask("run", "r50")
    assert (now["live"], now["outcome"], now["outcome_source"]) == (True, "unknown", None)
    assert (now["path"], now["support"]) == (["llm:m", "tool:find"], 8)
    assert [(step["signature"], step["support"]) for step in now["next_steps"]] == [("tool:find", 4)]
    then = ask("run", "r50", "--next", "tool:find")
    assert (then["path"], then["support"], then["successes"]) == (["llm:m", "tool:find×2"], 4, 0)


def test_run_is_found_by_a_ticket_that_only_it_has(ask: Any) -> None:
    assert ask("run", "tr3")["run_id"] == "r3"


def test_a_ticket_of_several_runs_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for run in ("r1", "r2") for line in run_lines(run, GOOD, "success", ticket="both")]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines))
    store = ["--store", str(tmp_path / "s.sqlite")]
    assert main(["import", str(tmp_path / "runs.jsonl"), *store]) == 0
    capsys.readouterr()
    assert main(["run", "both", *store]) == 2
    said = capsys.readouterr().err
    assert said.startswith("forkmap: 2 runs are named 'both': ")
    assert {"r1", "r2"} <= set(said.replace(",", " ").replace(".", " ").split())


def test_calibrate(ask: Any) -> None:
    found = ask("calibrate", "desk")
    scores = ["predicted", "brier", "baseline_brier", "skill"]
    assert [*found] == [*scores, "depths", "reliability", "told_apart", "backoff"]
    assert [*found["backoff"]] == ["brier", "skill", "told_apart"]
    assert [each["steps"] for each in found["depths"]] == [1, 2, 3, 5, 8, 13, 21, 34]
    assert found["depths"][-1] == {
        "steps": 34,
        "predicted": 0,
        "brier": None,
        "baseline_brier": None,
        "skill": None,
    }
    assert [*found["reliability"][0]] == [
        *("low", "high", "predicted_mean", "observed", "support"),
        *("wilson_low", "wilson_high"),
    ]


def test_import_says_what_became_of_each_record(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--store", str(tmp_path / "new" / "store.sqlite"), "--json"]
    records = len(recorded.read_text().splitlines())
    assert main(["import", str(recorded), *place]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first == {"imported": records, "unchanged": 0, "refused": 0, "refusals": [], "runs": 9}
    assert main(["import", str(recorded), *place]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == {"imported": 0, "unchanged": records, "refused": 0, "refusals": [], "runs": 9}


def test_import_counts_the_runs_of_its_own_records_each_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, place = tmp_path / "runs.jsonl", tmp_path / "store.sqlite"
    chat = [span(f"r{number}", 1, "tool:find", "t", "ended") for number in range(30)]
    for record in chat:
        record["attributes"]["session.id"] = "chat"
    path.write_text("\n".join(json.dumps(record) for record in chat))
    left = open_store(place, create=True)
    left.append("default", [Span("other", "s", "n", 1, 2)])
    left.close()

    assert main(["import", str(path), "--store", str(place)]) == 0
    assert capsys.readouterr().out == "Records: 30 imported, 0 unchanged, 0 refused; 1 run.\n"


def test_differing_copies_in_one_file_are_unchanged_when_it_is_imported_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, place = tmp_path / "runs.jsonl", ["--store", str(tmp_path / "store.sqlite")]
    copies = [span("r1", 1, call, "t", "ended") for call in ("tool:find", "tool:look")]
    path.write_text("\n".join(map(json.dumps, copies)))

    assert main(["import", str(path), *place]) == main(["import", str(path), *place]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Records: 1 imported, 1 unchanged, 0 refused; 1 run.",
        "Records: 0 imported, 2 unchanged, 0 refused; 1 run.",
    ]


def test_import_keeps_the_good_lines_and_names_the_bad(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(
        "\n".join([*run_lines("r1", GOOD, "success"), "{oops", '{"type": "outcome", "run": "r1"}'])
    )
    asked = ["import", str(path), "--store", str(tmp_path / "store.sqlite")]
    assert main(asked) == 1
    out, err = capsys.readouterr()
    assert out == "Records: 4 imported, 0 unchanged, 2 refused; 1 run.\n"
    assert [line.rpartition(f"{path}:")[2].partition(": ")[0] for line in err.splitlines()] == ["5", "6"]
    assert main([*asked, "--json"]) == 1
    assert [each["line"] for each in json.loads(capsys.readouterr().out)["refusals"]] == [5, 6]


def test_import_of_files_that_cannot_be_read(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--store", str(tmp_path / "store.sqlite")]
    assert main(["import", str(tmp_path / "absent"), *place]) == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'absent'}: ")
    assert main(["import", str(tmp_path / "absent"), str(recorded), *place]) == 1


def test_a_path_that_cannot_be_looked_at_costs_no_other_file(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = str(tmp_path / ("a" * 300))
    assert main(["import", long, str(recorded), "--json", "--store", str(tmp_path / "store.sqlite")]) == 1
    found = json.loads(capsys.readouterr().out)
    reason = "it cannot be read: File name too long"
    assert (found["runs"], found["refusals"]) == (9, [{"file": long, "line": 0, "reason": reason}])


def test_outcomes_of_runs_not_seen_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, place = tmp_path / "runs.jsonl", ["--store", str(tmp_path / "store.sqlite")]
    lines = [*run_lines("r1", GOOD, "success")]
    path.write_text("\n".join([*lines, lines[-1].replace('"r1"', '"typo-run"')]))
    assert main(["import", str(path), *place]) == 0
    assert capsys.readouterr() == (
        "Records: 5 imported, 0 unchanged, 0 refused; 1 run.\n",
        "1 outcome waits for a run not seen yet: typo-run\n",
    )
    outcomes = [lines[-1].replace('"r1"', f'"typo{number}"') for number in range(12)]
    path.write_text("\n".join(outcomes))
    assert main(["import", str(path), "--json", *place]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["runs"] == 0
    assert err.startswith("outcomes of 12 runs not seen yet wait: typo0, typo1, ") and err.endswith(
        "typo9 …\n"
    )


class FillingUp(SQLiteStore):
    """A store whose disk is full after the first batch."""

    batches = 0

    def append(self, tenant: str, spans: Sequence[Span]) -> Appended:
        self.batches += 1
        if self.batches > 1:
            raise UnwritableStoreError("the disk is full")
        return super().append(tenant, spans)


def test_what_was_stored_before_the_disk_was_full_is_counted(tmp_path: Path) -> None:
    path, place = tmp_path / "runs.jsonl", tmp_path / "store.sqlite"
    step = span("r1", 1, "tool:find", "t", "ended")
    path.write_text(
        "\n".join(json.dumps(step | {"span_id": str(each)}) for each in range(importing.BATCH + 1))
    )
    open_store(place, create=True).close()
    store = FillingUp(place)
    done = importing.import_files(store, "default", [path])
    store.close()
    assert done == Imported(importing.BATCH, 0, (), runs=1, fault="the disk is full")


def test_a_full_disk_is_told_with_the_counts(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def open_filling_up(path: Path, **_: Any) -> FillingUp:
        open_store(path, create=True).close()
        store = FillingUp(path)
        store.batches = 1
        return store

    monkeypatch.setattr(answers, "open_store", open_filling_up)
    assert main(["import", str(recorded), "--store", str(tmp_path / "store.sqlite")]) == 2
    assert capsys.readouterr() == (
        "Records: 0 imported, 0 unchanged, 0 refused; 0 runs.\n",
        "forkmap: the disk is full; what was stored before is counted\n",
    )


def test_refusals_that_nobody_reads_cost_neither_counts_nor_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join([*run_lines("r1", GOOD, "success"), *["{oops"] * 10_000]))
    command = (*FORKMAP, "import", str(path), "--store", str(tmp_path / "store.sqlite"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stderr.close()
        counts = b"Records: 4 imported, 0 unchanged, 10,000 refused; 1 run.\n"
        assert (process.stdout.read(), process.wait(60)) == (counts, 1)


def test_import_for_another_agent(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--store", str(tmp_path / "store.sqlite")]
    assert main(["import", str(recorded), "--agent", "night-desk", "--format", "forkmap", *place]) == 0
    assert main(["agents", "--json", "--now", NOW, *place]) == 0
    assert [each["agent"] for each in json.loads(capsys.readouterr().out.partition("\n")[2])] == [
        "night-desk"
    ]


@pytest.mark.parametrize(
    ("words", "telling"),
    [
        (("agents",), "desk 8 4 3 1 1 50.0% 21.5–78.5%"),
        (("agents", "--to", "2025-01-01"), "1 agent without a run in this time: --all looks at all time."),
        (("map", "desk"), "tool:find×3-5 4 0.0% 0.0–49.0% fatal fork"),
        (("map", "desk", "--to", "2025-01-01"), "0 of 0 completed runs succeeded (–), 0 live: --all"),
        (("forks", "desk"), "Compare r8, which took it, with r4, which went another way."),
        (("run", "r50"), "r50 · desk · live"),
        (("calibrate", "desk"), "Does 70% mean 70%? Not literally: in 1 of the 1 bins"),
    ],
)
def test_tables_for_people(
    store: str, words: tuple[str, ...], telling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--store", store, "--now", NOW]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert telling in " ".join(out.split())


def test_what_goes_into_a_pipe_is_not_broken_into_lines(capsys: pytest.CaptureFixture[str]) -> None:
    line = "Fisher p = 2.2e-14, " * 100
    console().print(shown(line))
    assert capsys.readouterr().out == f"{line}\n"


def test_names_are_text_not_markup_or_orders_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, place = tmp_path / "runs.jsonl", ["--store", str(tmp_path / "s.sqlite"), "--now", NOW]
    path.write_text("\n".join(run_lines("r1", ("tool:[red]a[/red]:x:\x1b[2J",), "success")))
    assert main(["import", str(path), "--agent", "[bold]desk[/bold]", *place]) == 0
    assert main(["map", "[bold]desk[/bold]", *place]) == 0
    out = capsys.readouterr().out
    assert "[bold]desk[/bold]" in out and "tool:[red]a[/red]:x:\ufffd[2J" in out


def test_nothing_that_a_terminal_obeys_or_hides_is_printed_and_documents_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "find\u202e\u2066\u200b\x9b"
    path, place = tmp_path / "runs.jsonl", ["--store", str(tmp_path / "s.sqlite"), "--now", NOW]
    runs = [(f"r{number}", (f"tool:{odd}", "tool:a b"), "success") for number in range(1, 13)]
    path.write_text("\n".join(line for run in runs for line in run_lines(*run, ticket=run[0] + odd)))
    assert main(["import", str(path), "--agent", odd, *place]) == 0
    kept = odd.replace("\x9b", "\ufffd")
    capsys.readouterr()
    for words in (("agents",), ("map", kept), ("forks", kept), ("run", "r1"), ("run", odd)):
        for more in ((), ("--json",)):
            main([*words, *more, *place])
            said = "".join(capsys.readouterr())
            assert all(letter.isprintable() or letter == "\n" for letter in said), ascii(said)
    main(["map", kept, "--json", *place])
    assert json.loads(capsys.readouterr().out)["nodes"][1]["path"] == [f"tool:{kept}"]


def test_most_of_many_agents_are_only_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "store.sqlite"
    store = open_store(place, create=True)
    named = [{"forkmap.agent": f"bot-{number:03}"} for number in [*range(102), 101]]
    store.append("default", [Span(f"t{n}", "s", "n", 1, 2, attributes=each) for n, each in enumerate(named)])
    store.close()
    assert main(["agents", "--all", "--store", str(place)]) == 0
    out = capsys.readouterr().out
    assert out.count("bot-") == 100 and "bot-101" in out
    assert out.splitlines()[-1] == "2 more; --json lists them all."


def test_a_run_with_nothing_to_be_judged_by_in_this_time(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["run", "r5", "--store", store, "--now", NOW]
    hint = "--all judges it by the runs of all time."
    for more, hinted in ((("--to", "2025-01-01"), True), (("--all",), False)):
        assert main([*asked, *more]) == 0
        assert (hint in capsys.readouterr().out) is hinted


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "forkmap: the following arguments are required: COMMAND (see forkmap --help)"),
        (("fly",), "forkmap: argument COMMAND: invalid choice: 'fly'"),
        (("agents", "--now", "noon"), "forkmap: argument --now: 'noon' is no RFC 3339 date or time"),
        (("agents", "--now", "9999-01-01"), "forkmap: argument --now: '9999-01-01' is no RFC 3339"),
        (("agents", "--all", "--to", "2026-01-01"), "forkmap: --all leaves nothing for --from and --to"),
        (
            ("agents", "--from", "2026-01-02", "--to", "2026-01-01"),
            "forkmap: --from must be earlier than --to",
        ),
        (("agents", "--jso"), "forkmap: unrecognized arguments: --jso"),
        (("map", "nobody"), "forkmap: No run of the agent 'nobody' is in the store. These have: desk."),
        (
            ("calibrate", "desk", "--tenant", "x"),
            "forkmap: No run of the agent 'desk' is in the store. Nobody",
        ),
        (("run", "r99"), "forkmap: No run 'r99' is in the store."),
        (
            ("run", "r5", "--next", "x"),
            "forkmap: 'x' is no step: a step is kind:name, for example tool:search",
        ),
        (("run", "r5", "--next", ""), "forkmap: '?' is no step: a step is kind:name"),
        (("run",), "forkmap: the following arguments are required: ID"),
        (("import", "--format", "xml", "f"), "forkmap: argument --format: invalid choice: 'xml'"),
        (("serve", "--port", "65536"), "forkmap: argument --port: '65536' is no port: a number from 0"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_code_2(
    store: str, words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*words, *(["--store", store] if words and words != ("fly",) else [])]
    try:
        code: object = main(asked)
    except SystemExit as left:
        code = left.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(sentence)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"FORKMAP_RUN_KEY": "thread"}, "FORKMAP_RUN_KEY is 'thread': it may be session or trace"),
        ({"FORKMAP_EVALUATION_THRESHOLD": "1"}, "FORKMAP_EVALUATION_THRESHOLD needs FORKMAP_EVALUATION"),
        (
            {"FORKMAP_EVALUATION": "e", "FORKMAP_EVALUATION_THRESHOLD": "nan"},
            "FORKMAP_EVALUATION_THRESHOLD is 'nan': it must be a number",
        ),
        ({"FORKMAP_MAX_RUNS": "0"}, "FORKMAP_MAX_RUNS is '0': it must be a whole number from 1 to"),
        ({"FORKMAP_MAX_NODES": "9" * 5000}, "FORKMAP_MAX_NODES is '999"),
    ],
)
def test_settings_that_cannot_be_used_are_one_sentence_and_exit_code_2(
    store: str,
    settings: dict[str, str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in settings.items():
        monkeypatch.setenv(name, text)
    assert main(["agents", "--store", store]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"forkmap: {sentence}")


def test_settings_bound_the_map(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKMAP_MAX_RUNS", "3")
    monkeypatch.setenv("FORKMAP_MAX_NODES", "2")
    found = ask("map", "desk")
    assert (found["totals"]["completed"], len(found["nodes"])) == (3, 2)
    assert found["totals"]["bounds_met"] == ["runs", "nodes"]
    monkeypatch.delenv("FORKMAP_MAX_NODES")
    assert ask("run", "r50")["support"] == 3
    assert ask("calibrate", "desk")["depths"][0]["predicted"] == 3


def test_settings_say_how_spans_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = span("r1", 1, "tool:find", "t", "ended")
    judged["attributes"]["session.id"] = "chat"
    said = {"gen_ai.evaluation.name": "solved", "gen_ai.evaluation.score.value": 0.4}
    judged["events"] = [{"name": "gen_ai.evaluation.result", "attributes": said}]
    (tmp_path / "runs.jsonl").write_text(json.dumps(judged))
    place = ["--store", str(tmp_path / "store.sqlite"), "--now", NOW]
    assert main(["import", str(tmp_path / "runs.jsonl"), *place]) == 0

    def read(run: str) -> list[str]:
        capsys.readouterr()
        assert main(["run", run, "--json", *place]) == 0
        found = json.loads(capsys.readouterr().out)
        return [found["run_id"], found["outcome"], found["outcome_source"]]

    assert read("chat") == ["chat", "success", "inferred"]
    monkeypatch.setenv("FORKMAP_RUN_KEY", "trace")
    monkeypatch.setenv("FORKMAP_EVALUATION", "solved")
    monkeypatch.setenv("FORKMAP_EVALUATION_THRESHOLD", "0.5")
    assert read("r1") == ["r1", "failure", "declared"]


def test_stores_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("these are notes")
    for place, reason in (
        (tmp_path / "absent", f"{tmp_path / 'absent'} does not exist: forkmap import makes it"),
        (text, f"{text} is not a Forkmap store"),
        (tmp_path, f"{tmp_path} is a directory"),
        (text / "store", f"{text / 'store'} does not exist"),
    ):
        assert main(["agents", "--store", str(place)]) == 2
        assert capsys.readouterr().err.startswith(f"forkmap: {reason}")
    assert main(["import", str(text), "--store", str(text / "store")]) == 2
    assert capsys.readouterr().err.startswith(f"forkmap: {text / 'store'} cannot be created")
    assert text.read_text() == "these are notes"


def test_demo_goes_into_a_new_store_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "demo.sqlite"
    assert main(["demo", "--load", str(place)]) == 0
    assert main(["demo", "--load", str(place)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["agents", "--store", str(place), "--json"]) == 0
    counts = {each["agent"]: each["completed"] for each in json.loads(capsys.readouterr().out)}
    assert counts == {"coding-agent": 22, "repo-agent": 23, "research-agent": 18, "support-agent": 180}


WITHOUT_ROOM = """
import resource, sys
from dashboard.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
sys.exit(main(["demo", "--load", sys.argv[1]]))
"""


def test_demo_that_finds_no_room_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "demo.sqlite"
    found = subprocess.run((sys.executable, "-c", WITHOUT_ROOM, str(place)), capture_output=True)
    assert found.returncode == 2 and found.stderr.startswith(b"forkmap: ")
    assert [*tmp_path.iterdir()] == []
    assert main(["demo", "--load", str(place)]) == 0


def test_demo_that_is_told_to_stop_at_once_leaves_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        (*FORKMAP, "demo", "--port", "0"), env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 30
        while not [*tmp_path.glob("forkmap-demo-*")] and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert [*tmp_path.iterdir()] == []


def test_reader_that_has_had_enough_is_no_failure(store: str) -> None:
    command = (*FORKMAP, "map", "desk", "--json", "--store", store)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)


def test_documents_are_utf_8_whatever_the_locale(store: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    command = (*FORKMAP, "map", "desk", "--json", "--all", "--store", store)
    found = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    assert "×3-5".encode() in found


def test_what_the_encoding_of_the_output_lacks_is_an_escape(store: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = (*FORKMAP, "map", "desk", "--all", "--store", store)
    found = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"tool:find\\xd73-5" in found.stdout and found.stderr == b""


@pytest.mark.parametrize(
    ("closed", "agent", "code", "said"),
    [
        ("<&- >&-", "desk", 0, (b"", b"")),
        (">&-", "nobody", 2, (b"", b"forkmap: No run of the agent 'nobody' is in the store.")),
        ("2>&-", "nobody", 2, (b"", b"")),
        (">/dev/full", "desk", 2, (b"", b"forkmap: the system: No space left on device\n")),
        (">/dev/full 2>&1", "desk", 2, (b"", b"")),
    ],
)
def test_streams_that_lead_nowhere(
    store: str, closed: str, agent: str, code: int, said: tuple[bytes, bytes]
) -> None:
    if "/dev/full" in closed and not Path("/dev/full").exists():
        pytest.skip("no full device")
    script = shlex.join((*FORKMAP, "map", agent, "--all", "--store", store))
    found = subprocess.run(("sh", "-c", f"{script} {closed}"), capture_output=True)
    assert found.returncode == code
    assert found.stdout == said[0] and found.stderr.startswith(said[1]) and found.stderr.count(b"\n") <= 1


INTERRUPTED = """
import sys
from dashboard.cli import main
class CtrlC:
    def find_spec(self, name, *rest):
        if name == "numpy":
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
sys.exit(main(["agents"]))
"""


def test_ctrl_c_is_heeded_from_the_first_moment() -> None:
    found = subprocess.run((sys.executable, "-c", INTERRUPTED), capture_output=True)
    assert (found.returncode, found.stdout, found.stderr) == (130, b"", b"forkmap: stopped\n")


def test_taken_ports_are_passed_over() -> None:
    with listening.first_free() as first, listening.first_free() as second:
        assert second.getsockname()[1] > first.getsockname()[1] >= listening.PORT


def test_taken_port_that_was_asked_for_is_a_failure(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind((listening.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["serve", "--store", store, "--port", str(port)]) == 2
    assert capsys.readouterr().err.startswith(f"forkmap: port {port} is taken")


def heed_ctrl_c() -> None:
    """A shell switches it off for what it starts in the background, these tests maybe."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_demo_is_served_until_told_to_stop_and_leaves_nothing(ending: signal.Signals, tmp_path: Path) -> None:
    command = (*FORKMAP, "demo", "--port", "0")
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[3]
        assert process.stdout.readline().startswith("No key was made")
        assert process.stdout.readline() == (
            "The clock of this store stands still at 2026-10-18 12:00:00 UTC: runs that are sent to it count "
            "as over at once, and firings carry that time.\n"
        )
        compared = process.stdout.readline().split()[-1]
        assert compared == f"{address}compare?a=repo-menu-1&b=repo-menu-3"
        assert len([*tmp_path.iterdir()]) == 1
        assert answer(address)[0] == answer(compared)[0] == 200
        process.send_signal(ending)
        assert process.wait(30) == 0
    assert [*tmp_path.iterdir()] == []


def answer(address: str) -> tuple[int, bytes]:
    """The status and body at an address, as soon as somebody listens there."""
    deadline = time.monotonic() + 30
    while True:
        try:
            with urlopen(address, timeout=10) as response:
                return response.status, response.read()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
