"""The cache that the builder is handed: Flask-Caching, in this process or in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flask import Flask
from flask_caching import Cache

from engine.errors import CacheError

KEPT_S = 24 * 3600
"""Entries nobody renewed go after a day; the builder judges freshness itself."""
ENTRIES = 100
"""Entries kept at most."""


class BytesCache:
    """The engine's cache protocol over Flask-Caching: text keys, values of bytes."""

    def __init__(self, server: Flask, folder: Path | None = None) -> None:
        config: dict[str, Any] = {"CACHE_DEFAULT_TIMEOUT": KEPT_S, "CACHE_THRESHOLD": ENTRIES}
        if folder is None:
            config["CACHE_TYPE"] = "SimpleCache"
        else:
            config |= {"CACHE_TYPE": "FileSystemCache", "CACHE_DIR": str(folder)}
        self._cache = Cache(server, config=config)

    def get(self, key: str) -> bytes | None:
        """The bytes under a key, or None."""
        found = self._cache.get(key)
        return found if isinstance(found, bytes) else None

    def set(self, key: str, value: bytes) -> object:
        """Keep bytes under a key."""
        return self._cache.set(key, value)

    def delete(self, key: str) -> object:
        """Forget a key."""
        return self._cache.delete(key)

    def clear(self) -> object:
        """Forget every key."""
        if not self._cache.clear():
            raise CacheError("some of what is cached could not be deleted")
        return None
