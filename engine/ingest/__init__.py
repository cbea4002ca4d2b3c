"""Importers: a file of recorded runs, in any known format, into spans and outcomes.

Every format is a module whose ``read(source)`` yields what it finds with its line. Nothing a
file holds raises: good records come out, and each bad one is a :class:`Refusal` that says where
and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import structs

from engine.conventions import AGENT_KEY, check
from engine.conventions.table import TICKET_KEYS, VERSION_KEYS
from engine.errors import InputError
from engine.ingest import (
    agentpile,
    forkmap_jsonl,
    otlp_json,
    otlp_protobuf,
    tau2_bench,
    tau_bench,
)
from engine.ingest.detect import detect
from engine.ingest.source import READ_ERRORS, Found, Progress, Refused, Source, describe
from engine.runs import Declaration
from engine.spans import Span

Record = Span | Declaration

_READERS: dict[str, Callable[[Source], Iterator[Found]]] = {
    "otlp-json": otlp_json.read,
    "otlp-protobuf": otlp_protobuf.read,
    "forkmap": forkmap_jsonl.read,
    "tau-bench": tau_bench.read,
    "tau2-bench": tau2_bench.read,
    "atif": agentpile.read_atif,
    "openai-chat": agentpile.read_chat,
    "claude-code": agentpile.read_claude_code,
}
FORMATS = tuple(_READERS)
"""Names of the formats."""


class Refusal(msgspec.Struct, frozen=True):
    """A record, or a part of one, that was left out: where (line or record number) and why."""

    file: str
    line: int
    reason: str


def read_file(
    path: Path,
    format: str | None = None,
    agent: str | None = None,
    ticket: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Record | Refusal]:
    """Spans and outcomes of a file, and what had to be refused.

    Parameters
    ----------
    path : Path
        Plain or gzip-compressed.
    format : str, optional
        One of :data:`FORMATS`; detected if not given.
    agent : str, optional
        Agent the file's runs belong to, whatever the file says.
    ticket : str, optional
        What the file's runs were asked to do, whatever the file says.
    progress : callable, optional
        Told how many bytes of the file have been read so far.

    Raises
    ------
    InputError
        If the file cannot be read at all, or fits no format. Raised by the call itself.
    """
    source = Source(path, progress)
    name = format or detect(source)
    if name not in _READERS:
        raise InputError(f"unknown format {name!r}; known: {', '.join(FORMATS)}", source.name)
    source.head()
    try:
        return _records(source, _READERS[name](source), said(agent, ticket))
    except InputError as error:
        raise InputError(error.reason, source.name) from error


def _records(source: Source, found: Iterator[Found], told: Mapping[str, str]) -> Iterator[Record | Refusal]:
    line = 0
    try:
        for line, item in found:
            if isinstance(item, Refused):
                yield Refusal(source.name, line, item.reason)
            elif isinstance(item, Span):
                span, reasons = check(item)
                yield from (
                    Refusal(source.name, line, f"span {item.span_id}: {reason}") for reason in reasons
                )
                yield of_run(span, told)
            else:
                yield item
    except READ_ERRORS as error:
        yield Refusal(source.name, line, describe(error, "the rest"))


def said(agent: str | None = None, ticket: str | None = None, version: str | None = None) -> dict[str, str]:
    """The attributes by which somebody says of spans whose they are, whatever these say themselves.

    >>> said("repo-agent", ticket="T-17")
    {'forkmap.agent': 'repo-agent', 'forkmap.ticket': 'T-17'}
    """
    told = {AGENT_KEY: agent, TICKET_KEYS[0][0]: ticket, VERSION_KEYS[0][0]: version}
    return {key: text for key, text in told.items() if text is not None}


def of_run(span: Span, told: Mapping[str, str]) -> Span:
    """A span with what was said of it, the very same if that is nothing."""
    return structs.replace(span, attributes={**span.attributes, **told}) if told else span
