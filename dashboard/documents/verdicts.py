"""The verdict for one run."""

from __future__ import annotations

from typing import Literal

import msgspec

from dashboard.documents import Count, OutcomeWord, Rate, SourceWord, drawn, texts
from dashboard.documents.forks import Fork, fork
from engine.queries import Judged


class Odds(msgspec.Struct, frozen=True):
    """How the earlier runs that came so far ended; the rate is null where there are none."""

    token: str
    support: Count
    successes: Count
    rate: Rate | None
    low: Rate
    high: Rate


class NextStep(msgspec.Struct, frozen=True):
    """How the earlier runs that went on so ended."""

    signature: str
    support: Count
    successes: Count
    rate: Rate
    low: Rate
    high: Rate


class Verdict(msgspec.Struct, frozen=True):
    """What the history says about a run; ``fell_most`` is a depth, counted from 1."""

    run_id: str
    agent: str
    outcome: OutcomeWord
    outcome_source: SourceWord | None
    said_by: str | None
    live: bool
    path: list[str]
    verdict: Literal["insufficient_history", "novel", "likely_failure", "on_track"]
    successes: Count
    support: Count
    rate: Rate | None
    low: Rate
    high: Rate
    base_rate: Rate | None
    sentence: str
    depths: list[Odds]
    fell_most: Count | None
    next_steps: list[NextStep]
    best_next_step: str | None
    forks: list[Fork]


def verdict(judged: Judged) -> Verdict:
    """The verdict for one run; of the named next step, if one was asked about."""
    found = judged.asked or judged.verdict
    return drawn(
        Verdict,
        found,
        outcome=found.outcome.name.lower(),
        outcome_source=None if found.source is None else found.source.name.lower(),
        said_by=None if found.live else judged.run.said_by or None,
        path=texts(found.path),
        depths=[drawn(Odds, each, token=str(each.token)) for each in found.depths],
        next_steps=[drawn(NextStep, each) for each in found.next_steps],
        forks=[fork(*each) for each in zip(judged.forks, judged.evidence, strict=True)],
    )
