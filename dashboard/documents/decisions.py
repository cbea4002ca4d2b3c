"""Decision traces for programs: one run's, and how those of two compare."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dashboard.documents import Count, drawn
from engine.decisions import arguments, incident, trace, wording
from engine.decisions.arguments import decoded
from engine.decisions.diff import Diagnosis, Diff
from engine.decisions.menus import is_low
from engine.decisions.sides import Side

Place: TypeAlias = Annotated[int, Meta(ge=0, description="Counted from 0")]
Mark: TypeAlias = Annotated[
    Literal["=", "≠", "-", "+"], Meta(description="Equal, different, only in a, only in b")
]


class Option(msgspec.Struct, frozen=True):
    """A tool that could have been called; scores rank the options of one decision, and nothing else."""

    tool: str
    score: float | None
    reason: str | None


class Call(msgspec.Struct, frozen=True):
    """A call and what came of it, null while nothing is told of that."""

    span_id: str
    tool: str
    args: Annotated[Any, Meta(description="As they were recorded")]
    ok: bool | None
    bytes: Count | None


class Decision(msgspec.Struct, frozen=True):
    """What was offered and chosen, and the calls under it: the first carries it out."""

    span_id: str
    ts: str
    goal: str
    options: list[Option]
    chosen: str
    policy: str
    margin: float | None
    calls: list[Call]


class Finding(msgspec.Struct, frozen=True):
    """Something wrong with a trace; ``event`` is its place in the run, counted from 1."""

    kind: trace.Kind
    event: Count
    span_id: str
    detail: str
    sentence: str


class Decisions(msgspec.Struct, frozen=True):
    """The decisions of a run; ``recorded`` is false where nothing tells of any."""

    run_id: str
    recorded: bool
    decisions: list[Decision]
    calls_without_decision: list[Call]
    findings: list[Finding]


class Lane(msgspec.Struct, frozen=True):
    """One of the two runs, and the sequence that is compared: tools that were chosen, or steps."""

    name: str
    sequence: list[str]


class Row(msgspec.Struct, frozen=True):
    """A row of both sequences side by side, null beside a gap."""

    mark: Mark
    a: Place | None
    b: Place | None


class Taken(msgspec.Struct, frozen=True):
    """What a run was offered and chose at the fork, or the step it took; ``low``: it was close to a tie."""

    chosen: str
    policy: str | None
    margin: float | None
    low: bool
    options: list[Option]


class Fork(msgspec.Struct, frozen=True):
    """The first place behind the common beginning; null is a run that has ended there."""

    place: Place
    a: Taken | None
    b: Taken | None
    only_a: list[str]
    only_b: list[str]
    ranks_differ: bool


class Change(msgspec.Struct, frozen=True):
    """The same choice in both runs, from menus or ranks that differ."""

    a: Place
    b: Place
    menu: bool
    ranks: bool
    only_a: list[str]
    only_b: list[str]


class Argument(msgspec.Struct, frozen=True):
    """A part of the arguments that differs; a side that has none leaves it out."""

    path: str
    a: Any | UnsetType = UNSET
    b: Any | UnsetType = UNSET


class Mismatch(msgspec.Struct, frozen=True):
    """The first call that differs, under the decisions at these places; null: under none, or no such call."""

    a: Place | None
    b: Place | None
    call: Place
    tool_a: str | None
    tool_b: str | None
    arguments: list[Argument]


class Answers(msgspec.Struct, frozen=True):
    """What a run's trace answers; null is incomplete: cannot tell."""

    every_call_cites_a_decision: bool | None
    chosen_ran: bool | None
    margin_too_small: bool | None
    forked_here: bool | None


class BothAnswers(msgspec.Struct, frozen=True):
    """The answers of both runs."""

    a: Answers
    b: Answers


class Comparison(msgspec.Struct, frozen=True):
    """How two runs compare."""

    a: Lane
    b: Lane
    by: Literal["decisions", "steps"]
    diagnosis: Diagnosis
    headline: str
    look_first: str
    fork: Fork | None
    rows: list[Row]
    changes: list[Change]
    mismatch: Mismatch | None
    returned: Place | None
    answers: BothAnswers
    low_margin: float


def comparison(diff: Diff, a: Side, b: Side) -> Comparison:
    """A comparison for programs."""
    return drawn(
        Comparison,
        diff,
        a=Lane(a.name, list(a.sequence(diff))),
        b=Lane(b.name, list(b.sequence(diff))),
        headline=wording.headline(diff),
        look_first=wording.look_first(diff),
        fork=None if diff.fork is None else _fork(diff, diff.fork, a, b),
        rows=[drawn(Row, row) for row in diff.rows],
        changes=[drawn(Change, each) for each in diff.changes],
        mismatch=None if diff.mismatch is None else _mismatch(diff.mismatch),
        answers=BothAnswers(*map(_answers, diff.answers)),
    )


def decisions(run_id: str, found: trace.Trace | None) -> Decisions:
    """The decisions of a run for programs.

    >>> decisions("r1", None)
    Decisions(run_id='r1', recorded=False, decisions=[], calls_without_decision=[], findings=[])
    """
    if found is None:
        return Decisions(run_id, False, [], [], [])
    return Decisions(
        run_id,
        True,
        [_decision(choice) for choice in found.choices],
        [_call(call) for call in found.loose],
        [drawn(Finding, each, event=each.line, sentence=wording.finding(each)) for each in found.findings],
    )


def _decision(choice: trace.Choice) -> Decision:
    calls = [_call(call) for call in choice.calls]
    return drawn(Decision, choice, ts=_utc(choice.ts), options=_options(choice), calls=calls)


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _options(choice: trace.Choice) -> list[Option]:
    return [drawn(Option, option) for option in choice.options]


def _call(call: trace.Call) -> Call:
    return drawn(Call, call, args=decoded(call.args), bytes=call.size_bytes)


def _fork(diff: Diff, place: int, a: Side, b: Side) -> Fork:
    return drawn(Fork, diff, place=place, a=_taken(diff, place, a), b=_taken(diff, place, b))


def _taken(diff: Diff, place: int, side: Side) -> Taken | None:
    if choice := side.choice(diff, place):
        low = is_low(choice.lead, diff.low_margin)
        return drawn(Taken, choice, low=low, options=_options(choice))
    steps = side.sequence(diff)
    return Taken(steps[place], None, None, False, []) if place < len(steps) else None


def _mismatch(found: arguments.Mismatch) -> Mismatch:
    return drawn(Mismatch, found, arguments=[drawn(Argument, line) for line in found.lines])


def _answers(found: incident.Answers) -> Answers:
    return Answers(found.cited, found.ran_as_chosen, found.margin_too_small, found.same_fork)
