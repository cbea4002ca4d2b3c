"""Two traces of one ticket, compared choice by choice: where they fork, and which kind of bug that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Literal, TypeVar

import msgspec

from engine.decisions.aligning import Row, align, common_prefix
from engine.decisions.arguments import ArgumentLine, Mismatch, first_mismatch
from engine.decisions.incident import Answers, answer, is_broken
from engine.decisions.menus import LOW_MARGIN, is_low, only_in, ranks_differ
from engine.decisions.trace import Choice, Trace

__all__ = [
    "Answers",
    "ArgumentLine",
    "Change",
    "Diagnosis",
    "Diff",
    "Mismatch",
    "Row",
    "compare",
    "compare_steps",
]


T = TypeVar("T")


class Diagnosis(StrEnum):
    """What makes two traces differ first."""

    MENU = "menu"
    SCORING = "scoring"
    POLICY = "policy"
    ENDED = "ended"
    LATENT = "latent"
    ARGUMENTS = "arguments"
    IDENTICAL = "identical"
    UNRECORDED = "unrecorded"


class Change(msgspec.Struct, frozen=True):
    """The same choice in both traces, out of menus or ranks that differ.

    Attributes
    ----------
    a, b : int
        Its place in each trace.
    menu, ranks : bool
        What differs: the tools offered; the order of those that both have a score for.
    only_a, only_b : tuple of str
        Tools offered in one trace only.
    """

    a: int
    b: int
    menu: bool
    ranks: bool
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """How two traces compare.

    Attributes
    ----------
    by : "decisions" or "steps"
        What the places of ``fork`` and ``rows`` count.
    fork : int or None
        The first place behind the common prefix; None where the sequences are equal.
    took_a, took_b : str or None
        What was chosen there (or the step that was taken); None where the trace has ended, or no fork is.
    margin_a, margin_b : float or None
        The margins there.
    low_a, low_b : bool
        Whether they are close to a tie.
    only_a, only_b : tuple of str
        Tools offered there in one trace only.
    ranks_differ : bool
        Whether the tools that both have a score for there stand in another order.
    rows : tuple of Row
        Both sequences side by side, every place once, in order.
    changes : tuple of Change
        Same choices out of menus or ranks that differ, in order: those before the fork may be its cause.
    mismatch : Mismatch or None
        The first call that differs, up to the fork.
    answers : tuple of Answers
        The four questions of an incident, for A and for B.
    low_margin : float
        The threshold that was used.
    """

    by: Literal["decisions", "steps"]
    diagnosis: Diagnosis
    fork: int | None
    rows: tuple[Row, ...]
    took_a: str | None = None
    took_b: str | None = None
    margin_a: float | None = None
    margin_b: float | None = None
    low_a: bool = False
    low_b: bool = False
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    ranks_differ: bool = False
    changes: tuple[Change, ...] = ()
    mismatch: Mismatch | None = None
    answers: tuple[Answers, Answers]
    low_margin: float = LOW_MARGIN

    @property
    def before(self) -> tuple[Change, ...]:
        """The changes before the fork: one of them may be its cause."""
        return tuple(each for each in self.changes if self.fork is not None and each.a < self.fork)


def compare(a: Trace, b: Trace, low_margin: float = LOW_MARGIN) -> Diff:
    """Compare two traces by their decisions.

    Parameters
    ----------
    low_margin : float
        A chosen score that leads by less is close to a tie.

    Examples
    --------
    >>> compare(Trace("a", ()), Trace("b", ())).diagnosis
    <Diagnosis.IDENTICAL: 'identical'>
    """
    chosen_a, chosen_b = [each.chosen for each in a.choices], [each.chosen for each in b.choices]
    rows = align(chosen_a, chosen_b)
    fork = _fork(chosen_a, chosen_b)
    at_a, at_b = _at(a.choices, fork), _at(b.choices, fork)
    changes = tuple(_changes(a, b, rows))
    mismatch = _mismatch(a, b, fork)
    forked = None if is_broken(a) or is_broken(b) else fork is not None
    took_a, margin_a, low_a = _taken(at_a, low_margin)
    took_b, margin_b, low_b = _taken(at_b, low_margin)
    return Diff(
        by="decisions",
        diagnosis=_diagnose(at_a, at_b, low_a or low_b)
        if fork is not None
        else _diagnose_equal(changes, mismatch),
        fork=fork,
        rows=rows,
        took_a=took_a,
        took_b=took_b,
        margin_a=margin_a,
        margin_b=margin_b,
        low_a=low_a,
        low_b=low_b,
        only_a=only_in(at_a.options, at_b.options) if at_a and at_b else (),
        only_b=only_in(at_b.options, at_a.options) if at_a and at_b else (),
        ranks_differ=at_a is not None and at_b is not None and ranks_differ(at_a.options, at_b.options),
        changes=changes,
        mismatch=mismatch,
        answers=(answer(a, forked, low_margin), answer(b, forked, low_margin)),
        low_margin=low_margin,
    )


def compare_steps(a: Sequence[str], b: Sequence[str]) -> Diff:
    """Compare two runs by the signatures of their steps, where no decisions tell what was offered.

    Examples
    --------
    >>> found = compare_steps(["tool:read", "tool:edit"], ["tool:read", "tool:test"])
    >>> found.diagnosis, found.fork, found.took_a, found.took_b
    (<Diagnosis.UNRECORDED: 'unrecorded'>, 1, 'tool:edit', 'tool:test')
    """
    fork = _fork(a, b)
    took_a, took_b = _at(a, fork), _at(b, fork)
    forked = None if not (a and b) else fork is not None
    return Diff(
        by="steps",
        diagnosis=_diagnose_steps(fork, took_a, took_b),
        fork=fork,
        rows=align(a, b),
        took_a=took_a,
        took_b=took_b,
        answers=(Answers(same_fork=forked), Answers(same_fork=forked)),
    )


def _fork(a: Sequence[str], b: Sequence[str]) -> int | None:
    place = common_prefix(a, b)
    return None if place == len(a) == len(b) else place


def _at(items: Sequence[T], place: int | None) -> T | None:
    return items[place] if place is not None and place < len(items) else None


def _taken(choice: Choice | None, low_margin: float) -> tuple[str | None, float | None, bool]:
    """What was chosen, by which margin, and whether that is close to a tie."""
    if choice is None:
        return None, None, False
    return choice.chosen, choice.margin, is_low(choice.lead, low_margin)


def _changes(a: Trace, b: Trace, rows: Sequence[Row]) -> Iterator[Change]:
    for row in rows:
        if row.mark != "=" or row.a is None or row.b is None:
            continue
        ours, theirs = a.choices[row.a].options, b.choices[row.b].options
        only_a, only_b, ranks = only_in(ours, theirs), only_in(theirs, ours), ranks_differ(ours, theirs)
        if only_a or only_b or ranks:
            yield Change(row.a, row.b, bool(only_a or only_b), ranks, only_a, only_b)


def _mismatch(a: Trace, b: Trace, fork: int | None) -> Mismatch | None:
    """The first call that differs, up to the fork; past it calls differ for that reason."""
    end = None if fork is None else fork + 1
    for place, (ours, theirs) in enumerate(zip(a.choices[:end], b.choices[:end], strict=False)):
        if found := first_mismatch(place, ours.calls, place, theirs.calls):
            return found
    return first_mismatch(None, a.loose, None, b.loose) if fork is None else None


def _diagnose(a: Choice | None, b: Choice | None, low: bool) -> Diagnosis:
    """What a fork is due to."""
    if a is None or b is None:
        return Diagnosis.ENDED
    if not (a.options and b.options):
        return Diagnosis.UNRECORDED
    if only_in(a.options, b.options) or only_in(b.options, a.options):
        return Diagnosis.MENU
    return Diagnosis.SCORING if low or ranks_differ(a.options, b.options) else Diagnosis.POLICY


def _diagnose_equal(changes: Sequence[Change], mismatch: Mismatch | None) -> Diagnosis:
    """What is behind equal choices."""
    if changes:
        return Diagnosis.LATENT
    return Diagnosis.ARGUMENTS if mismatch else Diagnosis.IDENTICAL


def _diagnose_steps(fork: int | None, a: str | None, b: str | None) -> Diagnosis:
    if fork is None:
        return Diagnosis.IDENTICAL
    return Diagnosis.ENDED if a is None or b is None else Diagnosis.UNRECORDED
