"""Attribute values in whatever shape they were written: text, JSON-quoted text, numbers, lists."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from engine.conventions.table import Keys

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
MAX_TOKENS = 2**53
MAX_NUMBER = 2**64
"""Numbers beyond are no names and no ids."""


def text(value: Any) -> str | None:
    """A value as stripped text; None if it is empty, or neither text nor a number.

    >>> [text(value) for value in (" a ", '"a"', 417, ["stop"], '""', {}, None, True)]
    ['a', 'a', '417', 'stop', None, None, None, None]
    """
    if isinstance(value, str):
        stripped = value.strip()
        if stripped[:1] == '"' and stripped[-1:] == '"':
            stripped = _unquoted(stripped)
        return stripped or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value) if -MAX_NUMBER < value < MAX_NUMBER else None
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], str):
        return text(value[0])
    return None


def _unquoted(quoted: str) -> str:
    try:
        return str(msgspec.json.decode(quoted, type=str)).strip()
    except ValueError:
        return quoted


def word(value: Any) -> str:
    """A value as a lower-case word to be looked up; "" if there is none.

    >>> word('"CHAT_MODEL"'), word("ai.generateText answer-mail"), word(True), word({})
    ('chat_model', 'ai.generatetext', 'true', '')
    """
    found = str(value) if isinstance(value, bool) else text(value)
    return found.split(maxsplit=1)[0].lower() if found else ""


def number(value: Any) -> float | None:
    """A finite number, or text that is one.

    >>> number("0.5"), number(1), number("high"), number(True)
    (0.5, 1.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = float(text(value) or "")
    except (ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def tokens(value: Any) -> int | None:
    """A number of tokens: whole, not negative, under 2**53.

    >>> tokens("417"), tokens(39.0), tokens(-1), tokens("many")
    (417, 39, None, None)
    """
    if type(value) is int:
        return value if 0 <= value < MAX_TOKENS else None
    found = number(value)
    return int(found) if found is not None and 0 <= found < MAX_TOKENS else None


def inside(value: Any, field: str) -> Any:
    """A field of an object, or of the JSON text of one; None if it has none.

    >>> [inside(value, "model") for value in ('{"model": "gpt-4", "stop": ["a"]}', {"model": 1}, "{")]
    ['gpt-4', 1, None]
    """
    if isinstance(value, Mapping):
        return value.get(field)
    if not isinstance(value, str):
        return None
    try:
        raw = _OBJECT.decode(value).get(field)
        return None if raw is None else msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return None


def first(attributes: Mapping[str, Any], keys: Keys) -> str | None:
    """The first of the keys that holds text.

    >>> first({"b": 7, "a": ""}, (("a", ""), ("b", "")))
    '7'
    """
    for key, field in keys:
        value = attributes.get(key)
        if value is not None and (found := text(inside(value, field) if field else value)):
            return found
    return None


def first_tokens(attributes: Mapping[str, Any], keys: Keys) -> int | None:
    """The first of the keys that holds a number of tokens.

    >>> first_tokens({"usage": '{"input": 3}'}, (("input_tokens", ""), ("usage", "input")))
    3
    """
    for key, field in keys:
        value = attributes.get(key)
        if value is not None and (found := tokens(inside(value, field) if field else value)) is not None:
            return found
    return None
