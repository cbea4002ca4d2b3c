"""From what a request shows to who asks."""

from __future__ import annotations

from engine.errors import KeyRefusedError
from engine.keys import NO_KEY, Key

NEEDED = "This needs a key: send it as “Authorization: Bearer fmk_…”."
REFUSED = "This key does not work: it was never made here, is written wrongly, or was revoked."


def opened(found: Key | None, secret: str) -> Key:
    """The key that an id found, if the secret is its own.

    Raises
    ------
    KeyRefusedError
        It is none that works; which of the reasons it is, nobody is told.
    """
    known = found or NO_KEY
    if not known.opens(secret):
        raise KeyRefusedError(REFUSED)
    return known


def bearer(authorization: str | None) -> str:
    """What an ``Authorization`` header of the scheme ``Bearer`` bears, else "".

    >>> bearer("bearer fmk_1_2"), bearer("Basic x"), bearer(None)
    ('fmk_1_2', '', '')
    """
    scheme, _, shown = (authorization or "").strip().partition(" ")
    return shown.strip() if scheme.lower() == "bearer" else ""
