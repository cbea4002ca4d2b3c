"""The engine's cache protocol over a dictionary."""

from __future__ import annotations


class DictCache(dict[str, bytes]):
    """A cache of one process; it is never short of room."""

    def set(self, key: str, value: bytes) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)

    def clear_own(self) -> None:
        self.clear()
