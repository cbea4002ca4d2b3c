"""Who sends spans over gRPC: the gate of a protocol that has no pages and no cookies."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from urllib.parse import unquote

from dashboard.auth.checking import UNREADABLE, KeyCheck
from dashboard.auth.visits import plain_address
from engine.authentication import NEEDED
from engine.errors import ForkmapError, KeyRefusedError, StoreError
from engine.keys import ANYONE, Caller, Role

_log = logging.getLogger(__name__)


class RoleRefusedError(ForkmapError):
    """The key works, but not for this."""


@dataclass(frozen=True, slots=True)
class Senders:
    """Knows callers by the key they show.

    Attributes
    ----------
    anyone : Caller
        Who sends where no key was ever made.
    """

    keys: KeyCheck
    anyone: Caller = ANYONE

    def known(self, shown: str, peer: str) -> Caller:
        """Who sends.

        Raises
        ------
        KeyRefusedError
            Nobody: there is no key and one is needed, or it does not work.
        RoleRefusedError
            Somebody who may not: the key is for reading only.
        StoreError
            Keys cannot be looked up at the moment; the path of the store is not told.
        """
        try:
            caller = self._caller(shown, peer)
        except StoreError as error:
            _log.error("no sender can be known: %s", error)
            raise StoreError(UNREADABLE) from error
        if not caller.may(Role.INGEST):
            raise RoleRefusedError(
                f"Sending takes a key of the role {Role.INGEST}; this one's is {caller.role}."
            )
        return caller

    def _caller(self, shown: str, peer: str) -> Caller:
        if shown:
            return self.keys.key(shown, peer_address(peer)).caller
        if self.keys.store.has_keys():
            raise KeyRefusedError(NEEDED)
        return self.anyone


def peer_address(peer: str) -> str:
    """The address in gRPC's name of a peer.

    >>> peer_address("ipv4:192.0.2.1:50000"), peer_address("ipv6:%5B::1%5D:50000"), peer_address("unix:")
    ('192.0.2.1', '::1', '')
    """
    return plain_address(unquote(peer.partition(":")[2]))
