"""A run in flight: its path as far as its spans are known, folded again without reading them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from sys import intern

import msgspec

from engine.conventions import Evaluation, Reading, read, session
from engine.paths import CUT, Fold, Token, fold, path_text
from engine.runs import READ_AS_IS, ReadingSettings, assemble, run_key
from engine.spans import Span

_SHARED = 8192


class Live(msgspec.Struct, frozen=True):
    """A run as a check before its next call sees it.

    Attributes
    ----------
    folds : tuple of Fold
        Its path in view ``all``.
    closed : tuple of str
        Texts of all its tokens but the last.
    last : Token or None
        The last token, which may still grow; None before the first step.
    steps : int
        Steps taken, those past the bounds of a path too.
    last_ns : int
        Latest start or end of any span.
    cut : bool
        Whether the path met a bound; its last token then is the mark ``…``.
    """

    run_id: str
    agent: str
    folds: tuple[Fold, ...]
    closed: tuple[str, ...]
    last: Token | None
    steps: int
    last_ns: int
    cut: bool


class Known(msgspec.Struct, frozen=True, gc=False):
    """A span that was read: where it stands, what it means for a path, and the session it names.

    Many are held for long, so that garbage collection had better pass them by.
    """

    trace_id: str
    span_id: str
    start_ns: int
    end_ns: int | None
    parent_id: str | None
    scope: str
    reading: Reading
    session: tuple[int, str] | None

    @property
    def span(self) -> Span:
        """The span without all that was read of it."""
        times = self.start_ns, self.end_ns
        return Span(self.trace_id, self.span_id, "", *times, self.parent_id, scope=self.scope)


def know(span: Span, evaluation: Evaluation) -> Known:
    """Read a span once and for all, and keep no more of it than that."""
    named = session(span)
    return Known(
        intern(span.trace_id),
        intern(span.span_id),
        span.start_ns,
        span.end_ns,
        span.parent_id and intern(span.parent_id),
        intern(span.scope),
        _shared(_bare(read(span, evaluation))),
        named and (named[0], intern(named[1])),
    )


def _bare(reading: Reading) -> Reading:
    """A reading without what makes nobody's path or agent."""
    names = reading.kind, reading.name, reading.named, reading.agent, reading.root_agent, reading.wrapper
    return Reading(*names, service_name=reading.service_name)


@lru_cache(_SHARED)
def _shared(reading: Reading) -> Reading:
    """One object for all readings that are equal: there are few among many spans."""
    return reading


def follow(
    run_id: str,
    known: Iterable[Known],
    settings: ReadingSettings = READ_AS_IS,
    form: Callable[[str], str] = str,
) -> Live | str | None:
    """Fold the spans of a run; if none of them belongs to it, the id of the run its trace belongs to.

    Parameters
    ----------
    run_id : str
    known : iterable of Known
        Every span of every trace that may belong to the run, in any order.
    settings : ReadingSettings
        Which traces belong to it, and how they are read.
    form : callable
        The form in which ids of traces are compared.

    Examples
    --------
    >>> call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    >>> spans = [Span("r", str(at), "step", at, attributes=call) for at in range(3)]
    >>> live = follow("r", [know(span, READ_AS_IS.evaluation) for span in spans])
    >>> isinstance(live, Live) and (live.closed, str(live.last), live.steps)
    ((), 'tool:search×3-5', 3)
    """
    found = {(each.trace_id, each.span_id): each for each in known}
    traces: dict[str, list[Span]] = {}
    for each in found.values():
        traces.setdefault(each.trace_id, []).append(each.span)

    def named(span: Span) -> tuple[int, str] | None:
        return found[span.trace_id, span.span_id].session

    def reading(span: Span) -> Reading:
        return found[span.trace_id, span.span_id].reading

    run_of = {trace_id: run_key(spans, settings.run_key, named) for trace_id, spans in traces.items()}
    its = [traces[trace_id] for trace_id, key in run_of.items() if key == run_id]
    if not its:
        return next((key for trace_id, key in run_of.items() if form(trace_id) == form(run_id)), None)
    run = assemble(run_id, chain.from_iterable(its), reading=reading)
    return so_far(run_id, run.agent, (step.signature for step in run.steps), run.last_ns)


def so_far(run_id: str, agent: str, signatures: Iterable[str], last_ns: int = 0) -> Live:
    """A run that took these steps so far.

    >>> so_far("r", "bot", ["llm:m", "tool:s", "tool:s"]).closed
    ('llm:m',)
    """
    taken = [*signatures]
    folds = fold(taken)
    *closed, _ = path_text(folds) or [""]
    last = folds[-1].token if folds else None
    return Live(run_id, agent, folds, tuple(closed), last, len(taken), last_ns, folds[-1:] == (CUT,))
