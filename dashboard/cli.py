"""The ``forkmap`` command's way in: it imports late, so that Ctrl-C is heeded from the first moment."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""Exit code of what Ctrl-C stopped."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if not given.
    """
    try:
        _open_streams()
        from dashboard.commands.asking import answer

        return answer(argv)
    except KeyboardInterrupt:
        print("forkmap: stopped", file=sys.stderr)
        return INTERRUPTED


def _open_streams() -> None:
    """Let streams that were closed lead nowhere, and write what an encoding lacks as escapes.

    All three, lowest first: else a file that is opened later gets the number of one of them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (it stays open)
        elif name != "stdin" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
