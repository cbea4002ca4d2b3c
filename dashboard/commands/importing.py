"""``forkmap import``: a bar while files are read, and what became of them for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from engine.importing import Imported, Watch


def document(done: Imported) -> dict[str, object]:
    """What an import did, as JSON values."""
    return {
        "imported": done.imported,
        "unchanged": done.unchanged,
        "refused": done.refused,
        "refusals": [{"file": r.file, "line": r.line, "reason": r.reason} for r in done.refusals],
        "runs": done.runs,
    }


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
