"""The fatal forks and hotspots of a map."""

from __future__ import annotations

import msgspec

from dashboard.documents import Count, Rate, drawn, texts
from engine import forks
from engine.maps import BehaviourMap


class Examples(msgspec.Struct, frozen=True):
    """A run that took the branch and did not succeed, and one that took another and did."""

    failure: str | None
    success: str | None


class Fork(msgspec.Struct, frozen=True):
    """A branch whose runs end significantly worse than its siblings', and the runs it cost."""

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
    runs_lost: float
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


def findings(map: BehaviourMap) -> Forks:
    """The fatal forks and hotspots of a map, for programs."""
    found = [fork(each) for each in forks.forks(map)]
    return Forks(map.tested, map.impossible, found, [_hotspot(spot) for spot in forks.hotspots(map)])


def fork(found: forks.Fork) -> Fork:
    """A fatal fork for programs."""
    return drawn(Fork, found, path=texts(found.path), examples=Examples(found.failure, found.success))


def _hotspot(spot: forks.Hotspot) -> Hotspot:
    options = [Option(str(token), support) for token, support in spot.options]
    return drawn(Hotspot, spot, path=texts(spot.path), options=options)
