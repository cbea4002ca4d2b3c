"""Claims that processes lay to builds: locks on files, which the system lets go with whoever holds them.

So no two processes build the same at once, all of them together build no more than so much at a
time, and what a process leaves that is killed another takes over. The files are empty and stay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeAlias

from filelock import FileLock, Timeout

AT_ONCE: Final = 2
"""Builds that run at a time, of all processes of a store."""
KEYS: Final = 64
"""Lock files of keys: two keys that share one are not built at once."""

Claim: TypeAlias = Callable[[str], AbstractContextManager[bool]]
"""A claim on a key: a context that says whether it was had."""

_log = logging.getLogger(__name__)


def claimed(store: Path | None) -> Claim:
    """Claims by files of a folder beside a store's file.

    Where they cannot be made, for want of a right or of room, every claim is had: rather is something
    built twice than never. So it is for a store without a file, which no other process shares.
    """

    @contextmanager
    def claim(key: str) -> Iterator[bool]:
        with ExitStack() as held:
            mine = store is None or _has(held, store.with_name(f"{store.name}-claims"), key)
            if not mine:
                held.close()
            yield mine

    return claim


def _has(held: ExitStack, folder: Path, key: str) -> bool:
    place = blake2b(key.encode(), digest_size=8).digest()[0] % KEYS
    try:
        folder.mkdir(exist_ok=True)
        if not any(_locked(held, folder / f"build-{number}.lock") for number in range(AT_ONCE)):
            return False
        return _locked(held, folder / f"key-{place}.lock")
    except OSError as error:
        _log.warning("nothing can be claimed in %s, so other processes may build the same: %s", folder, error)
        return True


def _locked(held: ExitStack, file: Path) -> bool:
    """Whether a file could be locked at once, as long as the stack lasts."""
    lock = FileLock(file, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return False
    held.callback(lock.release)
    return True
