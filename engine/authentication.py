"""From what a request shows to who asks."""

from __future__ import annotations

from engine.errors import KeyRefusedError
from engine.keys import ANYONE, NO_KEY, Caller, Key, split
from engine.store import Store

NEEDED = "This needs a key: send it as “Authorization: Bearer fmk_…”."
REFUSED = "This key does not work: it was never made here, is written wrongly, or was revoked."


def key_of(store: Store, text: str) -> Key:
    """The key that a text is.

    Raises
    ------
    KeyRefusedError
        It is none that works; which of the reasons it is, nobody is told.
    """
    key_id, secret = split(text)
    known = (key_id and store.key(key_id)) or NO_KEY
    if not known.opens(secret):
        raise KeyRefusedError(REFUSED)
    return known


def caller_of(store: Store, authorization: str | None, anyone: Caller = ANYONE) -> Caller:
    """Who sends an ``Authorization`` header, or none; the header alone decides.

    Parameters
    ----------
    anyone : Caller
        Who asks a store for which no key was ever made.

    Raises
    ------
    KeyRefusedError
        Nobody: the key does not work, or there is none and one is needed.
    """
    shown = bearer(authorization)
    if shown:
        return key_of(store, shown).caller
    if store.has_keys():
        raise KeyRefusedError(NEEDED)
    return anyone


def bearer(authorization: str | None) -> str:
    """What an ``Authorization`` header of the scheme ``Bearer`` bears, else "".

    >>> bearer("bearer fmk_1_2"), bearer("Basic x"), bearer(None)
    ('fmk_1_2', '', '')
    """
    scheme, _, shown = (authorization or "").strip().partition(" ")
    return shown.strip() if scheme.lower() == "bearer" else ""
