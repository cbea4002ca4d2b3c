"""The fatal forks, golden forks and hotspots of a map."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from dashboard.documents import Count, Rate, drawn, texts
from engine import forks
from engine.maps import BehaviourMap

B = TypeVar("B", bound="Branch")


class Examples(msgspec.Struct, frozen=True):
    """A run that did not succeed and one that did: one took the branch, the other another."""

    failure: str | None
    success: str | None


class Branch(msgspec.Struct, frozen=True):
    """A branch compared with its siblings."""

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


class Forks(msgspec.Struct, frozen=True):
    """What was found, among how many; ``impossible`` had siblings with under 25 %."""

    tested: Count
    impossible: Count
    forks: list[Fork]
    hotspots: list[Hotspot]
    golden: list[Golden]


def findings(map: BehaviourMap) -> Forks:
    """The fatal forks, golden forks and hotspots of a map, for programs."""
    found = [fork(each) for each in forks.forks(map)]
    spots = [_hotspot(spot) for spot in forks.hotspots(map)]
    golden = [_branch(Golden, each) for each in forks.golden_forks(map)]
    return Forks(map.tested, map.impossible, found, spots, golden)


def fork(found: forks.Fork) -> Fork:
    """A fatal fork for programs."""
    return _branch(Fork, found)


def _branch(document: type[B], found: forks.Fork) -> B:
    return drawn(document, found, path=texts(found.path), examples=Examples(found.failure, found.success))


def _hotspot(spot: forks.Hotspot) -> Hotspot:
    options = [Option(str(token), support) for token, support in spot.options]
    return drawn(Hotspot, spot, path=texts(spot.path), options=options)
