"""ATIF, OpenAI chat messages and Claude Code sessions, through the optional library."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import InputError
from engine.ingest import Refusal, agentpile, read_file
from engine.ingest.conversation import EPOCH_NS
from engine.spans import Span
from tests.recordings import ATIF, CHAT, CLAUDE_CODE, FORKMAP_SPAN, TAU2

SECOND_NS = 1_000_000_000
START_NS = 1_767_225_600 * SECOND_NS


def write(path: Path, lines: Iterable[Any]) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def outline(records: Iterable[Any], since_ns: int = START_NS) -> list[Any]:
    """Name, start and end in seconds, and status of every span; line and reason of a refusal."""
    return [
        (record.line, record.reason)
        if isinstance(record, Refusal)
        else (
            record.name,
            (record.start_ns - since_ns) / SECOND_NS,
            (record.end_ns - since_ns) / SECOND_NS,
            record.status.name,
        )
        for record in records
    ]


ATIF_OUTLINE = [
    ("invoke_agent desk", 0, 3, "UNSET"),
    ("chat model-a", 1, 1, "UNSET"),
    ("execute_tool get_order", 1, 3, "UNSET"),
    ("chat model-a", 3, 3, "UNSET"),
]


def test_an_atif_trajectory(tmp_path: Path) -> None:
    spans = list(read_file(write(tmp_path / "run.json", [ATIF])))
    assert outline(spans) == ATIF_OUTLINE
    root, model, tool, _ = (span.attributes for span in spans if isinstance(span, Span))
    assert (root["gen_ai.agent.name"], root["gen_ai.agent.version"]) == ("desk", "2")
    assert (model["gen_ai.usage.input_tokens"], model["gen_ai.usage.output_tokens"]) == (20, 4)
    assert (tool["gen_ai.tool.call.arguments"], tool["gen_ai.tool.call.result"]) == (
        '{"id": "W1"}',
        "shipped",
    )


def test_a_bad_atif_line_costs_one_run_and_equal_ids_do_not_collide(tmp_path: Path) -> None:
    older = ATIF | {"schema_version": "ATIF-v1.2"}
    path = write(tmp_path / "runs.jsonl", [ATIF, "{broken", older, ATIF])
    records = list(read_file(path))
    found = outline(records)
    assert found[:4] == found[-4:] == ATIF_OUTLINE
    assert found[4] == (2, "the document is cut off")
    assert found[5][0] == 3
    assert "'ATIF-v1.2' is not a tested version" in found[5][1]
    assert len({record.trace_id for record in records if isinstance(record, Span)}) == 2


def test_the_steps_of_a_subagent_hang_below_an_agent_span(tmp_path: Path) -> None:
    inner = ATIF | {
        "trajectory_id": "t2",
        "agent": {"name": "helper", "version": "1"},
        "steps": ATIF["steps"][2:],
    }
    spans = [
        span
        for span in read_file(write(tmp_path / "run.json", [ATIF | {"subagent_trajectories": [inner]}]))
        if isinstance(span, Span)
    ]
    assert [(span.name, span.span_id[-1], span.parent_id and span.parent_id[-1]) for span in spans] == [
        ("invoke_agent desk", "1", None),
        ("chat model-a", "2", "1"),
        ("execute_tool get_order", "3", "1"),
        ("chat model-a", "4", "1"),
        ("invoke_agent helper", "5", "1"),
        ("chat", "6", "5"),
    ]


CHAT_OUTLINE = [
    ("invoke_agent", 0, 4, "UNSET"),
    ("chat model-a", 1, 2, "UNSET"),
    ("execute_tool get_order", 2, 3, "UNSET"),
    ("chat model-a", 3, 4, "UNSET"),
]


@pytest.mark.parametrize("lines", [[CHAT], [[CHAT]], [CHAT, CHAT], [[CHAT, CHAT]]])
def test_chat_conversations(tmp_path: Path, lines: list[Any]) -> None:
    count = len(lines) if isinstance(lines[0], dict) else len(lines[0])
    records = list(read_file(write(tmp_path / "chat.jsonl", lines)))
    assert outline(records, EPOCH_NS) == CHAT_OUTLINE * count
    assert len({record.trace_id for record in records if isinstance(record, Span)}) == count


@pytest.mark.parametrize("one_a_line", [True, False])
def test_bare_messages_are_one_conversation(tmp_path: Path, one_a_line: bool) -> None:
    lines = CHAT["messages"] if one_a_line else [CHAT["messages"]]
    names = [name for name, *_ in outline(read_file(write(tmp_path / "chat.json", lines)), EPOCH_NS)]
    assert names == ["invoke_agent", "chat", "execute_tool get_order", "chat"]


def test_a_bad_conversation_costs_itself(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", [CHAT, {"messages": 5}, {"messages": ["x"]}, {}, CHAT])
    found = outline(read_file(path), EPOCH_NS)
    assert found[:4] == found[-4:] == CHAT_OUTLINE
    assert [line for line, _ in found[4:-4]] == [2, 3, 4]
    assert {reason for _, reason in found[4:-4]} == {
        "agentpile cannot read it: it is not of the form that was expected"
    }


CLAUDE_OUTLINE = [
    ("invoke_agent claude-code", 0, 3, "UNSET"),
    ("chat model-a", 1, 1, "UNSET"),
    ("execute_tool Bash", 1, 3, "ERROR"),
    ("chat model-a", 3, 3, "UNSET"),
]


def test_a_claude_code_session(tmp_path: Path) -> None:
    spans = list(read_file(write(tmp_path / "s.jsonl", CLAUDE_CODE)))
    assert outline(spans) == CLAUDE_OUTLINE
    assert isinstance(spans[0], Span)
    assert spans[0].attributes["gen_ai.agent.version"] == "2.1.0"


def test_bad_lines_of_a_session_are_named_and_the_run_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", ["{broken", "7", *CLAUDE_CODE])
    assert outline(read_file(path)) == [
        (1, "not JSON: Expecting property name enclosed in double quotes at character 2"),
        (2, "an object was expected"),
        *CLAUDE_OUTLINE,
    ]


@pytest.mark.parametrize("other", [TAU2, FORKMAP_SPAN])
def test_another_file_is_no_session(tmp_path: Path, other: Any) -> None:
    path = write(tmp_path / "s.jsonl", [other])
    refusal = Refusal(str(path), 1, "no line of a session is in this file")
    assert list(read_file(path, format="claude-code")) == [refusal]


def test_a_session_with_a_damaged_tail_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(write(tmp_path / "s.jsonl", CLAUDE_CODE).read_bytes()) + b"x")
    *spans, (_, reason) = outline(read_file(path))
    assert spans == CLAUDE_OUTLINE
    assert reason.startswith("the rest cannot be read: ")


def test_the_files_of_subagents_belong_to_the_session(tmp_path: Path) -> None:
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    write(folder / "agent-a1.jsonl", CLAUDE_CODE[1:])
    names = [name for name, *_ in outline(read_file(write(tmp_path / "s.jsonl", CLAUDE_CODE)))]
    assert names == [name for name, *_ in CLAUDE_OUTLINE] * 2


def test_without_the_library_the_way_to_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(agentpile, "import_module", absent)
    path = write(tmp_path / "run.json", [ATIF])
    with pytest.raises(InputError) as caught:
        read_file(path)
    assert str(caught.value) == (
        f"{path}: this format is read by an optional library: pip install 'forkmap[sessions]'"
    )
