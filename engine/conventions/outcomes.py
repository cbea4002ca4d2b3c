"""Outcomes that spans declare, and the check that refuses what is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from engine.conventions.table import EVALUATION_EVENT, OUTCOME_KEY
from engine.conventions.values import number, text
from engine.spans import Span

OUTCOMES: Mapping[str, str] = {
    "success": "success",
    "succeeded": "success",
    "ok": "success",
    "failure": "failure",
    "failed": "failure",
    "error": "failure",
    "abandoned": "abandoned",
    "cancelled": "abandoned",
}
"""Outcomes and their synonyms."""
_LABELS = {"pass": "success", "passed": "success", "fail": "failure", "failed": "failure"}
_SHOWN_CHARACTERS = 60


class Evaluation(msgspec.Struct, frozen=True):
    """Which ``gen_ai.evaluation.result`` events are outcomes.

    Attributes
    ----------
    name : str or None
        ``gen_ai.evaluation.name`` of those that are; None for none of them.
    threshold : float or None
        Lowest score that is a success, for results whose label is neither pass nor fail.
    """

    name: str | None = None
    threshold: float | None = None


def declared(span: Span, evaluation: Evaluation) -> tuple[int, str] | None:
    """The latest outcome that a span declares, with its time in nanoseconds.

    Examples
    --------
    >>> declared(Span("t", "1", "chat", 5, 9, attributes={"session.outcome": "Failed"}), Evaluation())
    (9, 'failure')
    """
    if OUTCOME_KEY not in span.attributes and not span.events:
        return None
    return max(_declarations(span, evaluation), key=lambda found: found[0], default=None)


def _declarations(span: Span, evaluation: Evaluation) -> Iterator[tuple[int, str]]:
    end_ns = span.start_ns if span.end_ns is None else span.end_ns
    for event in reversed(span.events):
        outcome = _outcome(event.attributes.get(OUTCOME_KEY))
        if outcome is None and event.name == EVALUATION_EVENT and evaluation.name is not None:
            outcome = _evaluated(event.attributes, evaluation)
        if outcome is not None:
            yield end_ns if event.time_ns is None else event.time_ns, outcome
    if (outcome := _outcome(span.attributes.get(OUTCOME_KEY))) is not None:
        yield end_ns, outcome


def _outcome(value: Any) -> str | None:
    return OUTCOMES.get(value.strip().strip('"').lower()) if isinstance(value, str) else None


def _evaluated(attributes: Mapping[str, Any], evaluation: Evaluation) -> str | None:
    if text(attributes.get("gen_ai.evaluation.name")) != evaluation.name:
        return None
    label = _LABELS.get((text(attributes.get("gen_ai.evaluation.score.label")) or "").lower())
    score = number(attributes.get("gen_ai.evaluation.score.value"))
    if label is not None or score is None or evaluation.threshold is None:
        return label
    return "success" if score >= evaluation.threshold else "failure"


def check(span: Span) -> tuple[Span, tuple[str, ...]]:
    """Drop each ``session.outcome`` that is no outcome, from the span and from its events.

    Returns
    -------
    tuple of Span and tuple of str
        The span, the very same if nothing was wrong, and one sentence for each value dropped.

    Examples
    --------
    >>> span, reasons = check(Span("t", "1", "chat", 5, attributes={"session.outcome": "fine", "a": 1}))
    >>> span.attributes, reasons[0][:64]
    ({'a': 1}, "session.outcome 'fine' is left out: allowed are success, failure")
    """
    bad = _is_bad(span.attributes), tuple(_is_bad(event.attributes) for event in span.events)
    if not bad[0] and not any(bad[1]):
        return span, ()
    holders = [span.attributes, *(event.attributes for event in span.events)]
    reasons = tuple(_refusal(holder[OUTCOME_KEY]) for holder in holders if _is_bad(holder))
    events = tuple(
        msgspec.structs.replace(event, attributes=_without(event.attributes)) if wrong else event
        for event, wrong in zip(span.events, bad[1], strict=True)
    )
    attributes = _without(span.attributes) if bad[0] else span.attributes
    return msgspec.structs.replace(span, attributes=attributes, events=events), reasons


def _is_bad(attributes: Mapping[str, Any]) -> bool:
    return attributes.get(OUTCOME_KEY) is not None and _outcome(attributes[OUTCOME_KEY]) is None


def _without(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if key != OUTCOME_KEY}


def _refusal(value: Any) -> str:
    shown = value if isinstance(value, str) else repr(value)
    shown = shown if len(shown) <= _SHOWN_CHARACTERS else shown[:_SHOWN_CHARACTERS] + "…"
    others = ", ".join(name for name, outcome in OUTCOMES.items() if name != outcome)
    return f"{OUTCOME_KEY} {shown!r} is left out: allowed are success, failure, abandoned (or {others})"
