"""Times, ids and attribute values in every shape that exporters write them."""

from __future__ import annotations

import base64
import binascii
import math
import re
import reprlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from engine.errors import InputError

MAX_TIME_NS = 2**63 - 1
"""The last nanosecond a signed 64-bit integer holds: 11 April 2262."""
MAX_DEPTH = 32
"""Attribute values may nest this deep."""
_MAX_INT = 2**63 - 1
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_FRACTION = re.compile(r"(:\d\d)[.,](\d+)")
_HEX = re.compile(r"[0-9a-f]+")
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60


def scrub(text: str) -> str:
    """Text that can be stored: lone surrogates become U+FFFD.

    >>> scrub("a\\ud800b")
    'a�b'
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def cut(text: str, limit: int = 4096) -> str:
    """At most ``limit`` bytes of UTF-8, with an ellipsis where something was cut off.

    >>> cut("abc", 3), cut("abcdefg", 5)
    ('abc', 'ab…')
    """
    data = scrub(text).encode()
    if len(data) <= limit:
        return data.decode()
    return data[: limit - 3].decode(errors="ignore") + "…"


def integer(value: Any) -> int:
    """An integer from a number, decimal text or a ``{low, high}`` pair of 32-bit halves.

    >>> [integer(value) for value in (7, "7", 7.0, {"low": -1, "high": 1})]
    [7, 7, 7, 8589934591]
    """
    if isinstance(value, bool):
        raise InputError(f"{value!r} is not a number")
    if isinstance(value, Mapping) and {"low", "high"} <= value.keys():
        return (integer(value["high"]) << 32) + (integer(value["low"]) & 0xFFFFFFFF)
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{_short(value)} is not a number") from None


def time_ns(value: Any) -> int | None:
    """Nanoseconds since the Unix epoch; None where there is no time (absent, empty, 0).

    Parameters
    ----------
    value : int, float, str, dict or list
        Nanoseconds as a number or decimal text, a ``{low, high}`` pair of 32-bit halves,
        ``[seconds, nanos]``, ``{seconds, nanos}``, or ISO 8601 text (UTC where it has no zone).

    Raises
    ------
    InputError
        If it is no time, or lies before 1970 or after April 2262.

    Examples
    --------
    >>> [time_ns(value) for value in ("1700000000000000001", [1700000000, 1], "2023-11-14T22:13:20.000000001Z")]
    [1700000000000000001, 1700000000000000001, 1700000000000000001]
    >>> time_ns(""), time_ns({"low": 0, "high": 1})
    (None, 4294967296)
    """
    if value is None or value == "" or value == 0 or value == "0":
        return None
    time = _nanoseconds(value)
    if not 0 < time <= MAX_TIME_NS:
        raise InputError(f"time {_short(value)} lies outside 1970 to 2262")
    return time


def _nanoseconds(value: Any) -> int:
    try:
        if isinstance(value, str) and not value.strip().lstrip("+-").isdecimal():
            return _iso_ns(value.strip())
        if isinstance(value, list) and len(value) == 2:
            return integer(value[0]) * 1_000_000_000 + integer(value[1])
        if isinstance(value, Mapping) and "seconds" in value:
            return integer(value["seconds"]) * 1_000_000_000 + integer(
                value.get("nanos") or 0
            )
        return integer(value)
    except (InputError, ValueError, OverflowError):
        raise InputError(f"{_short(value)} is not a time") from None


def _iso_ns(text: str) -> int:
    fraction = _FRACTION.search(text)
    digits = fraction.group(2)[:9].ljust(9, "0") if fraction else "0"
    moment = datetime.fromisoformat(_FRACTION.sub(r"\1", text, count=1))
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86400 + delta.seconds) * 1_000_000_000 + int(digits)


def hex_id(value: Any, size: int) -> str | None:
    """An OpenTelemetry id as lower-case hex digits; None where it is absent or all zero.

    Parameters
    ----------
    value : str or bytes
        Hex digits (any case, dashes, ``0x``) or base64.
    size : int
        Bytes of the id: 16 for a trace, 8 for a span.

    Examples
    --------
    >>> hex_id("0XAB" + "00" * 7, 8), hex_id("ZLNJF+unxY4=", 8), hex_id("", 8)
    ('ab00000000000000', '64b34917eba7c58e', None)
    """
    if value is None or value == "" or value == b"":
        return None
    digits = value.hex() if isinstance(value, bytes) else _digits(value, size)
    if len(digits) != 2 * size:
        raise InputError(f"id {_short(value)} is not {size} bytes in hex or base64")
    return digits if digits.strip("0") else None


def _digits(value: Any, size: int) -> str:
    if not isinstance(value, str):
        return ""
    digits = value.strip().lower().removeprefix("0x").replace("-", "")
    if len(digits) == 2 * size and _HEX.fullmatch(digits):
        return digits
    try:
        text = value.strip().rstrip("=")
        return base64.b64decode(
            text + "=" * (-len(text) % 4),
            altchars=b"-_" if {"-", "_"} & set(text) else None,
            validate=True,
        ).hex()
    except (binascii.Error, ValueError):
        return ""


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
        return value if -_MAX_INT - 1 <= value <= _MAX_INT else _big(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{value} is not a finite number")
        return value
    if depth >= MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, Mapping):
        return {scrub(str(key)): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise InputError(f"a {type(value).__name__} is not a JSON value")


def _big(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise InputError("an integer of thousands of digits") from None


def any_value(value: Any, depth: int = 0) -> Any:
    """An OTLP ``AnyValue`` (or what is plain JSON already) as plain JSON.

    >>> any_value({"arrayValue": {"values": [{"intValue": "1"}, {"string_value": "a"}]}})
    [1, 'a']
    """
    if not isinstance(value, Mapping):
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
                raise InputError(f"{_short(value)} is not an OTLP value")
    return None


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"{_short(value)} is not a number")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise InputError(f"{_short(value)} is not a number") from None


def _values_of(item: Any) -> list[Any]:
    values = item.get("values") if isinstance(item, Mapping) else item
    if values is None:
        return []
    if not isinstance(values, list):
        raise InputError(f"{_short(item)} is not a list of OTLP values")
    return values


def _pair(entry: Any, depth: int) -> tuple[str, Any]:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("key"), str):
        raise InputError(f"{_short(entry)} is not a key with a value")
    return scrub(entry["key"]), any_value(entry.get("value"), depth)


def attributes(value: Any, reasons: list[str]) -> dict[str, Any]:
    """Attributes as a dict; what cannot be read is left out and named in ``reasons``.

    Parameters
    ----------
    value : list, dict or None
        OTLP's list of ``{key, value}``, or a plain object.

    Examples
    --------
    >>> reasons: list[str] = []
    >>> attributes([{"key": "a", "value": {"intValue": "1"}}, {"key": "b", "value": {"intValue": "x"}}], reasons)
    {'a': 1}
    >>> reasons
    ["attribute b is left out: 'x' is not a number"]
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        read: Any = plain
        entries: list[tuple[Any, Any]] = list(value.items())
    elif isinstance(value, list):
        read = any_value
        entries = [
            (e.get("key"), e.get("value")) if isinstance(e, Mapping) else (None, e)
            for e in value
        ]
    else:
        reasons.append(f"attributes are left out: {_short(value)} is not a list")
        return {}
    kept = {}
    for key, item in entries:
        if not isinstance(key, str):
            reasons.append(f"an attribute without a key is left out: {_short(item)}")
            continue
        try:
            kept[scrub(key)] = read(item)
        except InputError as error:
            reasons.append(f"attribute {cut(key, 80)} is left out: {error.reason}")
    return kept


def _short(value: Any) -> str:
    """A value in a message: shortened."""
    try:
        return cut(_REPR.repr(value), 80)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
