"""Looking keys up, as long as whoever shows them does not show too many wrong ones."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from dashboard.auth.failures import Failures
from dashboard.auth.visits import network
from engine.authentication import key_of
from engine.errors import KeyRefusedError
from engine.keys import Key, split
from engine.store import Store

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
        known = self.store.key(split(shown)[0])
        who = (network(address), known.key_id if known else "")
        if wait_s := self.failures.wait_s(who):
            raise TooManyKeysError(wait_s)
        try:
            return key_of(self.store, shown)
        except KeyRefusedError:
            self.failures.count(who)
            _log.warning("a wrong key came from %.100s", address)
            raise
