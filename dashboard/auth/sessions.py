"""The cookie of whoever signed in: which key, until when, and a signature over both.

Nothing is remembered here: a session ends with its time, its key, or its store's secret.
"""

from __future__ import annotations

from hashlib import blake2b, sha256

from itsdangerous import BadSignature, Signer

LIFE_S = 12 * 3600
"""Seconds after which one has to sign in again."""


def cookie_name(secret: bytes) -> str:
    """The cookie's name: another store's is called otherwise, as ports of one host share cookies.

    >>> cookie_name(b"one") == cookie_name(b"other")
    False
    """
    return f"forkmap-{blake2b(secret, digest_size=4, person=b'cookie').hexdigest()}"


def issue(secret: bytes, key_id: str, now_s: float) -> str:
    """The cookie's value for whoever showed a key."""
    return _signer(secret).sign(f"{key_id}.{int(now_s) + LIFE_S}").decode()


def key_id(secret: bytes, value: str, now_s: float) -> str:
    """The key of a session that still lasts, else "".

    >>> value = issue(b"secret", "0a1b", 0.0)
    >>> key_id(b"secret", value, 60.0), key_id(b"secret", value, LIFE_S), key_id(b"other", value, 60.0)
    ('0a1b', '', '')
    """
    try:
        name, _, until_s = _signer(secret).unsign(value).decode().partition(".")
    except BadSignature:
        return ""
    return name if now_s < int(until_s) else ""


def _signer(secret: bytes) -> Signer:
    return Signer(secret, salt=b"forkmap session", digest_method=sha256)
