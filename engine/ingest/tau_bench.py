"""tau-bench result files as published: a list of ``{task_id, reward, trial, traj}``.

The file holds no times: messages stand one second apart from a fixed moment. The agent is
``tau-<domain>``, its version the model named by the file (``<model>-<domain>.json``), the ticket
the task. Reward 1 is a success, any other a failure; a tool result that begins "Error" failed.
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
from engine.ingest.scalars import optional_text
from engine.ingest.source import Found, Refused, Source

SCOPE = "forkmap.tau_bench"
_REWARD_TOLERANCE = 1e-6


def read(source: Source) -> Iterator[Found]:
    """Spans of a file; the number counts runs from 1. A run's id is the file's digest and index."""
    digest = source.digest()
    with source.open() as stream:
        for index, (_, value) in enumerate(documents(stream)):
            try:
                conversation = _conversation(value, source.stem)
            except InputError as error:
                yield index + 1, Refused(f"run {index}: {error.reason}")
                continue
            for span in spans(conversation, f"{digest}-{index}", SCOPE):
                yield index + 1, span


def _conversation(value: Any, stem: str) -> Conversation:
    if isinstance(value, InputError):
        raise value
    if not isinstance(value, Mapping) or value.get("traj") is None:
        raise InputError("no traj in this entry")
    domain, model = _domain_and_model(value["traj"], stem)
    return Conversation(
        messages=[_message(item, model) for item in objects(value["traj"], "traj")],
        agent=f"tau-{domain}",
        version=model,
        ticket=optional_text(value.get("task_id")),
        outcome=outcome(value.get("reward")),
    )


def _domain_and_model(traj: Any, stem: str) -> tuple[str, str]:
    """From the policy's heading, else from the file's name."""
    first = next(objects(traj, "traj"), {})
    model, _, named = stem.rpartition("-")
    domain = policy_domain(text_of(first.get("content"))) or named.lower() or "unknown"
    return domain, stem[: -len(domain) - 1] if stem.lower().endswith(f"-{domain}") else model or stem


def outcome(reward: Any) -> str | None:
    """Success at reward 1, failure at any other; None without one.

    >>> outcome(1.0), outcome(0.5), outcome(None)
    ('success', 'failure', None)
    """
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        return None
    return "success" if abs(reward - 1) <= _REWARD_TOLERANCE else "failure"


def _message(item: Mapping[str, Any], model: str) -> Message:
    text = text_of(item.get("content"))
    role = optional_text(item.get("role")) or ""
    return Message(
        role=role,
        text=text,
        calls=tuple(map(_call, objects(item.get("tool_calls"), "tool_calls"))),
        call_id=optional_text(item.get("tool_call_id")),
        name=optional_text(item.get("name")) or "?",
        error=role == "tool" and text.startswith("Error"),
        model=model,
    )


def _call(item: Mapping[str, Any]) -> ToolCall:
    function = item.get("function")
    function = function if isinstance(function, Mapping) else {}
    return ToolCall(
        optional_text(item.get("id")),
        optional_text(function.get("name")) or "?",
        json_text(function.get("arguments")),
    )
