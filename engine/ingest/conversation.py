"""A recorded conversation between a user, an agent and its tools, made into the spans of one trace.

Result files and session files hold messages, not spans. Here an assistant message becomes a
model call, each tool call with its result a tool call, and all of them hang below one agent
span, with the attributes of OpenTelemetry's GenAI conventions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.ingest.messages import Message, ToolCall
from engine.ingest.scalars import cut, scrub
from engine.spans import Span, Status

TIMES = "forkmap.times"
"""Attribute of a run's first span; ``assumed`` where the file tells no times."""
EPOCH_NS = 1_704_067_200_000_000_000
"""2024-01-01 00:00:00 UTC: where conversations without times are placed, one second a message."""
MAX_TEXT_BYTES = 4096
"""Messages, arguments and results are cut to this."""
_SECOND_NS = 1_000_000_000


class Conversation(NamedTuple):
    """A run to be: who talked, about what, how it ended, and its messages."""

    messages: Sequence[Message]
    agent: str | None = None
    version: str | None = None
    ticket: str | None = None
    outcome: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    subagents: Sequence[Conversation] = ()


class _Pending(NamedTuple):
    """A call that waits for its result."""

    call: ToolCall
    time_ns: int
    by_user: bool


class _Trace:
    """The spans of one trace as they are made; ids are numbers in that order."""

    def __init__(self, trace_id: str, scope: str) -> None:
        self.trace_id = trace_id
        self.scope = scope
        self.spans: list[Span] = []

    def add(
        self,
        name: str,
        start_ns: int,
        end_ns: int | None,
        attributes: dict[str, Any],
        parent_id: str | None,
        error: bool = False,
    ) -> str:
        """Append a span; attributes that are None or empty are left out."""
        span_id = f"{len(self.spans) + 1:016x}"
        self.spans.append(
            Span(
                trace_id=self.trace_id,
                span_id=span_id,
                name=scrub(name),
                start_ns=start_ns,
                end_ns=end_ns,
                parent_id=parent_id,
                status=Status.ERROR if error else Status.UNSET,
                scope=self.scope,
                attributes={key: value for key, value in attributes.items() if value not in (None, "")},
            )
        )
        return span_id


def spans(conversation: Conversation, trace_id: str, scope: str) -> list[Span]:
    """The spans of one conversation: the agent's first, then its calls in order.

    Parameters
    ----------
    conversation : Conversation
    trace_id : str
        Also the run's id.
    scope : str
        Instrumentation scope to be named.

    Examples
    --------
    >>> talk = Conversation([Message("user", "hi"), Message("assistant", "hello", model="m")], agent="a")
    >>> [(span.name, span.start_ns - EPOCH_NS) for span in spans(talk, "t-1", "demo")]
    [('invoke_agent a', 0), ('chat m', 1000000000)]
    """
    trace = _Trace(trace_id, scope)
    _add(trace, conversation, None)
    return trace.spans


def _add(trace: _Trace, talk: Conversation, parent_id: str | None) -> None:
    times = clock([message.time_ns for message in talk.messages], talk.start_ns)
    start_ns = min(
        [*times[:1], *([] if talk.start_ns is None else [talk.start_ns])],
        default=EPOCH_NS,
    )
    untimed = all(message.time_ns is None for message in talk.messages)
    last_ns = times[-1] + (_SECOND_NS if untimed else 0) if times else start_ns
    end_ns = max(last_ns, talk.end_ns or last_ns)
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": talk.agent,
        "gen_ai.agent.version": talk.version,
        "forkmap.ticket": talk.ticket,
        "session.outcome": talk.outcome,
        TIMES: "assumed" if untimed else None,
    }
    root = trace.add(
        f"invoke_agent {talk.agent or ''}".strip(),
        start_ns,
        end_ns,
        attributes,
        parent_id,
    )
    _add_calls(trace, talk.messages, [*times, end_ns], root)
    for subagent in talk.subagents:
        _add(trace, subagent, root)


def _add_calls(trace: _Trace, messages: Sequence[Message], times: Sequence[int], parent_id: str) -> None:
    pending: list[_Pending] = []
    heard = ""
    for index, message in enumerate(messages):
        if message.role == "tool":
            later = next((time for time in times[index + 1 :] if time > times[index]), times[-1])
            end_ns = later if message.time_ns is None else times[index]
            _add_tool(
                trace,
                _answered(pending, message, times[index]),
                message,
                times[index],
                end_ns,
                parent_id,
            )
            continue
        _add_unanswered(trace, pending, parent_id)
        if message.role == "assistant":
            _add_model(trace, message, heard, times[index], times[index + 1], parent_id)
            heard = ""
        elif message.role == "user":
            heard = message.text
        by_user = message.role != "assistant"
        pending.extend(_Pending(call, times[index], by_user) for call in message.calls)
    _add_unanswered(trace, pending, parent_id)


def _add_model(
    trace: _Trace,
    message: Message,
    heard: str,
    start_ns: int,
    end_ns: int,
    parent_id: str,
) -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": message.model,
        "gen_ai.usage.input_tokens": message.input_tokens,
        "gen_ai.usage.output_tokens": message.output_tokens,
        "input.value": cut(heard, MAX_TEXT_BYTES),
        "output.value": cut(message.text, MAX_TEXT_BYTES),
    }
    trace.add(f"chat {message.model or ''}".strip(), start_ns, end_ns, attributes, parent_id)


def _answered(pending: list[_Pending], message: Message, time_ns: int) -> _Pending:
    """Take the call that a tool message answers: by its id, else by order; none left: by its name."""
    same = [call for call in pending if call.call.id == message.call_id]
    if not same and not pending:
        return _Pending(ToolCall(message.call_id, message.name), time_ns, by_user=False)
    found = (same or pending)[0]
    pending.remove(found)
    return found


def _add_unanswered(trace: _Trace, pending: list[_Pending], parent_id: str) -> None:
    for call in pending:
        _add_tool(trace, call, None, call.time_ns, None, parent_id)
    pending.clear()


def _add_tool(
    trace: _Trace,
    pending: _Pending,
    answer: Message | None,
    start_ns: int,
    end_ns: int | None,
    parent_id: str,
) -> None:
    call = pending.call
    attributes: dict[str, Any] = {
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.call.arguments": cut(call.arguments, MAX_TEXT_BYTES),
        "gen_ai.tool.call.result": cut(answer.text, MAX_TEXT_BYTES) if answer else None,
    }
    if pending.by_user:
        name = f"user {call.name}"
        attributes |= {"forkmap.kind": "other", "forkmap.name": name}
    else:
        name = f"execute_tool {call.name}"
        attributes |= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
        }
    trace.add(
        name,
        start_ns,
        end_ns,
        attributes,
        parent_id,
        error=answer is not None and answer.error,
    )


def clock(times: Sequence[int | None], start_ns: int | None = None) -> list[int]:
    """A time for every message: its own, else the one before; without any, one second a message.

    >>> clock([None, 5, None, 9]), clock([None, None]) == [EPOCH_NS, EPOCH_NS + 10**9]
    ([5, 5, 5, 9], True)
    """
    known = next((time for time in times if time is not None), None)
    if known is None:
        begin = EPOCH_NS if start_ns is None else start_ns
        return [begin + index * _SECOND_NS for index in range(len(times))]
    filled, last = [], known
    for time in times:
        last = last if time is None else time
        filled.append(last)
    return filled
