"""A server that runs as a person starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FORKMAP = Path(sys.executable).parent / "forkmap"


@contextmanager
def running(store: Path, *flags: str, **environment: str) -> Iterator[list[str]]:
    """Serve a store; the addresses that ``forkmap serve`` names, in the order it names them.

    With ``--grpc`` gRPC's comes first. Ended by SIGTERM, it must leave in peace.
    """
    command = [str(FORKMAP), "serve", "--store", str(store), "--port", "0", *flags]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | environment
    ) as process:
        assert process.stdout is not None
        said = "".join(process.stdout.readline() for _ in range(1 + ("--grpc" in flags)))
        yield re.findall(r"127\.0\.0\.1:\d+", said)
        process.terminate()
    assert process.returncode == 0
