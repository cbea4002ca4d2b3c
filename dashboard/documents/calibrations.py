"""What a map's predictions have been worth."""

from __future__ import annotations

import msgspec

from dashboard.documents import Count, Rate, drawn
from engine import calibration


class DepthSkill(msgspec.Struct, frozen=True):
    """Scores of the predictions made after so many steps."""

    steps: Count
    predicted: Count
    brier: Rate | None
    baseline_brier: Rate | None
    skill: float | None


class Reliability(msgspec.Struct, frozen=True):
    """One bin: predictions in [low, high), the last one closed, and what came of them."""

    low: Rate
    high: Rate
    predicted_mean: Rate | None
    observed: Rate | None
    support: Count
    wilson_low: Rate
    wilson_high: Rate


class Worth(msgspec.Struct, frozen=True):
    """Scores of the back-off estimate, by which runs in flight are ordered, for the same predictions."""

    brier: Rate | None
    skill: float | None
    told_apart: Rate | None


class Calibration(msgspec.Struct, frozen=True):
    """Scores of all predictions together; skill is null where the baseline is 0.

    ``told_apart``: of a run that succeeded and one that did not, each after as many steps, how often the
    first had the better odds.
    """

    predicted: Count
    brier: Rate | None
    baseline_brier: Rate | None
    skill: float | None
    depths: list[DepthSkill]
    reliability: list[Reliability]
    told_apart: Rate | None
    backoff: Worth


def scores(found: calibration.Calibration) -> Calibration:
    """A calibration for programs."""
    return drawn(
        Calibration,
        found,
        depths=[drawn(DepthSkill, each) for each in found.depths],
        reliability=[drawn(Reliability, each) for each in found.reliability],
        backoff=drawn(Worth, found.backoff),
    )
