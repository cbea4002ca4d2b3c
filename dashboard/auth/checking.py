"""Looking keys up, as long as whoever shows them does not show too many wrong ones."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from dashboard.auth.failures import Failures
from dashboard.auth.visits import network
from engine.authentication import opened
from engine.errors import KeyRefusedError
from engine.keys import Key, split
from engine.store import Store

UNREADABLE = "The store cannot be read at the moment, so nobody can be let in."

_log = logging.getLogger(__name__)


class TooManyKeysError(KeyRefusedError):
    """Too many wrong keys came from an address; a further one is looked at after ``wait_s`` seconds."""

    def __init__(self, wait_s: int) -> None:
        self.wait_s = wait_s
        super().__init__(f"Too many wrong keys came from this address: wait {wait_s} s.")


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """Looks keys up, and counts wrong ones by whoever sends them and by the id they try.

    So guessing one key's secret ends soon, and a sender with an old key stops no other at its address.
    """

    store: Store
    failures: Failures = field(default_factory=Failures)

    def key(self, shown: str, address: str) -> Key:
        """The key that somebody at an address shows.

        Raises
        ------
        KeyRefusedError
            It does not work; or (:class:`TooManyKeysError`) it is not looked at.
        """
        key_id, secret = split(shown)
        known = self.store.key(key_id)
        who = (network(address), known.key_id if known else "")
        if wait_s := self.failures.wait_s(who):
            raise TooManyKeysError(wait_s)
        try:
            return opened(known, secret)
        except KeyRefusedError:
            self.failures.count(who)
            _log.warning("a wrong key came from %.100s", address)
            raise
