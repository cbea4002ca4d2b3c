"""tau2-bench result files as published: ``{info, tasks, simulations}``.

The agent is ``tau2-<domain>`` with the domain that ``info.environment_info`` names (solo runs of
a domain are runs of that domain's agent), its version the agent's model, the ticket the task.
Reward 1 is a success; a run stopped by a limit or by the infrastructure without it is abandoned;
any other reward is a failure; without a reward nothing is declared. A message's time is the
start of its span. The customer's own tool calls are shown and are no steps. Of ``info`` only the
domain and the model are read: its arguments can hold credentials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.errors import InputError
from engine.ingest.conversation import Conversation, spans
from engine.ingest.documents import documents
from engine.ingest.messages import (
    Message,
    ToolCall,
    json_text,
    objects,
    policy_domain,
    text_of,
)
from engine.ingest.scalars import optional_text, time_ns, token_count
from engine.ingest.source import Found, Refused, Source
from engine.ingest.tau_bench import outcome

SCOPE = "forkmap.tau2_bench"
ABANDONED = {"max_steps", "too_many_errors", "infrastructure_error"}
"""Reasons of termination that, without a full reward, mean that nobody finished the run."""


def read(source: Source) -> Iterator[Found]:
    """Spans of a file; the number counts simulations from 1. A run's id is the file's digest and index."""
    digest = source.digest()
    index = 0
    with source.open() as stream:
        for line, document in documents(stream):
            if isinstance(document, InputError) or not _simulations(document):
                reason = (
                    document.reason if isinstance(document, InputError) else "no simulations in this object"
                )
                yield line, Refused(reason)
                continue
            agent, model = _agent_and_model(document, source.stem)
            for simulation in document["simulations"]:
                index += 1
                try:
                    conversation = _conversation(simulation, agent, model)
                except InputError as error:
                    yield index, Refused(f"simulation {index - 1}: {error.reason}")
                    continue
                for span in spans(conversation, f"{digest}-{index - 1}", SCOPE):
                    yield index, span


def _simulations(document: Any) -> bool:
    return isinstance(document, Mapping) and isinstance(document.get("simulations"), list)


def _inner(value: Any, name: str) -> Mapping[str, Any]:
    inner = value.get(name) if isinstance(value, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _agent_and_model(document: Mapping[str, Any], stem: str) -> tuple[str, str | None]:
    info = _inner(document, "info")
    environment = _inner(info, "environment_info")
    domain = (
        optional_text(environment.get("domain_name"))
        or policy_domain(text_of(environment.get("policy")))
        or stem.split(".")[0].lower()
    )
    return f"tau2-{domain}", optional_text(_inner(info, "agent_info").get("llm"))


def _conversation(value: Any, agent: str, model: str | None) -> Conversation:
    if not isinstance(value, Mapping):
        raise InputError("it is not an object")
    return Conversation(
        messages=[_message(item, model) for item in _flat(objects(value.get("messages"), "messages"))],
        agent=agent,
        version=model,
        ticket=optional_text(value.get("task_id")),
        outcome=_outcome(value),
        start_ns=_time(value, "start_time"),
        end_ns=_time(value, "end_time"),
    )


def _outcome(value: Mapping[str, Any]) -> str | None:
    judged = outcome(_inner(value, "reward_info").get("reward"))
    if judged != "success" and optional_text(value.get("termination_reason")) in ABANDONED:
        return "abandoned"
    return judged


def _flat(items: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Messages, with the results of parallel calls one by one."""
    for item in items:
        parts = list(objects(item.get("tool_messages"), "tool_messages"))
        yield from parts or (item,)


def _message(item: Mapping[str, Any], model: str | None) -> Message:
    usage = _inner(item, "usage")
    return Message(
        role=optional_text(item.get("role")) or "",
        text=text_of(item.get("content")),
        time_ns=_time(item, "timestamp"),
        calls=tuple(map(_call, objects(item.get("tool_calls"), "tool_calls"))),
        call_id=optional_text(item.get("id")),
        name="?",
        error=item.get("error") is True,
        model=model,
        input_tokens=token_count(usage.get("prompt_tokens")),
        output_tokens=token_count(usage.get("completion_tokens")),
    )


def _call(item: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        optional_text(item.get("id")),
        optional_text(item.get("name")) or "?",
        json_text(item.get("arguments")),
    )


def _time(item: Mapping[str, Any], name: str) -> int | None:
    try:
        return time_ns(item.get(name))
    except InputError as error:
        raise InputError(f"{name}: {error.reason}") from None
