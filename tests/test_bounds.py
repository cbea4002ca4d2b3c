"""What bounds a map, from the settings to the map."""

from __future__ import annotations

import time

from dashboard.app import Settings, _service
from dashboard.metrics import Metrics
from engine.builder import Ready, Request, load
from engine.maps import BehaviourMap
from engine.queries import Bounds
from engine.runs import Cohort
from tests.memory_cache import DictCache
from tests.memory_store import NOW_NS, MemoryStore, corpus

COHORT = Cohort("default", "support-agent")
ONE_NODE = Bounds(max_nodes=1)


def test_a_built_map_is_within_the_bounds() -> None:
    store = MemoryStore(corpus())
    built = [load(Request("map", COHORT), store, NOW_NS, bounds) for bounds in (Bounds(), ONE_NODE)]
    assert [isinstance(each, BehaviourMap) and len(each) for each in built] == [7, 1]


def test_the_dashboard_builds_within_its_bounds() -> None:
    service = _service(MemoryStore(corpus()), Settings(bounds=ONE_NODE), DictCache(), Metrics())
    deadline = time.monotonic() + 30
    while not isinstance(answer := service.maps.get(COHORT), Ready):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    service.maps.close()
    assert (len(answer.value), answer.value.totals.bounds_met) == (1, ("nodes",))
