"""What is being made and not there yet."""

from __future__ import annotations

import msgspec


class Waiting(msgspec.Struct, frozen=True):
    """Not yet: the same may be asked again once ``Retry-After`` is over."""

    detail: str


BUILDING = Waiting("The map is being built.")
