"""What somebody asks to be erased: a run, the runs of a ticket or of a user, or all that is old."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import msgspec


class ByRun(msgspec.Struct, frozen=True, tag="run"):
    """The run of an id, and every run that has a trace of it or names it as a session.

    >>> ByRun("chat-7").what
    'run'
    """

    run_id: str

    @property
    def what(self) -> str:
        """What is said of it once it is erased: nothing that tells whose it was."""
        return "run"

    @property
    def nothing(self) -> str:
        """How a sentence begins that says there is nothing of it."""
        return "No run, trace or session of this id"


class ByTicket(msgspec.Struct, frozen=True, tag="ticket"):
    """The runs of a ticket.

    >>> ByTicket("T-42").what
    'ticket'
    """

    ticket: str

    @property
    def what(self) -> str:
        """See :attr:`ByRun.what`."""
        return "ticket"

    @property
    def nothing(self) -> str:
        """See :attr:`ByRun.nothing`."""
        return "No run of this ticket"


class ByAttribute(msgspec.Struct, frozen=True, tag="attribute"):
    """The runs any span or resource of which has an attribute of this text, for example a user's id.

    >>> ByAttribute("user.id", "u-7").what
    'attribute user.id'
    """

    name: str
    value: str

    @property
    def what(self) -> str:
        """See :attr:`ByRun.what`."""
        return f"attribute {self.name}"

    @property
    def nothing(self) -> str:
        """See :attr:`ByRun.nothing`."""
        return f"No run with this value of the attribute {self.name}"


class Before(msgspec.Struct, frozen=True, tag="before"):
    """The runs whose last activity is before a moment, and outcomes as old of runs that were never seen.

    >>> Before(86_400_000_000_000).what
    'before 1970-01-02T00:00:00+00:00'
    """

    time_ns: int

    @property
    def what(self) -> str:
        """See :attr:`ByRun.what`."""
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.time_ns // 1000)
        return f"before {moment.isoformat()}"

    @property
    def nothing(self) -> str:
        """See :attr:`ByRun.nothing`."""
        return f"Nothing from {self.what}"


Selection: TypeAlias = ByRun | ByTicket | ByAttribute | Before
