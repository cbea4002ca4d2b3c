"""Tickets, and how the runs of each ended."""

from __future__ import annotations

import msgspec

from dashboard.documents import Count, Time, drawn, rfc3339
from engine.store import TicketRow


class Ticket(msgspec.Struct, frozen=True):
    """A ticket: who worked on it, how its runs ended, and when the latest of them began."""

    ticket: str
    agents: list[str]
    successes: Count
    failures: Count
    abandoned: Count
    live: Count
    latest: Time


class Tickets(msgspec.Struct, frozen=True):
    """Tickets: those with a success and another ending first, then the latest."""

    tickets: list[Ticket]


def ticket(row: TicketRow) -> Ticket:
    """A ticket for programs.

    >>> ticket(TicketRow("T-7", ("desk",), 1, 2, 0, 0, 0)).latest
    '1970-01-01T00:00:00Z'
    """
    return drawn(Ticket, row, agents=list(row.agents), latest=rfc3339(row.last_ns))
