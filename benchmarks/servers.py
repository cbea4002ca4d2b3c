"""The servers that take OTLP over HTTP: how each is started, asked, and counted."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

READY_S = 180
"""How long a server may take to start."""
_LOOK_S = 0.02


class Server(NamedTuple):
    """A server over a SQLite file of its own.

    Attributes
    ----------
    ready : str
        The path that answers 200 once the server is up.
    headers : str
        What it wants beside OTLP's own headers, each line ended.
    """

    name: str
    command: tuple[str, ...]
    port: int
    database: Path
    ready: str
    headers: str = ""
    environment: Mapping[str, str] = {}

    def stored(self) -> int:
        """Spans that another process finds in the database now."""
        db = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=60)
        try:
            return int(db.execute("SELECT count(*) FROM spans").fetchone()[0])
        finally:
            db.close()

    @contextmanager
    def running(self) -> Iterator[int]:
        """The server as a process group of its own, by its number; killed at the end."""
        self.database.parent.mkdir(parents=True, exist_ok=True)
        log = self.database.with_suffix(".log")
        with (
            log.open("a") as out,
            subprocess.Popen(
                self.command,
                cwd=self.database.parent,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            ) as process,
        ):
            try:
                self._await(process, log)
                yield process.pid
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def _await(self, process: subprocess.Popen[bytes], log: Path) -> None:
        deadline = time.monotonic() + READY_S
        while not self._is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{self.name} did not start:\n{log.read_text()[-2000:]}")
            time.sleep(_LOOK_S)

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{self.ready}", timeout=10) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


def memory_mb(group: int) -> float:
    """Memory of a process group in MB; what its processes share counts once."""
    total_kb = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(process.name)) == group:
                lines = (process / "smaps_rollup").read_text().splitlines()
                total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (ProcessLookupError, FileNotFoundError, PermissionError):
            continue
    return total_kb / 1024


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def forkmap(place: Path) -> Server:
    """Forkmap, with the settings it comes with."""
    port, database = free_port(), place / "forkmap.sqlite"
    program = str(Path(sys.executable).with_name("forkmap"))
    command = (program, "serve", "--store", str(database), "--port", str(port))
    return Server("Forkmap", command, port, database, "/readyz")


def phoenix(place: Path, bin_folder: Path) -> Server:
    """Arize Phoenix on SQLite."""
    port = free_port()
    settings = {
        "PHOENIX_WORKING_DIR": str(place),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    command = (str(bin_folder / "phoenix"), "serve")
    return Server("Arize Phoenix", command, port, place / "phoenix.db", "/healthz", environment=settings)


def mlflow(place: Path, bin_folder: Path) -> Server:
    """MLflow's tracking server on SQLite, with the workers it comes with."""
    port, database = free_port(), place / "mlflow.db"
    command = (str(bin_folder / "mlflow"), "server", "--backend-store-uri", f"sqlite:///{database}")
    settings = {"MLFLOW_DISABLE_TELEMETRY": "true", "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    return Server(
        "MLflow",
        (*command, "--host", "127.0.0.1", "--port", str(port)),
        port,
        database,
        "/health",
        "x-mlflow-experiment-id: 0\r\n",
        settings,
    )
