"""The repo-agent's runs as they were recorded: events of a decision trace, and their faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Raw
from msgspec.structs import replace

from engine.decisions.schema import Decision, Event, Option, ToolCall, ToolResult
from engine.decisions.trace import Kind
from engine.demo.tickets import Pick

_REASONS = {
    "search_code": "the place is not known yet",
    "read_file": "look before changing anything",
    "edit_file": "the change is small",
    "run_tests": "tells at once whether it works",
    "open_pull_request": "a reviewer should see it",
    "ask_reviewer": "the ticket leaves room",
}
_SECOND = timedelta(seconds=1)
_APART = 4 * _SECOND
"""From one decision to the next; the call follows after a second, its result after another."""

Told: TypeAlias = tuple[Event, ...]


def journal(run_id: str, picks: tuple[Pick, ...], start: datetime) -> list[Event]:
    """A run's events in order, with the faults that they were recorded with."""
    events: list[Event] = []
    for place, pick in enumerate(picks):
        decision = _decision(run_id, place, pick, start + place * _APART)
        call = ToolCall(f"call-{place}", decision.span_id, decision.ts + _SECOND, pick.chosen, _args(pick))
        result = ToolResult(
            f"result-{place}", call.span_id, call.ts + _SECOND, pick.ok, 100 + 7 * len(pick.chosen)
        )
        events += _FAULTS.get(pick.fault, _whole)(decision, call, result)
    return events


def _decision(run_id: str, place: int, pick: Pick, ts: datetime) -> Decision:
    return Decision(
        span_id=f"decision-{place}",
        parent_id=run_id,
        ts=ts,
        goal=pick.goal,
        options=tuple(Option(tool, score, _REASONS[tool]) for tool, score in pick.menu.items()),
        chosen=pick.chosen,
        policy=pick.policy,
        margin=margin(pick),
    )


def _args(pick: Pick) -> Raw:
    return Raw(json.dumps(pick.args).encode())


def margin(pick: Pick) -> float | None:
    """Chosen score minus the best other one.

    >>> margin(Pick("", {"a": 0.5, "b": 0.8}, "a", {})), margin(Pick("", {"a": None, "b": None}, "a", {}))
    (-0.3, None)
    """
    scores = {tool: score for tool, score in pick.menu.items() if score is not None}
    won = scores.pop(pick.chosen, None)
    return None if won is None or not scores else round(won - max(scores.values()), 6)


# How a recorder gets it wrong: what it writes of a decision, its call and its result.


def _whole(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    return decision, call, result


def _without_chosen(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    others = tuple(option for option in decision.options if option.tool != decision.chosen)
    return replace(decision, options=others, margin=None), call, result


def _wrong_margin(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    return replace(decision, margin=0.74), call, result


def _called_beside(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    beside = replace(call, span_id=f"{call.span_id}-again", parent_id=decision.parent_id)
    return decision, call, result, beside


def _other_tool(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    return decision, replace(call, tool=decision.options[1].tool), result


def _never_called(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    return (decision,)


def _result_twice(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    return decision, call, result, replace(result, bytes=result.bytes + 1)


def _option_twice(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    return replace(decision, options=(*decision.options, decision.options[-1])), call, result


def _result_first(decision: Decision, call: ToolCall, result: ToolResult) -> Told:
    return decision, call, replace(result, ts=decision.ts)


_FAULTS: Mapping[Kind | None, Callable[[Decision, ToolCall, ToolResult], Told]] = {
    Kind.CHOSEN_MISSING: _without_chosen,
    Kind.BAD_MARGIN: _wrong_margin,
    Kind.MISSING_DECISION: _called_beside,
    Kind.CHOICE_MISMATCH: _other_tool,
    Kind.UNCONSUMED_DECISION: _never_called,
    Kind.DUPLICATE_SPAN: _result_twice,
    Kind.DUPLICATE_OPTION: _option_twice,
    Kind.TIME_REVERSED: _result_first,
}
