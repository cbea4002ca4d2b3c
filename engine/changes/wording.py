"""Changes in sentences: what, then the counts of both sides, then how sure that is."""

from __future__ import annotations

from engine.changes import AFTER, BEFORE, Changes, Moment, Split
from engine.changes.ranking import Change, Findings, Kind, Parting, pair
from engine.forks import compared
from engine.narrowing import PICKED_BY_OUTCOME, asks_how_runs_ended
from engine.siblings import ALPHA, MIN_SUPPORT
from engine.statistics import proportion
from engine.stratified import Stratified


def sides(split: Split) -> tuple[str, str]:
    """The two sides as a sentence names them.

    >>> from engine.changes import Versions
    >>> sides(Moment(0)), sides(Versions("v1", "v2"))
    (('before', 'since then'), ('with v1', 'with v2'))
    """
    if isinstance(split, Moment):
        return "before", "since then"
    return f"with {split.before}", f"with {split.after}"


_TELLS: dict[Kind, str] = {
    "new": "New: {here}, runs now {take}",
    "vanished": "Gone: {here}, runs no longer {take}",
    "more": "{here}, more runs {take}",
    "fewer": "{here}, fewer runs {take}",
    "better": "Runs that {took} {here} succeed more often",
    "worse": "Runs that {took} {here} succeed less often",
}


def explain(change: Change, split: Split) -> str:
    """A change in one sentence: what, then the counts of both sides, then how sure that is."""
    steps = change.path if change.ended else change.path[:-1]
    here = f"after {steps[-1]}" if steps else "at the start"
    what = "" if change.ended else f" {change.path[-1]}"
    take, took = ("end", "ended") if change.ended else (f"take{what}", f"took{what}")
    text = _TELLS[change.kind].format(here=here, take=take, took=took)
    before, after = (_of(some, every) for some, every in zip(change.some, change.every, strict=True))
    was, now = sides(split)
    doubt = "" if change.holds else " It may be chance: among all that was tested, q is not below 0.05."
    return (
        f"{text[0].upper()}{text[1:]}: {after} {now}, {before} {was}; "
        f"Fisher p {compared(change.p)}, q {compared(change.q)}.{doubt}"
    )


def _of(some: int, every: int) -> str:
    rate = proportion(some, every)
    return f"{some} of {every}" + ("" if rate is None else f" ({rate:.1%})")


def headline(found: Changes) -> str:
    """How the base rate changed, in a sentence, or why nothing can be said."""
    counts = [_of(*each) for each in zip(pair(found.successes[:, 0]), pair(found.support[:, 0]), strict=True)]
    was, now = sides(found.split)
    told = f"{counts[AFTER]} runs succeeded {now}, {counts[BEFORE]} {was}"
    support = pair(found.support[:, 0])
    if not min(support):
        nobody = " or ".join(side for side, runs in zip((was, now), support, strict=True) if not runs)
        return f"Among these runs none completed {nobody}: there is nothing to compare."
    if min(support) < MIN_SUPPORT:
        return f"{told}: too few to compare, it takes {MIN_SUPPORT} completed runs on each side."
    moved = f"{_signed(found.changed[0])} points"
    sure = "more than chance" if found.p < ALPHA else "no more than chance may do"
    return f"{told}: {moved}, {sure} (Fisher p {compared(found.p)})."


def caveats(found: Changes) -> list[str]:
    """What a reader must know of the runs that are compared."""
    met = found.behaviour.totals.bounds_met
    said = [PICKED_BY_OUTCOME] if asks_how_runs_ended(found.behaviour.cohort.where) else []
    if "runs" in met:
        said.append("More runs completed than are read: only the latest are compared.")
    if "nodes" in met:
        said.append(f"Only the {len(found.behaviour):,} nodes with most runs are kept; others are dropped.")
    return said


def points(part: float) -> str:
    """A part of the base rate's change, in points.

    >>> points(0.344), points(-0.03), points(-0.0)
    ('+34.4 points', '−3.0 points', '0.0 points')
    """
    return f"{_signed(part)} points"


def _signed(part: float) -> str:
    rounded = round(100 * part, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def parting(found: Parting) -> str:
    """What changed at a fork, in points of the base rate.

    >>> parting(Parting(1, "", (), (40, 38), (20, 33), 0.35, 0.006, 0.344))
    '+35.0 points: +0.6 because runs go other ways from here, +34.4 because the same ways end otherwise'
    """
    whole, shifted, changed = map(_signed, (found.whole, found.shifted, found.changed))
    return (
        f"{whole} points: {shifted} because runs go other ways from here, {changed} because the same ways "
        "end otherwise"
    )


def summary(found: Changes, changes: tuple[Change, ...]) -> str:
    """How much was tested and how much of it changed, in a sentence."""
    shares, rates = counted(found.shifts_tested, "share"), counted(found.successes_tested, "success rate")
    tested = f"{shares} of runs and {rates} were tested"
    if not found.shifts_tested + found.successes_tested:
        return f"No way could be tested: it takes {MIN_SUPPORT} completed runs of each side at one fork."
    held = sum(each.holds for each in changes)
    if not changes:
        return f"No way changed significantly: {tested}."
    return f"{tested}; {held} changed (q < {ALPHA}), and {len(changes) - held} more may be chance."


def whole_within_tickets(found: Findings) -> str:
    """Whether the base rate changed among runs of the same tickets, in a sentence."""
    changes = found.changes
    return told_within_tickets(found.tickets, bool(changes.changed[0] > 0) if changes.p < ALPHA else None)


def told_within_tickets(found: Stratified | None, grew: bool | None = True) -> str:
    """Whether a change holds among runs of the same tickets, in a sentence.

    Parameters
    ----------
    found : Stratified or None
        What :func:`within_tickets` says.
    grew : bool or None
        Whether there was more of it after, all runs taken together; None if these show no change.

    Examples
    --------
    >>> told_within_tickets(None)
    'The runs name no ticket, so whether other work came in is not known.'
    """
    if found is None:
        return "The runs name no ticket, so whether other work came in is not known."
    if not found.shared:
        return "Within tickets it cannot be told: the two sides share none."
    counts = f"{counted(found.runs, 'run')} of {counted(found.strata, 'ticket')}"
    if found.least >= ALPHA:
        return f"Within tickets it cannot be told: {counts} are too few to show anything."
    if found.p >= ALPHA:
        return f"Not shown within tickets: {counts} could have shown it (exact p {compared(found.p)})."
    holds = "Holds" if (found.difference > 0) == grew else "The other way round"
    holds = "Changed" if grew is None else holds
    return (
        f"{holds} within tickets: {points(found.difference)}, 95% interval {_signed(found.low)} to "
        f"{_signed(found.high)}, by {counts} (exact p {compared(found.p)})."
    )


def counted(count: int, noun: str) -> str:
    """A count and its noun.

    >>> counted(1, "run"), counted(36, "run")
    ('1 run', '36 runs')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
