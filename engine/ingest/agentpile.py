"""ATIF trajectories, OpenAI chat messages and Claude Code sessions, through the library agentpile.

Files are split into runs here, and every run is handed to the library on its own with its reader
named, so that a bad line costs one run and nothing is guessed. A run's id is the file's digest and
its index: the library's own ids repeat from file to file.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from engine.errors import InputError
from engine.ingest.conversation import Conversation, spans
from engine.ingest.documents import documents, lines
from engine.ingest.messages import Message, ToolCall, json_text, objects, text_of
from engine.ingest.scalars import optional_text, time_ns, token_count
from engine.ingest.source import Found, Refused, Source
from engine.spans import Span

_SESSION_KEYS = {"sessionId", "type"}
"""What a line of a session has, its summary aside."""


def _library() -> ModuleType:
    try:
        return import_module("agentpile")
    except ImportError:
        raise InputError(
            "this format is read by an optional library: pip install 'forkmap[sessions]'"
        ) from None


def read_atif(source: Source) -> Iterator[Found]:
    """Runs of an ATIF file: one trajectory, a list of them, or one a line."""
    library = _library()
    return _read_atif(library, source)


def read_chat(source: Source) -> Iterator[Found]:
    """Runs of OpenAI chat messages: ``{"messages": [...]}``, one or one a line, or bare messages."""
    library = _library()
    return _read_chat(library, source)


def read_claude_code(source: Source) -> Iterator[Found]:
    """The run of a Claude Code session file, its subagents' files included."""
    library = _library()
    return _read_claude_code(library, source)


def _read_atif(library: ModuleType, source: Source) -> Iterator[Found]:
    digest = source.digest()
    with source.open() as stream:
        for index, (line, value) in enumerate(documents(stream)):
            yield from _run(library, "atif", value, line, f"{digest}-{index}")


def _read_chat(library: ModuleType, source: Source) -> Iterator[Found]:
    digest = source.digest()
    with source.open() as stream:
        for index, (line, value) in enumerate(_chats(documents(stream, flatten=False))):
            yield from _run(library, "openai-messages", value, line, f"{digest}-{index}")


def _chats(values: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Conversations: lists are opened, and bare messages that follow one another are put together."""
    gathered: list[Any] = []
    begun = 0
    for line, value in values:
        bare = isinstance(value, Mapping) and "role" in value
        if gathered and not bare:
            yield begun, {"messages": gathered}
            gathered = []
        if bare:
            begun = begun if gathered else line
            gathered.append(value)
        elif isinstance(value, list):
            whole = all(isinstance(item, Mapping) and "role" in item for item in value)
            yield from ((line, item) for item in ([{"messages": value}] if whole else value))
        else:
            yield line, value
    if gathered:
        yield begun, {"messages": gathered}


def _read_claude_code(library: ModuleType, source: Source) -> Iterator[Found]:
    good: list[str] = []
    spoken = False
    with source.open() as stream:
        for line, value in lines(stream):
            if isinstance(value, InputError):
                yield line, Refused(value.reason)
            elif not isinstance(value, Mapping):
                yield line, Refused("an object was expected")
            else:
                good.append(json.dumps(value))
                spoken = spoken or value.keys() >= _SESSION_KEYS
        if spoken:
            yield from _session(library, source, good)
        elif good:
            yield 1, Refused("no line of a session is in this file")


def _session(library: ModuleType, source: Source, good: list[str]) -> Iterator[Found]:
    with TemporaryDirectory() as folder:
        session = Path(folder, f"{source.stem}.jsonl")
        session.write_text("\n".join(good) + "\n", encoding="utf-8")
        beside = source.path.parent / source.stem / "subagents"
        if beside.is_dir():
            shutil.copytree(beside, Path(folder, source.stem, "subagents"))
        yield from _run(library, "claude-code-jsonl", session, 1, f"{source.digest()}-0")


def _run(library: ModuleType, reader: str, value: Any, line: int, trace_id: str) -> Iterator[Found]:
    """The spans of one run, or why there are none. The library is young: it may raise anything."""
    if isinstance(value, InputError):
        yield line, Refused(value.reason)
        return
    found: list[Span] = []
    reason = ""
    try:
        if not isinstance(value, Mapping | Path):
            raise InputError("an object was expected")
        for run in library.load(value, reader=reader):
            found += spans(_conversation(run), trace_id, f"forkmap.{reader}")
    except InputError as error:
        reason = error.reason
    except Exception as error:  # noqa: BLE001
        spoken = isinstance(error, library.AgentpileError) and str(error)
        reason = f"agentpile cannot read it: {spoken or 'it is not of the form that was expected'}"
    if reason:
        yield line, Refused(reason)
    else:
        yield from ((line, span) for span in found)


def _conversation(run: Any) -> Conversation:
    agent = run.record.get("agent")
    agent = agent if isinstance(agent, Mapping) else {}
    model = optional_text(agent.get("model_name")) or optional_text(run.dataset.get("model"))
    success = run.outcome.get("success")
    return Conversation(
        messages=list(_messages(run, model)),
        agent=_named(agent.get("name")),
        version=_named(agent.get("version")),
        ticket=optional_text(run.task.get("id")),
        outcome=("success" if success else "failure") if isinstance(success, bool) else None,
        subagents=[_conversation(subagent) for subagent in run.subagents],
    )


def _named(value: Any) -> str | None:
    """The library writes ``unknown`` where the file names nobody."""
    text = optional_text(value)
    return None if text == "unknown" else text


def _messages(run: Any, model: str | None) -> Iterator[Message]:
    results = {
        (event.address["step"], event.address["result"]): event
        for event in run.events()
        if event.kind == "result"
    }
    for step in run.steps:
        metrics = step.get("metrics")
        metrics = metrics if isinstance(metrics, Mapping) else {}
        yield Message(
            role="assistant" if step.get("source") == "agent" else optional_text(step.get("source")) or "",
            text=text_of(step.get("message")),
            time_ns=time_ns(step.get("timestamp")),
            calls=tuple(map(_call, objects(step.get("tool_calls"), "tool_calls"))),
            model=optional_text(step.get("model_name")) or model,
            input_tokens=token_count(metrics.get("prompt_tokens")),
            output_tokens=token_count(metrics.get("completion_tokens")),
        )
        observation = step.get("observation")
        observation = observation if isinstance(observation, Mapping) else {}
        for index, result in enumerate(objects(observation.get("results"), "results")):
            event = results.get((step.get("step_id"), index))
            yield Message(
                role="tool",
                text=text_of(result.get("content")),
                call_id=optional_text(result.get("source_call_id")),
                name=optional_text(event.name if event else None) or "?",
                error=bool(event and event.error),
            )


def _call(item: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        optional_text(item.get("tool_call_id")),
        optional_text(item.get("function_name")) or "?",
        json_text(item.get("arguments")),
    )
