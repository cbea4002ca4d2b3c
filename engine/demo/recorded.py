"""The repo-agent's runs as spans, whichever way they were recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import msgspec

from engine.decisions import recording
from engine.decisions.outlining import Start
from engine.decisions.schema import Decision, Event, ToolCall, ToolResult
from engine.decisions.trace import Kind
from engine.demo.journal import journal
from engine.demo.tickets import AGENT, Told
from engine.runs import SECOND_NS
from engine.spans import Span, Status

_SCOPE = "repo_agent.planner"


def spans_of(run_id: str, ticket: str, told: Told, start_ns: int) -> list[Span]:
    """The spans that a run left behind, by whichever way it was recorded."""
    start = datetime.fromtimestamp(start_ns // SECOND_NS, UTC)
    events = journal(run_id, told.picks, start)
    if told.wire == "events":
        first = Start(run_id, agent=AGENT, ticket=ticket, version=told.version)
        found = recording.spans(enumerate([first, *events], 1), run_id)
        return [span for _, span in found if isinstance(span, Span)]
    return [_agent(run_id, ticket, told, start_ns), *_traced(run_id, told, events)]


def _agent(run_id: str, ticket: str, told: Told, start_ns: int) -> Span:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": AGENT,
        "gen_ai.agent.version": told.version,
        "gen_ai.conversation.id": run_id,
        "forkmap.ticket": ticket,
    }
    end_ns = start_ns + (4 * len(told.picks) + 1) * SECOND_NS
    return _span(run_id, "agent", None, f"invoke_agent {AGENT}", start_ns, end_ns, attributes)


def _traced(run_id: str, told: Told, events: list[Event]) -> Iterator[Span]:
    """A span for each decision, unless it was left out, and one for each call with its result."""
    ended = {event.parent_id: event for event in events if isinstance(event, ToolResult)}
    faults = {f"decision-{place}": pick.fault for place, pick in enumerate(told.picks)}
    for event in events:
        match event:
            case Decision() if told.wire == "spans":
                yield _decided(run_id, event, faults[event.span_id])
            case ToolCall():
                yield _called(run_id, event, ended[event.span_id], bare=told.wire == "calls")


def _decided(run_id: str, decision: Decision, fault: Kind | None) -> Span:
    attributes = {
        "forkmap.decision.goal": decision.goal,
        "forkmap.decision.options": _options(decision, fault),
        "forkmap.decision.chosen": decision.chosen,
        "forkmap.decision.policy": decision.policy,
        "forkmap.decision.margin": decision.margin,
    }
    at_ns = _ns(decision.ts)
    return _span(run_id, decision.span_id, "agent", "decide", at_ns, at_ns + SECOND_NS // 2, attributes)


def _options(decision: Decision, fault: Kind | None) -> str:
    """The options as JSON text: cut short, or with scores as text, where they were recorded so."""
    options: list[dict[str, Any]] = msgspec.to_builtins(decision.options)
    if fault is Kind.BAD_RECORD:
        options = [option | {"score": str(option["score"])} for option in options]
    text = json.dumps(options)
    return text[: len(text) // 2] if fault is Kind.BAD_JSON else text


def _called(run_id: str, call: ToolCall, result: ToolResult, bare: bool) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.arguments": bytes(call.args).decode(),
    }
    parent = "agent" if bare else call.parent_id
    times = _ns(call.ts), _ns(result.ts)
    status = Status.OK if result.ok else Status.ERROR
    return _span(run_id, call.span_id, parent, f"execute_tool {call.tool}", *times, attributes, status)


def _span(
    run_id: str,
    span_id: str,
    parent_id: str | None,
    name: str,
    start_ns: int,
    end_ns: int,
    attributes: dict[str, Any],
    status: Status = Status.OK,
) -> Span:
    return Span(
        trace_id=recording.trace_id(run_id),
        span_id=_hex(run_id, span_id),
        parent_id=parent_id and _hex(run_id, parent_id),
        name=name,
        start_ns=start_ns,
        end_ns=end_ns,
        status=status,
        scope=_SCOPE,
        attributes={"gen_ai.conversation.id": run_id} | attributes,
    )


def _hex(run_id: str, name: str) -> str:
    return blake2b(f"{run_id} {name}".encode(), digest_size=8).hexdigest()


def _ns(time: datetime) -> int:
    return int(time.timestamp()) * SECOND_NS
