"""What became of what was asked to be forgotten."""

from __future__ import annotations

from typing import Literal

import msgspec

from dashboard.documents import Count, Time, drawn, rfc3339
from engine.store import Receipt


class Erasure(msgspec.Struct, frozen=True):
    """The receipt of an erasure: what was asked for without whose it was, and how much went.

    The digest is of what was asked for, keyed by the store's secret. Once it is done, all that was
    acknowledged before it was asked is gone.
    """

    erasure_id: str
    state: Literal["pending", "done"]
    what: str
    digest: str
    asked_by: str
    asked: Time
    done: Time | None
    runs: Count
    traces: Count
    spans: Count
    outcomes: Count
    firings: Count


class Erasures(msgspec.Struct, frozen=True):
    """A page of erasures, the latest first; ``next`` is what ``after`` takes for the page that follows."""

    erasures: list[Erasure]
    next: str | None


def erasure(receipt: Receipt) -> Erasure:
    """A receipt as it is written."""
    done_ns = receipt.done_ns
    return drawn(
        Erasure,
        receipt,
        state="pending" if done_ns is None else "done",
        asked=rfc3339(receipt.asked_ns),
        done=None if done_ns is None else rfc3339(done_ns),
    )
