"""What is wrong with a decision trace: one pass over its lines, then one over its ids in order.

Everything that needs a second event (who called what under which decision, ids that are there
twice, children before their parents) is about one id. So events leave :class:`Link` s, which are
put in order of their id: in memory for a run, in a temporary file for a file of any size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, Protocol, TypeAlias

from engine.decisions.menus import LOW_MARGIN, follows, is_low, margin_of
from engine.decisions.schema import BadLine, Decision, Event, Rest, ToolCall
from engine.decisions.trace import Finding, Kind

LONG_GOAL_CHARACTERS = 200
"""A longer goal is an essay: decisions should stay cheap to compare."""

Numbered: TypeAlias = tuple[int, Event | BadLine]


_NEVER = datetime.min.replace(tzinfo=UTC)
_CHILD, _CALL, _BEARER, _DECISION = range(4)
"""What an event has to do with an id: it hangs from it (as a call or not), or bears it (likewise)."""
_ROLES = {
    "decision": (_CHILD, _DECISION),
    "tool_call": (_CALL, _BEARER),
    "tool_result": (_CHILD, _BEARER),
}
_PLACE = {kind: place for place, kind in enumerate(Kind)}


class Link(NamedTuple):
    """That an event hangs from an id, or bears it.

    Attributes
    ----------
    role : int
        The lower, the earlier in its line: a child first.
    time_s : float or None
        Seconds since the epoch; None if it is not to be compared with others.
    name : str or None
        What a decision chose or a call called; None if that could not be read.
    """

    id: str
    line: int
    role: int
    span_id: str
    time_s: float | None
    name: str | None


class Links(Protocol):
    """Remembers links."""

    def append(self, link: Link, /) -> object:
        """Remember one; they come by line."""

    def __iter__(self) -> Iterator[Link]:
        """All of them; :func:`findings` wants those of an id together, by line."""


class InMemory(list[Link]):
    """Links of a trace that fits into memory."""

    def __iter__(self) -> Iterator[Link]:
        return iter(sorted(super().__iter__(), key=attrgetter("id", "line", "role")))


def order(finding: Finding) -> tuple[int, int]:
    """What findings are sorted by: line, then kind as :class:`~engine.decisions.trace.Kind` lists them."""
    return finding.line, _PLACE[finding.kind]


def audit(lines: Iterable[Numbered], low_margin: float = LOW_MARGIN) -> tuple[Finding, ...]:
    """Everything wrong with a trace, in order.

    Parameters
    ----------
    lines : iterable of (int, Event or BadLine)
        Each event with the number of its line, ascending; lines of other types are left out.
    low_margin : float
        Margins from 0 to below this are found.

    Examples
    --------
    >>> [(each.kind.value, each.detail) for each in audit([(1, BadLine("bad_json", "cut off"))])]
    [('bad_json', 'cut off')]
    """
    return tuple(sorted(findings(lines, low_margin, InMemory()), key=order))


def findings(lines: Iterable[Numbered], low_margin: float, links: Links) -> Iterator[Finding]:
    """The same for a trace of any size, as found: :func:`order` puts them in order.

    Parameters
    ----------
    links : Links
        Empty; where what is known of ids is put in order.
    """
    before = latest = _NEVER
    for line, event in lines:
        if isinstance(event, BadLine):
            yield Finding(line, Kind(event.kind), event.detail, event.rest.span_id)
            _remember(links, line, event.rest)
            continue
        if isinstance(event, Decision):
            yield from _of_decision(line, event, low_margin)
        if event.ts < before:
            yield Finding(line, Kind.TIME_REVERSED, "earlier than the line before", event.span_id)
        # Only what is earlier than some line before can be earlier than a parent; it is found once.
        _remember(links, line, _rest(event), event.ts, before <= event.ts < latest)
        before, latest = event.ts, max(latest, event.ts)
    for _, same in groupby(links, key=attrgetter("id")):
        yield from _of_id(same)


def _of_decision(line: int, decision: Decision, low_margin: float) -> Iterator[Finding]:
    tools = [option.tool for option in decision.options]
    if decision.chosen not in tools:
        yield Finding(line, Kind.CHOSEN_MISSING, decision.chosen, decision.span_id)
    yield from _of_margin(line, decision, low_margin)
    for tool in _repeated(tools):
        yield Finding(line, Kind.DUPLICATE_OPTION, tool, decision.span_id)
    if len(decision.goal) > LONG_GOAL_CHARACTERS:
        yield Finding(line, Kind.LONG_GOAL, f"{len(decision.goal)} characters", decision.span_id)


def _of_margin(line: int, decision: Decision, low_margin: float) -> Iterator[Finding]:
    """Nothing where no margin is told, nothing was offered beside one tool, or the choice was not offered."""
    told, tools = decision.margin, {option.tool: option.score for option in decision.options}
    if told is None or len(tools) < 2:
        return
    margin = margin_of(decision.options, decision.chosen)
    if margin is None:
        if decision.chosen in tools or not any(score is not None for score in tools.values()):
            yield Finding(line, Kind.BAD_MARGIN, str(told), decision.span_id)
        return
    if follows(told, margin):
        margin = told  # Its own writing has no rounding errors.
    else:
        yield Finding(line, Kind.BAD_MARGIN, str(told), decision.span_id)
    if is_low(margin, low_margin):
        yield Finding(line, Kind.LOW_MARGIN, f"{margin:.6g}", decision.span_id)
    if margin < 0 and decision.policy.startswith("argmax"):
        yield Finding(line, Kind.NOT_TOP, f"{margin:.6g}", decision.span_id)


def _repeated(tools: list[str]) -> list[str]:
    if len(set(tools)) == len(tools):
        return []
    return [tool for tool, times in Counter(tools).items() if times > 1]


def _remember(
    links: Links, line: int, rest: Rest, ts: datetime | None = None, may_be_early: bool = False
) -> None:
    """Keep what an event has to do with ids, as far as that can matter."""
    if rest.type not in _ROLES:
        return
    child, bearer = _ROLES[rest.type]
    time_s = None if ts is None else ts.timestamp()
    if child == _CALL or may_be_early:
        child_s = time_s if may_be_early else None
        links.append(Link(rest.parent_id, line, child, rest.span_id, child_s, rest.name))
    if rest.span_id:
        links.append(Link(rest.span_id, line, bearer, rest.span_id, time_s, rest.name))


def _rest(event: Event) -> Rest:
    match event:
        case Decision():
            return Rest("decision", event.span_id, event.parent_id, event.chosen)
        case ToolCall():
            return Rest("tool_call", event.span_id, event.parent_id, event.tool)
        case _:
            return Rest("tool_result", event.span_id, event.parent_id)


def _of_id(links: Iterable[Link]) -> Iterator[Finding]:
    """What is wrong with one id; a decision of it is consumed by the first call under it."""
    bearer: Link | None = None
    decision: Link | None = None
    for link in links:
        if link.role >= _BEARER:
            if bearer is not None:
                yield Finding(link.line, Kind.DUPLICATE_SPAN, link.id, link.id)
            bearer = link
            decision = link if link.role == _DECISION else decision
            continue
        if link.role == _CALL:
            yield from _of_call(link, decision)
            decision = None
        if bearer is not None and _is_earlier(link.time_s, bearer.time_s):
            yield Finding(link.line, Kind.TIME_REVERSED, f"earlier than its parent {link.id}", link.span_id)
    if decision is not None:
        yield Finding(decision.line, Kind.UNCONSUMED_DECISION, decision.id, decision.id)


def _of_call(call: Link, decision: Link | None) -> Iterator[Finding]:
    tool = call.name or ""
    if decision is None:
        yield Finding(call.line, Kind.MISSING_DECISION, tool, call.span_id)
    elif None not in (decision.name, call.name) and decision.name != tool:
        yield Finding(call.line, Kind.CHOICE_MISMATCH, f"{decision.name}->{tool}", call.span_id)


def _is_earlier(time_s: float | None, than_s: float | None) -> bool:
    return time_s is not None and than_s is not None and time_s < than_s
