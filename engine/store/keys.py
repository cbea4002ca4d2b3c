"""The numbers that stand for names: of tenants, agents and traces."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable

from engine.paths import identifier
from engine.runs import Cohort
from engine.store.fitting import plain

_HEX_ID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.IGNORECASE)


def tenant_number(db: sqlite3.Connection, tenant: str) -> int | None:
    """Number of a tenant that has sent something."""
    row = db.execute("SELECT no FROM tenants WHERE name = ?", (plain(tenant),)).fetchone()
    return int(row[0]) if row else None


def given_tenant(db: sqlite3.Connection, tenant: str) -> int:
    """Number of a tenant, given now if it is the first time."""
    number = tenant_number(db, tenant)
    if number is None:
        number = db.execute("INSERT INTO tenants (name) VALUES (?)", (plain(tenant),)).lastrowid
    return number or 0


def tenant_names(db: sqlite3.Connection) -> list[str]:
    """Every tenant, by name."""
    return [name for (name,) in db.execute("SELECT name FROM tenants ORDER BY name")]


def unsettled_tenants(db: sqlite3.Connection) -> dict[str, int]:
    """Every tenant with a touched trace, and the number of the last."""
    touched = "SELECT tenant, max(no) AS last FROM traces WHERE stamp <> settled GROUP BY tenant"
    return dict(db.execute(f"SELECT name, last FROM ({touched}) JOIN tenants t ON t.no = tenant"))


def cohort_numbers(db: sqlite3.Connection, cohort: Cohort) -> tuple[int, int] | None:
    """Numbers of the cohort's tenant and agent, if the agent has a run."""
    row: tuple[int, int] | None = db.execute(
        "SELECT t.no, a.no FROM tenants t JOIN agents a ON a.tenant = t.no WHERE t.name = ? AND a.name = ?"
        " AND EXISTS (SELECT 1 FROM runs WHERE agent = a.no)",
        (plain(cohort.tenant), plain(cohort.agent)),
    ).fetchone()
    return row


def told_name(name: str) -> str:
    """The id an outcome is kept under: a trace id (32 hex digits, as a UUID has them or bare) in one form.

    >>> told_name("01234567-89AB-CDEF-0123-456789ABCDEF"), told_name("Chat-1")
    ('0123456789abcdef0123456789abcdef', 'Chat-1')
    """
    kept = identifier(plain(name))
    return kept.replace("-", "").lower() if _HEX_ID.fullmatch(kept) else kept


def told_names(run_id: str, trace_ids: Iterable[str]) -> tuple[str, ...]:
    """The ids that outcomes of a run are kept under: its own, and its traces'."""
    return tuple(dict.fromkeys(map(told_name, (run_id, *trace_ids))))


def traces_told(db: sqlite3.Connection, tenant: int, name: str) -> list[int]:
    """Numbers of the traces of the run that is told by this id, or by that of one of its traces."""
    found = []
    for each in dict.fromkeys((identifier(plain(name)), *spellings(told_name(name)))):
        found += traces_of_run(db, tenant, each)
        rows = db.execute("SELECT no FROM traces WHERE tenant = ? AND trace_id = ?", (tenant, each))
        found += [no for (no,) in rows]
    return list(dict.fromkeys(found))


def spellings(told: str) -> tuple[str, ...]:
    """The ids of runs and traces that outcomes are kept under this one for."""
    if not _HEX_ID.fullmatch(told):
        return (told,)
    dashed = "-".join((told[:8], told[8:12], told[12:16], told[16:20], told[20:]))
    return told, dashed, told.upper(), dashed.upper()


def traces_of_run(db: sqlite3.Connection, tenant: int, run_id: str) -> list[int]:
    """Numbers of the traces that make up a run, by arrival."""
    rows = db.execute(
        "SELECT traces.no FROM runs JOIN traces ON run = runs.no"
        " WHERE runs.tenant = ? AND run_id = ? ORDER BY traces.no",
        (tenant, run_id),
    )
    return [no for (no,) in rows]
