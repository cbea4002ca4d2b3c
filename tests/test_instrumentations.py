"""Real instrumentations drive a scripted model and send to a running server, each with a key of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from engine.keys import Role, mint
from engine.paths import fold, path_text
from engine.runs import Outcome, Run, Source
from engine.store import Store
from engine.store.sqlite import open_store
from tests.instrumented import AGENT, ORDERS, PROGRAMS, conversation
from tests.scripted_model import scripted_model

FORKMAP = Path(sys.executable).with_name("forkmap")
ROOT = Path(__file__).resolve().parents[1]

LLM, SEARCHES, REFUND = "llm:scripted-1", "tool:search_orders×2", "tool:issue_refund"
"""The model is named as it was asked for, whatever it calls itself."""
ANSWERED, FAILED = (Outcome.SUCCESS, Source.INFERRED), (Outcome.FAILURE, Source.INFERRED)
DECLARED = {"openllmetry_openai": (Outcome.ABANDONED, Source.DECLARED)}
"""How the answered conversation ended, for programs that say so."""


class Seen(NamedTuple):
    """A conversation as the store has it."""

    agent: str
    path: tuple[str, ...]
    errors: tuple[str, ...]
    tokens: tuple[tuple[int | None, int | None], ...]
    ended: tuple[Outcome, Source]


def seen(run: Run) -> Seen:
    return Seen(
        run.agent,
        tuple(path_text(fold(step.signature for step in run.steps))),
        tuple(step.signature for step in run.steps if step.error),
        tuple((step.input_tokens, step.output_tokens) for step in run.steps if step.signature == LLM),
        (run.outcome, run.source),
    )


class Server(NamedTuple):
    """A server that runs, over a store in which every program is a tenant."""

    address: str
    store: Store
    keys: dict[str, str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("server") / "forkmap.sqlite"
    store = open_store(path, create=True)
    keys = {}
    for program in PROGRAMS:
        key, keys[program] = mint(program, Role.INGEST, "", 0)
        store.add_key(key)
    command = [str(FORKMAP), "serve", "--store", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"http://[\w.:]+", process.stdout.readline())
        assert address is not None
        yield Server(address[0], store, keys)
        process.terminate()
    store.close()


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with scripted_model() as url:
        yield url


def run_program(program: str, server: Server, model: str) -> None:
    settings = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": server.address,
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={server.keys[program]}",
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": "none",
    }
    command = [sys.executable, "-m", "tests.instrumented", program]
    subprocess.run(command, check=True, cwd=ROOT, env=os.environ | settings, timeout=300)


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "paused_langgraph"])
def test_conversations_become_runs(program: str, server: Server, model: str) -> None:
    run_program(program, server, model)
    answered, failed = (server.store.run(program, conversation(order)) for order in ORDERS)
    path = (LLM, SEARCHES, LLM, REFUND, LLM)
    assert seen(answered) == Seen(
        AGENT, path, (), ((40, 7), (41, 7), (42, 7)), DECLARED.get(program, ANSWERED)
    )
    assert seen(failed) == Seen(AGENT, path, (LLM,), ((40, 7), (41, 7), (None, None)), FAILED)


def test_a_run_that_waits_for_a_person_is_one_run_and_did_not_fail(server: Server, model: str) -> None:
    run_program("paused_langgraph", server, model)
    run = server.store.run("paused_langgraph", conversation(ORDERS[0]))
    path = (LLM, SEARCHES, LLM, f"{REFUND}×2", LLM)
    assert seen(run) == Seen(AGENT, path, (), ((40, 7), (41, 7), (42, 7)), ANSWERED)
    assert len(run.trace_ids) == 2
