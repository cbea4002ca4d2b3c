"""Builders in processes of their own, over a real store, a cache in files, and claims."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import nullcontext
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from dashboard.caching import open_cache
from engine.builder import Maps, Ready, Request, load
from engine.claims import claimed
from engine.runs import ALL_TIME, Cohort
from engine.spans import Span
from engine.store import Store
from engine.store.sqlite import open_store

_FORKS = multiprocessing.get_context("forkserver")
WAIT_S = 60.0
AGENTS = ("one", "two", "three")
NOW_NS = 10**18


def cohort(agent: str) -> Cohort:
    return Cohort("default", agent, ALL_TIME)


def made(folder: Path) -> Path:
    """A folder with a store of a few agents."""
    store = open_store(folder / "runs.sqlite", create=True)
    for agent in AGENTS:
        about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
        store.append("default", [Span(f"trace-{agent}", "1", "run", 1, 2, attributes=about)])
    store.settle("default")
    store.close()
    return folder


class Builder:
    """Maps of a folder's store; each build is written down, takes ``seconds``, and then happens."""

    def __init__(self, folder: Path, seconds: float, *, claims: bool = True) -> None:
        self.folder, self.seconds = folder, seconds
        self.store = open_store(folder / "runs.sqlite")
        claim = claimed(self.store.path) if claims else lambda key: nullcontext(True)
        cache = open_cache(str(folder / "cache"), self.store)
        self.maps = Maps(self.store, cache, lambda: NOW_NS, build=self._build, claim=claim)

    def _build(self, request: Request, store: Store, now_ns: int) -> Any:
        write(self.folder, f"begin {request.cohort.agent}")
        time.sleep(self.seconds)
        built = load(request, store, now_ns)
        write(self.folder, f"end {request.cohort.agent}")
        return built

    def until_ready(self, agent: str) -> int:
        """Ask until a map is there; when it was built."""
        until_s = time.monotonic() + WAIT_S
        while not isinstance(answer := self.maps.get(cohort(agent)), Ready):
            assert time.monotonic() < until_s, answer
            time.sleep(0.005)
        return answer.built_ns

    def close(self) -> None:
        self.maps.close()
        self.store.close()


def write(folder: Path, line: str) -> None:
    """Add a line to the folder's log, whole."""
    log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, f"{line}\n".encode())
    os.close(log)


def read(folder: Path) -> list[str]:
    """The lines of the folder's log."""
    log = folder / "log"
    return log.read_text().splitlines() if log.exists() else []


def until(folder: Path, line: str, times: int = 1) -> None:
    """Wait for a line in the log."""
    until_s = time.monotonic() + WAIT_S
    while read(folder).count(line) < times:
        assert time.monotonic() < until_s, read(folder)
        time.sleep(0.005)


def readers(folder: Path, threads: int, seconds: float, claims: bool) -> None:
    """So many threads that want every map once the folder says go; they write down what each was given."""
    builder = Builder(folder, seconds, claims=claims)
    write(folder, "here")
    until(folder, "go")

    def read_all() -> None:
        for agent in AGENTS:
            write(folder, f"ready {agent} {builder.until_ready(agent)}")

    asking = [threading.Thread(target=read_all) for _ in range(threads)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    builder.close()


def one_build(folder: Path, seconds: float) -> None:
    """A process that wants one map, and when it is told to end ends as a server does."""
    builder = Builder(folder, seconds)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        builder.until_ready(AGENTS[0])
        signal.pause()
    finally:
        builder.close()


def started(target: Any, *arguments: object) -> ForkServerProcess:
    """A process that does something of the above."""
    process = _FORKS.Process(target=target, args=arguments)
    process.start()
    return process
