"""Where text meets the terminal: whoever wrote it, nothing in it is obeyed, and nothing is hidden.

Control, zero-width and direction characters are shown as U+FFFD; in JSON they are escapes.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from unicodedata import category

import msgspec
from rich.console import Console
from rich.text import Text

_PIPE_COLUMNS = 10**6
"""Where there is no terminal a line is as long as what stands in it: no number is broken in two."""


def is_plain(letter: str) -> bool:
    """Whether a character is a space, or has a shape.

    >>> [is_plain(letter) for letter in ("a", "\\xa0", "\\n", "\\u200b", "\\u202e")]
    [True, True, False, False, False]
    """
    return letter.isprintable() or category(letter) == "Zs"


def plain(text: str) -> str:
    """A text on one line without anything a terminal could obey or hide.

    >>> plain("a\\x1b[31mb")
    'a�[31mb'
    """
    return text if text.isprintable() else "".join(c if is_plain(c) else "\ufffd" for c in text)


def shown(text: str, style: str = "") -> Text:
    """A text that is read as no markup; of its controls only line ends are left."""
    return Text("\n".join(map(plain, text.split("\n"))), style)


def json_text(document: Any) -> str:
    """A document (a struct, or plain values) as JSON in Unicode, but for what a terminal could obey or hide.

    >>> json_text(["é\\u202e"])
    '[\\n  "é\\\\u202e"\\n]'
    """
    values = msgspec.to_builtins(document)
    lines = json.dumps(values, ensure_ascii=False, allow_nan=False, indent=2).split("\n")
    return "\n".join(line if line.isprintable() else _escaped(line) for line in lines)


def _escaped(line: str) -> str:
    return "".join(c if is_plain(c) else json.dumps(c)[1:-1] for c in line)


class _Console(Console):
    """Leaves a closed pipe to whoever called."""

    def on_broken_pipe(self) -> None:
        raise  # The BrokenPipeError that is being handled.


def console(stderr: bool = False) -> Console:
    """A console that takes text as it is."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_COLUMNS
    return _Console(file=stream, width=width, markup=False, highlight=False, emoji=False)
