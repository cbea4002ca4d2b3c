"""Rules for outcomes: which runs of an agent succeeded or failed where nobody said so.

A rule is a sequence expression and the outcome of the runs that are as it says; of several
that match, the first counts. As text they stand a line each::

    # a comment
    error(charge_card) -> failure
    close_ticket $     -> success
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from engine.conventions import OUTCOMES
from engine.errors import InputError
from engine.runs import Outcome, Run, Source
from engine.sequences import fields_of, matches, parse

MAX_RULES = 100
"""Rules of one agent at most."""
ARROW = "->"
"""Parts the expression from the outcome."""


class Rule(msgspec.Struct, frozen=True):
    """Runs that are as the expression says ended so.

    >>> str(Rule("close_ticket $", Outcome.SUCCESS))
    'close_ticket $ -> success'
    """

    expression: str
    outcome: Outcome

    def __str__(self) -> str:
        return f"{self.expression} {ARROW} {self.outcome.name.lower()}"


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Read rules, one a line; empty lines and those that begin with ``#`` are passed over.

    Raises
    ------
    InputError
        One sentence for each line that is wrong, with its number.

    Examples
    --------
    >>> parse_rules("close_ticket $ -> Succeeded")
    (Rule(expression='close_ticket $', outcome=<Outcome.SUCCESS: 0>),)
    >>> parse_rules("a -> success\\na > -> failure")
    Traceback (most recent call last):
    engine.errors.InputError: line 2, column 4: a step is missing
    """
    rules, complaints = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            rules.append(parse_rule(line))
        except InputError as error:
            link = ", " if error.reason.startswith("column") else ": "
            complaints.append(f"line {number}{link}{error.reason}")
    if len(rules) > MAX_RULES:
        complaints.append(f"an agent has at most {MAX_RULES} rules, these are {len(rules)}")
    if complaints:
        raise InputError("\n".join(complaints))
    return tuple(rules)


def parse_rule(line: str) -> Rule:
    """Read one rule.

    Raises
    ------
    InputError
        What of it cannot be read, or that it asks for the very outcome it is to tell.
    """
    expression, arrow, word = line.rpartition(ARROW)
    if not arrow:
        raise InputError(f"{ARROW} and an outcome are missing, for example: close_ticket $ {ARROW} success")
    outcome = OUTCOMES.get(word.strip().lower())
    if outcome is None:
        raise InputError(f"{word.strip()!r} is no outcome: allowed are {', '.join(OUTCOMES)}")
    expression = expression.rstrip()
    if "outcome" in fields_of(parse(expression)):
        raise InputError("a rule tells the outcome, so it cannot ask for outcome:")
    return Rule(expression.strip(), Outcome[outcome.upper()])


def rules_text(rules: Iterable[Rule]) -> str:
    """Rules as text, to be read by :func:`parse_rules` again.

    >>> rules_text([Rule("a", Outcome.SUCCESS), Rule("b", Outcome.FAILURE)])
    'a -> success\\nb -> failure\\n'
    """
    return "".join(f"{rule}\n" for rule in rules)


def first_match(rules: Sequence[Rule], run: Run) -> int | None:
    """Which of the rules is the first that a run is as it says; None if there is none."""
    return next((place for place, is_so in enumerate(answers(rules, run)) if is_so), None)


def answers(rules: Iterable[Rule], run: Run) -> Iterator[bool]:
    """Whether a run is what each rule says."""
    fields = {"ticket": run.ticket, "version": run.version}
    return (matches(parse(rule.expression), run.steps, fields) for rule in rules)


def ruled(run: Run, rules: Sequence[Rule]) -> Run:
    """The run with its outcome as the rules have it, unless somebody declared one.

    Examples
    --------
    >>> run = Run("r", "bot", None, "t-1", 0, 9, Outcome.SUCCESS, Source.INFERRED, (), ("t",))
    >>> found = ruled(run, [Rule("ticket:t-*", Outcome.FAILURE)])
    >>> found.outcome, found.source, found.said_by
    (<Outcome.FAILURE: 1>, <Source.RULE: 1>, 'ticket:t-* -> failure')
    """
    if run.source is Source.DECLARED or not rules:
        return run
    place = first_match(rules, run)
    if place is None:
        return run
    rule = rules[place]
    return msgspec.structs.replace(run, outcome=rule.outcome, source=Source.RULE, said_by=str(rule))
