"""Attribute values, from OTLP's ``AnyValue`` or plain JSON, as plain JSON that can be stored."""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Iterable
from itertools import islice
from typing import Any

from engine.errors import InputError
from engine.ingest.limits import beyond
from engine.ingest.scalars import cut, integer, scrub, short

MAX_DEPTH = 32
"""Values may nest this deep."""
_MAX_INT = 2**63 - 1


def plain(value: Any, depth: int = 0) -> Any:
    """A value as plain JSON: mended text, integers over 64 bits as text, bytes as base64.

    Raises
    ------
    InputError
        For a number that is not finite, or nesting deeper than 32.

    Examples
    --------
    >>> plain({"a": [1, "x"], "big": 2**70})
    {'a': [1, 'x'], 'big': '1180591620717411303424'}
    """
    if isinstance(value, str):
        return scrub(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_MAX_INT - 1 <= value <= _MAX_INT else str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{value} is not a finite number")
        return value
    if depth >= MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        return {scrub(str(key)): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise InputError(f"a {type(value).__name__} is not a JSON value")


def any_value(value: Any, depth: int = 0) -> Any:
    """An OTLP ``AnyValue`` (or what is plain JSON already) as plain JSON.

    >>> any_value({"arrayValue": {"values": [{"intValue": "1"}, {"string_value": "a"}]}})
    [1, 'a']
    """
    if not isinstance(value, dict):
        return plain(value, depth)
    if depth >= MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH}")
    for name, item in value.items():
        match name:
            case "stringValue" | "string_value" if isinstance(item, str):
                return scrub(item)
            case "intValue" | "int_value":
                return plain(integer(item))
            case "boolValue" | "bool_value" if isinstance(item, bool):
                return item
            case "doubleValue" | "double_value":
                return plain(_real(item))
            case "arrayValue" | "array_value":
                return [any_value(element, depth + 1) for element in _values_of(item)]
            case "kvlistValue" | "kvlist_value":
                return dict(_pair(element, depth + 1) for element in _values_of(item))
            case "bytesValue" | "bytes_value" if isinstance(item, str):
                return scrub(item)
            case _ if item is not None:
                raise InputError(f"{short(value)} is not an OTLP value")
    return None


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"{short(value)} is not a number")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise InputError(f"{short(value)} is not a number") from None


def _values_of(item: Any) -> list[Any]:
    values = item.get("values") if isinstance(item, dict) else item
    if values is None:
        return []
    if not isinstance(values, list):
        raise InputError(f"{short(item)} is not a list of OTLP values")
    return values


def _pair(entry: Any, depth: int) -> tuple[str, Any]:
    if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
        raise InputError(f"{short(entry)} is not a key with a value")
    return scrub(entry["key"]), any_value(entry.get("value"), depth)


def attributes(value: Any, reasons: list[str], most: int = sys.maxsize) -> dict[str, Any]:
    """Attributes as a dict; what cannot be read is left out and named in ``reasons``.

    Parameters
    ----------
    value : list, dict or None
        OTLP's list of ``{key, value}``, or a plain object.
    most : int
        How many are read, the first; the others are counted in ``reasons``.

    Examples
    --------
    >>> reasons: list[str] = []
    >>> pairs = [{"key": "a", "value": {"intValue": "1"}}, {"key": "b", "value": {"intValue": "x"}}]
    >>> attributes(pairs, reasons)
    {'a': 1}
    >>> reasons
    ["attribute b is left out: 'x' is not a number"]
    """
    if value is None:
        return {}
    if isinstance(value, dict):
        read: Any = plain
        entries: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list):
        read = any_value
        entries = ((e.get("key"), e.get("value")) if isinstance(e, dict) else (None, e) for e in value)
    else:
        reasons.append(f"attributes are left out: {short(value)} is not a list")
        return {}
    if len(value) > most:
        reasons.append(beyond(len(value), most, "attributes"))
    kept = {}
    for key, item in islice(entries, most):
        if not isinstance(key, str):
            reasons.append(f"an attribute without a key is left out: {short(item)}")
            continue
        try:
            kept[scrub(key)] = read(item)
        except InputError as error:
            reasons.append(f"attribute {cut(key, 80)} is left out: {error.reason}")
    return kept
