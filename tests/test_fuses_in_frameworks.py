"""Agents of three frameworks, as ``docs/fuses.md`` shows them, are stopped by a policy of a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import msgspec
import pytest

from engine import forkmap_client
from engine.forkmap_client import Client
from engine.keys import Role, mint
from engine.paths import fold, path_text
from engine.runs import Declaration, Outcome
from engine.store import Store
from engine.store.sqlite import open_store
from tests.scripted_model import scripted_model
from tests.servers import made, serving

PAGE = (Path(__file__).parents[1] / "docs" / "fuses.md").read_text()
FRAMEWORKS = ("LangGraph", "OpenAI Agents SDK", "Pydantic AI")
AGENT = "refund-desk"
EARLIER = [f"customer {number}" for number in range(8)]
"""Conversations that were answered, and did not end well: 0 of 8 is 32.4 % at most."""
POLICY = {"agent": AGENT, "min_success_odds": 0.35, "action": "stop", "foresight_min_support": 8}
THINKS_S = 0.2
"""How long the model takes; longer than a server may be behind."""
BUILT_S = 60.0
DRIVER = """
for customer in sys.argv[1:]:
    try:
        print(customer, answer(customer, "Where is my refund?"), sep=": ")
    except Stopped as stopped:
        print(customer, stopped, stopped.answer.policy, sep=": ")
provider.shutdown()
"""


def patient(program: str) -> str:
    """The program with time-outs that a busy machine keeps."""
    return re.sub(r"\b(timeout=|TIMEOUT_S = )0\.2\b", r"\g<1>20", program)


def program(framework: str) -> str:
    """The program that the page shows."""
    _, beginning, *_ = re.findall(r"```python\n(.+?)```", PAGE, re.S)
    section = PAGE.partition(f"\n## {framework}\n")[2].partition("\n## ")[0]
    (shown,) = re.findall(r"```python\n(.+?)```", section, re.S)
    return f"{beginning}\n{shown}\n{DRIVER}"


class Desk(NamedTuple):
    """Where a framework's agents run: a server, keys of a tenant of their own, and a folder."""

    url: str
    store: Store
    tenant: str
    keys: dict[Role, str]
    folder: Path

    def run(self, framework: str, customers: list[str], model: str, asks: str) -> list[str]:
        """What the program prints; spans go to the server, questions to the address given."""
        (self.folder / "forkmap_client.py").write_text(patient(Path(forkmap_client.__file__).read_text()))
        (self.folder / "agent.py").write_text(patient(program(framework)))
        environment = os.environ | {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={self.keys[Role.INGEST]}",
            "OPENAI_BASE_URL": model,
            "OPENAI_API_KEY": "none",
            "FORKMAP_URL": asks,
            "FORKMAP_KEY": self.keys[Role.INGEST],
        }
        command = [sys.executable, "agent.py", *customers]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        return done.stdout.splitlines()

    def put(self, path: str, document: Any) -> None:
        headers = {"X-Api-Key": self.keys[Role.ADMIN], "Content-Type": "application/json"}
        body = msgspec.json.encode(document)
        with urlopen(Request(f"{self.url}{path}", body, headers, method="PUT"), timeout=30) as answer:
            assert answer.status in (200, 201)

    def wait_for_the_map(self) -> None:
        """Ask until there is one."""
        with Client(self.url, self.keys[Role.INGEST], timeout_s=5) as client:
            until_s = time.monotonic() + BUILT_S
            while (answer := client.check(EARLIER[0])).map_age_s is None:
                assert time.monotonic() < until_s, answer
                time.sleep(0.1)

    def path(self, run_id: str) -> list[str]:
        return path_text(fold(step.signature for step in self.store.run(self.tenant, run_id).steps))


def keys(store: Store, tenant: str) -> dict[Role, str]:
    minted = {role: mint(tenant, role, "", 0) for role in (Role.INGEST, Role.ADMIN)}
    for key, _ in minted.values():
        store.add_key(key)
    return {role: text for role, (_, text) in minted.items()}


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with scripted_model() as url:
        yield url


@pytest.fixture(scope="module")
def slow_model() -> Iterator[str]:
    with scripted_model(THINKS_S) as url:
        yield url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    path = made(tmp_path_factory.mktemp("server") / "forkmap.sqlite")
    store = open_store(path)
    with serving(path) as running:
        yield f"http://{running.address}", store
    store.close()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_agent_whose_way_never_ended_well_is_stopped_before_the_refund(
    framework: str, server: tuple[str, Store], model: str, slow_model: str, tmp_path: Path
) -> None:
    url, store = server
    tenant = framework.lower().replace(" ", "-")
    desk = Desk(url, store, tenant, keys(store, tenant), tmp_path)

    answered = desk.run(framework, EARLIER, model, asks="http://127.0.0.1:1")
    assert answered == [line for who in EARLIER for line in ("refunded", f"{who}: It is done.")]
    store.declare(tenant, [Declaration(who, Outcome.FAILURE, time.time_ns()) for who in EARLIER])

    desk.put("/api/v1/policies/refunds", POLICY)
    desk.wait_for_the_map()
    (stopped,) = desk.run(framework, ["next"], slow_model, asks=url)
    assert re.fullmatch(r"next: 0 of 8 earlier runs .+ 32\.4%, .+ 35\.0% .+: refunds", stopped)
    assert desk.path(EARLIER[0])[: len(desk.path("next"))] == desk.path("next")
