"""Builds in the background: whoever wants one requests it, and asks again how it stands."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from engine.claims import AT_ONCE
from engine.errors import ForkmapError, UnknownAgentError
from engine.metering import Meter
from engine.requests import Absent, Building, Failed, Request, Unready
from engine.runs import SECOND_NS

TICK_S: Final = 2.0
"""The longest a request waits for an idle worker; normally it wakes one at once."""
WORKERS: Final = AT_ONCE
"""Builds that one process runs at a time."""
WANTED: Final = 1_000
"""Requests that wait at a time; what is asked beyond is requested when it is asked again."""
FAILURE_S: Final = 10.0
"""A failed build is reported for this long before a reader's question requests it again."""
FAILURES: Final = 100
"""Failures remembered, the latest."""
ELSEWHERE_S: Final = 0.05
"""How often is looked whether another process has ended the build it is at."""

_log = logging.getLogger(__name__)


class Builds:
    """Builds what is requested, a few at a time, nothing twice at once.

    Parameters
    ----------
    build : callable
        Builds a request where :class:`engine.builder.Maps` looks for it; False if it cannot yet, as
        other processes build: it is tried again until it is there.
    wall_ns : callable
        The clock that ages failures, and what waits.
    """

    def __init__(self, build: Callable[[Request], bool], wall_ns: Callable[[], int], meter: Meter) -> None:
        self._build, self._wall_ns, self._meter = build, wall_ns, meter
        self._wake = threading.Condition()
        self._queue: deque[Request] = deque()
        self._wanted: dict[Request, int] = {}
        self._failed: dict[Request, tuple[int, Failed]] = {}
        self._closed = False
        self._threads: list[threading.Thread] = []

    def ask(self, request: Request) -> Unready:
        """How a request stands; one that neither waits nor has just failed is made."""
        with self._wake:
            since_ns = self._wanted.get(request)
            if since_ns is not None:
                return Building(max(0, self._wall_ns() - since_ns) / SECOND_NS)
            failed = self._recent_failure(request)
            if failed is not None:
                return failed
            if not self._closed and len(self._wanted) < WANTED:
                self._add(request)
            return Absent()

    def close(self) -> None:
        """Stop after the builds that are running; later requests build nothing."""
        with self._wake:
            self._closed = True
            self._queue.clear()
            self._wanted.clear()
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()

    def _recent_failure(self, request: Request) -> Failed | None:
        at_ns, failed = self._failed.get(request, (0, None))
        if abs(self._wall_ns() - at_ns) < FAILURE_S * SECOND_NS:
            return failed
        self._failed.pop(request, None)
        return None

    def _add(self, request: Request) -> None:
        self._wanted[request] = self._wall_ns()
        self._enqueue(request)
        if len(self._threads) < WORKERS:
            thread = threading.Thread(target=self._work, name="forkmap-builder", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._wake.notify()

    def _enqueue(self, request: Request) -> None:
        self._queue.append(request)
        self._meter.level("builds_waiting", len(self._queue))

    def _work(self) -> None:
        while (request := self._next()) is not None:
            done = self._attempt(request)
            with self._wake:
                if done or self._closed:
                    self._wanted.pop(request, None)
                else:
                    self._enqueue(request)
                    self._wake.wait(ELSEWHERE_S)

    def _next(self) -> Request | None:
        """The request that has waited longest; None once closed."""
        with self._wake:
            while not (self._queue or self._closed):
                self._wake.wait(TICK_S)
            request = self._queue.popleft() if self._queue else None
            self._meter.level("builds_waiting", len(self._queue))
            return request

    def _attempt(self, request: Request) -> bool:
        """Build a request; whatever goes wrong is told to who asks, never raised."""
        try:
            return self._build(request)
        except UnknownAgentError as error:
            self._fail(request, str(error), error)
        except ForkmapError as error:
            self._meter.count("builds", label="failed")
            self._fail(request, str(error), error)
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            _log.exception("building %s failed", request)
            self._meter.count("builds", label="failed")
            sentence = f"The {request.what} could not be built: {type(error).__name__}: {error}"
            self._fail(request, sentence, error)
        return True

    def _fail(self, request: Request, sentence: str, error: Exception) -> None:
        with self._wake:
            self._failed[request] = (self._wall_ns(), Failed(sentence, error.with_traceback(None)))
            while len(self._failed) > FAILURES:
                del self._failed[next(iter(self._failed))]
