"""A comparison in plain sentences: what the command, the API and the page say."""

from __future__ import annotations

from collections.abc import Sequence

from engine.decisions.diff import Diagnosis, Diff, Mismatch

NAMES = {
    Diagnosis.MENU: "Menu changed",
    Diagnosis.SCORING: "Scoring changed",
    Diagnosis.POLICY: "Policy differs",
    Diagnosis.ENDED: "One run stopped",
    Diagnosis.LATENT: "Same choices, other menus or ranks",
    Diagnosis.ARGUMENTS: "Same choices, other arguments",
    Diagnosis.IDENTICAL: "Identical",
    Diagnosis.UNRECORDED: "Steps differ",
}
"""A diagnosis in two or three words."""

_LISTED = 5


def headline(diff: Diff) -> str:
    """What was found, in one sentence that names the place.

    >>> from engine.decisions.diff import compare_steps
    >>> headline(compare_steps(["tool:read", "tool:edit"], ["tool:read"]))
    'A goes on with tool:edit at step 2, where B has ended.'
    """
    unit = "decision" if diff.by == "decisions" else "step"
    if diff.fork is None:
        return _equal(diff)
    at = f"at {unit} {diff.fork + 1}"
    if diff.diagnosis is Diagnosis.ENDED:
        on, ended = ("A", "B") if diff.took_b is None else ("B", "A")
        return f"{on} goes on with {diff.took_a or diff.took_b} {at}, where {ended} has ended."
    verb = "chose" if diff.by == "decisions" else "took"
    split = f"{at[:1].upper()}{at[1:]} A {verb} {diff.took_a} and B {verb} {diff.took_b}"
    return f"{split}{_because(diff)}."


def _because(diff: Diff) -> str:
    match diff.diagnosis:
        case Diagnosis.MENU:
            sides = [
                f"{_listed(tools)} offered only to {side}"
                for side, tools in (("A", diff.only_a), ("B", diff.only_b))
                if tools
            ]
            return f": {', '.join(sides)}"
        case Diagnosis.SCORING:
            ranked = ["the same tools ranked in another order"] if diff.ranks_differ else []
            return f": {', '.join([*ranked, *_ties(diff)])}"
        case Diagnosis.POLICY:
            return ": same menu, same ranks, no tie, so the rule that picks differs"
        case _:
            return "; which options there were is not recorded"


def _ties(diff: Diff) -> list[str]:
    sides = (("A", diff.low_a, diff.margin_a), ("B", diff.low_b, diff.margin_b))
    return [f"{side} won by {margin:.2g}, close to a tie" for side, low, margin in sides if low]


def _equal(diff: Diff) -> str:
    if diff.by == "steps":
        return f"The same {_counted(len(diff.rows), 'step')} in the same order."
    same = f"The same {_counted(len(diff.rows), 'choice')} in the same order"
    if diff.diagnosis is Diagnosis.LATENT:
        return f"{same}, but menus or ranks differ at {_counted(len(diff.changes), 'decision')}."
    if diff.mismatch is not None:
        return f"{same}, out of the same menus and ranks; {_mismatch(diff.mismatch)}."
    return f"{same}, out of the same menus and ranks, with the same calls and arguments."


def _mismatch(found: Mismatch) -> str:
    where = "of the calls without a decision" if found.a is None else f"under decision {found.a + 1}"
    return f"the first call that differs is call {found.call + 1} {where}"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{rest}"
