"""From spans to a run: its steps in order, its agent, ticket, version and outcome."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Literal, NamedTuple

import msgspec

from engine.spans import Span

SECOND_NS = 1_000_000_000
LIVE_NS = 15 * 60 * SECOND_NS
"""An undeclared run whose last activity is younger than this is still live."""
DEFAULT_WINDOW_NS = 30 * 24 * 3600 * SECOND_NS
"""The default window: the last 30 days."""

View = Literal["all", "tools"]


class Outcome(IntEnum):
    """How a run ended. Success rate = successes over the first three."""

    SUCCESS = 0
    FAILURE = 1
    ABANDONED = 2
    UNKNOWN = 3


class Source(IntEnum):
    """Where an outcome comes from."""

    DECLARED = 0
    RULE = 1
    INFERRED = 2


class Window(NamedTuple):
    """Which runs, by the start of their first span: ``[start_ns, end_ns)``.

    ``Window()`` is the default window, a symbol that means the last 30 days whenever it
    is asked; ``Window(0, None)`` is everything.
    """

    start_ns: int | None = None
    end_ns: int | None = None

    def bounds(self, now_ns: int) -> tuple[int, int]:
        """The window as two timestamps at the given moment."""
        if self == Window():
            return now_ns - DEFAULT_WINDOW_NS, 2**63 - 1
        return self.start_ns or 0, 2**63 - 1 if self.end_ns is None else self.end_ns


ALL_TIME = Window(0, None)


class Cohort(NamedTuple):
    """Runs of one agent in one tenant inside a window, seen in one view."""

    tenant: str
    agent: str
    window: Window = Window()
    view: View = "all"


class Declaration(msgspec.Struct, frozen=True):
    """An outcome that somebody declared for a run."""

    run_id: str
    outcome: Outcome
    time_ns: int
    by: str = ""


class Step(msgspec.Struct, frozen=True, array_like=True):
    """A model, tool or agent call of a run."""

    signature: str
    start_ns: int
    end_ns: int | None
    trace_id: str
    span_id: str
    error: bool
    input_tokens: int | None
    output_tokens: int | None


class Run(msgspec.Struct, frozen=True):
    """One job of one agent.

    Attributes
    ----------
    outcome : Outcome
        As it stands once the run is over (declared, by rule or inferred); whether the run
        is still live at a moment is :func:`is_live`.
    start_ns, last_ns : int
        Start of the first span; latest start or end of any span.
    """

    run_id: str
    agent: str
    version: str | None
    ticket: str | None
    start_ns: int
    last_ns: int
    outcome: Outcome
    source: Source
    steps: tuple[Step, ...]
    trace_ids: tuple[str, ...]


def is_live(source: Source, last_ns: int, now_ns: int) -> bool:
    """Whether a run is still going: undeclared, with activity in the last 15 minutes.

    Activity dated more than 15 minutes into the future does not keep a run alive.

    >>> is_live(Source.INFERRED, 100, 100), is_live(Source.DECLARED, 100, 100)
    (True, False)
    """
    return source != Source.DECLARED and -LIVE_NS <= now_ns - last_ns < LIVE_NS


def run_key(spans: Iterable[Span]) -> str:
    """Id of the run a trace belongs to."""
    raise NotImplementedError


def assemble(run_id: str, spans: Iterable[Span], declared: Iterable[Declaration] = ()) -> Run:
    """Read the spans of one run into a run."""
    raise NotImplementedError
