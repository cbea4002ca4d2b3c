"""Decisions and findings beside the steps of their run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from engine.decisions.trace import Choice, Finding, Trace


class Beside(NamedTuple):
    """What a decision trace says of each step of its run.

    Attributes
    ----------
    choices : mapping of str to Choice
        By the span id of a step: the decision that it carries out.
    findings : mapping of str to list of Finding
        By the span id of a step: what is wrong with it, with what it hangs from, or with its result.
    others : list of Finding
        What is wrong with decisions that no step followed from.
    """

    choices: Mapping[str, Choice]
    findings: Mapping[str, list[Finding]]
    others: list[Finding]


def beside(trace: Trace, steps: Sequence[str], parents: Mapping[str, str | None]) -> Beside:
    """Put a trace beside the steps of its run.

    Parameters
    ----------
    steps : sequence of str
        Span ids of the steps, in order.
    parents : mapping of str to str or None
        What each span of the run hangs from.

    Examples
    --------
    >>> from engine.decisions.trace import Kind
    >>> wrong = [Finding(place, Kind.BAD_JSON, "", span_id) for place, span_id in enumerate("dx", 1)]
    >>> found = beside(Trace("r", (), (), tuple(wrong)), ["c"], {"c": "d", "d": None, "x": None})
    >>> {step: [each.span_id for each in its] for step, its in found.findings.items()}
    {'c': ['d']}
    >>> [each.span_id for each in found.others]
    ['x']
    """
    of_step = _steps_of(steps, parents)
    own = set(steps)
    carried_out = {choice.calls[0].span_id: choice for choice in trace.choices if choice.calls}
    findings: dict[str, list[Finding]] = {}
    others: list[Finding] = []
    for finding in trace.findings:
        above = parents.get(finding.span_id)
        step = of_step.get(finding.span_id) or (above if above in own else None)
        (others if step is None else findings.setdefault(step, [])).append(finding)
    return Beside(carried_out, findings, others)


def _steps_of(steps: Iterable[str], parents: Mapping[str, str | None]) -> dict[str, str]:
    """The step of each span that is one, or that one hangs from: the first with no step between."""
    found = {step: step for step in steps}
    for step in list(found):
        above = parents.get(step)
        while above is not None and above not in found:
            found[above] = step
            above = parents.get(above)
    return found
