"""Servers that can be killed and are soon up again: forked from a process that has loaded everything."""

from __future__ import annotations

import multiprocessing
import os
import resource
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dashboard.cli import main
from engine.store.sqlite import open_store
from tests.exporting import Answer, Document, body, get, post, trace_id

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["dashboard.app", "tests.servers"])
_READY_S = _SHOWN_S = 60.0


def serve(path: str, port: int, file_bytes: int | None) -> None:
    """``forkmap serve`` in a process of its own, whose files may grow so far."""
    if file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    sys.exit(main(["serve", "--store", path, "--port", str(port)]))


class Server:
    """A server over a store.

    Parameters
    ----------
    file_bytes : int, optional
        How far its files may grow, as on a disk that is nearly full.
    """

    def __init__(self, path: Path, file_bytes: int | None = None) -> None:
        self.path, self._file_bytes = path, file_bytes
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self._port = chosen.getsockname()[1]
        self.address = f"127.0.0.1:{self._port}"
        self.start()

    def start(self) -> float:
        """Start it and wait until it is ready; the seconds that took."""
        begun_s = time.monotonic()
        arguments = str(self.path), self._port, self._file_bytes
        self.process = _FORKS.Process(target=serve, args=arguments)
        self.process.start()
        while not self._is_ready():
            assert self.process.is_alive() and time.monotonic() < begun_s + _READY_S
            time.sleep(0.01)
        return time.monotonic() - begun_s

    def _is_ready(self) -> bool:
        try:
            return get(self.address, "/readyz").status == 200
        except OSError:
            return False

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        self.process.kill()
        self.process.join()

    def stop(self) -> None:
        """End it in peace."""
        self.process.terminate()
        self.process.join()
        assert self.process.exitcode == 0

    def send(self, spans: list[Document]) -> Answer:
        """Send spans."""
        return post(self.address, body(spans))

    def shows(self, trace: str) -> bool:
        """Whether a trace's run is found, at once or, once what came before it is settled, soon."""
        until_s = time.monotonic() + _SHOWN_S
        while not (found := self._finds(trace)) and time.monotonic() < until_s:
            time.sleep(0.1)
        return found

    def _finds(self, trace: str) -> bool:
        answer = get(self.address, f"/go?q={trace_id(trace)}")
        return answer.status == 302 and answer.headers["Location"].startswith("/run?")

    def peak_mb(self) -> float:
        """The most memory it has held since this was last asked."""
        here = Path(f"/proc/{self.process.pid}")
        status = (here / "status").read_text()
        (here / "clear_refs").write_text("5")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def made(path: Path) -> Path:
    """A new store."""
    open_store(path, create=True).close()
    return path


@contextmanager
def serving(path: Path, file_bytes: int | None = None) -> Iterator[Server]:
    """A server over a store meanwhile."""
    server = Server(path, file_bytes)
    try:
        yield server
    finally:
        server.stop()
