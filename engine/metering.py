"""Counting what happens: the seam through which the engine tells whoever measures it."""

from __future__ import annotations

from typing import Protocol


class Meter(Protocol):
    """Takes counts and times under a name; what becomes of them is its own affair."""

    def count(self, name: str, by: int = 1, label: str = "") -> None:
        """So many more of something happened; ``label`` parts them, for example by action."""

    def time(self, name: str, seconds: float, label: str = "") -> None:
        """Something took so long."""

    def level(self, name: str, value: float) -> None:
        """Something stands at a value now, for example a queue."""


class NoMeter:
    """Counts nothing."""

    def count(self, name: str, by: int = 1, label: str = "") -> None:
        """See :meth:`Meter.count`."""

    def time(self, name: str, seconds: float, label: str = "") -> None:
        """See :meth:`Meter.time`."""

    def level(self, name: str, value: float) -> None:
        """See :meth:`Meter.level`."""


UNMETERED = NoMeter()
