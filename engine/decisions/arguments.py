"""Arguments of two calls, compared key by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from engine.decisions.trace import Call

_MAX_DEPTH = 32
"""Values nested deeper are compared whole."""


class ArgumentLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in the arguments where two calls differ; UNSET on the side that has nothing there.

    Attributes
    ----------
    path : str
        Such as ``query`` or ``files[0].name``; "" where the arguments differ as a whole.
    """

    path: str
    a: Any | UnsetType = UNSET
    b: Any | UnsetType = UNSET


class Mismatch(msgspec.Struct, frozen=True):
    """The first call that is not the same in both traces.

    Attributes
    ----------
    a, b : int or None
        Place of its decision in each trace; None for calls that hang from no decision.
    call : int
        Its place among the calls of that decision.
    tool_a, tool_b : str or None
        None where that trace has no such call.
    """

    a: int | None
    b: int | None
    call: int
    tool_a: str | None
    tool_b: str | None
    lines: tuple[ArgumentLine, ...]


def first_mismatch(
    a: int | None, ours: Sequence[Call], b: int | None, theirs: Sequence[Call]
) -> Mismatch | None:
    """The first of two decisions' calls whose tool or arguments differ."""
    for place, (call_a, call_b) in enumerate(zip_longest(ours, theirs)):
        lines = tuple(argument_lines(call_a.args if call_a else None, call_b.args if call_b else None))
        tool_a, tool_b = (call.tool if call else None for call in (call_a, call_b))
        if lines or tool_a != tool_b:
            return Mismatch(a, b, place, tool_a, tool_b, lines)
    return None


def argument_lines(ours: Raw | None, theirs: Raw | None) -> Iterator[ArgumentLine]:
    """The places where arguments differ, in the order of their keys; None for a call that is not there.

    >>> list(argument_lines(Raw(b'{"q": "date", "n": 3}'), Raw(b'{"n": 3, "q": "dates", "all": true}')))
    [ArgumentLine(path='q', a='date', b='dates'), ArgumentLine(path='all', a=UNSET, b=True)]
    """
    if ours != theirs:
        a, b = (UNSET if args is None else decoded(args) for args in (ours, theirs))
        yield from _compare("", a, b, 0)


def decoded(args: Raw) -> Any:
    """The value of arguments; text that Python makes no value of stands for itself.

    >>> decoded(Raw(b'{"q": "date"}')), decoded(Raw(b"{"))
    ({'q': 'date'}, '{')
    """
    try:
        return msgspec.json.decode(args)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return bytes(args).decode(errors="replace")


def _compare(path: str, a: Any, b: Any, depth: int) -> Iterator[ArgumentLine]:
    if depth < _MAX_DEPTH and isinstance(a, dict) and isinstance(b, dict):
        for key in a | b:
            yield from _compare(_joined(path, key), a.get(key, UNSET), b.get(key, UNSET), depth + 1)
    elif depth < _MAX_DEPTH and isinstance(a, list) and isinstance(b, list):
        for place, (ours, theirs) in enumerate(zip_longest(a, b, fillvalue=UNSET)):
            yield from _compare(f"{path}[{place}]", ours, theirs, depth + 1)
    elif _canonical(a) != _canonical(b):
        yield ArgumentLine(path, a, b)


def _joined(path: str, key: str) -> str:
    if not key.isidentifier():
        return f"{path}[{msgspec.json.encode(key).decode()}]"
    return f"{path}.{key}" if path else key


def _canonical(value: Any) -> Any:
    """JSON text of it, where 1 equals 1.0 and not ``true`` as in Python."""
    if value is UNSET:
        return value
    whole = isinstance(value, float) and value.is_integer()
    return msgspec.json.encode(int(value) if whole else value, order="deterministic")
