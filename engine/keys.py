"""Who asks: a tenant, and what they may do there; and the keys that say so.

A key is the text ``fmk_<id>_<secret>``. The id is public; of the secret only a SHA-256 digest is
kept. The secret is 32 random bytes, so nobody can try them all: a digest that is slow to make,
as passwords need, would protect nothing more and cost every request.
"""

from __future__ import annotations

import hmac
from enum import StrEnum
from hashlib import sha256
from secrets import token_hex, token_urlsafe
from typing import NamedTuple

DEFAULT_TENANT = "default"
"""The one tenant where nobody signs in."""

_PREFIX = "fmk"
_ID_BYTES, _SECRET_BYTES = 6, 32


class Role(StrEnum):
    """What a key is for; ``admin`` may do all of it."""

    INGEST = "ingest"
    READ = "read"
    ADMIN = "admin"


class Caller(NamedTuple):
    """Whoever asks.

    Attributes
    ----------
    tenant : str
        Whose runs they see and send.
    name : str
        Who they are, as the outcomes they declare keep it.
    """

    tenant: str
    role: Role
    name: str = ""

    def may(self, role: Role) -> bool:
        """Whether they may do what the role is for.

        >>> Caller("acme", Role.ADMIN).may(Role.READ), Caller("acme", Role.INGEST).may(Role.READ)
        (True, False)
        """
        return self.role in (role, Role.ADMIN)


ANYONE = Caller(DEFAULT_TENANT, Role.ADMIN)
"""Whoever reaches a server without keys, on the same machine."""


class Key(NamedTuple):
    """A key as it is kept, without its secret.

    Attributes
    ----------
    digest : bytes
        SHA-256 of the secret.
    revoked_ns : int or None
        When it stopped working, if it did.
    """

    key_id: str
    tenant: str
    role: Role
    label: str
    digest: bytes
    created_ns: int
    revoked_ns: int | None = None

    @property
    def caller(self) -> Caller:
        """Whoever holds the key, by its label, if it has one, and its id: keys may share a label."""
        name = f"{self.label} ({self.key_id})" if self.label else f"key {self.key_id}"
        return Caller(self.tenant, self.role, name)

    def opens(self, secret: str) -> bool:
        """Whether the secret is this key's and still works; takes as long for any wrong one."""
        return hmac.compare_digest(self.digest, digest_of(secret)) and self.revoked_ns is None


NO_KEY = Key("", "", Role.READ, "", bytes(32), 0, revoked_ns=0)
"""What an unknown id is compared with, so that the answer takes as long; nothing opens it."""


def mint(tenant: str, role: Role, label: str, now_ns: int) -> tuple[Key, str]:
    """A new key, and its text, which is nowhere else.

    >>> key, text = mint("acme", Role.READ, "", 0)
    >>> key_id, secret = split(text)
    >>> key_id == key.key_id, key.opens(secret), key.opens("guess")
    (True, True, False)
    """
    key_id, secret = token_hex(_ID_BYTES), token_urlsafe(_SECRET_BYTES)
    key = Key(key_id, tenant, role, label, digest_of(secret), now_ns)
    return key, f"{_PREFIX}_{key_id}_{secret}"


def split(text: str) -> tuple[str, str]:
    """Id and secret of a key's text; of any other text, two empty ones.

    >>> split(" fmk_0a1b2c3d4e5f_se_cret "), split("password")
    (('0a1b2c3d4e5f', 'se_cret'), ('', ''))
    """
    prefix, _, rest = text.strip().partition("_")
    key_id, _, secret = rest.partition("_")
    return (key_id, secret) if prefix == _PREFIX and secret else ("", "")


def digest_of(secret: str) -> bytes:
    """What is kept of a secret.

    >>> len(digest_of("secret"))
    32
    """
    return sha256(secret.encode(errors="surrogatepass")).digest()
