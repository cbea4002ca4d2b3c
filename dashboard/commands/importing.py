"""``forkmap import``: a bar over the bytes of the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from engine.importing import Watch


@contextmanager
def progress_bar(console: Console, files: Sequence[Path]) -> Iterator[Watch]:
    """A bar over the bytes of the files, where somebody sees it."""
    if not console.is_terminal:
        yield lambda file: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:

        def watch(file: Path) -> Callable[[int], None]:
            size = 0
            with suppress(OSError):  # Reading the file will say what is wrong with it.
                size = file.stat().st_size
            task = progress.add_task(escape(file.name), total=size)
            return lambda done: progress.update(task, completed=done)

        yield watch
