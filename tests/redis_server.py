"""A Redis that can be killed and started again at the same port."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

REDIS = shutil.which("redis-server")
WAIT_S = 30.0


class RedisServer:
    """Keeps nothing on disk; ``folder`` is where it works."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.port = chosen.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        assert REDIS is not None
        settings = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        command = [REDIS, *settings, "--dir", str(self._folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until_s = time.monotonic() + WAIT_S
        while not self._answers():
            assert time.monotonic() < until_s
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16) == b"+PONG\r\n"
        except OSError:
            return False

    def suspend(self) -> None:
        """Let it hold its connections and say nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        """End it at once; what it held is lost."""
        self._process.kill()
        self._process.wait()
