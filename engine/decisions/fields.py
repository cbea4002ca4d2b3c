"""Which attributes of a span hold goals, options, reasons and arguments, whoever wrote them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum, auto
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from engine.conventions.table import ARGUMENT_KEYS, DECISION_PREFIXES, OPTION_KEYS

DECISION_KEYS = ("chosen", "policy", "margin")
"""What else a decision holds; it is never redacted, nor what an option is called and scored."""
OPTION_NAMES = frozenset({*OPTION_KEYS["tool"], *OPTION_KEYS["score"]})
_REQUESTED = re.compile(
    r"\.tool_calls?\..*arguments$|function_call(?:\.arguments|_arguments_json)?$"
    r"|^ai\.response\.toolCalls$|^gen_ai\.tool\.call\.arguments\."
).search
"""Calls that a model asked for, and arguments one by one."""
_CACHED_KEYS = 16_384
_CACHED_SETS, _USUAL_KEYS = 2048, 40


class Part(StrEnum):
    """What of a decision or a call an attribute is."""

    GOAL = auto()
    OPTIONS = auto()
    REASON = auto()
    ARGUMENTS = auto()


class Field(NamedTuple):
    """What an attribute is.

    Attributes
    ----------
    of_decision : bool
        Only on a span whose kind says that it is a decision.
    of_call : bool
        Only on a tool's span or a decision's: on others it holds prompts.
    """

    part: Part
    of_decision: bool = False
    of_call: bool = False


Known: TypeAlias = tuple[tuple[str, Field], ...]


class Fields(NamedTuple):
    """What the attributes of a span or an event are.

    Attributes
    ----------
    known : tuple of (str, Field)
        Those that are a part of a decision or a call, in order.
    are_decided : bool
        Whether some are a decision's, whatever the span's kind says.
    are_unsure : bool
        Whether some are to be known by the span's kind only.
    """

    known: Known = ()
    are_decided: bool = False
    are_unsure: bool = False

    def meant(self, is_decision: bool, is_call: bool) -> Known:
        """Those that are it on a span which its kind calls a decision or not, a call or not."""
        if not self.are_unsure:
            return self.known
        return tuple(
            (key, field)
            for key, field in self.known
            if (is_decision or not field.of_decision) and (is_call or not field.of_call)
        )


def fields(attributes: Mapping[str, Any]) -> Fields:
    """What attributes are; spans of one library mostly have the same keys, so that is remembered.

    >>> [key for key, _ in fields({"gen_ai.tool.name": "mail", "gen_ai.tool.call.arguments": "{}"}).known]
    ['gen_ai.tool.call.arguments']
    """
    keys = tuple(attributes)
    return _usual(keys) if len(keys) <= _USUAL_KEYS else _fields(keys)


def _fields(keys: tuple[str, ...]) -> Fields:
    known = tuple((key, field) for key in keys if (field := field_of(key)) is not None)
    of_all = [field for _, field in known]
    are_decided = any(field.part is not Part.ARGUMENTS and not field.of_decision for field in of_all)
    return Fields(known, are_decided, any(field.of_decision or field.of_call for field in of_all))


_usual = lru_cache(_CACHED_SETS)(_fields)


@lru_cache(_CACHED_KEYS)
def field_of(key: str) -> Field | None:
    """What an attribute of this key is, if it is a part of a decision or a call.

    >>> field_of("forkmap.decision.options.0.reason")
    Field(part=<Part.REASON: 'reason'>, of_decision=False, of_call=False)
    >>> field_of("forkmap.decision.options.0.tool") is field_of("http.route") is None
    True
    >>> field_of("llm.output_messages.0.message.function_call_arguments_json").part
    <Part.ARGUMENTS: 'arguments'>
    """
    *_, uncertain = DECISION_PREFIXES
    before = next((each for each in DECISION_PREFIXES if key.startswith(each)), None)
    if before is not None:
        part = _part(key.removeprefix(before))
        return None if part is None else Field(part, of_decision=before == uncertain)
    if any(key == each for each, _ in ARGUMENT_KEYS):
        return Field(Part.ARGUMENTS, of_call="tool" not in key.lower())
    return Field(Part.ARGUMENTS) if _REQUESTED(key) else None


def _part(name: str) -> Part | None:
    """The part that follows the prefix of a decision's keys."""
    if name == "goal":
        return Part.GOAL
    if name == "options":
        return Part.OPTIONS
    of_option = name.startswith("options.") and name.split(".", 2)[-1].removeprefix("option.") in OPTION_NAMES
    return None if of_option or name in DECISION_KEYS else Part.REASON
