"""From spans to a run: its steps in order, its agent, ticket, version and outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import partial
from hashlib import blake2b
from typing import ClassVar, Literal, NamedTuple

import msgspec

from engine.conventions import Evaluation, Kind, Reading, read, session
from engine.paths import identifier
from engine.placing import Placed, place
from engine.spans import Span, Status
from engine.steps import Step as Step
from engine.steps import steps

SECOND_NS = 1_000_000_000
LIVE_NS = 15 * 60 * SECOND_NS
"""An undeclared run whose last activity is younger than this is still live."""
DAY_NS = 24 * 3600 * SECOND_NS
DEFAULT_DAYS = 30
"""Days that the default window reaches back."""

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

    Without bounds it is a symbol that means the last ``days`` whenever it is asked, so it is the same
    from one question to the next: ``Window()`` is the default window, ``Window(days=1)`` the last 24
    hours. ``Window(0, None)`` is everything.

    >>> Window(days=1).bounds(2 * DAY_NS)[0] == DAY_NS, Window(5).bounds(2 * DAY_NS)[0]
    (True, 5)
    """

    start_ns: int | None = None
    end_ns: int | None = None
    days: int = DEFAULT_DAYS

    @property
    def is_symbol(self) -> bool:
        """Whether it is counted back from the moment of asking."""
        return self.start_ns is None and self.end_ns is None

    def bounds(self, now_ns: int) -> tuple[int, int]:
        """The window as two timestamps at the given moment."""
        if self.is_symbol:
            return now_ns - self.days * DAY_NS, 2**63 - 1
        return self.start_ns or 0, 2**63 - 1 if self.end_ns is None else self.end_ns


ALL_TIME = Window(0, None)


class Cohort(NamedTuple):
    """Runs of one agent in one tenant inside a window, seen in one view.

    A sequence expression may narrow it (``where``) to the runs that match, whatever the view; "" does not.
    """

    tenant: str
    agent: str
    window: Window = Window()
    view: View = "all"
    where: str = ""


class Declaration(msgspec.Struct, frozen=True):
    """An outcome that somebody declared for a run."""

    run_id: str
    outcome: Outcome
    time_ns: int
    by: str = ""


class Run(msgspec.Struct, frozen=True):
    """One job of one agent.

    Attributes
    ----------
    outcome : Outcome
        As it stands once the run is over (declared, by rule or inferred); whether the run
        is still live at a moment is :func:`is_live`.
    start_ns, last_ns : int
        Start of the first span; latest start or end of any span.
    said_by : str
        Who declared the outcome, or the rule it comes from; "" if it is inferred.
    inferred : Outcome
        What its spans' status alone makes of it, whoever says otherwise.
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
    said_by: str = ""
    inferred: Outcome = Outcome.UNKNOWN


def is_live(source: Source, last_ns: int, now_ns: int) -> bool:
    """Whether a run is still going: undeclared, with activity in the last 15 minutes.

    Activity dated more than 15 minutes into the future does not keep a run alive.

    >>> is_live(Source.INFERRED, 100, 100), is_live(Source.DECLARED, 100, 100)
    (True, False)
    """
    return source != Source.DECLARED and -LIVE_NS <= now_ns - last_ns < LIVE_NS


ITS_SPANS = "its spans"
"""Who declares an outcome that a run's own spans carry."""
UNKNOWN_AGENT = "unknown"
"""The agent of a run whose spans name none, and no service either."""
RunKey = Literal["session", "trace"]


class ReadingSettings(msgspec.Struct, frozen=True):
    """How spans are read into runs.

    Attributes
    ----------
    run_key : str
        What makes traces one run: their ``session``, or nothing, each ``trace`` being a run.
    evaluation : Evaluation
        Which evaluation results are outcomes; by default none.
    VERSION : int
        Counts up when this code makes other runs or paths of the same spans.
    """

    VERSION: ClassVar[int] = 4
    run_key: RunKey = "session"
    evaluation: Evaluation = Evaluation()

    def fingerprint(self, version: int = VERSION) -> int:
        """A number below 2**56 that is another one when the settings or the version are.

        >>> ReadingSettings().fingerprint() == ReadingSettings("session").fingerprint()
        True
        >>> ReadingSettings().fingerprint(1) == ReadingSettings().fingerprint(2)
        False
        """
        text = msgspec.json.encode((version, self))
        return int.from_bytes(blake2b(text, digest_size=7).digest())


READ_AS_IS = ReadingSettings()


def run_key(
    spans: Iterable[Span],
    by: RunKey = "session",
    named: Callable[[Span], tuple[int, str] | None] = session,
) -> str:
    """Id of the run that a trace belongs to.

    Parameters
    ----------
    spans : iterable of Span
        All known spans of one trace, at least one, in any order.
    by : str
        ``session``: the session or conversation that any of them names, else the trace.
        ``trace``: the trace, whatever they name.
    named : callable
        The session a span names, behind the precedence of its key.

    Examples
    --------
    >>> spans = [Span("t", "1", "a", 0), Span("t", "2", "b", 0, attributes={"session.id": "s"})]
    >>> run_key(spans), run_key(spans, by="trace")
    ('s', 't')
    """
    found = list(spans)
    if by == "session":
        names = [(*name, span) for span in found if (name := named(span)) is not None]
        if names:
            return min(names, key=lambda item: (item[0], item[2].start_ns, item[2].span_id, item[1]))[1]
    return identifier(found[0].trace_id)


def assemble(
    run_id: str,
    spans: Iterable[Span],
    declared: Iterable[Declaration] = (),
    evaluation: Evaluation = READ_AS_IS.evaluation,
    reading: Callable[[Span], Reading] | None = None,
) -> Run:
    """Read the spans of one run into a run.

    Parameters
    ----------
    run_id : str
    spans : iterable of Span
        Every known span of the run's traces, at least one, in any order.
    declared : iterable of Declaration
        Outcomes declared beside the spans; of those with equal times the last wins.
    evaluation : Evaluation
        Which evaluation results are outcomes; by default none.
    reading : callable, optional
        What each span means, for who has read them before.

    Raises
    ------
    ValueError
        If there is no span.

    Examples
    --------
    >>> call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    >>> run = assemble("r", [Span("t", "1", "execute_tool search", 5, 9, attributes=call)])
    >>> [step.signature for step in run.steps], run.outcome
    (['tool:search'], <Outcome.SUCCESS: 0>)
    """
    ordered = place(spans, reading or partial(read, evaluation=evaluation))
    if not ordered:
        raise ValueError(f"run {run_id!r} has no span")
    outermost = [found for found in ordered if _is_outermost_agent(found)]
    inferred = _inferred(ordered)
    last = _latest([*said(run_id, (found.reading for found in ordered)), *declared])
    return Run(
        run_id=run_id,
        agent=_agent(outermost, ordered),
        version=_version(outermost, ordered),
        ticket=_ticket(outermost, ordered),
        start_ns=ordered[0].span.start_ns,
        last_ns=max(max(found.span.start_ns, found.span.end_ns or 0) for found in ordered),
        outcome=last.outcome if last else inferred,
        source=Source.DECLARED if last else Source.INFERRED,
        steps=steps(ordered),
        trace_ids=tuple(dict.fromkeys(found.span.trace_id for found in ordered)),
        said_by=last.by if last else "",
        inferred=inferred,
    )


def _is_outermost_agent(found: Placed) -> bool:
    """Whether it is an agent span with none above, or the root chain that is one in its scope."""
    is_agent = found.reading.kind is Kind.AGENT and found.outermost
    return is_agent or (found.depth == 0 and found.reading.root_agent is not None)


def _agent(outermost: Sequence[Placed], ordered: Sequence[Placed]) -> str:
    for found in outermost:
        root_agent = found.reading.root_agent if found.depth == 0 else None
        if name := root_agent or found.reading.agent:
            return name
    for found in ordered:
        if found.reading.agent:
            return found.reading.agent
    services = (found.reading.service_name for found in ordered)
    return next((name for name in services if name), UNKNOWN_AGENT)


def _version(outermost: Sequence[Placed], ordered: Sequence[Placed]) -> str | None:
    for found in (*outermost, *ordered):
        if found.reading.version:
            return found.reading.version
    return next((found.reading.service_version for found in ordered if found.reading.service_version), None)


def _ticket(outermost: Sequence[Placed], ordered: Sequence[Placed]) -> str | None:
    """The ticket under the foremost key: of an outermost agent span, else of the earliest span."""
    tickets = [found.reading for found in (*outermost, *ordered) if found.reading.ticket]
    return min(tickets, key=lambda reading: reading.ticket_rank).ticket if tickets else None


def said(run_id: str, readings: Iterable[Reading]) -> Iterator[Declaration]:
    """The outcomes that a run's own spans declare, in their order."""
    for reading in readings:
        if reading.outcome is not None:
            outcome = Outcome[reading.outcome.upper()]
            yield Declaration(run_id, outcome, reading.outcome_ns, ITS_SPANS)


def _latest(declared: Sequence[Declaration]) -> Declaration | None:
    """The declaration that counts; of those with equal times the last."""
    return max(reversed(declared), key=lambda each: each.time_ns, default=None)


def _inferred(ordered: Sequence[Placed]) -> Outcome:
    """What the status of the span that ended last makes of a run."""
    ended = [found for found in ordered if found.span.end_ns is not None]
    if not ended:
        return Outcome.ABANDONED
    last = min(ended, key=lambda found: (-(found.span.end_ns or 0), found.depth, found.span.span_id))
    return Outcome.FAILURE if last.reading.status == Status.ERROR else Outcome.SUCCESS
