"""What bounds a map, from the settings to the map."""

from __future__ import annotations

import time

from dashboard.app import Settings, create_app
from engine.builder import Request, load
from engine.maps import BehaviourMap
from engine.queries import Bounds
from engine.runs import Cohort
from tests.memory_store import NOW_NS, MemoryStore, corpus

COHORT = Cohort("default", "support-agent")
ONE_NODE = Bounds(max_nodes=1)


def test_a_built_map_is_within_the_bounds() -> None:
    store = MemoryStore(corpus())
    built = [load(Request("map", COHORT), store, NOW_NS, bounds) for bounds in (Bounds(), ONE_NODE)]
    assert [isinstance(each, BehaviourMap) and len(each) for each in built] == [7, 1]


def test_the_dashboard_builds_within_its_bounds() -> None:
    client = create_app(MemoryStore(corpus()), Settings(bounds=ONE_NODE)).server.test_client()
    until_s = time.monotonic() + 30
    while (answer := client.get("/api/v1/maps?agent=support-agent")).status_code == 202:
        assert time.monotonic() < until_s
        time.sleep(0.02)
    assert (len(answer.json["nodes"]), answer.json["totals"]["bounds_met"]) == (1, ["nodes"])
