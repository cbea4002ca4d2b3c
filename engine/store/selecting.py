"""Finding what is to be erased: the runs that a selection is of, a page at a time."""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

from engine.conventions.values import text
from engine.paths import identifier
from engine.selections import Before, ByAttribute, ByRun, ByTicket, Selection
from engine.spans import Span
from engine.store.expiring import unseen
from engine.store.fitting import bounded, plain
from engine.store.keys import spellings, told_name
from engine.store.marking import count_old
from engine.store.packing import unpack_span

PAGE = 1_000
"""Runs or traces that are looked through at a time, to see whether there is anything."""

_IN_NAMES = "IN (SELECT value FROM json_each(:names))"
_NAMED = f"""
SELECT no FROM runs WHERE tenant = :tenant AND run_id {_IN_NAMES}
UNION SELECT run FROM traces WHERE tenant = :tenant AND trace_id {_IN_NAMES}
UNION SELECT t.run FROM sessions s JOIN traces t ON t.no = s.trace
      WHERE s.tenant = :tenant AND s.run_id {_IN_NAMES}"""
_LOOSE = f"""
SELECT no FROM traces WHERE run IS NULL AND tenant = :tenant AND (
    trace_id {_IN_NAMES} OR no IN (
        SELECT trace FROM sessions WHERE tenant = :tenant AND run_id {_IN_NAMES}))"""
_OF_NAMES = f"SELECT no, run_id FROM runs WHERE no IN ({_NAMED}) LIMIT :limit"
_OF_TICKET = "SELECT no, run_id FROM runs WHERE tenant = :tenant AND ticket = :ticket LIMIT :limit"
_OLD = """
SELECT r.no, r.run_id FROM agents a JOIN runs r INDEXED BY runs_by_start ON r.agent = a.no
WHERE a.tenant = :tenant AND r.start_ns < :before_ns AND r.last_ns < :before_ns LIMIT :limit"""

_LAST = "SELECT max(no) FROM (SELECT no FROM traces WHERE no > ? ORDER BY no LIMIT ?)"
_HAVING = """
SELECT t.no, t.trace_id, s.span_id, s.body FROM traces t CROSS JOIN spans s ON s.trace = t.no
WHERE t.no > ? AND t.no <= ? AND +t.tenant = ? AND instr(s.body, ?)"""
"""Spans that hold a name; whether it is an attribute's, and with which value, is seen once they are read.

The plus keeps SQLite from walking all of a tenant for each range of traces.
"""

_TOLD = f"SELECT 1 FROM {{}} WHERE tenant = :tenant AND run_id {_IN_NAMES}"


class Found(NamedTuple):
    """A page of what is to be erased, number and id; and where to look on, None if it was the last.

    Runs, but for an attribute: traces, whose numbers stay whichever run they move to meanwhile.
    """

    rows: tuple[tuple[int, str], ...]
    after: int | None


def fitted(selection: Selection) -> Selection:
    """What is asked for in the form that the store keeps it.

    >>> fitted(ByTicket(" T-7 ")), fitted(ByAttribute("user.id", '"417"'))
    (ByTicket(ticket='T-7'), ByAttribute(name='user.id', value='417'))
    """
    match selection:
        case ByRun(run_id):
            return ByRun(identifier(plain(run_id)))
        case ByTicket(ticket):
            return ByTicket(identifier(plain(ticket)))
        case ByAttribute(name, value):
            return ByAttribute(plain(name), plain(text(value) or ""))
        case Before(time_ns):
            return Before(bounded(time_ns))


def is_known(db: sqlite3.Connection, tenant: int | None, selection: Selection) -> bool:
    """Whether anything of what is asked for is in the store."""
    after: int | None = 0
    while tenant is not None and after is not None:
        found = find(db, tenant, selection, after, PAGE)
        if found.rows:
            return True
        after = found.after
    match selection:
        case ByRun(name):
            asked = _names(tenant, name)
            queries = _LOOSE, _TOLD.format("outcomes"), _TOLD.format("firings")
            return any(db.execute(query, asked).fetchone() for query in queries)
        case Before(time_ns):
            return bool(unseen(db, tenant, time_ns, 1) or count_old(db, tenant, time_ns))
    return False


def find(db: sqlite3.Connection, tenant: int, selection: Selection, after: int, limit: int) -> Found:
    """At most ``limit`` runs to be erased, none of which is found again once it is gone.

    Of attributes: those among the next so many traces after a number.
    """
    asked = {"tenant": tenant, "limit": limit}
    match selection:
        case ByAttribute():
            return _having(db, tenant, selection, after, limit)
        case ByRun(name):
            rows = db.execute(_OF_NAMES, asked | _names(tenant, name))
        case ByTicket(ticket):
            rows = db.execute(_OF_TICKET, asked | {"ticket": ticket})
        case Before(time_ns):
            rows = db.execute(_OLD, asked | {"before_ns": time_ns})
    found = tuple(rows.fetchall())
    return Found(found, after if len(found) == limit else None)


def loose(db: sqlite3.Connection, tenant: int, selection: ByRun) -> list[int]:
    """Numbers of traces that belong to no run yet, and name the id."""
    return [no for (no,) in db.execute(_LOOSE, _names(tenant, selection.run_id))]


def _names(tenant: int | None, name: str) -> dict[str, object]:
    return {"tenant": tenant, "names": json.dumps((name, *spellings(told_name(name))))}


def _having(db: sqlite3.Connection, tenant: int, wanted: ByAttribute, after: int, limit: int) -> Found:
    (last,) = db.execute(_LAST, (after, limit)).fetchone()
    found = {
        no: trace_id
        for no, trace_id, *span in db.execute(_HAVING, (after, last, tenant, wanted.name.encode()))
        if _has(unpack_span(trace_id, *span), wanted)
    }
    return Found(tuple(found.items()), last)


def _has(span: Span, wanted: ByAttribute) -> bool:
    return bool(wanted.value) and wanted.value in said(span, wanted.name)


def said(span: Span, name: str) -> set[str]:
    """The texts of an attribute of a span, of its resource and of its events.

    >>> said(Span("t", "s", "n", 0, attributes={"user.id": 417}, resource={"user.id": "u"}), "user.id") == {
    ...     "417", "u"}
    True
    """
    places = span.attributes, span.resource, *(event.attributes for event in span.events)
    values = [place.get(name) for place in places]
    texts = (str(value).lower() if isinstance(value, bool) else text(value) for value in values)
    return {each for each in texts if each}
