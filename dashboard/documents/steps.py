"""The steps, and failed calls, that hurt or help wherever they stand."""

from __future__ import annotations

import msgspec

from dashboard.documents import Count, Rate, drawn
from dashboard.documents.forks import Within, within
from engine import occurrences
from engine.strata import Label


class Step(msgspec.Struct, frozen=True):
    """A step whose runs end significantly worse, or better, than runs without it.

    ``runs_lost`` is negative where it helps: so many runs were gained. ``label`` says how far the difference
    is shown.
    """

    step: str
    support: Count
    successes: Count
    rate: Rate
    low: Rate
    high: Rate
    other_support: Count
    other_successes: Count
    other_rate: Rate
    p: Rate
    q: Rate
    label: Label
    runs_lost: float
    within: Within


class Family(msgspec.Struct, frozen=True):
    """What was found among ``tested`` steps: how many hurt or help, and the weightiest."""

    tested: Count
    harmful_found: Count
    harmful: list[Step]
    golden_found: Count
    golden: list[Step]


class Steps(msgspec.Struct, frozen=True):
    """Runs that have a step, or a failed call of one, against the other completed runs."""

    completed: Count
    steps: Family
    failed_calls: Family


def steps(found: occurrences.Occurrences) -> Steps:
    """The steps that hurt or help wherever they stand, for programs."""
    return Steps(found.completed, _family(found.steps), _family(found.failed))


def _family(found: occurrences.Family) -> Family:
    sides = {name: [_step(each) for each in getattr(found, name)] for name in ("harmful", "golden")}
    return drawn(Family, found, **sides)


def _step(found: occurrences.Occurrence) -> Step:
    shown = found.evidence
    return drawn(Step, found, step=str(found.step), label=shown.label, within=within(shown))
