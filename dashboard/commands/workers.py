"""Processes that work side by side, and the one that watches over them.

The one that watches holds no database and no thread, so it can fork another at any time: each begins
with all that is loaded, and with nothing that was begun.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from typing import Final, NamedTuple, TypeAlias

END_S: Final = 30.0
"""How long those that were told to end may take, for the build they are at; then they are killed."""
AGAIN_S: Final = 1.0
"""How long after its begin one that ended is begun again, at the earliest."""

Work: TypeAlias = Callable[[], object]
_log = logging.getLogger(__name__)


class Running(NamedTuple):
    """A work in its process."""

    work: Work
    process: ForkProcess
    begun_s: float


def supervise(works: Sequence[Work], ended: Callable[[int], object] = lambda pid: None) -> None:
    """Do each work in a process of its own until this one ends; a work that ends is begun again.

    Processes are told to end by SIGTERM, and end by themselves if this one is killed.

    Parameters
    ----------
    ended : callable
        Told the id of each process that ended.
    """
    running = [_begun(work) for work in works]
    try:
        while True:
            wait([each.process.sentinel for each in running])
            for place, each in enumerate(running):
                if not each.process.is_alive():
                    _tell(each.process, ended)
                    time.sleep(max(0.0, each.begun_s + AGAIN_S - time.monotonic()))
                    running[place] = _begun(each.work)
                    each.process.close()  # Not before: it may be told to end while it waits.
    finally:
        _end([each.process for each in running])


def _begun(work: Work) -> Running:
    process = multiprocessing.get_context("fork").Process(target=_child, args=(work,), daemon=True)
    process.start()
    return Running(work, process, time.monotonic())


def _tell(process: ForkProcess, ended: Callable[[int], object]) -> None:
    _log.warning("process %s ended with %s; another takes its place", process.pid, process.exitcode)
    if process.pid is not None:
        ended(process.pid)


def _end(processes: Sequence[ForkProcess]) -> None:
    for process in processes:
        process.terminate()
    until_s = time.monotonic() + END_S
    for process in processes:
        process.join(max(0.0, until_s - time.monotonic()))
        if process.is_alive():
            _log.warning("process %s does not end, and is killed", process.pid)
            process.kill()
            process.join()


def _child(work: Work) -> None:
    """Do a work until told to end; Ctrl-C is for the one that watches."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    atexit._clear()  # What the other process has yet to do is not for this one.
    threading.Thread(target=_end_with_parent, name="forkmap-parent", daemon=True).start()
    try:
        work()
    finally:
        atexit._run_exitfuncs()  # A forked process ends without.


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
