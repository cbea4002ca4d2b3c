"""``forkmap keys``: making, listing and revoking the keys of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table

from dashboard import urls
from dashboard.commands.terminal import shown
from dashboard.components import words
from engine.errors import ForkmapError
from engine.keys import Key, Role, mint, split
from engine.store import Store

Document = dict[str, Any]

MAX_NAME = 100
"""Characters of a tenant's name or of a label."""


def create(store: Store, tenant: str, role: Role, label: str, now_ns: int) -> tuple[Key, str]:
    """Make a key; it and its text, which is shown this once.

    Raises
    ------
    ForkmapError
        The tenant has no name, or a name or label is no plain text of at most 100 characters.
    """
    for what, name in (("tenant", tenant), ("label", label)):
        empty = what == "tenant" and not name
        if empty or len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
            raise ForkmapError(
                f"{name[:MAX_NAME]!r} cannot be a {what}: up to {MAX_NAME} plain characters can"
            )
    key, text = mint(tenant, role, label, now_ns)
    store.add_key(key)
    return key, text


def revoke(store: Store, shown_id: str, now_ns: int) -> Key:
    """Let the key of an id (or of a whole key) stop working; what is left of it.

    Raises
    ------
    ForkmapError
        No key has that id.
    """
    key_id = split(shown_id)[0] or shown_id
    known = store.key(key_id)
    if known is None:
        raise ForkmapError(f"no key has the id {key_id!r}: forkmap keys list --tenant NAME lists a tenant's")
    store.revoke_key(known.tenant, key_id, now_ns)
    return store.key(key_id) or known


def document(key: Key) -> Document:
    """A key for programs."""
    return {
        "id": key.key_id,
        "tenant": key.tenant,
        "role": str(key.role),
        "label": key.label,
        "created": urls.write_time(key.created_ns),
        "revoked": None if key.revoked_ns is None else urls.write_time(key.revoked_ns),
    }


def documents(keys: Sequence[Key]) -> list[Document]:
    """Keys for programs."""
    return [document(key) for key in keys]


def table(keys: Sequence[Key], tenant: str) -> RenderableType:
    """Keys for people."""
    if not keys:
        return shown(f"No key has been made for the tenant {tenant}: forkmap keys create makes one.")
    drawn = Table(box=box.SIMPLE)
    for head in ("Id", "Role", "Label", "Made", "Revoked"):
        drawn.add_column(head)
    for key in keys:
        ended = "" if key.revoked_ns is None else words.utc(key.revoked_ns)
        drawn.add_row(*map(shown, (key.key_id, key.role, key.label, words.utc(key.created_ns), ended)))
    return drawn


def made(key: Key) -> RenderableType:
    """What to know of a new key."""
    return shown(f"Key {key.key_id} of tenant {key.tenant}, role {key.role}. It is shown this once.")


def revoked(key: Key) -> RenderableType:
    """What became of a key."""
    return shown(f"Key {key.key_id} of tenant {key.tenant} works no more.")
