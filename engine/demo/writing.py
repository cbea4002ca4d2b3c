"""One run of the demo as spans, under the conventions its agent's instrumentation uses."""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple

from engine.demo.agents import Agent
from engine.runs import Outcome
from engine.spans import Span, Status

_MS = 1_000_000
_TAKES_MS = {"llm": (600, 4000), "tool": (90, 1800), "agent": (6000, 9000)}
_OTHERS_TAKE_MS = (20, 200)
_OPERATION = {"llm": "chat", "tool": "execute_tool", "agent": "invoke_agent", "embedding": "embeddings"}


class Job(NamedTuple):
    """One run to be written; its outcome is UNKNOWN while it is in flight."""

    agent: Agent
    run_id: str
    ticket: str
    version: str
    calls: tuple[str, ...]
    start_ns: int
    outcome: Outcome
    declared: bool

    @property
    def in_flight(self) -> bool:
        """Whether its last call is still open."""
        return self.outcome == Outcome.UNKNOWN

    @property
    def vanished(self) -> bool:
        """Whether it was given up without a word: none of its spans ever ended."""
        return self.outcome == Outcome.ABANDONED and not self.declared


class _Call(NamedTuple):
    """One call; ``parent`` is the place of the call it is made inside, 0 for the agent itself."""

    kind: str
    name: str
    parent: int
    start_ns: int
    end_ns: int
    failed: bool
    input_tokens: int
    output_tokens: int


def write(job: Job, random: Random) -> list[Span]:
    """A run's spans: its agent's outer span, then one a call."""
    trace_id = f"{random.getrandbits(128):032x}"
    ids = [f"{random.getrandbits(64):016x}" for _ in range(len(job.calls) + 1)]
    calls = _calls(job, random)
    spans = [_outer(job, trace_id, ids[0], max(call.end_ns for call in calls) + 8 * _MS)]
    for place, call in enumerate(calls, 1):
        is_open = job.vanished or (job.in_flight and place == len(calls))
        spans.append(
            Span(
                trace_id=trace_id,
                span_id=ids[place],
                parent_id=ids[call.parent],
                name=_span_name(job.agent, call.kind, call.name),
                start_ns=call.start_ns,
                end_ns=None if is_open else call.end_ns,
                status=Status.UNSET if is_open else Status.ERROR if call.failed else Status.OK,
                scope=job.agent.scope,
                attributes=_attributes(job, call) | ({"error.type": "timeout"} if call.failed else {}),
                resource=_resource(job),
            )
        )
    return spans


def _calls(job: Job, random: Random) -> list[_Call]:
    """The run's calls with their times; in a run that fails, now and then a tool does."""
    calls: list[_Call] = []
    now_ns = job.start_ns
    for place, text in enumerate(job.calls):
        inside = text.startswith(">")
        kind, _, name = text.removeprefix(">").partition(":")
        start_ns = (calls[-1].start_ns if inside else now_ns) + random.randrange(5, 50) * _MS
        end_ns = start_ns + random.randrange(*_TAKES_MS.get(kind, _OTHERS_TAKE_MS)) * _MS
        failed = kind == "tool" and job.outcome == Outcome.FAILURE and random.random() < 0.3
        tokens = random.randrange(300, 3000), random.randrange(20, 400)
        calls.append(_Call(kind, name, place if inside else 0, start_ns, end_ns, failed, *tokens))
        now_ns = max(now_ns, end_ns)
    return calls


def _outer(job: Job, trace_id: str, span_id: str, end_ns: int) -> Span:
    """The agent's own span: it names the agent, the run, the ticket and, if declared, the outcome."""
    is_open = job.in_flight or job.vanished
    failed = job.outcome == Outcome.FAILURE and not job.declared
    outcome = {"session.outcome": job.outcome.name.lower()} if job.declared else {}
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        name=_span_name(job.agent, "agent", job.agent.name),
        start_ns=job.start_ns,
        end_ns=None if is_open else end_ns,
        status=Status.UNSET if is_open else Status.ERROR if failed else Status.OK,
        scope=job.agent.scope,
        attributes=_outer_attributes(job) | {"forkmap.ticket": job.ticket} | outcome,
        resource=_resource(job),
    )


def _resource(job: Job) -> dict[str, Any]:
    return {"service.name": f"{job.agent.prefix}-desk", "service.version": job.version}


def _span_name(agent: Agent, kind: str, name: str) -> str:
    return name if agent.openinference else f"{_OPERATION[kind]} {name}"


def _outer_attributes(job: Job) -> dict[str, Any]:
    if job.agent.openinference:
        return {"openinference.span.kind": "AGENT", "agent.name": job.agent.name, "session.id": job.run_id}
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.name": job.agent.name,
        "gen_ai.agent.version": job.version,
        "gen_ai.conversation.id": job.run_id,
    }


def _attributes(job: Job, call: _Call) -> dict[str, Any]:
    arguments = json.dumps({"ticket": job.ticket})
    if job.agent.openinference:
        shared = {"openinference.span.kind": call.kind.upper(), "session.id": job.run_id}
        return shared | _openinference(call, arguments)
    shared = {"gen_ai.operation.name": _OPERATION[call.kind], "gen_ai.conversation.id": job.run_id}
    return shared | _gen_ai(call, arguments)


def _openinference(call: _Call, arguments: str) -> dict[str, Any]:
    match call.kind:
        case "llm":
            return {
                "llm.model_name": call.name,
                "llm.token_count.prompt": call.input_tokens,
                "llm.token_count.completion": call.output_tokens,
            }
        case "tool":
            return {"tool.name": call.name, "input.value": arguments}
        case _:
            return {}


def _gen_ai(call: _Call, arguments: str) -> dict[str, Any]:
    match call.kind:
        case "tool":
            return {"gen_ai.tool.name": call.name, "gen_ai.tool.call.arguments": arguments}
        case "agent":
            return {"gen_ai.agent.name": call.name}
        case _:
            return {
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": call.name,
                "gen_ai.usage.input_tokens": call.input_tokens,
                "gen_ai.usage.output_tokens": call.output_tokens,
            }
