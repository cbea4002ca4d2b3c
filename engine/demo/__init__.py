"""The demo corpus: 226 synthetic runs of three agents with known outcomes, and 23 of a fourth in pairs.

Every run of the three takes one of the ways that :mod:`engine.demo.agents` writes down, together with
how many runs of each succeed: so what the engine says about them can be checked to the digit. Times,
token counts and errors come from a seeded generator. The fourth agent's runs tell of their decisions:
two of each ticket of :mod:`engine.demo.tickets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from engine.demo.agents import AGENTS, Agent
from engine.demo.recorded import spans_of
from engine.demo.tickets import TICKETS, Told
from engine.demo.watching import POLICIES, watch
from engine.demo.writing import Job, write
from engine.runs import SECOND_NS, Declaration, Outcome
from engine.spans import Span
from engine.store import Store

NOW_NS = 1_792_324_800 * SECOND_NS
"""The corpus's clock, 2026-10-18T12:00:00Z: six runs are in flight at that moment."""

PAIR = ("repo-menu-1", "repo-menu-3")
"""Two of its runs that worked on one ticket and chose differently."""

_SEED = 2026
_HOUR_NS = 3600 * SECOND_NS
_DAY_NS = 24 * _HOUR_NS


class Corpus(NamedTuple):
    """The demo's spans, outcomes told beside them, and the moment at which they are looked at."""

    spans: tuple[Span, ...]
    declarations: tuple[Declaration, ...]
    now_ns: int


def corpus() -> Corpus:
    """The demo corpus: the same at every call.

    >>> spans, declarations, now_ns = corpus()
    >>> len({span.trace_id for span in spans}), len(declarations)
    (249, 23)
    """
    random = Random(_SEED)
    jobs = [job for agent in AGENTS for job in (*_completed(agent, random), *_live(agent))]
    spans = [span for job in jobs for span in write(job, random)]
    declarations = []
    for ticket, run_id, start_ns, told in _in_pairs():
        spans += spans_of(run_id, ticket, told, start_ns)
        ended_ns = start_ns + _HOUR_NS
        declarations.append(Declaration(run_id, told.outcome, ended_ns, "ticket system"))
    return Corpus(tuple(spans), tuple(declarations), NOW_NS)


def load(store: Store, tenant: str = "default") -> None:
    """Write the demo corpus into a store with the corpus's clock, and let fuses watch it in shadow."""
    spans, declarations, now_ns = corpus()
    store.append(tenant, spans)
    store.declare(tenant, declarations)
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


def _in_pairs() -> Iterator[tuple[str, str, int, Told]]:
    """Ticket, id, start and course of the repo-agent's runs: a ticket a day, the second run hours later."""
    for days, ticket in enumerate(TICKETS, 1):
        for attempt, told in enumerate(ticket.runs, 1):
            start_ns = NOW_NS - days * _DAY_NS + attempt * 5 * _HOUR_NS
            yield ticket.name, f"{ticket.name}-{attempt}", start_ns, told


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
