"""An agent's rules for outcomes, and what they would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from dashboard.documents import Count, OutcomeWord
from engine import rules, trials
from engine.errors import InputError
from engine.rules import ARROW, MAX_RULES

Told: TypeAlias = Literal["success", "failure", "abandoned"]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Runs that are as the expression says ended so, where nobody declared an outcome."""

    expression: str
    outcome: Told


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of an agent, in order: the first that matches counts."""

    rules: Annotated[list[Rule], Meta(max_length=MAX_RULES)]


class TriedRule(msgspec.Struct, frozen=True):
    """How many runs a rule is the first to match."""

    expression: str
    outcome: Told
    runs: Count


class Change(msgspec.Struct, frozen=True):
    """How many runs would end otherwise."""

    before: OutcomeWord
    after: OutcomeWord
    runs: Count


class Changed(msgspec.Struct, frozen=True):
    """A run that would."""

    run_id: str
    before: OutcomeWord
    after: OutcomeWord


class Trial(msgspec.Struct, frozen=True):
    """What rules would do to the runs that nobody declared an outcome of.

    Those that are ``live`` are asked once they are over; ``bounded`` if only the latest were tried.
    """

    runs: Count
    live: Count
    bounded: bool
    rules: list[TriedRule]
    changed: Count
    changes: list[Change]
    examples: list[Changed]


def listed(found: Sequence[rules.Rule]) -> list[Rule]:
    """Rules as they are written."""
    return [Rule(each.expression, _told(each)) for each in found]


def read(asked: Rules) -> tuple[rules.Rule, ...]:
    """The rules that a document means.

    Raises
    ------
    InputError
        What of one cannot be read.

    Examples
    --------
    >>> read(Rules([Rule("close_ticket $", "success")]))
    (Rule(expression='close_ticket $', outcome=<Outcome.SUCCESS: 0>),)
    >>> read(Rules([Rule("a", "success"), Rule("b >", "failure")]))
    Traceback (most recent call last):
    engine.errors.InputError: rules[1]: column 4: a step is missing.
    """
    return tuple(_read(place, each) for place, each in enumerate(asked.rules))


def _read(place: int, asked: Rule) -> rules.Rule:
    try:
        rule = rules.parse_rule(f"{asked.expression} {ARROW} {asked.outcome}")
        if rules.parse_rules(str(rule)) != (rule,):
            raise InputError("a rule is one line, and # begins none")
    except InputError as error:
        raise InputError(f"rules[{place}]: {error.reason}.") from None
    return rule


def trial(tried: Sequence[rules.Rule], found: trials.Trial) -> Trial:
    """What rules would do, for programs."""
    counted = zip(tried, found.matched, strict=True)
    return Trial(
        found.runs,
        found.live,
        found.bounded,
        [TriedRule(rule.expression, _told(rule), count) for rule, count in counted],
        found.changed,
        [Change(*_words(change), runs=count) for change, count in found.changes],
        [Changed(each.run_id, *_words(each.change)) for each in found.examples],
    )


def _told(rule: rules.Rule) -> Told:
    return rule.outcome.name.lower()  # type: ignore[return-value]


def _words(change: trials.Change) -> tuple[OutcomeWord, OutcomeWord]:
    return change.before.name.lower(), change.after.name.lower()  # type: ignore[return-value]
