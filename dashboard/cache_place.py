"""Where built maps are kept, as a setting names it: this process's memory, a folder, or Redis."""

from __future__ import annotations

import os
from typing import Final

from engine.errors import ForkmapError

MEMORY: Final = "memory"
"""The place that is each process's alone."""
REDIS: Final = ("redis://", "rediss://", "unix://")
"""How the addresses of a Redis begin."""


def parse(text: str) -> str:
    """A place as it is meant.

    Raises
    ------
    ForkmapError
        The text is none: a folder's path holds a separator, so that no slip becomes a folder.

    Examples
    --------
    >>> parse("memory"), parse("./maps"), parse("redis://localhost:6379/0")
    ('memory', './maps', 'redis://localhost:6379/0')
    """
    if text == MEMORY or text.startswith(REDIS):
        return text
    if os.sep in text and "://" not in text:
        return os.path.expanduser(text)
    raise ForkmapError(
        f"FORKMAP_CACHE is {bare(text)!r}: it may be memory, the path of a folder such as ./maps,"
        " or redis://HOST:PORT/NUMBER"
    )


def bare(place: str) -> str:
    """A place as it may be shown, without the password that a URL may hold.

    >>> bare("redis://user:secret@cache.example:6379/0?password=x"), bare("/var/cache/forkmap")
    ('redis://cache.example:6379/0', '/var/cache/forkmap')
    """
    if "://" not in place:
        return place
    scheme, rest = place.split("://", 1)
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
