"""A run in flight: its path as far as its spans are known, folded again without reading them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from engine.conventions import Evaluation, Reading, read, session
from engine.paths import CUT, Fold, Token, fold, path_text
from engine.runs import READ_AS_IS, ReadingSettings, assemble, run_key
from engine.spans import Span


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


class Known(NamedTuple):
    """A span that was read: what it means, the session it names, and where it stands; not all it says."""

    span: Span
    reading: Reading
    session: tuple[int, str] | None


def know(span: Span, evaluation: Evaluation) -> Known:
    """Read a span once and for all."""
    bare = replace(span, attributes={}, resource={}, events=())
    return Known(bare, read(span, evaluation), session(span))


def follow(run_id: str, known: Iterable[Known], settings: ReadingSettings = READ_AS_IS) -> Live | None:
    """Fold the spans of a run; None if none of them belongs to it.

    Parameters
    ----------
    run_id : str
    known : iterable of Known
        Every span of every trace that may belong to the run, in any order.
    settings : ReadingSettings
        Which traces belong to it, and how they are read.

    Examples
    --------
    >>> call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    >>> spans = [Span("r", str(at), "step", at, attributes=call) for at in range(3)]
    >>> live = follow("r", [know(span, READ_AS_IS.evaluation) for span in spans])
    >>> live.closed, str(live.last), live.steps
    ((), 'tool:search×3-5', 3)
    """
    traces: dict[str, list[Known]] = {}
    for each in known:
        traces.setdefault(each.span.trace_id, []).append(each)
    its = [each for trace in traces.values() if _key(trace, settings) == run_id for each in trace]
    if not its:
        return None
    readings = {(each.span.trace_id, each.span.span_id): each.reading for each in its}
    spans = [each.span for each in its]
    run = assemble(run_id, spans, reading=lambda span: readings[span.trace_id, span.span_id])
    folds = fold(step.signature for step in run.steps)
    *closed, _ = path_text(folds) or [""]
    last = folds[-1].token if folds else None
    return Live(
        run_id, run.agent, folds, tuple(closed), last, len(run.steps), run.last_ns, folds[-1:] == (CUT,)
    )


def _key(trace: Iterable[Known], settings: ReadingSettings) -> str:
    """Id of the run that a trace belongs to."""
    named = {each.span.span_id: each.session for each in trace}
    spans = [each.span for each in trace]
    return run_key(spans, settings.run_key, lambda span: named[span.span_id])
