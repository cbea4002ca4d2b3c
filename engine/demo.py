"""The demo corpus: 226 synthetic runs of three agents, with known outcomes.

Every run takes one of a few ways, and how many runs of each way succeed is written down
here: so what the engine says about them can be checked to the digit. Times, tokens and
errors come from a seeded generator; nothing in it is a person's or a customer's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, repeat
from random import Random
from typing import Any, NamedTuple

from engine.runs import SECOND_NS, Outcome
from engine.spans import Span, Status
from engine.store import Store

NOW_NS = 1_792_324_800 * SECOND_NS
"""The corpus's clock, 2026-10-18T12:00:00Z: six runs are in flight at that moment."""

_SEED = 2026
_HOUR_NS = 3600 * SECOND_NS
_MS = 1_000_000
_TAKES_MS = {"llm": (600, 4000), "tool": (90, 1800), "agent": (6000, 9000)}
_OTHER_MS = (20, 200)
_OPERATION = {"llm": "chat", "tool": "execute_tool", "agent": "invoke_agent", "embedding": "embeddings"}


class Way(NamedTuple):
    """Calls that some runs make, in order, and how many of these runs ended how.

    A call is ``kind:name``; one that begins with ``>`` is made inside the one before it.
    """

    calls: tuple[str, ...]
    successes: int
    failures: int
    abandoned: int

    def outcomes(self) -> Iterator[Outcome]:
        """The outcome of each of its runs."""
        return chain(
            repeat(Outcome.SUCCESS, self.successes),
            repeat(Outcome.FAILURE, self.failures),
            repeat(Outcome.ABANDONED, self.abandoned),
        )


class Agent(NamedTuple):
    """One agent: how it writes its spans, the ways of its completed runs, its runs in flight."""

    name: str
    prefix: str
    scope: str
    versions: tuple[str, str]
    ways: tuple[Way, ...]
    live: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def openinference(self) -> bool:
        """Whether its spans follow OpenInference; otherwise OpenTelemetry's GenAI conventions."""
        return self.scope.startswith("openinference")


_GPT, _SEARCH, _REFUND, _LOOKUP = "llm:gpt-4o", "tool:search_orders", "tool:issue_refund", "tool:lookup_customer"
_CLAUDE, _READ, _EDIT, _TEST = "llm:claude-sonnet-4", "tool:read_file", "tool:edit_file", "tool:run_tests"
_MINI, _WEB, _PAGE = "llm:gpt-4o-mini", "tool:web_search", "tool:read_page"

AGENTS = (
    Agent(
        name="support-agent",
        prefix="support",
        scope="opentelemetry.instrumentation.openai_v2",
        versions=("2.3.1", "2.4.0"),
        ways=(
            Way((_GPT, _SEARCH, _REFUND, _GPT), 54, 5, 1),
            Way((_GPT, _SEARCH, _REFUND, _REFUND, _GPT), 15, 13, 2),
            Way((_GPT, *4 * (_SEARCH,), _GPT), 3, 22, 0),
            Way((_GPT, *3 * (_SEARCH,), "tool:escalate"), 2, 10, 1),
            Way((_GPT, *5 * (_SEARCH,)), 0, 9, 3),
            Way((_GPT, _LOOKUP, _GPT), 24, 14, 2),
        ),
        live=(
            ("live-doomed-0", (_GPT, *4 * (_SEARCH,))),
            ("live-doomed-1", (_GPT, *3 * (_SEARCH,))),
            ("live-healthy-0", (_GPT, _SEARCH, _REFUND)),
            ("live-healthy-1", (_GPT, _SEARCH)),
            ("live-healthy-2", (_GPT, _LOOKUP)),
            ("live-novel-0", (_GPT, "tool:delete_database")),
        ),
    ),
    Agent(
        name="coding-agent",
        prefix="coding",
        scope="openinference.instrumentation.openai_agents",
        versions=("0.9.0", "1.0.0"),
        ways=(
            Way(("chain:plan", _CLAUDE, _READ, _EDIT, _TEST, _CLAUDE), 7, 1, 0),
            Way(("chain:plan", _CLAUDE, _READ, *2 * (_EDIT, _TEST), _CLAUDE), 4, 2, 0),
            Way(("chain:plan", _CLAUDE, _READ, *3 * (_EDIT, _TEST), _CLAUDE), 0, 4, 1),
            Way(("chain:plan", _CLAUDE, *6 * ("tool:grep",), _CLAUDE), 1, 2, 0),
        ),
    ),
    Agent(
        name="research-agent",
        prefix="research",
        scope="opentelemetry.instrumentation.openai_v2",
        versions=("1.1.0", "1.2.0"),
        ways=(
            Way(
                ("embedding:text-embedding-3-small", _GPT, _WEB, *3 * (_PAGE,))
                + ("agent:summarizer", ">" + _MINI, _GPT),
                *(7, 1, 0),
            ),
            Way(("embedding:text-embedding-3-small", _GPT, _WEB, _WEB, _PAGE, _GPT), 3, 3, 0),
            Way((_GPT, _WEB, _WEB, _PAGE, _GPT), 1, 2, 1),
        ),
    ),
)


class Corpus(NamedTuple):
    """The demo's spans, and the moment at which they are looked at."""

    spans: tuple[Span, ...]
    now_ns: int


def corpus() -> Corpus:
    """The demo corpus: the same spans at every call.

    >>> spans, now_ns = corpus()
    >>> len(spans), len({span.trace_id for span in spans})
    (1342, 226)
    """
    random = Random(_SEED)
    return Corpus(tuple(span for job in _jobs(random) for span in _spans(job, random)), NOW_NS)


def load(store: Store, tenant: str = "default") -> None:
    """Write the demo corpus into a store, and give the store the corpus's clock."""
    spans, now_ns = corpus()
    store.append(tenant, spans)
    store.settle(tenant)
    store.set_clock(now_ns)


class _Job(NamedTuple):
    """One run to be written: ``outcome`` is UNKNOWN while it is in flight."""

    agent: Agent
    run_id: str
    ticket: str
    version: str
    calls: tuple[str, ...]
    start_ns: int
    outcome: Outcome
    declared: bool


def _jobs(random: Random) -> Iterator[_Job]:
    for agent in AGENTS:
        ended = [(way.calls, outcome) for way in agent.ways for outcome in way.outcomes()]
        for serial, (calls, outcome) in enumerate(ended):
            start_ns = NOW_NS - random.randrange(_HOUR_NS, 25 * 24 * _HOUR_NS)
            version = agent.versions[start_ns > NOW_NS - 10 * 24 * _HOUR_NS]
            # Two runs a ticket, from different ways: one of them can have ended otherwise.
            ticket = f"{agent.prefix}-ticket-{1 + serial % (len(ended) // 2)}"
            run_id = f"{agent.prefix}-{serial:03d}"
            yield _Job(agent, run_id, ticket, version, calls, start_ns, outcome, declared=serial % 8 != 7)
        for serial, (run_id, calls) in enumerate(agent.live):
            start_ns = NOW_NS - (30 + 6 * len(calls)) * SECOND_NS
            ticket = f"{agent.prefix}-ticket-{900 + serial}"
            yield _Job(agent, run_id, ticket, agent.versions[1], calls, start_ns, Outcome.UNKNOWN, False)


def _spans(job: _Job, random: Random) -> list[Span]:
    """A run's spans: its agent's outer span, then a span a call."""
    trace_id = f"{random.getrandbits(128):032x}"
    ids = [f"{random.getrandbits(64):016x}" for _ in range(len(job.calls) + 1)]
    never_ended = job.outcome == Outcome.ABANDONED and not job.declared
    spans: list[Span] = []
    at_ns = job.start_ns
    for place, call in enumerate(job.calls, 1):
        inside = call.startswith(">")
        kind, _, name = call.removeprefix(">").partition(":")
        begin_ns = (spans[-1].start_ns if inside else at_ns) + random.randrange(5, 50) * _MS
        end_ns = begin_ns + random.randrange(*_TAKES_MS.get(kind, _OTHER_MS)) * _MS
        at_ns = max(at_ns, end_ns)
        last = place == len(job.calls)
        still_open = never_ended or (last and job.outcome == Outcome.UNKNOWN)
        failed = kind == "tool" and job.outcome == Outcome.FAILURE and random.random() < 0.3
        spans.append(
            Span(
                trace_id=trace_id,
                span_id=ids[place],
                parent_id=ids[place - 1] if inside else ids[0],
                name=_span_name(job.agent, kind, name),
                start_ns=begin_ns,
                end_ns=None if still_open else end_ns,
                status=Status.UNSET if still_open else Status.ERROR if failed else Status.OK,
                scope=job.agent.scope,
                attributes=_call_attributes(job, kind, name, random) | ({"error.type": "timeout"} if failed else {}),
                resource=_resource(job),
            )
        )
    open_root = never_ended or job.outcome == Outcome.UNKNOWN
    return [_root(job, trace_id, ids[0], None if open_root else at_ns + 8 * _MS), *spans]


def _root(job: _Job, trace_id: str, span_id: str, end_ns: int | None) -> Span:
    """The agent's outer span: names the agent, the run, its ticket and, if declared, its outcome."""
    status = Status.ERROR if job.outcome == Outcome.FAILURE and not job.declared else Status.OK
    outcome = {"session.outcome": job.outcome.name.lower()} if job.declared else {}
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        name=_span_name(job.agent, "agent", job.agent.name),
        start_ns=job.start_ns,
        end_ns=end_ns,
        status=Status.UNSET if end_ns is None else status,
        scope=job.agent.scope,
        attributes=_outer_attributes(job) | {"forkmap.ticket": job.ticket} | outcome,
        resource=_resource(job),
    )


def _resource(job: _Job) -> dict[str, Any]:
    return {"service.name": f"{job.agent.prefix}-desk", "service.version": job.version}


def _span_name(agent: Agent, kind: str, name: str) -> str:
    return name if agent.openinference else f"{_OPERATION[kind]} {name}"


def _outer_attributes(job: _Job) -> dict[str, Any]:
    agent = job.agent
    if agent.openinference:
        return {"openinference.span.kind": "AGENT", "agent.name": agent.name, "session.id": job.run_id}
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.name": agent.name,
        "gen_ai.agent.version": job.version,
        "gen_ai.conversation.id": job.run_id,
    }


def _call_attributes(job: _Job, kind: str, name: str, random: Random) -> dict[str, Any]:
    """What an instrumentation library writes on the span of one call."""
    read, written = random.randrange(300, 3000), random.randrange(20, 400)
    arguments = json.dumps({"ticket": job.ticket})
    if job.agent.openinference:
        shared = {"openinference.span.kind": kind.upper(), "session.id": job.run_id}
        own = {
            "llm": {
                "llm.model_name": name,
                "llm.token_count.prompt": read,
                "llm.token_count.completion": written,
            },
            "tool": {"tool.name": name, "input.value": arguments},
        }
    else:
        shared = {"gen_ai.operation.name": _OPERATION[kind], "gen_ai.conversation.id": job.run_id}
        own = {
            "llm": {
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": name,
                "gen_ai.usage.input_tokens": read,
                "gen_ai.usage.output_tokens": written,
            },
            "tool": {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": arguments},
            "agent": {"gen_ai.agent.name": name},
            "embedding": {"gen_ai.request.model": name, "gen_ai.usage.input_tokens": read},
        }
    return shared | own.get(kind, {})
