"""Runs, and what was said of how they ended."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dashboard.documents import Count, OutcomeWord, SourceWord, Time, drawn, rfc3339
from engine import runs
from engine.paths import fold, path_text
from engine.store import RunRow


class Declaration(msgspec.Struct, frozen=True):
    """An outcome that somebody declared."""

    outcome: OutcomeWord
    time: Time
    by: str


class Told(msgspec.Struct, frozen=True):
    """What became of an outcome that was told: whether it is new, and waits for its run to be seen."""

    run_id: str
    outcome: OutcomeWord
    time: Time
    by: str
    new: bool
    waiting: bool


class Step(msgspec.Struct, frozen=True):
    """A model, tool or agent call."""

    signature: str
    start: Time
    end: Time | None
    error: bool
    trace_id: str
    span_id: str
    input_tokens: int | None
    output_tokens: int | None


class Run(msgspec.Struct, frozen=True):
    """One run: its path, how it ended and who says so, and its steps."""

    run_id: str
    agent: str
    version: str | None
    ticket: str | None
    start: Time
    last_activity: Time
    live: bool
    outcome: OutcomeWord
    outcome_source: SourceWord | None
    said_by: str | None
    declarations: list[Declaration]
    path: list[str]
    steps: list[Step]
    trace_ids: list[str]


class ListedRun(msgspec.Struct, frozen=True):
    """One line of a list of runs; ``steps`` counts them."""

    run_id: str
    agent: str
    version: str | None
    ticket: str | None
    start: Time
    last_activity: Time
    live: bool
    outcome: OutcomeWord
    outcome_source: SourceWord | None
    steps: Count


class Runs(msgspec.Struct, frozen=True):
    """A page of runs, newest first; ``next`` is what ``after`` takes for the page that follows."""

    runs: list[ListedRun]
    next: str | None


def declaration(said: runs.Declaration) -> Declaration:
    """A declared outcome for programs.

    >>> declaration(runs.Declaration("r", runs.Outcome.FAILURE, 1_500_000_000, "judge"))
    Declaration(outcome='failure', time='1970-01-01T00:00:01.5Z', by='judge')
    """
    return drawn(Declaration, said, outcome=said.outcome.name.lower(), time=rfc3339(said.time_ns))


def run(found: runs.Run, declarations: Sequence[runs.Declaration], now_ns: int) -> Run:
    """One run for programs, as it is at a moment."""
    live = runs.is_live(found.source, found.last_ns, now_ns)
    return drawn(
        Run,
        found,
        start=rfc3339(found.start_ns),
        last_activity=rfc3339(found.last_ns),
        live=live,
        outcome=(runs.Outcome.UNKNOWN if live else found.outcome).name.lower(),
        outcome_source=None if live else found.source.name.lower(),
        said_by=None if live else found.said_by or None,
        declarations=[declaration(said) for said in declarations],
        path=path_text(fold(step.signature for step in found.steps)),
        steps=[_step(step) for step in found.steps],
        trace_ids=list(found.trace_ids),
    )


def _step(step: runs.Step) -> Step:
    end = None if step.end_ns is None else rfc3339(step.end_ns)
    return drawn(Step, step, start=rfc3339(step.start_ns), end=end)


def listed_run(row: RunRow) -> ListedRun:
    """One line of a list of runs for programs."""
    return drawn(
        ListedRun,
        row,
        start=rfc3339(row.start_ns),
        last_activity=rfc3339(row.last_ns),
        outcome=row.outcome.name.lower(),
        outcome_source=None if row.live else row.source.name.lower(),
    )
