"""Outcomes from files, as the command tells them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dashboard.commands.asking import answer
from engine.errors import InputError
from engine.ingest import Refusal
from engine.ingest.outcomes import Told, read_outcomes
from engine.runs import Declaration, Outcome, Source
from engine.spans import Span
from engine.store.sqlite import open_store

SUCCESS, FAILURE, ABANDONED = Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED
DAY_2026 = 1_767_225_600 * 10**9
TRACE = "0123456789abcdef0123456789abcdef"
DASHED = "01234567-89ab-cdef-0123-456789abcdef"
NOW = "2026-06-01T00:00:00Z"


def read(text: str | bytes) -> list[Told | Refusal]:
    return list(read_outcomes(text.encode() if isinstance(text, str) else text, "f", "somebody"))


def said(*rows: tuple[str, Outcome] | tuple[str, Outcome, int] | tuple[str, Outcome, int, str]) -> list[Told]:
    return [Told(*(*row, *(None, "somebody")[len(row) - 2 :])) for row in rows]


@pytest.mark.parametrize(
    "text",
    [
        "run,outcome\na,success\nb,failure\n",
        "run_id;outcome\r\na;Succeeded\r\nb;ERROR\r\n",
        "\ufeffRun ID\tnote\tOutcome\na\t\tok\nb\tlong\tfailed\n",
        'outcome|trace_id\n"success"|"a"\nfailed|b',
        '"run","outcome"\n\n"a","success"\n\n" b "," failure "\n',
        'run,comment,outcome\na,"two\nlines, ""quoted""",ok\nb,,error\n',
        "run,outcome\ra,ok\rb,failed\r",
        '{"run": "a", "outcome": "success"}\n{"outcome": "failed", "run_id": "b", "more": 1}\n',
        '[{"session_id": "a", "outcome": "success"}, {"session_id": "b", "result": "failure"}]',
    ],
)
def test_every_way_of_writing_a_table_is_read(text: str) -> None:
    assert read(text) == said(("a", SUCCESS), ("b", FAILURE))


def test_a_table_of_a_spreadsheet_in_utf_16_is_read() -> None:
    assert read("run\toutcome\nä\tok\n".encode("utf-16")) == said(("ä", SUCCESS))


@pytest.mark.parametrize(
    "time", ["2026-01-01", "2026-01-01T01:00:00+01:00", "1767225600", "1767225600000", str(DAY_2026)]
)
def test_a_time_is_read_as_people_keep_it(time: str) -> None:
    assert read(f"run,outcome,time,by\na,ok,{time},ann\n") == [Told("a", SUCCESS, DAY_2026, "ann")]


def test_bad_rows_are_named_with_their_line_and_good_ones_kept() -> None:
    text = 'run,outcome\na,ok\nb,great\n,ok\nc,"ok\nd,ok,1\ne,failed\nf\n'
    assert read(text) == [
        *said(("a", SUCCESS)),
        Refusal(
            "f",
            3,
            "outcome 'great' is none of success, succeeded, ok, failure, failed, error, abandoned, cancelled",
        ),
        Refusal("f", 4, "the run's id is missing"),
        Refusal("f", 5, "a quotation begins that does not end"),
        Refusal("f", 6, "it has 3 fields, the first line has 2"),
        *said(("e", FAILURE)),
        Refusal(
            "f",
            8,
            "outcome '' is none of success, succeeded, ok, failure, failed, error, abandoned, cancelled",
        ),
    ]
    assert read(b"run,outcome\n\xff,ok\nb,ok\n") == [
        Refusal("f", 2, "the run's id '\ufffd' is no UTF-8 text"),
        *said(("b", SUCCESS)),
    ]


def test_a_run_whose_id_has_control_characters_is_named_as_it_was_sent() -> None:
    assert read('{"run": "chat\\n7", "outcome": "ok"}\n') == said(("chat\ufffd7", SUCCESS))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "f: the file is empty"),
        ("name,outcome\na,ok\n", "f: no column is called run: the first line has 'name', 'outcome'"),
        ("a\nb\n", "f: no column is called run or outcome: the first line has 'a'"),
    ],
)
def test_a_file_without_a_needed_column_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as told:
        read(text)
    assert str(told.value) == sentence


# --- the command ----------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.sqlite"
    opened = open_store(path, create=True)
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", "gen_ai.agent.name": "bot"}
    for trace in (TRACE, "t2", "t3"):
        opened.append("default", [Span(trace, "s", "pay", 10**18, 10**18 + 5, attributes=call)])
    opened.close()
    return path


def told(store: Path, *files: str | Path) -> int:
    return answer(["outcomes", *map(str, files), "--store", str(store), "--now", NOW])


def ending(store: Path, run_id: str) -> tuple[Outcome, Source, str]:
    opened = open_store(store)
    run = opened.run("default", run_id)
    opened.close()
    return run.outcome, run.source, run.said_by


def test_outcomes_are_told_once_and_telling_them_again_changes_nothing(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "o.csv"
    file.write_text(f"run,outcome,time\n{DASHED},failed,\nt2,abandoned,2026-01-01\nlater,ok,\n")
    assert told(store, file) == 0
    out, err = capsys.readouterr()
    assert out == "Outcomes: 3 new, 0 unchanged, 0 refused; 3 runs.\n"
    assert err == "1 outcome waits for a run not seen yet: later\n"
    assert ending(store, TRACE) == (FAILURE, Source.DECLARED, "o.csv")
    assert ending(store, "t2") == (ABANDONED, Source.DECLARED, "o.csv")

    assert answer(["outcomes", str(file), "--store", str(store)]) == 0  # at another moment
    assert "0 new, 3 unchanged" in capsys.readouterr().out


def test_of_several_rows_without_a_time_the_last_counts_each_time(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "o.csv"
    file.write_text("run,outcome\nt2,failed\nt2,ok\n")
    for _ in range(2):
        told(store, file)
        assert ending(store, "t2")[0] is SUCCESS
    opened = open_store(store)
    assert len(opened.declarations("default", "t2")) == 1
    opened.close()


def test_a_file_told_again_leaves_what_was_said_by_hand_since(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "o.csv"
    file.write_text("run,outcome\nt2,failed\n")
    told(store, file)
    opened = open_store(store)
    opened.declare("default", [Declaration("t2", SUCCESS, 2**62, "by hand")])
    opened.close()
    told(store, file)
    assert ending(store, "t2") == (SUCCESS, Source.DECLARED, "by hand")


def test_rows_that_are_refused_are_named_and_the_rest_is_kept(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = io.TextIOWrapper(io.BytesIO(b'{"run": "t2", "outcome": "ok"}\n{"run": "t3", "outcome": 5}\n7\n'))
    monkeypatch.setattr("sys.stdin", rows)
    assert answer(["outcomes", "-", str(tmp_path / "none.csv"), "--store", str(store), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["imported"] == 1
    assert [(each["file"], each["line"]) for each in document["refusals"]] == [
        ("standard input", 2),
        ("standard input", 3),
        (str(tmp_path / "none.csv"), 0),
    ]
    assert ending(store, "t2") == (SUCCESS, Source.DECLARED, "standard input")


def test_nothing_that_can_be_read_is_an_error(store: Path, tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_bytes(b"\x00\x01")
    assert told(store, tmp_path / "o.csv", tmp_path) == 2


# --- rules on the command line --------------------------------------------------------------


def rules(store: Path, *asked: str) -> int:
    return answer(["rules", "bot", *asked, "--store", str(store), "--now", NOW])


def test_rules_are_tried_set_shown_and_cleared(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("# of the bot\npay $ -> failure\n")
    assert rules(store, "--try", str(file), "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "runs": 3,
        "live": 0,
        "bounded": False,
        "rules": [{"expression": "pay $", "outcome": "failure", "runs": 3}],
        "changed": 3,
        "changes": [{"before": "success", "after": "failure", "runs": 3}],
        "examples": [
            {"run_id": name, "before": "success", "after": "failure"} for name in ("t3", "t2", TRACE)
        ],
    }
    assert ending(store, "t2")[1] is Source.INFERRED

    assert rules(store, "--set", str(file)) == 0
    assert capsys.readouterr().out == "pay $ -> failure\n"
    assert ending(store, "t2") == (FAILURE, Source.RULE, "pay $ -> failure")
    assert rules(store, "--json") == 0
    assert json.loads(capsys.readouterr().out) == [{"expression": "pay $", "outcome": "failure"}]

    assert rules(store, "--clear") == 0
    assert ending(store, "t2") == (SUCCESS, Source.INFERRED, "")


def test_rules_of_an_agent_that_nobody_is_are_told(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["rules", "nobody", "--store", str(store), "--now", NOW]) == 0
    told_of = "forkmap: no run of the agent 'nobody' of the tenant 'default' is in this store yet\n"
    assert capsys.readouterr().err == told_of


def test_rules_that_cannot_be_read_change_nothing(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("pay -> success\npay > -> failure\n")
    assert rules(store, "--set", str(file)) == 2
    assert capsys.readouterr().err == f"forkmap: {file}: line 2, column 6: a step is missing\n"
    assert rules(store) == 0
    assert capsys.readouterr().out.startswith("No rules")
