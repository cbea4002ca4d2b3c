"""A decision trace as a value: choices in order, and the calls under each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

import msgspec
from msgspec import Raw

from engine.decisions.menus import lead
from engine.decisions.schema import Decision, Event, Option, ToolCall, ToolResult


class Kind(StrEnum):
    """What can be wrong with a decision trace."""

    BAD_JSON = "bad_json"
    BAD_RECORD = "bad_record"
    CHOSEN_MISSING = "chosen_missing"
    BAD_MARGIN = "bad_margin"
    MISSING_DECISION = "missing_decision"
    CHOICE_MISMATCH = "choice_mismatch"
    UNCONSUMED_DECISION = "unconsumed_decision"
    DUPLICATE_SPAN = "duplicate_span"
    DUPLICATE_OPTION = "duplicate_option"
    LOW_MARGIN = "low_margin"
    NOT_TOP = "not_top"
    TIME_REVERSED = "time_reversed"
    LONG_GOAL = "long_goal"


class Finding(msgspec.Struct, frozen=True):
    """Something wrong with a decision trace.

    Attributes
    ----------
    line : int
        Line of the file, counted from 1; of a stored run the place of its event.
    span_id : str
        The event it is about, "" if that could not be read.
    """

    line: int
    kind: Kind
    detail: str
    span_id: str = ""


class Call(msgspec.Struct, frozen=True):
    """A call and what came of it; ``ok`` and ``size_bytes`` are None while nothing is told of that."""

    span_id: str
    ts: datetime
    tool: str
    args: Raw
    ok: bool | None = None
    size_bytes: int | None = None


Ended: TypeAlias = tuple[bool | None, int | None]
NOTHING_ENDED: Mapping[str, Ended] = MappingProxyType({})


class Choice(msgspec.Struct, frozen=True):
    """A decision and the calls under it, in order; the first is the one that carries it out."""

    span_id: str
    ts: datetime
    goal: str
    options: tuple[Option, ...]
    chosen: str
    policy: str
    margin: float | None
    calls: tuple[Call, ...] = ()

    @property
    def lead(self) -> float | None:
        """The margin it is judged by: as told if that follows from the scores, else as they say."""
        return lead(self.margin, self.options, self.chosen)


class Trace(msgspec.Struct, frozen=True):
    """All decisions of a run, in order.

    Attributes
    ----------
    loose : tuple of Call
        Calls that hang from no decision.
    findings : tuple of Finding
        What the audit says of it, by line.
    """

    run_id: str
    choices: tuple[Choice, ...]
    loose: tuple[Call, ...] = ()
    findings: tuple[Finding, ...] = ()


def assemble(
    run_id: str,
    events: Iterable[Event],
    findings: Iterable[Finding] = (),
    ended: Mapping[str, Ended] = NOTHING_ENDED,
) -> Trace:
    """The trace that events make, whatever their order; of an id that is there twice the first counts.

    Parameters
    ----------
    run_id : str
    events : iterable of Event
    findings : iterable of Finding
    ended : mapping of str to tuple
        By the id of a call, what came of it where no event tells: ``ok`` and ``size_bytes``.
    """
    decisions: dict[str, Decision] = {}
    calls: dict[str, ToolCall] = {}
    results: dict[str, ToolResult] = {}
    for event in events:
        match event:
            case Decision():
                decisions.setdefault(event.span_id, event)
            case ToolCall():
                calls.setdefault(event.span_id, event)
            case ToolResult():
                results.setdefault(event.parent_id, event)
    under: dict[str, list[Call]] = {}
    loose: list[Call] = []
    for call in calls.values():
        place = under.setdefault(call.parent_id, []) if call.parent_id in decisions else loose
        result = results.get(call.span_id)
        told = (result.ok, result.bytes) if result else ended.get(call.span_id, (None, None))
        place.append(Call(call.span_id, call.ts, call.tool, call.args, *told))
    choices = tuple(_choice(decision, under.get(decision.span_id, ())) for decision in decisions.values())
    return Trace(run_id, choices, tuple(loose), tuple(findings))


def _choice(decision: Decision, calls: Iterable[Call]) -> Choice:
    return Choice(
        decision.span_id,
        decision.ts,
        decision.goal,
        decision.options,
        decision.chosen,
        decision.policy,
        decision.margin,
        tuple(calls),
    )
