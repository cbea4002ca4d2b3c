"""A behaviour map: its cohort, totals and nodes in pre-order."""

from __future__ import annotations

from typing import Literal

import msgspec

from dashboard import urls
from dashboard.documents import Count, Rate, drawn
from dashboard.documents.agents import Counts, base_rate
from engine.maps import BehaviourMap
from engine.runs import Cohort as Asked


class Cohort(msgspec.Struct, frozen=True):
    """Whose runs: the window as times, null where it is open, and the expression they are as."""

    tenant: str
    agent: str
    start: str | None = msgspec.field(name="from")
    to: str | None
    steps: Literal["all", "tools"]
    where: str | None


class Totals(Counts, frozen=True):
    """What a map was built from; ``bounds_met`` says what it could not hold all of."""

    no_steps: Count
    cut_paths: Count
    bounds_met: list[str]


class Node(msgspec.Struct, frozen=True):
    """Where runs stood after a path, and how they ended; ``low`` and ``high`` are Wilson's."""

    key: str
    path: list[str]
    depth: Count
    support: Count
    successes: Count
    abandoned: Count
    ended: Count
    low: Rate
    high: Rate
    fork: bool
    entropy_bits: float
    hotspot: bool
    golden: bool


class Map(msgspec.Struct, frozen=True):
    """A behaviour map; ``tested`` children were compared with their siblings."""

    cohort: Cohort
    totals: Totals
    nodes: list[Node]
    tested: Count


def behaviour(map: BehaviourMap) -> Map:
    """A behaviour map for programs."""
    totals = drawn(Totals, map.totals, **base_rate(map.totals), bounds_met=list(map.totals.bounds_met))
    return Map(cohort(map.cohort, map.now_ns), totals, _nodes(map), map.tested)


def cohort(asked: Asked, now_ns: int) -> Cohort:
    """A cohort as it is at a moment."""
    start_ns, _ = asked.window.bounds(now_ns)
    end_ns = asked.window.end_ns
    return Cohort(
        tenant=asked.tenant,
        agent=asked.agent,
        start=urls.write_time(start_ns) if start_ns else None,
        to=None if end_ns is None else urls.write_time(end_ns),
        steps=asked.view,
        where=asked.where or None,
    )


def _nodes(map: BehaviourMap) -> list[Node]:
    columns = [getattr(map, name).tolist() for name in Node.__struct_fields__[2:]]
    tokens = [str(token) for token in map.tokens]
    paths: list[list[str]] = []
    for parent, token in zip(map.parent.tolist(), map.token.tolist(), strict=True):
        paths.append([*paths[parent], tokens[token]] if parent >= 0 else [])
    keys = [map.key_text(node) for node in range(len(map))]
    return [Node(*row) for row in zip(keys, paths, *columns, strict=True)]
