"""Who asks: a tenant, and what they may do there."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

DEFAULT_TENANT = "default"
"""The one tenant where nobody signs in."""


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
