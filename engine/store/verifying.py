"""Verifying an erasure: whether what went is still gone, and whether a copy may lie about."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from engine.conventions.table import TICKET_KEYS
from engine.errors import UnknownErasureError
from engine.selections import ByAttribute, ByTicket, Selection
from engine.store import Receipt, opening
from engine.store.erasing import digests, receipt, selector_of
from engine.store.keyring import secret
from engine.store.keys import told_name
from engine.store.packing import unpack_span
from engine.store.selecting import fitted, said

NAMED = 20
"""Ids that are named because they came back; more are not looked for."""

_TENANT = """
SELECT t.no, t.name, t.erasures = t.tidied FROM erasures e JOIN tenants t ON t.no = e.tenant
WHERE erasure_id = ?"""
_PRESENT = """
SELECT run_id FROM runs WHERE tenant = :no UNION SELECT trace_id FROM traces WHERE tenant = :no
UNION SELECT run_id FROM sessions WHERE tenant = :no UNION SELECT run_id FROM outcomes WHERE tenant = :no
UNION SELECT run_id FROM firings WHERE tenant = :no"""
_HAVING = """
SELECT trace_id, span_id, body FROM spans JOIN traces ON no = trace WHERE tenant = ? AND instr(body, ?)"""


class Verified(NamedTuple):
    """What is known of an erasure now.

    Attributes
    ----------
    tenant : str
    back : tuple of str
        Ids that went and are in the store again, the first of them: they were sent once more.
    is_tidied : bool
        Whether a server has emptied its cache and the log since.
    is_vacuumed : bool
        Whether the whole file was written anew since.
    """

    receipt: Receipt
    tenant: str
    back: tuple[str, ...]
    is_tidied: bool
    is_vacuumed: bool


def verify(path: Path, erasure_id: str) -> Verified:
    """Look an erasure over; the file is only read.

    Raises
    ------
    UnknownErasureError
        The store has none of this id.
    """
    opening.check(path)
    with opening.told(path), closing(opening.connect(path, read_only=True)) as db:
        opening.bring_forward(db, path, read_only=True)
        db.execute("BEGIN")
        row = db.execute(_TENANT, (erasure_id,)).fetchone()
        found = receipt(db, row[1], erasure_id) if row else None
        if found is None:
            raise UnknownErasureError(f"No erasure {erasure_id!r} is in the store {path}.")
        back = tuple(islice(_back(db, row[0], found), NAMED))
        vacuumed_ns = _number(db, "vacuumed_ns")
        is_vacuumed = found.done_ns is not None and vacuumed_ns >= found.done_ns
        return Verified(found, row[1], back, bool(row[2]), is_vacuumed)


def _back(db: sqlite3.Connection, tenant: int, found: Receipt) -> Iterator[str]:
    """The ids of runs and traces that are there again, and the ticket or the text of the attribute."""
    digest = digests(secret(db) or b"", tenant)
    is_erased = "SELECT 1 FROM erased WHERE erasure_id = ? AND digest = ?"
    for (name,) in db.execute(_PRESENT, {"no": tenant}):
        if db.execute(is_erased, (found.erasure_id, digest(told_name(name)))).fetchone():
            yield name
    for text, selection in _like(db, tenant, found.what):
        if digest(selector_of(selection)).hex() == found.digest:
            yield text


def _like(db: sqlite3.Connection, tenant: int, asked: str) -> Iterator[tuple[str, Selection]]:
    """Every ticket that a span names, if a ticket was asked for, or every text of the attribute."""
    what, _, attribute = asked.partition(" ")
    if what == "ticket":
        tickets = {text for key, _ in TICKET_KEYS for text in _texts(db, tenant, key)}
        yield from ((text, fitted(ByTicket(text))) for text in tickets)
    elif what == "attribute":
        yield from ((text, ByAttribute(attribute, text)) for text in _texts(db, tenant, attribute))


def _texts(db: sqlite3.Connection, tenant: int, attribute: str) -> set[str]:
    spans = db.execute(_HAVING, (tenant, attribute.encode()))
    return {each for span in spans for each in said(unpack_span(*span), attribute)}


def _number(db: sqlite3.Connection, name: str) -> int:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (name,)).fetchone()
    return int(row[0]) if row else 0
