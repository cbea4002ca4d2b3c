"""Erasing what somebody asks to be forgotten: a job that is written down first, and then always ends.

What is asked for is kept with the job until it is done, so whoever finds it half-way, this process
or the next, goes on: runs are found a page at a time in a snapshot, taken away whole, and their
spans swept. Everything that was acknowledged before it was asked is gone then; of what comes
meanwhile, what belongs to a run that is still there. After that a receipt is left, and keyed
digests of the ids that went, by which it can be seen whether one has come back.
"""

from __future__ import annotations

import hmac
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from secrets import token_hex

import msgspec

from engine.selections import Before, ByAttribute, ByRun, Selection
from engine.store import Receipt
from engine.store.expiring import remove_unseen, unseen
from engine.store.fitting import bounded, plain
from engine.store.keyring import make_secret
from engine.store.keys import told_name
from engine.store.marking import remove_old
from engine.store.removing import Taken, forget, sweep, take_run, take_trace, together
from engine.store.selecting import Found, find, loose

DIGEST_BYTES = 16
_ID_BYTES = 6

_PENDING = """
SELECT tenant, selector FROM erasures
WHERE tenant = (SELECT no FROM tenants WHERE name = ?) AND erasure_id = ? AND done_ns IS NULL"""
_BEGUN = """
SELECT name, erasure_id FROM erasures JOIN tenants ON no = tenant WHERE done_ns IS NULL
ORDER BY asked_ns, erasure_id"""
_RECEIPT = """
SELECT erasure_id, what, lower(hex(digest)), asked_by, asked_ns, done_ns,
       runs, traces, spans, outcomes, firings
FROM erasures AS e WHERE tenant = (SELECT no FROM tenants WHERE name = ?)"""
_EARLIER = """
AND (asked_ns, erasure_id) < (
    SELECT asked_ns, erasure_id FROM erasures WHERE tenant = e.tenant AND erasure_id = ?)"""
_COUNT = """
UPDATE erasures SET runs = runs + ?, traces = traces + ?, outcomes = outcomes + ?, firings = firings + ?
WHERE erasure_id = ?"""
_BUMP = "UPDATE tenants SET erasures = erasures + 1 WHERE no = ?"
_IDLE_AGENTS = """
DELETE FROM agents WHERE tenant = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE agent = agents.no)"""
_STILL = "SELECT no FROM runs WHERE no = ? AND run_id = ? AND tenant = ?"
_OF_TRACE = "SELECT run FROM traces WHERE no = ? AND trace_id = ? AND tenant = ?"

_SELECTIONS: msgspec.json.Decoder[Selection] = msgspec.json.Decoder(Selection)


def selector_of(selection: Selection) -> str:
    """What is asked for as it is kept, and as its digest is taken of.

    >>> selector_of(ByRun("r-1"))
    '{"type":"run","run_id":"r-1"}'
    """
    return msgspec.json.encode(selection).decode()


def begin(db: sqlite3.Connection, tenant: int, selection: Selection, asked_by: str, now_ns: int) -> str:
    """Write down what is to be erased, or find that it is already; the id of the erasure."""
    again = asked(db, tenant, selection)
    if again:
        return again
    selector, erasure_id = selector_of(selection), token_hex(_ID_BYTES)
    digest = digests(make_secret(db), tenant)(selector)
    db.execute(
        "INSERT INTO erasures (erasure_id, tenant, what, selector, digest, asked_by, asked_ns)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (erasure_id, tenant, selection.what, selector, digest, plain(asked_by), bounded(now_ns)),
    )
    db.execute(_BUMP, (tenant,))
    return erasure_id


def count(db: sqlite3.Connection, tenant: str) -> int:
    """How often something of a tenant's was begun or ended to be erased."""
    row = db.execute("SELECT erasures FROM tenants WHERE name = ?", (plain(tenant),)).fetchone()
    return row[0] if row else 0


def counts(db: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """The counts of all tenants that anything was erased of, and up to which count nothing is left."""
    rows = db.execute("SELECT name, erasures, tidied FROM tenants WHERE erasures > 0 ORDER BY no")
    return {name: (erasures, tidied) for name, erasures, tidied in rows}


def set_tidied(db: sqlite3.Connection, tenant: str, erasures: int) -> None:
    """Note up to which count nothing is left of a tenant's erasures."""
    db.execute("UPDATE tenants SET tidied = ? WHERE name = ?", (erasures, plain(tenant)))


def asked(db: sqlite3.Connection, tenant: int | None, selection: Selection) -> str | None:
    """The id of the erasure of this that is not done, if there is one."""
    pending = "SELECT erasure_id FROM erasures WHERE tenant = ? AND selector = ?"
    found: tuple[str] | None = db.execute(pending, (tenant, selector_of(selection))).fetchone()
    return found and found[0]


def digests(secret: bytes, tenant: int) -> Callable[[str], bytes]:
    """What is kept of the ids of a tenant: without the store's secret nobody can try ids."""
    return lambda name: hmac.digest(secret, f"erased\0{tenant}\0{name}".encode(), "sha256")[:DIGEST_BYTES]


def begun(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Tenant and id of every erasure that is not done, those asked for first before the others."""
    return db.execute(_BEGUN).fetchall()


def pending(db: sqlite3.Connection, tenant: str, erasure_id: str) -> tuple[int, Selection] | None:
    """The tenant's number and what is to be erased, until it is done."""
    row = db.execute(_PENDING, (plain(tenant), erasure_id)).fetchone()
    return (row[0], _SELECTIONS.decode(row[1])) if row else None


def next_page(db: sqlite3.Connection, tenant: str, erasure_id: str, after: int, limit: int) -> Found:
    """The next runs that an erasure is of; none once it is done."""
    job = pending(db, tenant, erasure_id)
    return find(db, *job, after, limit) if job else Found((), None)


def take(db: sqlite3.Connection, tenant: str, erasure_id: str, found: Found, limit: int) -> None:
    """Take a page of runs away, as far as they are still there, and sweep some spans."""
    job = pending(db, tenant, erasure_id)
    if job is not None:
        _record(db, erasure_id, job[0], _take_runs(db, erasure_id, *job, found.rows))
        sweep(db, limit)


def _take_runs(
    db: sqlite3.Connection,
    erasure_id: str,
    tenant: int,
    selection: Selection,
    rows: Iterable[tuple[int, str]],
) -> list[Taken]:
    """Take runs away that are still what was found: their numbers may have been given to others since."""
    query = _OF_TRACE if isinstance(selection, ByAttribute) else _STILL
    still = (run for row in rows for (run,) in db.execute(query, (*row, tenant)).fetchall())
    return [take_run(db, run, erasure_id) for run in still]


def _record(db: sqlite3.Connection, erasure_id: str, tenant: int, taken: Sequence[Taken]) -> None:
    names, *counts = together(Taken(), *taken)
    digest = digests(make_secret(db), tenant)
    kept = [(erasure_id, digest(name)) for name in dict.fromkeys(map(told_name, names))]
    db.executemany("INSERT INTO erased VALUES (?, ?) ON CONFLICT DO NOTHING", kept)
    db.execute(_COUNT, (*counts, erasure_id))


def finish(db: sqlite3.Connection, tenant: str, erasure_id: str, now_ns: int, limit: int) -> bool:
    """Sweep some spans, or take what else there is, or end; whether it is done."""
    job = pending(db, tenant, erasure_id)
    if job is None:
        return True
    if sweep(db, limit):
        return False
    rest = _take_rest(db, erasure_id, *job, limit)
    _record(db, erasure_id, job[0], [rest])
    if any(rest[1:]):
        return False
    db.execute(_IDLE_AGENTS, (job[0],))
    done = "UPDATE erasures SET selector = NULL, done_ns = ? WHERE erasure_id = ?"
    db.execute(done, (bounded(now_ns), erasure_id))
    db.execute(_BUMP, (job[0],))
    return True


def _take_rest(
    db: sqlite3.Connection, erasure_id: str, tenant: int, selection: Selection, limit: int
) -> Taken:
    """What came just now, and what belongs to no run: outcomes told beforehand, spans not settled yet."""
    if isinstance(selection, ByAttribute):
        return Taken()  # Nothing leads to it but reading every span once more.
    late = find(db, tenant, selection, 0, limit).rows
    taken = together(Taken(), *_take_runs(db, erasure_id, tenant, selection, late))
    match selection:
        case ByRun(name):
            traces = [take_trace(db, no, erasure_id) for no in loose(db, tenant, selection)]
            return together(Taken((name,)), taken, forget(db, tenant, [name]), *traces)
        case Before(time_ns):
            remove_old(db, tenant, bounded(time_ns))
            told = Taken(outcomes=remove_unseen(db, unseen(db, tenant, time_ns, limit), time_ns))
            return together(taken, told)
    return taken


def receipt(db: sqlite3.Connection, tenant: str, erasure_id: str) -> Receipt | None:
    """What became of an erasure of the tenant, if it has one of this id."""
    row = db.execute(f"{_RECEIPT} AND erasure_id = ?", (plain(tenant), plain(erasure_id))).fetchone()
    return Receipt._make(row) if row else None


def receipts(db: sqlite3.Connection, tenant: str, after: str | None, limit: int) -> list[Receipt]:
    """What became of the erasures of the tenant, the latest first."""
    page = "" if after is None else _EARLIER
    asked = (plain(tenant), *([] if after is None else [plain(after)]), limit)
    rows = db.execute(f"{_RECEIPT} {page} ORDER BY asked_ns DESC, erasure_id DESC LIMIT ?", asked)
    return [Receipt._make(row) for row in rows]
