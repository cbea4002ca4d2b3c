"""The demo corpus: 226 synthetic runs of three agents, with known outcomes.

Every run takes one of the ways that :mod:`engine.demo.agents` writes down, together with how
many runs of each succeed: so what the engine says about them can be checked to the digit.
Times, token counts and errors come from a seeded generator.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from engine.demo.agents import AGENTS, Agent
from engine.demo.watching import POLICIES, watch
from engine.demo.writing import Job, write
from engine.runs import SECOND_NS, Outcome
from engine.spans import Span
from engine.store import Store

NOW_NS = 1_792_324_800 * SECOND_NS
"""The corpus's clock, 2026-10-18T12:00:00Z: six runs are in flight at that moment."""

_SEED = 2026
_HOUR_NS = 3600 * SECOND_NS
_DAY_NS = 24 * _HOUR_NS


class Corpus(NamedTuple):
    """The demo's spans, and the moment at which they are looked at."""

    spans: tuple[Span, ...]
    now_ns: int


def corpus() -> Corpus:
    """The demo corpus: the same spans at every call.

    >>> spans, now_ns = corpus()
    >>> len(spans), len({span.trace_id for span in spans})
    (1342, 226)
    """
    random = Random(_SEED)
    jobs = [job for agent in AGENTS for job in (*_completed(agent, random), *_live(agent))]
    return Corpus(tuple(span for job in jobs for span in write(job, random)), NOW_NS)


def load(store: Store, tenant: str = "default") -> None:
    """Write the demo corpus into a store with the corpus's clock, and let fuses watch it in shadow."""
    spans, now_ns = corpus()
    store.append(tenant, spans)
    store.settle(tenant)
    store.set_clock(now_ns)
    store.set_policies(tenant, POLICIES)
    for agent in AGENTS:
        watch(store, tenant, agent.name, now_ns)


def _completed(agent: Agent, random: Random) -> Iterator[Job]:
    """Runs of the last 25 days: two of a ticket, and one in eight without a declared outcome."""
    ended = [(way.calls, outcome) for way in agent.ways for outcome in way.outcomes()]
    for serial, (calls, outcome) in enumerate(ended):
        start_ns = NOW_NS - random.randrange(_HOUR_NS, 25 * _DAY_NS)
        yield Job(
            agent=agent,
            run_id=f"{agent.prefix}-{serial:03d}",
            ticket=f"{agent.prefix}-ticket-{1 + serial % (len(ended) // 2)}",
            version=agent.versions[start_ns > NOW_NS - 10 * _DAY_NS],
            calls=calls,
            start_ns=start_ns,
            outcome=outcome,
            declared=serial % 8 != 7,
        )


def _live(agent: Agent) -> Iterator[Job]:
    """Runs that began within the last two minutes; the last call of each is still open."""
    for serial, (run_id, calls) in enumerate(agent.live):
        yield Job(
            agent=agent,
            run_id=run_id,
            ticket=f"{agent.prefix}-ticket-{901 + serial}",
            version=agent.versions[-1],
            calls=calls,
            start_ns=NOW_NS - (30 + 6 * len(calls)) * SECOND_NS,
            outcome=Outcome.UNKNOWN,
            declared=False,
        )
