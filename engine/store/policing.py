"""What fuses ask, and the ledger of what they did.

A run's later outcome is looked up when the ledger is read, so it is always the one that counts now.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from engine.errors import InputError
from engine.fuses import MAX_POLICIES, Firing, Policy
from engine.runs import Outcome, Source, Window
from engine.store import Lines, Recorded, Tally
from engine.store.fitting import bounded, plain
from engine.store.keys import tenant_number
from engine.store.scope import IS_LIVE, scope

_POLICIES = """
SELECT name, agent, min_success_odds, action, min_support, after_steps, mode FROM policies
WHERE tenant = (SELECT no FROM tenants WHERE name = ?) ORDER BY name"""
_FIELDS = (
    *("name", "agent", "min_success_odds", "action"),
    *("foresight_min_support", "foresight_after_steps", "mode"),
)

_FIRED = "time_ns, run_id, agent, policy, action, mode, next_step, steps, support, successes, odds, reason"

_ADD = f"""
INSERT INTO firings (tenant, {_FIRED}) SELECT :tenant, {", ".join(f":{name}" for name in _FIRED.split(", "))}
WHERE EXISTS (SELECT 1 FROM runs WHERE tenant = :tenant AND run_id = :run_id)
OR EXISTS (SELECT 1 FROM traces WHERE tenant = :tenant AND trace_id = :run_id)
OR EXISTS (SELECT 1 FROM sessions WHERE tenant = :tenant AND run_id = :run_id)"""
"""A run that is gone leaves no line: it may have been erased since the fuse fired."""

_RUN_OF = """coalesce(
    (SELECT no FROM runs WHERE tenant = f.tenant AND run_id = f.run_id),
    (SELECT run FROM traces WHERE tenant = f.tenant AND trace_id = f.run_id))"""
"""A run may have learnt its session since, and then goes by that; it had its trace's name before."""

_ENDED = f"CASE WHEN {IS_LIVE} THEN 3 ELSE outcome END, CASE WHEN {IS_LIVE} THEN NULL ELSE source END"

_WANTED = {
    "policy": "AND f.policy = :policy",
    "agent": "AND f.agent = :agent",
    "run_id": """AND f.run_id IN (
    SELECT :run_id UNION SELECT trace_id FROM traces
    WHERE run = (SELECT no FROM runs WHERE tenant = :tenant AND run_id = :run_id))""",
}

_LEDGER = f"""
SELECT f.no, {_ENDED}, f.{_FIRED.replace(", ", ", f.")} FROM firings f LEFT JOIN runs r ON r.no = {_RUN_OF}
WHERE f.tenant = :tenant AND f.no < :before {{wanted}} ORDER BY f.no DESC LIMIT :limit"""

_TALLY = f"""
WITH lines AS (SELECT *, {_RUN_OF} AS run FROM firings f WHERE tenant = :tenant {{wanted}}),
each AS (SELECT DISTINCT policy, action, mode, run, CASE WHEN run IS NULL THEN run_id END FROM lines),
ended (policy, action, mode, outcome, source) AS (
    SELECT policy, action, mode, {_ENDED} FROM each LEFT JOIN runs ON no = run)
SELECT policy, action, mode, count(*),
    {
    ", ".join(
        f"ifnull(sum(outcome = {outcome:d} AND source {of} {Source.INFERRED:d}), 0)"
        for of in ("<>", "=")
        for outcome in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED)
    )
},
    sum(source IS NULL)
FROM ended GROUP BY policy, action, mode ORDER BY policy, action, mode"""


def policies(db: sqlite3.Connection, tenant: str) -> tuple[Policy, ...]:
    """The policies of a tenant, by name."""
    rows = db.execute(_POLICIES, (plain(tenant),))
    return tuple(Policy(**dict(zip(_FIELDS, row, strict=True))) for row in rows)


def set_policy(db: sqlite3.Connection, tenant: int, policy: Policy) -> bool:
    """Write a policy in place of the one of its name; whether there was none."""
    is_new = not remove_policy(db, tenant, policy.name)
    (count,) = db.execute("SELECT count(*) FROM policies WHERE tenant = ?", (tenant,)).fetchone()
    if count >= MAX_POLICIES:
        raise InputError(f"There are {MAX_POLICIES} policies already, and there may be no more.")
    db.execute(
        "INSERT INTO policies (tenant, name, agent, min_success_odds, action, min_support, after_steps, mode)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tenant,
            policy.name,
            policy.agent,
            policy.min_success_odds,
            policy.action,
            policy.foresight_min_support,
            policy.foresight_after_steps,
            policy.mode,
        ),
    )
    return is_new


def set_policies(db: sqlite3.Connection, tenant: int, policies: Sequence[Policy]) -> None:
    """Replace all policies of a tenant."""
    db.execute("DELETE FROM policies WHERE tenant = ?", (tenant,))
    for policy in policies:
        set_policy(db, tenant, policy)


def remove_policy(db: sqlite3.Connection, tenant: int, name: str) -> bool:
    """Remove a policy; whether it was there."""
    found = db.execute("DELETE FROM policies WHERE tenant = ? AND name = ?", (tenant, plain(name)))
    return found.rowcount > 0


def add_firings(db: sqlite3.Connection, tenant: int, firings: Sequence[Firing]) -> int:
    """Write lines of the ledger; how many."""
    return sum(db.execute(_ADD, _row(tenant, firing)).rowcount for firing in firings)


def _row(tenant: int, firing: Firing) -> dict[str, object]:
    row = msgspec.structs.asdict(firing)
    texts = {name: plain(value) for name, value in row.items() if isinstance(value, str)}
    return row | texts | {"tenant": tenant, "time_ns": bounded(firing.time_ns)}


def firings(
    db: sqlite3.Connection, tenant: str, now_ns: int, before: int, limit: int, wanted: Lines
) -> list[Recorded]:
    """The ledger, newest first."""
    asked = {"before": bounded(before), "limit": limit}
    return [_recorded(*row) for row in _select(db, _LEDGER, tenant, now_ns, wanted, **asked)]


def tally(db: sqlite3.Connection, tenant: str, now_ns: int, wanted: Lines) -> list[Tally]:
    """How the runs ended that fuses fired in."""
    return [Tally(*row) for row in _select(db, _TALLY, tenant, now_ns, wanted)]


def _select(
    db: sqlite3.Connection, sql: str, tenant: str, now_ns: int, wanted: Lines, **more: int
) -> sqlite3.Cursor:
    """What a statement finds of the lines that are wanted."""
    limits = {name: plain(value) for name, value in wanted._asdict().items() if value is not None}
    asked = {"tenant": tenant_number(db, tenant), **scope(Window(), now_ns), **limits, **more}
    return db.execute(sql.format(wanted=" ".join(_WANTED[name] for name in limits)), asked)


def _recorded(no: int, outcome: int | None, source: int | None, *row: object) -> Recorded:
    firing = msgspec.convert(dict(zip(_FIRED.split(", "), row, strict=True)), Firing)
    return Recorded(
        no,
        firing,
        None if outcome is None else Outcome(outcome),
        None if source is None else Source(source),
    )
