"""Who sends spans over gRPC: the gate of a protocol that has no pages and no cookies."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote

from dashboard.auth.checking import KeyCheck
from dashboard.auth.failures import Failures
from engine.authentication import bearer, caller_of
from engine.errors import KeyRefusedError
from engine.keys import ANYONE, Caller, Role
from engine.store import Store


@dataclass(frozen=True, slots=True)
class Senders:
    """Knows callers by the ``authorization`` they send.

    Attributes
    ----------
    anyone : Caller
        Who sends where no key was ever made.
    """

    store: Store
    anyone: Caller = ANYONE
    failures: Failures = field(default_factory=Failures)

    def known(self, authorization: str | None, peer: str) -> Caller:
        """Who sends.

        Raises
        ------
        KeyRefusedError
            Nobody who may: no key, one that does not work, or one for reading only.
        """
        shown = bearer(authorization)
        if shown:
            caller = KeyCheck(self.store, self.failures).key(shown, peer_address(peer)).caller
        else:
            caller = caller_of(self.store, None, self.anyone)
        if not caller.may(Role.INGEST):
            raise KeyRefusedError(
                f"Sending takes a key of the role {Role.INGEST}; this one's is {caller.role}."
            )
        return caller


def peer_address(peer: str) -> str:
    """The address in gRPC's name of a peer.

    >>> peer_address("ipv4:192.0.2.1:50000"), peer_address("ipv6:%5B::1%5D:50000"), peer_address("unix:")
    ('192.0.2.1', '::1', '')
    """
    return unquote(peer.partition(":")[2]).rpartition(":")[0].strip("[]")
