"""Text, numbers, times and ids in every shape that exporters write them."""

from __future__ import annotations

import base64
import binascii
import re
import reprlib
from datetime import UTC, datetime
from typing import Any

from engine.errors import InputError

MAX_TIME_NS = 2**63 - 1
"""The last nanosecond a signed 64-bit integer holds, 11 April 2262: where windows end, so before it."""
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
    if isinstance(value, dict):
        low, high = value.get("low"), value.get("high")
        if isinstance(low, int) and isinstance(high, int):
            return (high << 32) + (low & 0xFFFFFFFF)
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{short(value)} is not a number") from None


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
    >>> [time_ns(value) for value in ("1700000000000000001", [1700000000, 1], "2023-11-14T22:13:20Z")]
    [1700000000000000001, 1700000000000000001, 1700000000000000000]
    >>> time_ns(""), time_ns({"low": 0, "high": 1})
    (None, 4294967296)
    """
    if value is None or value == "" or value == 0 or value == "0":
        return None
    time = _nanoseconds(value)
    if not 0 < time < MAX_TIME_NS:
        raise InputError(f"time {short(value)} lies outside 1970 to 2262")
    return time


def _nanoseconds(value: Any) -> int:
    try:
        if isinstance(value, str) and not value.strip().lstrip("+-").isdecimal():
            return iso_ns(value.strip())
        if isinstance(value, list) and len(value) == 2:
            return integer(value[0]) * 1_000_000_000 + integer(value[1])
        if isinstance(value, dict) and "seconds" in value:
            return integer(value["seconds"]) * 1_000_000_000 + integer(value.get("nanos") or 0)
        return integer(value)
    except (InputError, ValueError, OverflowError):
        raise InputError(f"{short(value)} is not a time") from None


def iso_ns(text: str) -> int:
    """Nanoseconds since the Unix epoch of an ISO 8601 date or time, before it negative.

    Without a zone it is UTC; what lies below the nanosecond is dropped.

    Raises
    ------
    ValueError
        If it is no date or time.

    Examples
    --------
    >>> iso_ns("1970-01-02"), iso_ns("1970-01-01T01:00:01.5+01:00"), iso_ns("1969-12-31T23:59:59Z")
    (86400000000000, 1500000000, -1000000000)
    """
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
        raise InputError(f"id {short(value)} is not {size} bytes in hex or base64")
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


def optional_text(value: Any) -> str | None:
    """Text or a number as text; anything else, and nothing, is None.

    >>> optional_text(7), optional_text(" "), optional_text({})
    ('7', None, None)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return scrub(value).strip() or None if isinstance(value, str) else None


def token_count(value: Any) -> int | None:
    """A count of tokens, or None if it is no such thing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def short(value: Any) -> str:
    """A value as a message quotes it, shortened.

    >>> short("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaa'"
    """
    try:
        return cut(_REPR.repr(value), 80)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
