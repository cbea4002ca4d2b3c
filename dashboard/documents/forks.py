"""The fatal forks, golden forks and hotspots of a map."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from dashboard.documents import Count, Rate, drawn, texts
from engine import chance, forks
from engine.grounds import count_confirmed
from engine.maps import BehaviourMap
from engine.strata import Evidence, Label, evidence, held
from engine.stratified import Stratified

B = TypeVar("B", bound="Branch")
Difference: TypeAlias = Annotated[float, Meta(ge=-1, le=1)]


class Examples(msgspec.Struct, frozen=True):
    """A run that did not succeed and one that did: one took the branch, the other another."""

    failure: str | None
    success: str | None


class Comparison(msgspec.Struct, frozen=True):
    """A branch compared with its siblings within strata: exact test, Mantel-Haenszel difference of the rates.

    ``shared`` strata have both sides, ``strata`` both outcomes, too: with so many ``runs``, ``support`` of
    these on the branch. Without a shared one there is no difference. "cannot tell": too few to show any.
    """

    held: Literal["holds", "not shown", "cannot tell"]
    p: Rate
    difference: Difference | None
    low: Difference | None
    high: Difference | None
    strata: Count
    runs: Count
    support: Count
    shared: Count


class Within(msgspec.Struct, frozen=True):
    """The same comparison within tickets, within versions of the agent, and within both.

    Null where no run names a ticket, and where there are not two versions.
    """

    tickets: Comparison | None
    versions: Comparison | None
    both: Comparison | None


class Branch(msgspec.Struct, frozen=True):
    """A branch compared with its siblings; ``label`` says how far the difference is shown."""

    key: str
    path: list[str]
    support: Count
    successes: Count
    rate: Rate
    low: Rate
    high: Rate
    sibling_support: Count
    sibling_successes: Count
    sibling_rate: Rate
    p: Rate
    q: Rate
    label: Label
    within: Within


class Fork(Branch, frozen=True):
    """A branch whose runs end significantly worse than its siblings', and the runs it cost."""

    runs_lost: float
    examples: Examples


class Golden(Branch, frozen=True):
    """A branch whose runs end significantly better than its siblings', and the runs it gained."""

    runs_gained: float
    examples: Examples


class Option(msgspec.Struct, frozen=True):
    """What so many runs took next."""

    token: str
    support: Count


class Hotspot(msgspec.Struct, frozen=True):
    """A node after which runs scatter."""

    key: str
    path: list[str]
    visits: Count
    entropy_bits: float
    options: list[Option]


class Chance(msgspec.Struct, frozen=True):
    """Fatal forks that shuffled outcomes make, on average; ``as_many`` made all that were ``found`` or more.

    Outcomes change places only within tickets, and within versions, where it says so; those of ``moved`` runs
    can become others: where none can, this says nothing.
    """

    shuffles: Count
    forks: float
    found: Count
    as_many: Count
    moved: Count
    within_tickets: bool
    within_versions: bool


class Forks(msgspec.Struct, frozen=True):
    """What was found, among how many; ``impossible`` had siblings with under 25 %.

    ``confirmed`` counts fatal forks; ``chance`` is null until it has been counted.
    """

    tested: Count
    impossible: Count
    confirmed: Count
    chance: Chance | None
    forks: list[Fork]
    hotspots: list[Hotspot]
    golden: list[Golden]


def findings(map: BehaviourMap, expected: chance.Chance | None = None) -> Forks:
    """The fatal forks, golden forks and hotspots of a map, for programs, and what chance makes of it."""
    shown = evidence(map)
    found = [fork(each, shown[each.node]) for each in forks.forks(map)]
    spots = [_hotspot(spot) for spot in forks.hotspots(map)]
    golden = [_branch(Golden, each, shown[each.node]) for each in forks.golden_forks(map)]
    confirmed = count_confirmed(shown)
    return Forks(map.tested, map.impossible, confirmed, by_chance(expected), found, spots, golden)


def findings_and_chance(map: BehaviourMap) -> Forks:
    """As :func:`findings`; how many forks chance alone would make is counted at once."""
    return findings(map, chance.chance(map))


def by_chance(expected: chance.Chance | None) -> Chance | None:
    """What chance makes of a map, for programs."""
    return expected and drawn(Chance, expected)


def fork(found: forks.Fork, shown: Evidence) -> Fork:
    """A fatal fork for programs."""
    return _branch(Fork, found, shown)


def _branch(document: type[B], found: forks.Fork, shown: Evidence) -> B:
    pair = Examples(found.failure, found.success)
    how = {"label": shown.label, "within": within(shown)}
    return drawn(document, found, path=texts(found.path), examples=pair, **how)


def within(shown: Evidence) -> Within:
    """The comparisons within strata, for programs."""
    return Within(*(_comparison(each, shown.worse) for each in shown.strata))


def _comparison(found: Stratified | None, worse: bool) -> Comparison | None:
    if found is None:
        return None
    untold = {} if found.shared else dict.fromkeys(("difference", "low", "high"))
    return drawn(Comparison, found, held=held(found, worse).value, **untold)


def _hotspot(spot: forks.Hotspot) -> Hotspot:
    options = [Option(str(token), support) for token, support in spot.options]
    return drawn(Hotspot, spot, path=texts(spot.path), options=options)
