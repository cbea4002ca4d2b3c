"""What is called like a text while it is being typed: agents, tickets and runs, each by its index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

from engine.paths import identifier
from engine.store import Names
from engine.store.fitting import plain
from engine.store.keys import tenant_number

LOOKED_AT = 20_000
"""Names that are looked through for the text where too few begin with it."""

_PAST = "\U0010ffff"
"""After every character that a name goes on with."""

_AGENTS = """
SELECT name FROM agents a WHERE tenant = :tenant AND instr(lower(name), lower(:text)) > 0
  AND EXISTS (SELECT 1 FROM runs WHERE agent = a.no) ORDER BY name LIMIT :limit"""

_BEGINNING = """
SELECT DISTINCT {name} FROM runs WHERE tenant = :tenant AND {name} >= :text AND {name} < :past
ORDER BY {name} LIMIT :limit"""

_HOLDING = """
SELECT DISTINCT {name} FROM (SELECT {name} FROM runs WHERE tenant = :tenant AND {name} IS NOT NULL
                             LIMIT :looked_at)
WHERE instr(lower({name}), lower(:text)) > 0 LIMIT :limit"""


def names(db: sqlite3.Connection, tenant: str, text: str, limit: int) -> Names:
    """Names that hold a text; runs and tickets that begin with it come first."""
    wanted = identifier(plain(text.strip()))
    asked = {
        "tenant": tenant_number(db, tenant),
        "text": wanted,
        "past": wanted + _PAST,
        "looked_at": LOOKED_AT,
        "limit": limit,
    }
    if not wanted:
        return Names()
    agents = tuple(name for (name,) in db.execute(_AGENTS, asked))
    return Names(agents, *(tuple(_called(db, column, asked))[:limit] for column in ("ticket", "run_id")))


def _called(db: sqlite3.Connection, column: str, asked: Mapping[str, str | int | None]) -> dict[str, None]:
    """Names of one column: those that begin with the text, and where these are few those that hold it."""
    found = dict.fromkeys(_each(db, _BEGINNING, column, asked))
    few = len(found) != asked["limit"]
    return found | dict.fromkeys(_each(db, _HOLDING, column, asked)) if few else found


def _each(
    db: sqlite3.Connection, query: str, column: str, asked: Mapping[str, str | int | None]
) -> Iterator[str]:
    return (name for (name,) in db.execute(query.format(name=column), asked))
