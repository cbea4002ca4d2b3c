"""Messages of a recorded conversation, whatever file they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from engine.errors import InputError

_POLICY = re.compile(r"^#\s*(\w+) agent policy", re.IGNORECASE | re.MULTILINE)


class ToolCall(NamedTuple):
    """A tool call that a message asks for."""

    id: str | None
    name: str
    arguments: str = ""


class Message(NamedTuple):
    """One message; ``role`` is assistant, user or tool, others are passed over.

    ``call_id`` and ``name`` say which call a tool message answers; ``model`` and the token
    counts belong to assistant messages.
    """

    role: str
    text: str = ""
    time_ns: int | None = None
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    name: str = ""
    error: bool = False
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def policy_domain(text: str) -> str | None:
    """The domain that an agent's policy names in its heading.

    >>> policy_domain("# Airline Agent Policy\\n"), policy_domain("Hello")
    ('airline', None)
    """
    match = _POLICY.search(text)
    return match.group(1).lower() if match else None


def text_of(content: Any) -> str:
    """The text of a message's content: text itself, or the text parts of a list.

    >>> text_of([{"type": "text", "text": "a"}, {"type": "image_url"}, "b"])
    'a\\nb'
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(_part(part)) for part in content)))
    return "" if content is None else json_text(content)


def _part(part: Any) -> str:
    if isinstance(part, Mapping):
        return part["text"] if isinstance(part.get("text"), str) else ""
    return part if isinstance(part, str) else ""


def json_text(value: Any) -> str:
    """A tool's arguments as text: as they are, or as JSON.

    >>> json_text('{"a": 1}'), json_text({"a": 1}), json_text(None)
    ('{"a": 1}', '{"a": 1}', '')
    """
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        raise InputError("arguments that cannot be written as JSON") from None


def objects(value: Any, name: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; absent is empty.

    Raises
    ------
    InputError
        If it is no list of objects.
    """
    if value is None:
        return
    if not isinstance(value, list):
        raise InputError(f"{name} is not a list")
    for number, item in enumerate(value, start=1):
        if not isinstance(item, Mapping):
            raise InputError(f"{name}: entry {number} is not an object")
        yield item
