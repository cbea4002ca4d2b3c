"""Goals, reasons and arguments, wherever they come from, before they are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from threading import Lock
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, structs

from engine import conventions
from engine.conventions import Kind
from engine.conventions.table import DECISION_KINDS
from engine.conventions.values import word
from engine.decisions.fields import OPTION_NAMES, Known, Part, fields
from engine.decisions.masking import Masker, marker, rewritten
from engine.decisions.sampling import Sampling
from engine.decisions.terms import MAX_TERM, finder
from engine.spans import Span

MAX_TERMS = 10_000
"""Terms of a tenant."""

Change = Callable[[Any], Any]


class Mode(StrEnum):
    """What becomes of goals, reasons and arguments."""

    KEEP = "keep"
    MASK = "mask"
    DROP = "drop"


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the spans of a tenant are redacted.

    Attributes
    ----------
    mode : Mode or None
        None is as by default.
    sample_after : int or None
        Decisions of a run that keep reasons and arguments; None is as by default, or all of them.
    terms : tuple of str
        What else is masked, such as names of customers.
    """

    mode: Mode | None = None
    sample_after: Annotated[int, Meta(ge=0)] | None = None
    terms: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=MAX_TERM)], ...], Meta(max_length=MAX_TERMS)
    ] = ()


class Redaction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How spans are redacted: by default, and where a tenant's own rules say otherwise."""

    default: Rules = Rules()
    tenants: dict[str, Rules] = {}

    def of(self, tenant: str) -> Rules:
        """A tenant's rules; terms that hold for everybody are among its own.

        >>> Redaction(Rules(Mode.DROP, 3, ("a",)), {"acme": Rules(Mode.KEEP, terms=("b",))}).of("acme")
        Rules(mode=<Mode.KEEP: 'keep'>, sample_after=3, terms=('a', 'b'))
        """
        own, default = self.tenants.get(tenant, Rules()), self.default
        return Rules(
            own.mode or default.mode or Mode.MASK,
            default.sample_after if own.sample_after is None else own.sample_after,
            (*default.terms, *own.terms),
        )


MASK = Redaction()
"""What holds where nothing is set."""
KEEP = Redaction(Rules(Mode.KEEP))


class _Prepared(NamedTuple):
    """A tenant's rules, ready to be applied."""

    mode: Mode
    changes: Mapping[Part, Change]
    sampling: Sampling | None


class Redactor:
    """Redacts the spans of all tenants.

    Parameters
    ----------
    redaction : Redaction
        What is done to whose.
    secret : callable
        32 bytes, of the store: without them nobody can make a mark to compare with. Asked for when the
        first mark is made.
    """

    def __init__(self, redaction: Redaction, secret: Callable[[], bytes]) -> None:
        self._redaction, self._secret = redaction, secret
        self._prepared: dict[str, _Prepared] = {}
        self._lock = Lock()

    def spans(self, tenant: str, spans: Sequence[Span]) -> Sequence[Span]:
        """Spans as they may be stored; those without goals, reasons and arguments are the very same.

        Examples
        --------
        >>> told = {"gen_ai.tool.call.arguments": '{"to":"bob@example.org"}', "gen_ai.tool.name": "mail"}
        >>> mail = Span("t", "1", "mail", 0, attributes=told)
        >>> redactor = Redactor(MASK, lambda: bytes(32))
        >>> redactor.spans("acme", [mail])[0].attributes["gen_ai.tool.call.arguments"]
        '{"to":"[email ae852c]"}'
        >>> Redactor(KEEP, lambda: bytes(32)).spans("acme", [mail]) == [mail]
        True
        """
        rules = self._of(tenant)
        if rules.mode is Mode.KEEP and rules.sampling is None:
            return spans
        return [
            _redacted(span, rules) if span.events or fields(span.attributes).known else span for span in spans
        ]

    def _of(self, tenant: str) -> _Prepared:
        with self._lock:
            if tenant not in self._prepared:
                self._prepared[tenant] = self._prepare(tenant)
            return self._prepared[tenant]

    def _prepare(self, tenant: str) -> _Prepared:
        mode, sample_after, terms = structs.astuple(self._redaction.of(tenant))
        named = tenant.encode(errors="surrogatepass")
        key = cache(lambda: blake2b(named, key=self._secret()).digest())
        masker = Masker(marker(key), finder(terms) if terms else None)
        changes = _changing((lambda value: value) if mode is Mode.KEEP else masker.value)
        return _Prepared(mode, changes, None if sample_after is None else Sampling(sample_after))


def _redacted(span: Span, rules: _Prepared) -> Span:
    found = fields(span.attributes)
    of_events = [fields(event.attributes) for event in span.events]
    is_decision = found.are_decided or (found.are_unsure and _is_called_decision(span))
    is_unsure = found.are_unsure or any(each.are_unsure for each in of_events)
    is_call = is_decision or (is_unsure and conventions.kind_of(span) is Kind.TOOL)
    changes = _changes(span, is_decision, rules)
    attributes = _replaced(span.attributes, found.meant(is_decision, is_call), changes)
    events = span.events and tuple(
        structs.replace(
            event, attributes=_replaced(event.attributes, each.meant(is_decision, is_call), changes)
        )
        for event, each in zip(span.events, of_events, strict=True)
    )
    if attributes is span.attributes and events == span.events:
        return span
    return structs.replace(span, attributes=attributes, events=events)


def _replaced(attributes: dict[str, Any], known: Known, changes: Mapping[Part, Change]) -> dict[str, Any]:
    """Attributes with some changed; what is None then, or nested too deeply to be read, goes."""
    changed = attributes
    for key, field in known:
        value = attributes[key]
        found = _changed(value, changes[field.part])
        if found is not value:
            changed = dict(attributes) if changed is attributes else changed
            changed[key] = found
            if found is None:
                del changed[key]
    return changed


def _changed(value: Any, change: Change) -> Any:
    try:
        return change(value)
    except RecursionError:
        return None


def _is_called_decision(span: Span) -> bool:
    """Whether the span's kind says that it is a decision."""
    return any(word(span.attributes.get(key)) == kind for key, kind in DECISION_KINDS.items())


def _changes(span: Span, is_decision: bool, rules: _Prepared) -> Mapping[Part, Change]:
    """What becomes of each part of a decision or a call; None takes it away."""
    if rules.mode is Mode.DROP:
        return _ALL_DROPPED
    sampling = rules.sampling
    if sampling and sampling.is_beyond(_run(span), span.span_id, span.parent_id, is_decision):
        return _DROPPED | {Part.GOAL: rules.changes[Part.GOAL]}
    return rules.changes


def _run(span: Span) -> str:
    named = conventions.session(span)
    return span.trace_id if named is None else named[1]


def _options(value: Any, text: Change) -> Any:
    """Options with all but their tools and scores changed; as they were written if nothing was."""
    if isinstance(value, str):
        try:
            return rewritten(value, lambda options: _options(options, text))
        except (ValueError, RecursionError):
            return text(value) or ""
    if isinstance(value, list | tuple):
        return [_option(each, text) for each in value]
    return _option(value, text)


def _option(value: Any, text: Change) -> Any:
    if isinstance(value, str):
        return _options(value, text) if value.lstrip().startswith("{") else value
    if not isinstance(value, dict):
        return value
    changed = {key: each if key in OPTION_NAMES else text(each) for key, each in value.items()}
    return {key: each for key, each in changed.items() if each is not None or value[key] is None}


def _changing(text: Change) -> dict[Part, Change]:
    return dict.fromkeys(Part, text) | {Part.OPTIONS: lambda value: _options(value, text)}


_DROPPED = _changing(lambda value: None)
_ALL_DROPPED = _DROPPED | {Part.GOAL: lambda value: ""}
