"""How many wrong keys somebody may try."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from math import ceil
from threading import Lock

LIMIT = 10
"""Wrong keys in a window after which no more are looked at."""
WINDOW_S = 60
"""Seconds for which a wrong key counts."""
KEPT = 10_000
"""Senders of wrong keys that are remembered: those who tried last."""


class Failures:
    """Counts wrong keys by who sent them; threads may count at once.

    >>> failures = Failures(lambda: 100.0)
    >>> for _ in range(LIMIT): failures.count("192.0.2.1")
    >>> failures.wait_s("192.0.2.1"), failures.wait_s("192.0.2.2")
    (60, 0)
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._times: OrderedDict[Hashable, deque[float]] = OrderedDict()
        self._lock = Lock()

    def wait_s(self, who: Hashable) -> int:
        """Whole seconds until another key of theirs is looked at; 0 is at once."""
        with self._lock:
            times = self._times.get(who)
            left_s = times[0] + WINDOW_S - self._now_s() if times and len(times) == LIMIT else 0
        return max(0, ceil(left_s))

    def count(self, who: Hashable) -> None:
        """Take note of a wrong key."""
        with self._lock:
            self._times.setdefault(who, deque(maxlen=LIMIT)).append(self._now_s())
            self._times.move_to_end(who)
            if len(self._times) > KEPT:
                self._times.popitem(last=False)
