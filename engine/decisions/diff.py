"""Two traces of one ticket, compared choice by choice: where they fork, and which kind of bug that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from engine.decisions.aligning import Row, align, common_prefix
from engine.decisions.arguments import ArgumentLine, Mismatch, first_mismatch
from engine.decisions.incident import Answers, answer, unread
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
        The margins that the choices there are judged by; None where one cannot be.
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
    returned : int or None
        Where nothing else differs, the first decision whose calls ended otherwise or gave another amount.
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
    returned: int | None = None
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
    rows, fork = align(chosen_a, chosen_b), _fork(chosen_a, chosen_b)
    forked = None if unread(a) or unread(b) else fork is not None
    diff = Diff(
        by="decisions",
        diagnosis=Diagnosis.IDENTICAL,
        fork=fork,
        rows=rows,
        changes=tuple(_changes(a, b, rows)),
        mismatch=_mismatch(a, b, fork),
        answers=(answer(a, forked, low_margin), answer(b, forked, low_margin)),
        low_margin=low_margin,
    )
    if fork is None:
        return _unforked(diff, a, b)
    return _forked(diff, _at(a.choices, fork), _at(b.choices, fork))


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


def _unforked(diff: Diff, a: Trace, b: Trace) -> Diff:
    """What is behind equal choices."""
    if diff.changes:
        return replace(diff, diagnosis=Diagnosis.LATENT)
    if diff.mismatch:
        return replace(diff, diagnosis=Diagnosis.ARGUMENTS)
    return replace(diff, returned=_returned(a, b))


def _returned(a: Trace, b: Trace) -> int | None:
    for place, both in enumerate(zip(a.choices, b.choices, strict=True)):
        ours, theirs = ([(call.ok, call.size_bytes) for call in choice.calls] for choice in both)
        if ours != theirs:
            return place
    return None


def _forked(diff: Diff, a: Choice | None, b: Choice | None) -> Diff:
    """What was offered and chosen at the fork, and what that makes it."""
    if a is None or b is None:
        took_a, took_b = (each.chosen if each else None for each in (a, b))
        return replace(diff, diagnosis=Diagnosis.ENDED, took_a=took_a, took_b=took_b)
    found = replace(
        diff,
        took_a=a.chosen,
        took_b=b.chosen,
        margin_a=a.lead,
        margin_b=b.lead,
        low_a=is_low(a.lead, diff.low_margin),
        low_b=is_low(b.lead, diff.low_margin),
        only_a=only_in(a.options, b.options),
        only_b=only_in(b.options, a.options),
        ranks_differ=ranks_differ(a.options, b.options),
    )
    return replace(found, diagnosis=_diagnosis(found, recorded=bool(a.options and b.options)))


def _diagnosis(diff: Diff, recorded: bool) -> Diagnosis:
    if not recorded:
        return Diagnosis.UNRECORDED
    if diff.only_a or diff.only_b:
        return Diagnosis.MENU
    is_scoring = diff.ranks_differ or diff.low_a or diff.low_b
    return Diagnosis.SCORING if is_scoring else Diagnosis.POLICY


def _diagnose_steps(fork: int | None, a: str | None, b: str | None) -> Diagnosis:
    if fork is None:
        return Diagnosis.IDENTICAL
    return Diagnosis.ENDED if a is None or b is None else Diagnosis.UNRECORDED
