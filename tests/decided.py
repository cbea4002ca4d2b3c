"""Runs that recorded what they chose, and out of what, in a real store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from engine.runs import SECOND_NS, Declaration, Outcome
from engine.spans import Span, Status
from engine.store import Store
from tests.memory_store import NOW_NS

HOUR_NS = 3600 * SECOND_NS


class Pick(NamedTuple):
    """A decision by scores, and the arguments that its call was made with."""

    chosen: str
    menu: Mapping[str, float | None]
    args: Mapping[str, Any] = {}
    ran: str = ""
    ok: bool = True
    policy: str = "argmax"


class Told(NamedTuple):
    """What is told of a run beside its picks."""

    outcome: Outcome | None = Outcome.SUCCESS
    ticket: str | None = "T-7"
    agent: str = "repo-agent"
    age_ns: int = HOUR_NS
    recorded: bool = True


TOLD = Told()
SEARCH = Pick("search", {"search": 0.8, "edit": 0.4}, {"query": "date"})
READ = Pick("read", {"read": 0.7, "edit": 0.5, "test": 0.1}, {"file": "a.py"})
EDIT = Pick("edit", {"edit": 0.6, "test": 0.1}, {"file": "a.py"})
TEST = Pick("test", {"test": 0.9, "edit": 0.2})


def send(store: Store, run_id: str, picks: Sequence[Pick], told: Told = TOLD) -> None:
    """Keep a run of these picks; without an outcome it is live for as long as it is young."""
    store.append("default", list(spans_of(run_id, picks, told)))
    if told.outcome is not None:
        store.declare("default", [Declaration(run_id, told.outcome, NOW_NS)])


def spans_of(run_id: str, picks: Sequence[Pick], told: Told = TOLD) -> Iterator[Span]:
    """The root, then a decision and the call under it for each pick, one a second."""
    trace, start_ns = f"trace-{run_id}", NOW_NS - told.age_ns
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": told.agent, "session.id": run_id}
    about |= {"forkmap.ticket": told.ticket} if told.ticket else {}
    yield Span(trace, "root", "agent", start_ns, start_ns + len(picks) * SECOND_NS, attributes=about)
    for place, pick in enumerate(picks):
        at_ns = start_ns + place * SECOND_NS
        decision, call = f"d{place}", f"c{place}"
        if told.recorded:
            yield Span(trace, decision, "decision", at_ns, None, "root", attributes=_said(pick))
        called = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": pick.ran or pick.chosen}
        called |= {"gen_ai.tool.call.arguments": json.dumps(pick.args)}
        times, under = (at_ns + 1, at_ns + SECOND_NS // 2), decision if told.recorded else "root"
        status = Status.OK if pick.ok else Status.ERROR
        yield Span(trace, call, "call", *times, under, status, attributes=called)


def _said(pick: Pick) -> dict[str, Any]:
    options = [
        {"tool": tool} | ({} if score is None else {"score": score}) for tool, score in pick.menu.items()
    ]
    said = {
        "goal": "fix the test",
        "options": json.dumps(options),
        "chosen": pick.chosen,
        "policy": pick.policy,
    }
    others = [score for tool, score in pick.menu.items() if tool != pick.chosen and score is not None]
    best = pick.menu.get(pick.chosen)
    margin = {"margin": best - max(others)} if best is not None and others else {}
    return {f"forkmap.decision.{name}": value for name, value in (said | margin).items()}
