"""tau-bench and tau2-bench result files: invented small ones, and those their publishers ship."""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.ingest import Refusal, read_file
from engine.ingest.conversation import EPOCH_NS
from engine.ingest.source import Source
from engine.spans import Span, Status
from tests.recordings import TAU, TAU2, TAU2_SIMULATION

SHARED = Path(os.environ.get("FORKMAP_SHARED", Path(__file__).resolve().parents[2] / "shared"))
SECOND_NS = 1_000_000_000
TAU2_NS = 1_767_225_600 * SECOND_NS


def read(path: Path, value: Any) -> list[Any]:
    path.write_text(json.dumps(value))
    return list(read_file(path))


def outline(spans: list[Span], since_ns: int) -> list[tuple[str, float, float | None, str]]:
    """Name, start and end in seconds, and status of every span."""
    return [
        (
            span.name,
            (span.start_ns - since_ns) / SECOND_NS,
            None if span.end_ns is None else (span.end_ns - since_ns) / SECOND_NS,
            span.status.name,
        )
        for span in spans
    ]


def test_a_tau_bench_run(tmp_path: Path) -> None:
    path = tmp_path / "model-a-retail.json"
    spans = read(path, [TAU])
    assert outline(spans, EPOCH_NS) == [
        ("invoke_agent tau-retail", 0, 5, "UNSET"),
        ("chat model-a", 2, 3, "UNSET"),
        ("execute_tool get_order", 3, 4, "ERROR"),
        ("chat model-a", 4, 5, "UNSET"),
    ]
    assert {(span.trace_id, span.parent_id, span.scope) for span in spans[1:]} == {
        (f"{Source(path).digest()}-0", spans[0].span_id, "forkmap.tau_bench")
    }
    assert spans[0].attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "tau-retail",
        "gen_ai.agent.version": "model-a",
        "forkmap.ticket": "7",
        "session.outcome": "success",
        "forkmap.times": "assumed",
    }
    assert spans[1].attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "model-a",
        "input.value": "Where is my order?",
    }
    assert spans[2].attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_order",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"id": "W1"}',
        "gen_ai.tool.call.result": "Error: order not found",
    }


def test_the_domain_falls_back_on_the_file_name(tmp_path: Path) -> None:
    spans = read(tmp_path / "gpt-x-airline.json", [TAU | {"traj": TAU["traj"][1:]}])
    assert spans[0].attributes["gen_ai.agent.name"] == "tau-airline"
    assert spans[0].attributes["gen_ai.agent.version"] == "gpt-x"


def test_a_bad_tau_bench_run_costs_itself(tmp_path: Path) -> None:
    path = tmp_path / "m-retail.json"
    whole = [TAU, {"task_id": 1, "reward": 0}, TAU | {"traj": ["hello"]}, TAU]
    records = read(path, whole)
    assert [record for record in records if isinstance(record, Refusal)] == [
        Refusal(str(path), 2, "run 1: no traj in this entry"),
        Refusal(str(path), 3, "run 2: traj: entry 1 is not an object"),
    ]
    assert {record.trace_id[-2:] for record in records if isinstance(record, Span)} == {"-0", "-3"}


@pytest.mark.parametrize(
    ("reward", "outcome"), [(1.0, "success"), (1, "success"), (0.5, "failure"), (None, None)]
)
def test_the_outcome_of_a_tau_bench_run(tmp_path: Path, reward: Any, outcome: str | None) -> None:
    spans = read(tmp_path / "m-retail.json", [TAU | {"reward": reward}])
    assert spans[0].attributes.get("session.outcome") == outcome


def test_a_tau2_bench_simulation(tmp_path: Path) -> None:
    spans = read(tmp_path / "results.json", TAU2)
    assert outline(spans, TAU2_NS) == [
        ("invoke_agent tau2-telecom", 0, 9, "UNSET"),
        ("chat model-a", 1, 2, "UNSET"),
        ("user check_bars", 3, 3, "UNSET"),
        ("chat model-a", 4, 5, "UNSET"),
        ("execute_tool get_line", 5, 5, "UNSET"),
        ("execute_tool reset_line", 5, 5, "ERROR"),
    ]
    assert spans[0].attributes["forkmap.ticket"] == "12"
    assert spans[2].attributes["forkmap.kind"] == "other"
    assert spans[3].attributes["gen_ai.usage.input_tokens"] == 40
    assert spans[3].attributes["gen_ai.usage.output_tokens"] == 5


def test_credentials_of_a_tau2_bench_file_are_never_read(tmp_path: Path) -> None:
    assert "never-import-this" not in repr(read(tmp_path / "results.json", TAU2))


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"reward_info": {"reward": 1.0}, "termination_reason": "max_steps"}, "success"),
        ({"reward_info": {"reward": 0.0}, "termination_reason": "agent_stop"}, "failure"),
        ({"reward_info": {"reward": 0.0}, "termination_reason": "max_steps"}, "abandoned"),
        ({"reward_info": {"reward": 0.0}, "termination_reason": "too_many_errors"}, "abandoned"),
        ({"reward_info": None, "termination_reason": "infrastructure_error", "messages": []}, "abandoned"),
        ({"reward_info": None, "termination_reason": "user_stop"}, None),
    ],
)
def test_the_outcome_of_a_tau2_bench_simulation(
    tmp_path: Path, changes: dict[str, Any], outcome: str | None
) -> None:
    spans = read(tmp_path / "results.json", TAU2 | {"simulations": [TAU2_SIMULATION | changes]})
    assert spans[0].attributes.get("session.outcome") == outcome


def test_a_simulation_without_messages_is_a_run_without_a_step(tmp_path: Path) -> None:
    spans = read(tmp_path / "results.json", TAU2 | {"simulations": [TAU2_SIMULATION | {"messages": None}]})
    assert outline(spans, TAU2_NS) == [("invoke_agent tau2-telecom", 0, 9, "UNSET")]


def test_a_call_without_a_result_stays_open(tmp_path: Path) -> None:
    spans = read(
        tmp_path / "r.json",
        TAU2 | {"simulations": [TAU2_SIMULATION | {"messages": TAU2_SIMULATION["messages"][:5]}]},
    )
    assert outline(spans, TAU2_NS)[-2:] == [
        ("execute_tool get_line", 5, 5, "UNSET"),
        ("execute_tool reset_line", 4, None, "UNSET"),
    ]


def test_long_texts_are_cut(tmp_path: Path) -> None:
    simulation = copy.deepcopy(TAU2_SIMULATION)
    simulation["messages"][4]["content"] = "é" * 5000
    spans = read(tmp_path / "r.json", TAU2 | {"simulations": [simulation]})
    result = spans[4].attributes["gen_ai.tool.call.result"]
    assert result == "é" * 2046 + "…"


def test_a_bad_simulation_costs_itself(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    simulations = [TAU2_SIMULATION, 5, TAU2_SIMULATION | {"start_time": "soon"}, TAU2_SIMULATION]
    records = read(path, TAU2 | {"simulations": simulations})
    assert [record for record in records if isinstance(record, Refusal)] == [
        Refusal(str(path), 2, "simulation 1: it is not an object"),
        Refusal(str(path), 3, "simulation 2: start_time: 'soon' is not a time"),
    ]
    assert {record.trace_id[-2:] for record in records if isinstance(record, Span)} == {"-0", "-3"}


PUBLISHED = [
    ("tau-bench/gpt-4o-airline.json", "tau-airline", "gpt-4o", 200, 50, 84, 0),
    ("tau2-bench/telecom-solo.gpt-4.1.json", "tau2-telecom", "gpt-4.1", 40, 40, 20, 0),
    (
        "tau2-bench/telecom-solo.gpt-4.1-finetuned.json",
        "tau2-telecom",
        "ft:gpt-4.1-2025-04-14:sierra:tau2-full-sft:BzrYdMNm",
        40,
        40,
        34,
        0,
    ),
    ("tau2-bench/airline.gpt-4.1.json", "tau2-airline", "gpt-4.1", 20, 20, 10, 0),
    (
        "tau2-bench/airline.gpt-4.1-finetuned.json",
        "tau2-airline",
        "ft:gpt-4.1-2025-04-14:sierra:tau2-full-sft:BzrYdMNm",
        20,
        20,
        13,
        0,
    ),
    ("tau2-bench/airline.gpt-oss-120b.json", "tau2-airline", "openai/gpt-oss-120b", 50, 50, 19, 6),
    ("tau2-bench/airline.claude-sonnet-4-5.json", "tau2-airline", "claude-sonnet-4-5", 50, 50, 36, 0),
    ("tau2-bench/airline.gpt-4o.json", "tau2-airline", "azure/gpt-4o-2024-11-20", 50, 50, 23, 0),
    ("tau2-bench/airline.claude-opus-4-6.json", "tau2-airline", "claude-opus-4-6", 44, 44, 31, 0),
]
"""File, agent, version, and its publisher's counts: runs, tasks, successes, abandoned."""


@pytest.mark.parametrize(("name", "agent", "version", "runs", "tasks", "successes", "abandoned"), PUBLISHED)
def test_a_published_file_gives_its_published_counts(
    name: str, agent: str, version: str, runs: int, tasks: int, successes: int, abandoned: int
) -> None:
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"the published file is not there: {path}")
    records = list(read_file(path))
    spans = [record for record in records if isinstance(record, Span)]
    roots = [span for span in spans if span.parent_id is None]
    assert len(spans) == len(records) == len({(span.trace_id, span.span_id) for span in spans})
    assert len(roots) == len({root.trace_id for root in roots}) == runs
    assert len({root.attributes["forkmap.ticket"] for root in roots}) == tasks
    assert {
        (root.attributes["gen_ai.agent.name"], root.attributes["gen_ai.agent.version"]) for root in roots
    } == {(agent, version)}
    assert Counter(root.attributes["session.outcome"] for root in roots) == Counter(
        success=successes, abandoned=abandoned, failure=runs - successes - abandoned
    )


@pytest.mark.parametrize("name", [entry[0] for entry in PUBLISHED])
def test_every_message_and_call_of_a_published_file_is_there(name: str) -> None:
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"the published file is not there: {path}")
    content = json.loads(path.read_text())
    talks = (
        [run["traj"] for run in content]
        if isinstance(content, list)
        else [s["messages"] for s in content["simulations"]]
    )
    roles = Counter(message["role"] for talk in talks for message in talk)
    errors = sum(
        message.get("error", message["content"].startswith("Error"))
        for talk in talks
        for message in talk
        if message["role"] == "tool"
    )
    spans = [record for record in read_file(path) if isinstance(record, Span)]
    kinds = Counter(span.name.split()[0] for span in spans)
    assert (kinds["chat"], kinds["execute_tool"], kinds["user"]) == (roles["assistant"], roles["tool"], 0)
    assert sum(span.status == Status.ERROR for span in spans) == errors
