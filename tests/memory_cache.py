"""The engine's cache protocol over a dictionary."""

from __future__ import annotations

from engine.shelf import Void


class DictCache(dict[str, bytes]):
    """A cache of one process; it is never short of room."""

    def set(self, key: str, value: bytes) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)

    def clear(self, void: Void = lambda part: True) -> None:
        for key in [key for key in self if void(key.partition(":")[0])]:
            del self[key]

    def clear_own(self, void: Void) -> None:
        self.clear(void)
