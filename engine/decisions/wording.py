"""A comparison in plain sentences: what the command, the API and the page say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from engine.decisions.diff import Answers, Change, Diagnosis, Diff, Mismatch
from engine.decisions.schema import Option
from engine.decisions.trace import Choice, Finding, Kind

NAMES = {
    Diagnosis.MENU: "Menu changed",
    Diagnosis.SCORING: "Scoring differs",
    Diagnosis.POLICY: "Policy differs",
    Diagnosis.ENDED: "One run ended",
    Diagnosis.LATENT: "Same choices, other menus or ranks",
    Diagnosis.ARGUMENTS: "Same choices, other arguments",
    Diagnosis.IDENTICAL: "Identical",
    Diagnosis.UNRECORDED: "Forked, options not recorded",
}
"""A diagnosis in a few words."""

INCOMPLETE = "incomplete: cannot tell"

_UNREAD = "Part of a trace could not be read, so the runs may really differ elsewhere."

_LISTED = 5
"""Names that are listed before the rest are only counted."""

_LONG = 200
"""Characters that are shown of a name or an argument."""

_FIRST = {
    Diagnosis.MENU: "Look first at the prompt and the tool catalogue: what made the menus differ?",
    Diagnosis.SCORING: "Look first at how the planner scored these options.",
    Diagnosis.POLICY: "Look first at the rule that picks: it chose differently from the same menu.",
    Diagnosis.ENDED: "Look first at the last call of the run that ended, and at what came of it.",
    Diagnosis.ARGUMENTS: "Look first at the arguments of that call.",
    Diagnosis.IDENTICAL: "What differs is behind the calls: look at what the tools did and answered.",
    Diagnosis.UNRECORDED: "Look first at what came before; recorded options would tell the kind of fork.",
}

_FINDINGS = {
    Kind.BAD_JSON: "This is no JSON: {}.",
    Kind.BAD_RECORD: "A field cannot be read: {}.",
    Kind.CHOSEN_MISSING: "{} was chosen and is not among the options.",
    Kind.BAD_MARGIN: "The margin {} does not follow from the scores.",
    Kind.MISSING_DECISION: "{} was called without a decision of its own.",
    Kind.UNCONSUMED_DECISION: "No call carried out the decision {}.",
    Kind.DUPLICATE_SPAN: "The id {} was there before.",
    Kind.DUPLICATE_OPTION: "{} is among the options more than once.",
    Kind.LOW_MARGIN: "The pick was close to a tie: it won by {}.",
    Kind.NOT_TOP: "The policy picks the highest score, and this pick was not on top: margin {}.",
    Kind.TIME_REVERSED: "Its time is {}.",
    Kind.LONG_GOAL: "The goal is an essay of {}.",
}


class Answered(NamedTuple):
    """One of the four questions with the answer of each run."""

    question: str
    a: str
    b: str


def headline(diff: Diff) -> str:
    """What was found, in one sentence that names the place.

    >>> from engine.decisions.diff import compare_steps
    >>> headline(compare_steps(["tool:read", "tool:edit"], ["tool:read"]))
    'At step 2 A goes on with tool:edit, and B has ended.'
    """
    if diff.fork is None:
        return _equal(diff)
    at = f"At {_unit(diff)} {diff.fork + 1}"
    if diff.took_a is None or diff.took_b is None:
        on, ended = ("A", "B") if diff.took_b is None else ("B", "A")
        return f"{at} {on} goes on with {named(diff.took_a or diff.took_b or '')}, and {ended} has ended."
    verb = "chose" if diff.by == "decisions" else "took"
    return f"{at} A {verb} {named(diff.took_a)} and B {verb} {named(diff.took_b)}{_because(diff)}."


def look_first(diff: Diff) -> str:
    """What to look at first, and why; and whether lines that could not be read leave that open."""
    unread = diff.by == "decisions" and any(each.same_fork is None for each in diff.answers)
    return f"{_look_first(diff)} {_UNREAD}" if unread else _look_first(diff)


def change(found: Change) -> str:
    """What is different behind an equal choice.

    >>> change(Change(0, 2, True, True, ("read",), ()))
    'decision 1 of A and 3 of B: only A was offered read; the ranks differ'
    """
    place = f"decision {found.a + 1}" + (f" of A and {found.b + 1} of B" if found.a != found.b else "")
    parts = [*_offered(found.only_a, found.only_b), *(["the ranks differ"] if found.ranks else [])]
    return f"{place}: {'; '.join(parts)}"


def offered(option: Option | None) -> str:
    """The score of an option, as it was written.

    >>> offered(Option("read", 0.5)), offered(Option("read")), offered(None)
    ('0.5', 'offered', 'not offered')
    """
    if option is None:
        return "not offered"
    return "offered" if option.score is None else f"{option.score:.12g}"


def picked(side: str, choice: Choice) -> str:
    """Which rule picked, and how clearly."""
    margin = "without a margin" if choice.margin is None else f"with a margin of {choice.margin:.12g}"
    return f"{side} picked {choice.chosen} by {choice.policy or 'an unnamed policy'}, {margin}."


def argument(value: Any) -> str:
    """A part of a call's arguments as JSON, cut where it is long; "absent" where a side has none.

    >>> argument("date"), argument(UNSET)
    ('"date"', 'absent')
    """
    text = "absent" if value is UNSET else msgspec.json.encode(value).decode()
    return named(text)


def answers(diff: Diff) -> tuple[Answered, ...]:
    """The four questions of an incident with the answers of both runs."""
    a, b = diff.answers
    return (
        Answered("Does every call cite a decision?", _cited(a), _cited(b)),
        Answered("Did the chosen tool run?", _ran(a), _ran(b)),
        Answered("Was a margin too small to trust?", _low(a), _low(b)),
        Answered("Did the other run part from it?", _forked(a, diff), _forked(b, diff)),
    )


def finding(found: Finding) -> str:
    """A finding of the audit in a sentence.

    >>> finding(Finding(2, Kind.CHOICE_MISMATCH, "read->edit"))
    'read was chosen, and edit was called.'
    """
    if found.kind is Kind.CHOICE_MISMATCH:
        chosen, _, called = found.detail.partition("->")
        return f"{named(chosen)} was chosen, and {named(called)} was called."
    return _FINDINGS[found.kind].format(named(found.detail))


def named(name: str) -> str:
    """A name as it stands in a sentence: a long one is cut, an empty one is seen.

    >>> named("read"), named(""), len(named("x" * 5_000))
    ('read', '""', 201)
    """
    return (name or '""') if len(name) <= _LONG else f"{name[:_LONG]}…"


def _look_first(diff: Diff) -> str:
    if diff.diagnosis is Diagnosis.LATENT:
        return f"Look first at {change(diff.changes[0])}."
    if diff.by == "steps" and diff.fork is None:
        return "What the steps were called with is not compared without decisions."
    if diff.returned is not None:
        return f"Look first at what came of the calls under decision {diff.returned + 1}: it is not the same."
    said = _FIRST[diff.diagnosis]
    if diff.before:
        return f"{said} It may have begun before: {change(diff.before[0])}."
    if diff.fork is not None and diff.mismatch is not None and diff.mismatch.a != diff.fork:
        return f"{said} It may have begun before: {_mismatch(diff.mismatch)}."
    return said


def _because(diff: Diff) -> str:
    if diff.diagnosis is Diagnosis.MENU:
        return f": {'; '.join([*_offered(diff.only_a, diff.only_b), *_ties(diff)])}"
    if diff.diagnosis is Diagnosis.SCORING:
        ranks = ["the same tools stand in another order"] if diff.ranks_differ else []
        return f": {'; '.join([*ranks, *_ties(diff)])}"
    if diff.diagnosis is Diagnosis.POLICY:
        margins = (("A", diff.margin_a), ("B", diff.margin_b))
        unjudged = " and ".join(side for side, margin in margins if margin is None)
        clear = f"{unjudged} without a margin to judge by" if unjudged else "with the same ranks and no tie"
        return f" from the same menu, {clear}"
    return ""


def _offered(only_a: Sequence[str], only_b: Sequence[str]) -> list[str]:
    sides = (("A", only_a), ("B", only_b))
    return [f"only {side} was offered {_listed(tools)}" for side, tools in sides if tools]


def _ties(diff: Diff) -> list[str]:
    sides = (("A", diff.low_a, diff.margin_a), ("B", diff.low_b, diff.margin_b))
    return [f"{side} won by {margin:.2g}, close to a tie" for side, low, margin in sides if low]


def _equal(diff: Diff) -> str:
    unit = "choice" if diff.by == "decisions" else "step"
    places = len(diff.rows)
    same = f"The same {unit}" if places == 1 else f"The same {_counted(places, unit)} in the same order"
    if diff.by == "steps":
        return f"{same}."
    if diff.changes:
        return f"{same}, but menus or ranks differ at {_places(each.a for each in diff.changes)}."
    if diff.mismatch is not None:
        return f"{same}, from the same menus and ranks; {_mismatch(diff.mismatch)}."
    return f"{same}, from the same menus and ranks, with the same calls and arguments."


def _mismatch(found: Mismatch) -> str:
    tools = " and ".join(dict.fromkeys(named(tool) for tool in (found.tool_a, found.tool_b) if tool))
    where = "without a decision" if found.a is None else f"under decision {found.a + 1}"
    return f"the call of {tools} {where} is the first that differs"


def _cited(found: Answers) -> str:
    verb = "cites" if len(found.uncited) == 1 else "cite"
    return _said(found.cited, "yes", f"no: {_counted(len(found.uncited), 'call')} {verb} none")


def _ran(found: Answers) -> str:
    return _said(found.ran_as_chosen, "yes", f"no: not at {_places(found.mismatched)}")


def _low(found: Answers) -> str:
    return _said(found.margin_too_small, f"yes: at {_places(found.low)}", "no")


def _forked(found: Answers, diff: Diff) -> str:
    place = "" if diff.fork is None else f"yes: at {_unit(diff)} {diff.fork + 1}"
    return _said(found.same_fork, place, "no: nowhere")


def _said(told: bool | None, yes: str, no: str) -> str:
    return INCOMPLETE if told is None else yes if told else no


def _places(places: Iterable[int]) -> str:
    numbers = [str(place + 1) for place in places]
    return f"decision{'' if len(numbers) == 1 else 's'} {_listed(numbers)}"


def _unit(diff: Diff) -> str:
    return "decision" if diff.by == "decisions" else "step"


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(map(named, names[:_LISTED]))}{rest}"
