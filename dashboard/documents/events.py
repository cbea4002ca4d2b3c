"""What became of events of decision traces that a program sent."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from dashboard.documents import Count


class RefusedLine(msgspec.Struct, frozen=True):
    """A line that was left out, and why."""

    line: Annotated[int, Meta(ge=1)]
    reason: str


class Taken(msgspec.Struct, frozen=True):
    """Which lines are kept now, and whose they are.

    Attributes
    ----------
    accepted, unchanged, refused : int
        Lines that are new or changed something; that were there already; that were left out. Lines of
        other types are none of these.
    refusals : list of RefusedLine
        The first of those that were left out.
    runs : list of str
        Ids of the runs that the lines belong to.
    """

    accepted: Count
    unchanged: Count
    refused: Count
    refusals: list[RefusedLine]
    runs: list[str]
