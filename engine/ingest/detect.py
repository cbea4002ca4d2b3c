"""Which format a file is in, told from the keys of its first objects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.errors import InputError
from engine.ingest import otlp_json, otlp_protobuf
from engine.ingest.source import Source

LOOKED_AT = 50
"""Objects looked at: some files open with records that say little."""

_BINARY = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1d\x1f]")
_OBJECT = re.compile(rb"^[ \t\[\x1e\0]*+\{", re.MULTILINE)
_TOKEN = re.compile(rb'"((?:[^"\\\n]++|\\[^\n])*+)(?:"(\s*+:)?)?+|[{}\[\]]')

_OTLP_KEYS = {*otlp_json.RESOURCE_SPANS, *otlp_json.SCOPE_SPANS}
_RULES: tuple[tuple[str, tuple[set[str], ...]], ...] = (
    (
        "forkmap",
        ({"type", "trace_id"}, {"type", "run"}, {"type", "run_id"}, {"type", "span_id", "parent_id", "ts"}),
    ),
    ("claude-code", ({"sessionId", "uuid", "version", "type"},)),
    ("atif", ({"schema_version", "steps"}, {"schema_version", "agent"})),
    ("tau2-bench", ({"info", "simulations"}, {"info", "tasks"}, {"timestamp", "info"})),
    ("tau-bench", ({"traj", "reward"}, {"task_id", "traj"}, {"task_id", "reward"})),
    ("openai-chat", ({"messages"}, {"role", "content"}, {"role", "tool_calls"})),
    (
        "otlp-json",
        (
            {"traceId", "spanId"},
            {"trace_id", "span_id"},
            {"name", "context"},
            {"spanContext"},
        ),
    ),
)
"""Format, and the sets of keys one of which an object of it has; the first that fits wins."""


def detect(source: Source) -> str:
    """The format of a file.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, or fits no format.
    """
    head = source.head()
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("the text is UTF-16: save it as UTF-8", source.name)
    name = of_head(head)
    if name is None:
        raise InputError("no format fits: forkmap import --format names one, if you know it", source.name)
    return name


def of_head(head: bytes) -> str | None:
    """The format of a file that begins so, or None.

    >>> of_head(b'{"resourceSpans": []}'), of_head(b'{"messages": [{"role": "user"'), of_head(b"a,b")
    ('otlp-json', 'openai-chat', None)
    """
    head = head.removeprefix(b"\xef\xbb\xbf")
    protobuf = otlp_protobuf.looks_like(head)
    if protobuf and _BINARY.search(head):
        return "otlp-protobuf"
    for number, match in enumerate(_OBJECT.finditer(head)):
        if number == LOOKED_AT:
            break
        if name := _of_keys(keys(head, match.end() - 1)):
            return name
    return "otlp-protobuf" if protobuf else None


def _of_keys(found: set[str]) -> str | None:
    if found & _OTLP_KEYS:
        return "otlp-json"
    for name, alternatives in _RULES:
        if any(needed <= found for needed in alternatives):
            return name
    return None


def keys(head: bytes, start: int) -> set[str]:
    """The keys of the object that begins at ``start``, as far as the bytes go.

    >>> sorted(keys(b'{"a": {"b": 1}, "c": [{"d": 2}], "e', 0))
    ['a', 'c']
    """
    return set(_keys(head, start))


def _keys(head: bytes, start: int) -> Iterator[str]:
    depth = 0
    for token in _TOKEN.finditer(head, start):
        bracket = token.group(0)
        if bracket in (b"{", b"["):
            depth += 1
        elif bracket in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return
        elif depth == 1 and token.group(2):
            yield token.group(1).decode(errors="replace")
