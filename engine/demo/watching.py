"""The demo's policies, in shadow, and what they would have done: its ledger.

Each run of the last days is asked about after every step, by the map of all that began before: the
ledger holds what a check would have said then, and how the runs ended after all.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.fuses import Firing, Policy, ask, written
from engine.live import so_far
from engine.queries import load_map
from engine.retention import DAY_NS
from engine.runs import Cohort, Run, Window
from engine.store import Store
from engine.walk import Index

POLICIES = (
    Policy(name="doubtful", min_success_odds=0.8, action="warn", mode="shadow"),
    Policy(name="hopeless", min_success_odds=0.5, action="stop", mode="shadow"),
)
WATCHED_NS = 5 * DAY_NS
"""How long before the corpus's moment fuses began to watch."""


def watch(store: Store, tenant: str, agent: str, now_ns: int) -> None:
    """Write the ledger of an agent's latest runs."""
    since_ns = now_ns - WATCHED_NS
    index = Index(load_map(store, Cohort(tenant, agent, Window(0, since_ns)), since_ns))
    rows = store.runs(Cohort(tenant, agent, Window(since_ns, now_ns)), now_ns)
    runs = [store.run(tenant, row.run_id) for row in reversed(rows)]
    store.add_firings(tenant, [firing for run in runs for firing in _firings(index, run)])


def _firings(index: Index, run: Run) -> Iterator[Firing]:
    """What fired in a run: of each policy the first time."""
    told = set[str]()
    for taken in range(1, len(run.steps) + 1):
        steps = run.steps[:taken]
        live = so_far(run.run_id, run.agent, (step.signature for step in steps))
        for fired in ask(index, live, POLICIES).fired:
            if fired.policy.name not in told:
                told.add(fired.policy.name)
                yield written(fired, live, steps[-1].start_ns)
