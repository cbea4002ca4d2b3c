"""The numbers that stand for names: of tenants, agents and traces."""

from __future__ import annotations

import sqlite3

from engine.runs import Cohort
from engine.store.fitting import plain


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


def cohort_numbers(db: sqlite3.Connection, cohort: Cohort) -> tuple[int, int] | None:
    """Numbers of the cohort's tenant and agent, if the agent has a run."""
    row: tuple[int, int] | None = db.execute(
        "SELECT t.no, a.no FROM tenants t JOIN agents a ON a.tenant = t.no WHERE t.name = ? AND a.name = ?"
        " AND EXISTS (SELECT 1 FROM runs WHERE agent = a.no)",
        (plain(cohort.tenant), plain(cohort.agent)),
    ).fetchone()
    return row


def traces_of_run(db: sqlite3.Connection, tenant: int, run_id: str) -> list[int]:
    """Numbers of the traces that make up a run, by arrival."""
    rows = db.execute(
        "SELECT traces.no FROM runs JOIN traces ON run = runs.no"
        " WHERE runs.tenant = ? AND run_id = ? ORDER BY traces.no",
        (tenant, run_id),
    )
    return [no for (no,) in rows]
