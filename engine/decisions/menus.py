"""What one decision offered: its tools, their ranks by score, and whether the pick was nearly a tie."""

from __future__ import annotations

from collections.abc import Sequence

from engine.decisions.schema import Option

LOW_MARGIN = 0.05
"""A chosen score that leads by less is close to a tie."""

MARGIN_TOLERANCE = 1e-6
"""A margin further from that of the scores is wrong."""


def only_in(these: Sequence[Option], those: Sequence[Option]) -> tuple[str, ...]:
    """Tools that the first menu offers and the second does not, in the order of the first.

    >>> only_in((Option("read"), Option("edit")), (Option("edit"), Option("test")))
    ('read',)
    """
    others = {option.tool for option in those}
    return tuple(dict.fromkeys(option.tool for option in these if option.tool not in others))


def ranks_differ(these: Sequence[Option], those: Sequence[Option]) -> bool:
    """Whether the tools that have a score in both menus stand in another order; ties share a rank.

    >>> ranks_differ((Option("read", 0.8), Option("edit", 0.1)), (Option("edit", 2.0), Option("read", 9.0)))
    False
    >>> ranks_differ((Option("read", 0.8), Option("edit", 0.1)), (Option("read", 0.5), Option("edit", 0.5)))
    True
    >>> ranks_differ((Option("read", 0.8), Option("edit", 0.1)), (Option("edit"), Option("read")))
    False
    """
    ours, theirs = _scores(these), _scores(those)
    shared = ours.keys() & theirs.keys()
    return _ranks(ours, shared) != _ranks(theirs, shared)


def margin_of(options: Sequence[Option], chosen: str) -> float | None:
    """Chosen score minus the best other; None where one of the two is not there.

    >>> margin_of((Option("read", 0.75), Option("edit", 0.5)), "edit")
    -0.25
    """
    scores = _scores(options)
    others = [score for tool, score in scores.items() if tool != chosen]
    return scores[chosen] - max(others) if chosen in scores and others else None


def lead(told: float | None, options: Sequence[Option], chosen: str) -> float | None:
    """The margin a pick is judged by: the one that is told, if it follows from the scores, else theirs.

    None where none is told, nothing else was offered, or the scores do not hold one.

    >>> menu = (Option("read", 0.75), Option("edit", 0.5))
    >>> lead(0.25, menu, "read"), lead(0.9, menu, "read"), lead(None, menu, "read"), lead(0.25, (), "read")
    (0.25, 0.25, None, None)
    """
    margin = None if told is None else margin_of(options, chosen)
    if told is None or margin is None:
        return None
    return told if follows(told, margin) else margin


def follows(told: float, margin: float) -> bool:
    """Whether a margin is that of the scores, but for rounding."""
    return abs(told - margin) <= MARGIN_TOLERANCE


def is_low(margin: float | None, below: float = LOW_MARGIN) -> bool:
    """Whether a pick was on top and close to a tie; a negative margin is no tie but another policy.

    >>> is_low(0.02), is_low(-0.02), is_low(None)
    (True, False, False)
    """
    return margin is not None and 0 <= margin < below


def side_by_side(
    these: Sequence[Option], those: Sequence[Option]
) -> tuple[tuple[str, Option | None, Option | None], ...]:
    """Every tool of two menus once, in one order for both; None where it is not offered.

    >>> side_by_side((Option("read", 0.8),), (Option("edit", 0.5), Option("read", 0.4)))[1]
    ('edit', None, Option(tool='edit', score=0.5, reason=None))
    """
    ours, theirs = ({option.tool: option for option in options} for options in (these, those))
    return tuple((tool, ours.get(tool), theirs.get(tool)) for tool in dict.fromkeys([*ours, *theirs]))


def _scores(options: Sequence[Option]) -> dict[str, float]:
    return {option.tool: option.score for option in options if option.score is not None}


def _ranks(scores: dict[str, float], tools: set[str]) -> dict[str, int]:
    places = {score: place for place, score in enumerate(sorted({scores[tool] for tool in tools}))}
    return {tool: places[scores[tool]] for tool in tools}
