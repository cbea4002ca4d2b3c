"""What changed between two sides of an agent's runs, way by way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from dashboard.documents import Count, Rate, Time, drawn, rfc3339, texts
from dashboard.documents.maps import Cohort, cohort
from engine import stratified
from engine.changes import AFTER, BEFORE, Changes, Moment, Split, ranking, wording
from engine.growing import Floats
from engine.statistics import proportion, wilson_one

Part: TypeAlias = Annotated[float, Meta(ge=-1, le=1, description="Part of the base rate's change")]
_TESTED = ("shift_p", "shift_q", "success_p", "success_q")
_NAMES: dict[int, Literal["branch", "ended", "dropped"]] = {0: "branch", 1: "ended", 2: "dropped"}
Kind: TypeAlias = Literal["new", "vanished", "more", "fewer", "better", "worse"]


class Parted(msgspec.Struct, frozen=True):
    """What parts the sides: a moment, or the versions ``old`` and ``new``; null is what does not."""

    since: Time | None
    old: str | None
    new: str | None


class Side(msgspec.Struct, frozen=True):
    """Completed runs of one side, how many succeeded, and Wilson's interval."""

    support: Count
    successes: Count
    rate: Rate | None
    low: Rate
    high: Rate


class Counted(msgspec.Struct, frozen=True):
    """So many of so many runs of one side."""

    some: Count
    every: Count


class Within(msgspec.Struct, frozen=True):
    """The same compared within tickets: an exact test and the Mantel-Haenszel difference, null where none.

    ``runs`` of ``strata`` tickets could have shown it; ``shared`` tickets are on both sides.
    """

    p: Rate
    difference: Annotated[float, Meta(ge=-1, le=1)] | None
    low: Annotated[float, Meta(ge=-1, le=1)] | None
    high: Annotated[float, Meta(ge=-1, le=1)] | None
    strata: Count
    runs: Count
    shared: Count


class Change(msgspec.Struct, frozen=True):
    """A way that is taken, or ends, otherwise: runs that took it of those that came there, or succeeded.

    ``ended`` says that the way is to end after the path; ``holds`` that q is below 0.05.
    """

    kind: Kind
    key: str
    path: list[str]
    ended: bool
    before: Counted
    after: Counted
    p: Rate
    q: Rate
    holds: bool
    points: Part
    tickets: Within | None
    sentence: str


class Fork(msgspec.Struct, frozen=True):
    """A fork that both sides came to: what changed there, by shifted traffic and by changed success."""

    key: str
    path: list[str]
    before: Counted
    after: Counted
    whole: Part
    shifted: Part
    changed: Part


class Taken(msgspec.Struct, frozen=True):
    """A way from a node: a ``branch``, its path's last step, or runs that ``ended`` or were ``dropped``.

    Shares are of the runs that came to where it leaves; p and q are null where nothing was tested.
    """

    key: str
    path: list[str]
    way: Literal["branch", "ended", "dropped"]
    before: Side
    after: Side
    share_before: Rate | None
    share_after: Rate | None
    shift_p: Rate | None
    shift_q: Rate | None
    success_p: Rate | None
    success_q: Rate | None
    shifted: Part
    changed: Part


class Compared(msgspec.Struct, frozen=True):
    """Two sides on one tree; ways in the tree's order, first the branches.

    ``bounds_met`` says what could not be held all of: of either side only the latest ``runs`` are read.
    """

    cohort: Cohort
    parted: Parted
    before: Side
    after: Side
    changed: Part
    p: Rate
    tickets: Within | None
    sentence: str
    bounds_met: list[str]
    shifts_tested: Count
    successes_tested: Count
    changes: list[Change]
    forks: list[Fork]
    ways: list[Taken]


def compared(found: ranking.Findings) -> Compared:
    """What changed, for programs."""
    changes = found.changes
    return Compared(
        cohort=cohort(changes.behaviour.cohort, changes.behaviour.now_ns),
        parted=_parted(changes.split),
        before=_side(changes, BEFORE),
        after=_side(changes, AFTER),
        changed=float(changes.changed[0]),
        p=changes.p,
        tickets=_within(found.tickets),
        sentence=wording.headline(changes),
        bounds_met=list(changes.behaviour.totals.bounds_met),
        shifts_tested=changes.shifts_tested,
        successes_tested=changes.successes_tested,
        changes=[_change(each, changes.split) for each in found.ranked],
        forks=[_fork(each) for each in found.partings],
        ways=_ways(changes),
    )


def _parted(split: Split) -> Parted:
    if isinstance(split, Moment):
        return Parted(rfc3339(split.at_ns), None, None)
    return Parted(None, split.before, split.after)


def _side(found: Changes, side: int) -> Side:
    support, successes = int(found.support[side, 0]), int(found.successes[side, 0])
    return Side(support, successes, proportion(successes, support), *wilson_one(successes, support))


def _within(found: stratified.Stratified | None) -> Within | None:
    if found is None:
        return None
    known = {name: getattr(found, name) for name in ("difference", "low", "high")}
    return drawn(Within, found, **{name: value if value == value else None for name, value in known.items()})


def _change(each: ranking.Change, split: Split) -> Change:
    before, after = (Counted(*pair) for pair in zip(each.some, each.every, strict=True))
    said = wording.explain(each, split)
    parts = {"before": before, "after": after, "tickets": _within(each.tickets), "sentence": said}
    return drawn(Change, each, path=texts(each.path), **parts)


def _fork(each: ranking.Parting) -> Fork:
    before, after = (Counted(*pair) for pair in zip(each.successes, each.support, strict=True))
    return drawn(Fork, each, path=texts(each.path), before=before, after=after)


def _ways(found: Changes) -> list[Taken]:
    """Every way but the root, which is the whole."""
    behaviour = found.behaviour
    paths = [texts(behaviour.path(node)) for node in range(len(behaviour))]
    before, after = ([*_sides(found, side)] for side in (BEFORE, AFTER))
    shares_before, shares_after = (_shares(found, side) for side in (BEFORE, AFTER))
    tested = [_known(getattr(found, name)) for name in _TESTED]
    parts = found.shifted.tolist(), found.changed.tolist()
    keys = (behaviour.key_text(node) for node in found.node.tolist())
    where = zip(
        keys,
        (paths[node] for node in found.node.tolist()),
        (_NAMES[kind] for kind in found.kind.tolist()),
        strict=True,
    )
    rows = zip(where, before, after, shares_before, shares_after, *tested, *parts, strict=True)
    return [Taken(*place, *row) for place, *row in islice(rows, 1, None)]


def _sides(found: Changes, side: int) -> Iterator[Side]:
    support, successes = found.support[side].tolist(), found.successes[side].tolist()
    rates = map(proportion, successes, support)
    return map(Side, support, successes, rates, found.low[side].tolist(), found.high[side].tolist())


def _shares(found: Changes, side: int) -> list[float | None]:
    """Of the runs that came to where each way leaves; the root leaves nowhere."""
    counts = found.support[side]
    return [*map(proportion, counts.tolist(), counts[found.parent].tolist())]


def _known(values: Floats) -> list[float | None]:
    return [value if value == value else None for value in values.tolist()]
