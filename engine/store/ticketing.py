"""Tickets and their runs: what there is to compare."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from engine.paths import identifier
from engine.runs import ALL_TIME
from engine.store import RunRow, TicketRow
from engine.store.fitting import plain
from engine.store.keys import tenant_number
from engine.store.packing import unpack_span
from engine.store.reading import row
from engine.store.scope import IS_LIVE, scope

READ = 20_000
"""Runs with a ticket that are looked through: the latest to arrive."""
CHOSEN = "decision.chosen"
"""What the name of the attribute ends in by which a decision says what it chose, in every convention."""

_TICKETS = f"""
SELECT ticket, json_group_array(DISTINCT name),
       sum(ended = 0), sum(ended = 1), sum(ended = 2), sum(ended = 3), max(start_ns) AS last_ns
FROM (SELECT ticket, a.name, start_ns, CASE WHEN {IS_LIVE} THEN 3 ELSE outcome END AS ended
      FROM runs JOIN agents a ON a.no = agent WHERE runs.no IN (
          SELECT no FROM runs INDEXED BY runs_by_ticket WHERE tenant = :tenant AND ticket IS NOT NULL
            AND (:text = '' OR instr(lower(ticket), lower(:text))) ORDER BY no DESC LIMIT :read))
GROUP BY ticket
ORDER BY sum(ended = 0) > 0 AND sum(ended IN (1, 2)) > 0 DESC, last_ns DESC, ticket LIMIT :limit"""

_OF_TICKET = f"""
SELECT a.name, run_id, version, ticket, start_ns, last_ns, outcome, source, {IS_LIVE}, step_count, r.no
FROM runs r JOIN agents a ON a.no = r.agent WHERE r.tenant = :tenant AND ticket = :ticket
ORDER BY start_ns DESC, r.no DESC LIMIT :limit"""

_DECIDING = """
SELECT r.run_id, t.trace_id, s.span_id, s.body FROM runs r JOIN traces t ON t.run = r.no
JOIN spans s ON s.trace = t.no
WHERE r.tenant = :tenant AND r.run_id IN (SELECT value FROM json_each(:run_ids)) AND instr(s.body, :key)"""


def tickets(db: sqlite3.Connection, tenant: str, now_ns: int, text: str, limit: int) -> list[TicketRow]:
    """Tickets whose name holds a text; those that have a success and another ending come first."""
    asked = {
        "tenant": tenant_number(db, tenant),
        "text": plain(text.strip()),
        "read": READ,
        "limit": limit,
        **scope(ALL_TIME, now_ns),
    }
    found = db.execute(_TICKETS, asked)
    return [
        TicketRow(ticket, tuple(sorted(json.loads(agents))), *counts) for ticket, agents, *counts in found
    ]


def runs_of_ticket(db: sqlite3.Connection, tenant: str, ticket: str, now_ns: int, limit: int) -> list[RunRow]:
    """The runs of a ticket, of whichever agent, newest first."""
    asked = {
        "tenant": tenant_number(db, tenant),
        "ticket": identifier(plain(ticket)),
        "limit": limit,
        **scope(ALL_TIME, now_ns),
    }
    return [row(*found) for found in db.execute(_OF_TICKET, asked)]


def deciding(db: sqlite3.Connection, tenant: str, run_ids: Iterable[str]) -> set[str]:
    """Those of these runs that recorded a decision; spans that do not hold the word are not unpacked."""
    asked = {
        "tenant": tenant_number(db, tenant),
        "run_ids": json.dumps([identifier(plain(each)) for each in run_ids]),
        "key": CHOSEN.encode(),
    }
    found = set[str]()
    for run_id, *span in db.execute(_DECIDING, asked):
        if run_id not in found and any(key.endswith(CHOSEN) for key in unpack_span(*span).attributes):
            found.add(run_id)
    return found
