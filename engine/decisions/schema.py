"""The three events of a decision trace, one JSON object a line."""

from __future__ import annotations

from codecs import getincrementaldecoder
from datetime import datetime
from sys import float_info
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Raw

Id = Annotated[str, Meta(min_length=1)]
Time = Annotated[datetime, Meta(tz=True, description="RFC 3339 with its zone, to the second or finer")]


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something the planner could have called; a score ranks it inside its own decision only."""

    tool: Id
    score: float | None = None
    reason: str | None = None


class Decision(msgspec.Struct, frozen=True, tag_field="type", tag="decision"):
    """What was offered before a call, what was chosen, and by which rule.

    Attributes
    ----------
    parent_id : str
        What it hangs from: a call, another decision, or the run itself.
    margin : float or None
        Chosen score minus the best other one; None where options have no scores.
    """

    span_id: Id
    parent_id: Id
    ts: Time
    goal: str
    options: tuple[Option, ...]
    chosen: str
    policy: str
    margin: int | float | None  # A whole number stays as it is written.


class ToolCall(msgspec.Struct, frozen=True, tag_field="type", tag="tool_call"):
    """A call; it hangs from the decision that it carries out.

    Attributes
    ----------
    args : Raw
        JSON, as it was written.
    """

    span_id: Id
    parent_id: Id
    ts: Time
    tool: Id
    args: Raw


class ToolResult(msgspec.Struct, frozen=True, tag_field="type", tag="tool_result"):
    """What came of a call, and how much of it."""

    span_id: Id
    parent_id: Id
    ts: Time
    ok: bool
    bytes: Annotated[int, Meta(ge=0)]


Event: TypeAlias = Decision | ToolCall | ToolResult
TYPES = ("decision", "tool_call", "tool_result")
"""Types of the lines that are read; others pass."""

MAX_EVENT_BYTES = 2 << 20
"""An event takes no more, but for the arguments of a call: read, it takes a multiple of that."""


class Rest(msgspec.Struct, frozen=True):
    """What a bad record still says of how it hangs together with others; "" or None what it does not.

    Attributes
    ----------
    name : str or None
        What a decision chose, or the tool of a call.
    """

    type: str = ""
    span_id: str = ""
    parent_id: str = ""
    name: str | None = None


class BadLine(ValueError):
    """A line that is no event and should be.

    Attributes
    ----------
    kind : str
        ``bad_json`` or ``bad_record``.
    detail : str
        What is wrong; of a record it begins with the field.
    rest : Rest
        What can be read all the same, so that one fault is not taken for several.
    """

    def __init__(self, kind: str, detail: str, rest: Rest | None = None) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.rest = rest or Rest()


_NULL = Raw(b"null")


class _Typed(msgspec.Struct, frozen=True):
    type: Raw


class _Loose(msgspec.Struct, frozen=True):
    type: Raw = _NULL
    span_id: Raw = _NULL
    parent_id: Raw = _NULL
    tool: Raw = _NULL
    chosen: Raw = _NULL
    args: Raw = _NULL


_PIECE_BYTES = 1 << 20
_decode = msgspec.json.Decoder(Event).decode
_decode_typed = msgspec.json.Decoder(_Typed).decode
_decode_loose = msgspec.json.Decoder(_Loose).decode
_decode_text = msgspec.json.Decoder(str).decode
_skim = msgspec.json.Decoder(Raw).decode


def parse(line: bytes | bytearray) -> Event | None:
    """The event that a line holds; None for a line of another type.

    Raises
    ------
    BadLine
        It is no JSON, a field is missing or ill-typed, or it is longer than an event may be.

    Examples
    --------
    >>> result = b'"type": "tool_result", "span_id": "r", "parent_id": "c", "ok": true, "bytes": 2'
    >>> parse(b'{%b, "ts": "2026-01-01T00:00:00Z"}' % result).bytes
    2
    >>> parse(b'{%b, "ts": "yesterday"}' % result)
    Traceback (most recent call last):
    engine.decisions.schema.BadLine: bad_record: ts: invalid RFC3339 encoded datetime
    >>> parse(b'{"type": "note", "text": "passes"}') is None
    True
    """
    try:
        _check_utf8(line)
        _check_length(line)
        event = _decode(line)
    except msgspec.ValidationError as error:
        _pass_others(line, error)
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _bad_json(error) from None
    if isinstance(event, Decision) and abs(event.margin or 0) > float_info.max:
        raise BadLine("bad_record", "margin: number out of range", _rest(line))
    return event


def _check_utf8(line: bytes | bytearray) -> None:
    """All of it, since msgspec looks at what it reads only; in pieces, since a line may be long."""
    if not line.isascii():
        decode = getincrementaldecoder("utf-8")().decode
        for start in range(0, len(line), _PIECE_BYTES):
            decode(line[start : start + _PIECE_BYTES], start + _PIECE_BYTES >= len(line))


def _check_length(line: bytes | bytearray) -> None:
    if len(line) > MAX_EVENT_BYTES and len(line) - len(_decode_loose(line).args) > MAX_EVENT_BYTES:
        raise msgspec.ValidationError(f"Longer than {MAX_EVENT_BYTES >> 20} MiB without its arguments")


def _pass_others(line: bytes | bytearray, wrong: msgspec.ValidationError) -> None:
    """Pass a line of another type; one that is no JSON in its further course is told as that."""
    try:
        _skim(line)
        if kind_of(line) not in TYPES:
            return
    except msgspec.ValidationError:
        pass
    except (msgspec.DecodeError, RecursionError) as error:
        raise _bad_json(error) from None
    raise BadLine("bad_record", said(wrong), _rest(line)) from None


def _rest(line: bytes | bytearray) -> Rest:
    """The ids and the name of a record, as far as they are text."""
    try:
        loose = _decode_loose(line)
    except (msgspec.DecodeError, RecursionError):
        return Rest()
    type_ = _text(loose.type) or ""
    name = _text(loose.chosen if type_ == "decision" else loose.tool)
    return Rest(type_, _text(loose.span_id) or "", _text(loose.parent_id) or "", name)


def _text(value: Raw) -> str | None:
    """What stands there, if it is text and no longer than an event may be."""
    try:
        return _decode_text(value) if len(value) <= MAX_EVENT_BYTES else None
    except (msgspec.DecodeError, RecursionError):
        return None


def kind_of(line: bytes | bytearray) -> str:
    """The type that a line of JSON says it is, "" if that is endless; msgspec's errors if it says none.

    >>> kind_of(b'{"type": "note", "text": "passes"}')
    'note'
    """
    kind = _decode_typed(line).type
    return _decode_text(kind) if len(kind) <= MAX_EVENT_BYTES else ""


def _bad_json(error: Exception) -> BadLine:
    return BadLine("bad_json", "nested too deeply" if isinstance(error, RecursionError) else str(error))


def said(error: msgspec.ValidationError) -> str:
    """What is wrong with a record, beginning with the field.

    >>> said(msgspec.ValidationError("Expected `float | null`, got `str` - at `$.options[0].score`"))
    'options[0].score: expected `float | null`, got `str`'
    """
    text, at, place = str(error).rpartition(" - at `$")
    text, place = (text, place.rstrip("`").lstrip(".")) if at else (str(error), "")
    if text.startswith("Object missing required field"):
        field = text.split("`")[1]
        return f"{place}.{field}: missing".lstrip(".")
    return f"{place or 'the line'}: {text[:1].lower()}{text[1:]}"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one line that is read, made of the structs that read it."""
    schema = msgspec.json.schema(Event)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a decision trace",
    } | schema
