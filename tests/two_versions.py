"""A store in which an agent was changed: a second version, deployed ten days ago, that leaves a step out."""

from __future__ import annotations

from pathlib import Path

from engine.retention import DAY_NS
from engine.spans import Span
from engine.store import Store
from engine.store.sqlite import open_store

NOW_NS = 1_800_000_000 * 10**9
DEPLOYED_NS = NOW_NS - 10 * DAY_NS
AGENT = "desk"


def run_of(number: int, version: str, tools: str, success: bool, start_ns: int, ticket: int) -> list[Span]:
    """A run whose tools are letters, a model call before each."""
    run_id = f"{version}-{number}"
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": AGENT,
        "gen_ai.agent.version": version,
        "forkmap.ticket": f"T-{ticket}",
        "session.outcome": "success" if success else "failure",
    }
    spans = [Span(run_id, "root", "invoke", start_ns, start_ns + 100, attributes=about)]
    for place, letter in enumerate(tools, 1):
        at_ns = start_ns + 10 * place
        model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": f"model-{version}"}
        call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": letter}
        spans.append(Span(run_id, f"m{place}", "chat", at_ns, at_ns + 1, "root", attributes=model))
        spans.append(Span(run_id, f"t{place}", "tool", at_ns + 2, at_ns + 3, "root", attributes=call))
    return spans


def make_changed(path: Path) -> Store:
    """Before, 30 of 40 runs check before they pay, and 27 of these succeed; since then nobody checks."""
    store = open_store(path, create=True)
    rows = [("v1", "acp", 27), ("v1", "acp", -3), ("v1", "ap", 4), ("v1", "ap", -6)]
    rows += [("v2", "ap", 12), ("v2", "ap", -24), ("v2", "a", -4)]
    numbers = {"v1": 0, "v2": 0}
    for version, tools, times in rows:
        since_ns = DEPLOYED_NS if version == "v2" else DEPLOYED_NS - 15 * DAY_NS
        for _ in range(abs(times)):
            number = numbers[version] = numbers[version] + 1
            begun_ns = since_ns + number * 3600 * 10**9
            store.append("default", run_of(number, version, tools, times > 0, begun_ns, number % 40))
    store.settle("default")
    store.set_clock(NOW_NS)
    return store
