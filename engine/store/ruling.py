"""What is said of runs beside their spans: declared outcomes taken back, and the rules of an agent."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from engine.rules import Rule
from engine.runs import Declaration, Outcome
from engine.store.appending import touch
from engine.store.fitting import bounded, plain
from engine.store.keys import tenant_number, told_name, traces_told


def withdraw(db: sqlite3.Connection, tenant: int, said: Declaration) -> bool:
    """Delete a declaration; the traces of its run are marked."""
    found = db.execute(
        "DELETE FROM outcomes"
        " WHERE tenant = ? AND run_id = ? AND time_ns = ? AND outcome = ? AND declared_by = ?",
        (tenant, told_name(said.run_id), bounded(said.time_ns), said.outcome, plain(said.by)),
    ).rowcount
    if found:
        touch(db, traces_told(db, tenant, said.run_id))
    return found > 0


def rules(db: sqlite3.Connection, tenant: str, agent: str) -> tuple[Rule, ...]:
    """The rules of an agent, in order."""
    return rules_of(db, tenant_number(db, tenant), agent)


def rules_of(db: sqlite3.Connection, tenant: int | None, agent: str) -> tuple[Rule, ...]:
    """The rules of an agent of the tenant that has this number."""
    rows = db.execute(
        "SELECT expression, outcome FROM rules WHERE tenant = ? AND agent = ? ORDER BY place",
        (tenant, plain(agent)),
    )
    return tuple(Rule(expression, Outcome(outcome)) for expression, outcome in rows)


def set_rules(db: sqlite3.Connection, tenant: int, agent: str, rules: Sequence[Rule]) -> None:
    """Replace the rules of an agent; the traces of its runs are marked, but for declared ones."""
    name = plain(agent)
    db.execute("DELETE FROM rules WHERE tenant = ? AND agent = ?", (tenant, name))
    db.executemany(
        "INSERT INTO rules (tenant, agent, place, expression, outcome) VALUES (?, ?, ?, ?, ?)",
        [(tenant, name, place, plain(rule.expression), rule.outcome) for place, rule in enumerate(rules)],
    )
    db.execute(
        "UPDATE traces SET stamp = stamp + 1 WHERE run IN (SELECT r.no FROM runs r JOIN agents a"
        " ON a.no = r.agent WHERE a.tenant = ? AND a.name = ? AND source <> 0)",
        (tenant, name),
    )


def every_rule(db: sqlite3.Connection, tenant: int) -> tuple[tuple[str, int, str, int], ...]:
    """The rules of all agents of a tenant, to see whether any has changed."""
    every = "SELECT agent, place, expression, outcome FROM rules WHERE tenant = ? ORDER BY agent, place"
    return tuple(db.execute(every, (tenant,)))
