"""The four questions of an incident, answered from one trace: yes, no, or incomplete."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from engine.decisions.menus import is_low
from engine.decisions.trace import Choice, Finding, Kind, Trace


class Answers(msgspec.Struct, frozen=True):
    """What a trace answers; None where it does not hold the answer.

    Attributes
    ----------
    cited : bool or None
        Every call cites a decision of its own.
    ran_as_chosen : bool or None
        The first call under every decision is of the tool that was chosen.
    margin_too_small : bool or None
        A pick was on top and close to a tie.
    same_fork : bool or None
        The other run went another way at a point that both reached.
    uncited : tuple of str
        Span ids of the calls that cite none.
    mismatched, low : tuple of int
        Places of the decisions that another tool was run for, and that were close to a tie.
    """

    cited: bool | None = None
    ran_as_chosen: bool | None = None
    margin_too_small: bool | None = None
    same_fork: bool | None = None
    uncited: tuple[str, ...] = ()
    mismatched: tuple[int, ...] = ()
    low: tuple[int, ...] = ()


def unread(trace: Trace) -> list[Finding]:
    """What tells that events of it could not be read."""
    return [finding for finding in trace.findings if finding.kind in (Kind.BAD_JSON, Kind.BAD_RECORD)]


def answer(trace: Trace, same_fork: bool | None, low_margin: float) -> Answers:
    """Answer the four questions; where nothing speaks against a run, only a whole trace speaks for it.

    Parameters
    ----------
    same_fork : bool or None
        What the comparison with the other run says.
    low_margin : float
        A margin under it, and not under 0, is too small.
    """
    whole = bool(trace.choices) and not unread(trace)
    uncited = [*trace.loose, *(call for choice in trace.choices for call in choice.calls[1:])]
    mismatched = _places(trace, lambda choice: bool(choice.calls) and choice.calls[0].tool != choice.chosen)
    low = _places(trace, lambda choice: is_low(choice.lead, low_margin))
    have_calls = whole and all(choice.calls for choice in trace.choices)
    have_margins = whole and all(
        choice.lead is not None or len(choice.options) == 1 for choice in trace.choices
    )
    return Answers(
        cited=not uncited if whole else None,
        ran_as_chosen=False if mismatched else (have_calls or None),
        margin_too_small=True if low else (False if have_margins else None),
        same_fork=same_fork,
        uncited=tuple(call.span_id for call in uncited),
        mismatched=mismatched,
        low=low,
    )


def _places(trace: Trace, of: Callable[[Choice], bool]) -> tuple[int, ...]:
    return tuple(place for place, choice in enumerate(trace.choices) if of(choice))
