"""What a span's attributes say of a decision or a call, in whatever shape they were written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from engine.conventions.table import (
    ARGUMENT_KEYS,
    DECISION_KINDS,
    DECISION_PREFIXES,
    OPTION_KEYS,
    RESULT_BYTES_KEY,
    RESULT_KEYS,
)
from engine.conventions.values import tokens, word
from engine.decisions.schema import BadLine, Decision, Rest, parse

Attributes: TypeAlias = Mapping[str, Any]
FIELDS = ("goal", "options", "chosen", "policy", "margin")
_MAX_DIGITS = 9
_decode_option = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_options = msgspec.json.Decoder(list[dict[str, Raw] | str]).decode


def prefix(attributes: Attributes) -> str | None:
    """What goes before the keys of a decision, if the attributes are those of one.

    >>> prefix({"forkmap.decision.chosen": "edit"}), prefix({"decision.chosen": "edit"})
    ('forkmap.decision.', None)
    >>> prefix({"openinference.span.kind": "DECISION", "decision.chosen": "edit"})
    'decision.'
    """
    *certain, last = DECISION_PREFIXES
    is_decision = any(word(attributes.get(key)) == kind for key, kind in DECISION_KINDS.items())
    for each in (*certain, last) if is_decision else certain:
        if any(key.startswith(each) for key in attributes):
            return each
    return None


def decision(attributes: Attributes, before: str, span_id: str, parent_id: str, ts: datetime) -> Decision:
    """The decision that attributes tell of; it is read as the line of a trace that says the same.

    Raises
    ------
    BadLine
        A field is missing or ill-typed, or text that was to be JSON is none.

    Examples
    --------
    >>> told = {"goal": "fix it", "chosen": "edit", "policy": "rule"}
    >>> told |= {"options.0.tool": "edit", "options.1.tool": "read"}
    >>> decision(told, "", "1", "r", datetime.fromisoformat("2026-01-01T00:00:00Z")).options
    (Option(tool='edit', score=None, reason=None), Option(tool='read', score=None, reason=None))
    """
    line: dict[str, Any] = {
        "type": "decision",
        "span_id": span_id,
        "parent_id": parent_id,
        "ts": ts,
        "margin": None,
    }
    line |= {field: attributes[before + field] for field in FIELDS if before + field in attributes}
    try:
        options = _options(attributes, before + "options")
    except ValueError as error:
        chosen = line.get("chosen")
        rest = Rest("decision", span_id, parent_id, chosen if isinstance(chosen, str) else "")
        raise BadLine("bad_json", f"options: {error}", rest) from None
    event = parse(msgspec.json.encode(line if options is None else line | {"options": options}))
    assert isinstance(event, Decision)
    return event


def _options(attributes: Attributes, key: str) -> Any:
    value = attributes.get(key)
    if value is None:
        return _flattened(attributes, key + ".")
    if isinstance(value, str):
        value = _json(value, _decode_options)
    if isinstance(value, list | tuple):
        return [_option(each) for each in value]
    return value


def _option(value: Any) -> Any:
    """An option: an object, the JSON text of one, or no more than the name of a tool."""
    if isinstance(value, str):
        is_object = value.lstrip().startswith("{")
        return _option(_json(value, _decode_option)) if is_object else {"tool": value}
    if not isinstance(value, Mapping):
        return value
    found = {
        field: next((value[name] for name in names if value.get(name) is not None), None)
        for field, names in OPTION_KEYS.items()
    }
    return {field: each for field, each in found.items() if each is not None}


def _flattened(attributes: Attributes, before: str) -> Any:
    """Options of which each part has a key of its own, ``options.0.tool`` or ``options.0.option.tool``."""
    options: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        place, dot, name = key.removeprefix(before).partition(".")
        if key.startswith(before) and dot and place.isdecimal() and len(place) <= _MAX_DIGITS:
            options.setdefault(int(place), {})[name.removeprefix("option.")] = value
    return [_option(options[place]) for place in sorted(options)] or None


def _json(value: str, decode: Callable[[str], Any]) -> Any:
    """What JSON holds, as it was written if that is of another shape.

    Raises
    ------
    ValueError
        It is none.
    """
    try:
        try:
            return decode(value)
        except msgspec.ValidationError:
            return msgspec.json.decode(value, type=Raw)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def arguments(attributes: Attributes) -> Raw:
    """What a tool was called with, as JSON without the spaces between; ``null`` if nobody says.

    >>> bytes(arguments({"input.value": '{"q": 1.50}'})), bytes(arguments({"tool_arguments": "all of it"}))
    (b'{"q":1.50}', b'"all of it"')
    """
    value = _first(attributes, ARGUMENT_KEYS)
    if isinstance(value, str):
        try:
            return Raw(msgspec.json.format(value.encode(), indent=-1))
        except (ValueError, RecursionError):
            pass
    return Raw(msgspec.json.encode(value))


def size_bytes(attributes: Attributes) -> int | None:
    """How much a tool gave back, in bytes of its text; None if nobody says.

    >>> size_bytes({"forkmap.result.bytes": 842}), size_bytes({"output.value": "é"}), size_bytes({})
    (842, 2, None)
    """
    told = tokens(attributes.get(RESULT_BYTES_KEY))
    value = _first(attributes, RESULT_KEYS)
    if told is not None or value is None:
        return told
    return len(value.encode() if isinstance(value, str) else msgspec.json.encode(value))


def _first(attributes: Attributes, keys: Any) -> Any:
    return next((attributes[key] for key, _ in keys if attributes.get(key) is not None), None)
