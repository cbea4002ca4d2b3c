"""Looking a span up in the table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from engine.conventions import table
from engine.conventions.outcomes import Evaluation, declared
from engine.conventions.table import Kind
from engine.conventions.values import first, first_tokens, text, word
from engine.paths import clean_name, identifier
from engine.spans import Span, Status

_ID = re.compile(
    r"(?<![0-9a-z])(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,})(?![0-9a-z])",
    re.IGNORECASE,
)
_NO_EVALUATION = Evaluation()
_CACHED_NAMES = 8192


class Reading(msgspec.Struct, frozen=True):
    """What a span says.

    Attributes
    ----------
    kind : Kind
        ``other`` for all that can be no step: chains, wrappers, evaluators, pseudo tools.
    name : str
        Clean; ``?`` if there is none.
    named : bool
        Whether an attribute gave the name, not the span's own name.
    agent : str or None
        Name of the agent it tells of.
    root_agent : str or None
        Name of the agent if the span turns out to be a root.
    wrapper : bool
        Whether it is an agent span that names nobody: inside another agent's it is the same one's.
    version, ticket : str or None
        Agent version; what the run was asked to do.
    ticket_rank : int
        Precedence of the key that holds the ticket, 0 first.
    service_name, service_version : str or None
        The program that sent the span.
    status : Status
        After tool status attributes and known interrupts.
    outcome : str or None
        ``success``, ``failure`` or ``abandoned``, if the span declares one.
    outcome_ns : int
        When it was declared; 0 without one.
    input_tokens, output_tokens : int or None
        Usage of a model call.
    """

    kind: Kind
    name: str
    named: bool = False
    agent: str | None = None
    root_agent: str | None = None
    wrapper: bool = False
    version: str | None = None
    ticket: str | None = None
    ticket_rank: int = 0
    service_name: str | None = None
    service_version: str | None = None
    status: Status = Status.UNSET
    outcome: str | None = None
    outcome_ns: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None


def read(span: Span, evaluation: Evaluation = _NO_EVALUATION) -> Reading:
    """Read a span. Never raises, whatever the attributes hold.

    Parameters
    ----------
    span : Span
    evaluation : Evaluation
        Which evaluation results are outcomes; by default none.

    Examples
    --------
    >>> attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    >>> found = read(Span("t", "1", "execute_tool search", 0, attributes=attributes))
    >>> found.kind, found.name
    (<Kind.TOOL: 'tool'>, 'search')
    """
    attributes, resource = span.attributes, span.resource
    kind = kind_of(span)
    given = first(attributes, table.NAME_KEYS[kind])
    if kind is Kind.AGENT and given is not None and is_id(given):
        given = None
    name = clean_name(given) if given is not None else _name_of_span(kind, span.name)
    if kind is Kind.TOOL and name in table.PSEUDO_TOOLS:
        kind = Kind.OTHER
    wrapper = kind is Kind.AGENT and given is None and ("*" in name or name in table.NAMELESS_AGENTS)
    outcome = declared(span, evaluation)
    rank, ticket = ranked(span, table.TICKET_KEYS) or (0, None)
    return Reading(
        kind,
        name,
        given is not None,
        _agent(kind, name, wrapper, attributes),
        _root_agent(span),
        wrapper,
        _given(table.VERSION_KEYS, attributes, resource),
        ticket,
        rank,
        _given(table.SERVICE_NAME_KEYS, resource, attributes),
        _given(table.SERVICE_VERSION_KEYS, resource, attributes),
        _status(span),
        outcome[1] if outcome else None,
        outcome[0] if outcome else 0,
        first_tokens(attributes, table.INPUT_TOKEN_KEYS) if kind is Kind.LLM else None,
        first_tokens(attributes, table.OUTPUT_TOKEN_KEYS) if kind is Kind.LLM else None,
    )


def session(span: Span) -> tuple[int, str] | None:
    """The session or conversation a span names, behind the precedence (0 first) of its key.

    >>> session(Span("t", "1", "chat", 0, attributes={"gen_ai.conversation.id": "c-7"}))
    (2, 'c-7')
    """
    return ranked(span, table.SESSION_KEYS)


def ranked(span: Span, keys: table.Keys) -> tuple[int, str] | None:
    """Precedence and text of the first key that holds text.

    The resource is asked for Forkmap's own key alone: a session of its own may be a whole process.
    """
    for rank, (key, _) in enumerate(keys):
        if (value := span.attributes.get(key)) is not None and (found := text(value)):
            return rank, _identifier(found)
    found = text(span.resource.get(keys[0][0]))
    return (0, _identifier(found)) if found else None


@lru_cache(_CACHED_NAMES)
def _identifier(found: str) -> str:
    """A run id or ticket as it is kept; many spans of one run name the same."""
    return identifier(found)


def is_id(name: str) -> bool:
    """Whether a name is nothing but a UUID or a hex id.

    >>> is_id("171105b7-59dd-49c0-9677-0b95395aa46a"), is_id("triage")
    (True, False)
    """
    return _ID.fullmatch(name) is not None


def kind_of(span: Span) -> Kind:
    """What a span is; a pseudo tool counts as a tool here.

    >>> kind_of(Span("t", "1", "execute_tool search", 0))
    <Kind.TOOL: 'tool'>
    """
    attributes = span.attributes
    for key, kinds in table.KIND_KEYS:
        value = attributes.get(key)
        if value is not None and (kind := kinds.get(word(value))) is not None:
            return kind
    if not table.TOOL_MARKS.isdisjoint(attributes):
        return Kind.TOOL
    kinds = table.SPAN_NAMES
    if (kind := kinds.get(span.name) or kinds.get(span.name.partition(" ")[0])) is not None:
        return kind
    return Kind.OTHER if table.MODEL_MARKS.isdisjoint(attributes) else Kind.LLM


@lru_cache(_CACHED_NAMES)
def _name_of_span(kind: Kind, name: str) -> str:
    """A span's own name without its operation, and with ids starred out."""
    name = name.strip()
    for prefix in table.PREFIXES[kind]:
        if name.startswith(prefix) and len(name) > len(prefix):
            name = name[len(prefix) :].strip()
            break
    if name[:1] == "[" and name[-1:] == "]":
        name = name[1:-1]
    return clean_name(_ID.sub("*", name))


def _agent(kind: Kind, name: str, wrapper: bool, attributes: Mapping[str, Any]) -> str | None:
    if (own := text(attributes.get(table.AGENT_KEY))) is not None:
        return clean_name(own)
    if kind is Kind.AGENT:
        if not wrapper and name != "?":
            return name
    elif (found := first(attributes, table.AGENT_KEYS)) is not None and not is_id(found):
        return clean_name(found)
    workflow = first(attributes, table.WORKFLOW_KEYS)
    return clean_name(workflow) if workflow and not is_id(workflow) else None


def _given(keys: table.Keys, *places: Mapping[str, Any]) -> str | None:
    """A name from the first of the places that has one."""
    found = next((name for place in places if (name := first(place, keys))), None)
    return None if found is None else clean_name(found)


def _root_agent(span: Span) -> str | None:
    key = table.ROOT_CHAIN_KEYS.get(span.scope)
    if key is None or table.AGENT_KEY in span.attributes:
        return None
    if word(span.attributes.get(key)) != table.ROOT_CHAIN:
        return None
    name = _name_of_span(Kind.OTHER, span.name)
    return None if name == "?" or name.startswith(table.NAMELESS_CHAINS) else name


def _status(span: Span) -> Status:
    if not _failed(span):
        return span.status
    return Status.UNSET if _exception(span) in table.INTERRUPTS else Status.ERROR


def _failed(span: Span) -> bool:
    if span.status == Status.ERROR:
        return True
    if span.scope in table.FAILED_BY_EXCEPTION and _exception(span) is not None:
        return True
    if table.FAILED.keys().isdisjoint(span.attributes):
        return False
    return any(word(span.attributes.get(key)) in words for key, words in table.FAILED.items())


def _exception(span: Span) -> str | None:
    """Type of the last exception the span recorded."""
    for event in reversed(span.events):
        if event.name == table.EXCEPTION_EVENT:
            return first(event.attributes, table.EXCEPTION_KEYS)
    return first(span.attributes, table.EXCEPTION_KEYS)
