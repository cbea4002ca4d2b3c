"""The keys of a store's tenants, and the secret that its servers sign with."""

from __future__ import annotations

import sqlite3
from secrets import token_bytes

import msgspec

from engine.keys import Key
from engine.store.fitting import bounded, plain
from engine.store.keys import given_tenant

SECRET_BYTES = 32

_KEYS = (
    "SELECT key_id, name, role, label, digest, created_ns, revoked_ns"
    " FROM keys JOIN tenants ON tenants.no = keys.tenant WHERE "
)


def add(db: sqlite3.Connection, key: Key) -> None:
    """Keep a new key."""
    db.execute(
        "INSERT INTO keys (key_id, tenant, role, label, digest, created_ns) VALUES (?, ?, ?, ?, ?, ?)",
        (
            key.key_id,
            given_tenant(db, key.tenant),
            key.role,
            plain(key.label),
            key.digest,
            bounded(key.created_ns),
        ),
    )


def of_tenant(db: sqlite3.Connection, tenant: str) -> list[Key]:
    """A tenant's keys by age, the revoked ones too."""
    return _read(db.execute(_KEYS + "name = ? ORDER BY created_ns, key_id", (plain(tenant),)))


def by_id(db: sqlite3.Connection, key_id: str) -> Key | None:
    """The key of an id."""
    return next(iter(_read(db.execute(_KEYS + "key_id = ?", (plain(key_id),)))), None)


def revoke(db: sqlite3.Connection, tenant: str, key_id: str, now_ns: int) -> bool:
    """Let a key stop working; whether it worked until now."""
    changed = db.execute(
        "UPDATE keys SET revoked_ns = ? WHERE key_id = ? AND revoked_ns IS NULL"
        " AND tenant = (SELECT no FROM tenants WHERE name = ?)",
        (bounded(now_ns), plain(key_id), plain(tenant)),
    )
    return changed.rowcount > 0


def has_any(db: sqlite3.Connection) -> bool:
    """Whether a key was ever made."""
    return db.execute("SELECT 1 FROM keys LIMIT 1").fetchone() is not None


def secret(db: sqlite3.Connection) -> bytes | None:
    """The secret, once it is made."""
    row = db.execute("SELECT value FROM secrets WHERE name = 'signing'").fetchone()
    return bytes(row[0]) if row else None


def make_secret(db: sqlite3.Connection) -> bytes:
    """The secret, made now unless another process was faster."""
    db.execute("INSERT OR IGNORE INTO secrets VALUES ('signing', ?)", (token_bytes(SECRET_BYTES),))
    return secret(db) or b""


def _read(rows: sqlite3.Cursor) -> list[Key]:
    return msgspec.convert(rows.fetchall(), list[Key])
