"""How much is read of what somebody sends."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """How much one request may bring.

    Attributes
    ----------
    max_body_bytes : int
        Bytes of a body, decompressed; what holds more is refused.
    max_attributes : int
        Attributes kept of a span, its resource or an event, and events of a span: the first.
    max_spans : int
        Spans of a request; what holds more is refused.
    max_file_bytes : int
        Bytes of a file that a page sends, as they are; a longer one is refused.
    """

    max_body_bytes: int = 16 << 20
    max_attributes: int = 10_000
    max_spans: int = 100_000
    max_file_bytes: int = 200 << 20

    @property
    def max_containers(self) -> int:
        """Objects and lists of a request in JSON; what holds more is refused.

        A body of the largest size may hold one in 16 bytes, as long as ``{"intValue": "1"}``; in
        memory the smallest takes 30 times what it takes in the body.
        """
        return self.max_body_bytes // 16

    @property
    def max_parts(self) -> int:
        """Parts of a request in protobuf; what holds more is refused.

        Every span may stand alone in a scope of its own, and that in a resource of its own; a hundred
        parts need not hold any.
        """
        return 5 * self.max_spans + 100


LIMITS = Limits()
UNLIMITED = Limits(1 << 60, 1 << 60, 1 << 60)
"""Of a file all is read."""


def beyond(found: int, most: int, what: str) -> str:
    """What to say of things of which only the first are kept.

    >>> beyond(12, 10, "attributes")
    '2 attributes beyond the first 10 are left out'
    """
    return f"{found - most} {what} beyond the first {most} are left out"
