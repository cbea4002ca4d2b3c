"""Opening a store's file: what it is, before anything touches it.

The first 100 bytes of a SQLite file say who made it and in which version; they are read
as bytes, so a file that is not ours is left exactly as it was.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from engine.errors import (
    BusyStoreError,
    DamagedStoreError,
    NewerStoreError,
    NotAStoreError,
    StoreError,
    UnwritableStoreError,
)
from engine.store.migrating import migrate, version
from engine.store.schema import APPLICATION_ID, TABLE_NAMES, TABLES, VERSION

PATIENCE_S = 60.0
"""How long a writer waits for the others, unless told otherwise."""

_MAGIC = b"SQLite format 3\x00"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""An error of its own is that the schema is not the one that was written."""
_KINDS = {
    sqlite3.SQLITE_BUSY: BusyStoreError,
    sqlite3.SQLITE_LOCKED: BusyStoreError,
    sqlite3.SQLITE_READONLY: UnwritableStoreError,
    sqlite3.SQLITE_FULL: UnwritableStoreError,
}
_NO_ROOM = (sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_CANTOPEN)
_STILL = "?mode=ro&immutable=1"
"""Opens a file that nobody writes to, without a lock."""
BUSY = "is busy: others have been writing to it for too long"
_TEXTS = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_READONLY: "cannot be written to: it is read-only, or the disk is full",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_PERM: "may not be used by this user",
    sqlite3.SQLITE_AUTH: "may not be used by this user",
    sqlite3.SQLITE_NOMEM: "cannot be used: memory is short",
    sqlite3.SQLITE_TOOBIG: "cannot hold or hand out so much at once",
    sqlite3.SQLITE_NOLFS: "is larger than this system allows",
}


def check(path: Path) -> None:
    """Raise unless the file is a store this version can read; the file is only read.

    Raises
    ------
    NotAStoreError, NewerStoreError, DamagedStoreError
        With one sentence that names the path.
    StoreError
        If the file may not be read.
    """
    header = _header(path)
    if not header.startswith(_MAGIC) or len(header) < 100:
        raise NotAStoreError(f"{path} is not a Forkmap store: it is not a SQLite file")
    if int.from_bytes(header[68:72]) != APPLICATION_ID:
        raise NotAStoreError(f"{path} is a SQLite file, but not a Forkmap store")
    _refuse_later(path, int.from_bytes(header[60:64]))


def _refuse_later(path: Path, found: int) -> None:
    if found > VERSION:
        raise NewerStoreError(
            f"{path} was written by a later version of Forkmap (store version {found}, this one: {VERSION})"
        )


def _header(path: Path) -> bytes:
    try:
        if not (path.is_file() or path.is_dir()) and path.exists():
            raise NotAStoreError(f"{path} is not a Forkmap store: it is not a file")
        with path.open("rb") as file:
            return file.read(100)
    except FileNotFoundError:
        raise NotAStoreError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise NotAStoreError(f"{path} is a directory, not a Forkmap store") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None


def create(path: Path) -> None:
    """Make an empty store at the path unless something is there.

    It is made under another name and then linked, so no process ever sees half a store.
    """
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_empty(draft)
            os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except FileExistsError:
        if not path.exists():
            raise StoreError(f"{path} cannot be created: a file is where its directory should be") from None
        # Otherwise another process was faster.
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be created: {error}") from None


def _write_empty(path: Path) -> None:
    path.touch(0o600)  # SQLite gives a log the rights of its file.
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.executescript(
            f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
            f"BEGIN; {TABLES} COMMIT; PRAGMA journal_mode = WAL;"
        )
    finally:
        connection.close()


def connect(path: Path, read_only: bool, patience_s: float = PATIENCE_S) -> sqlite3.Connection:
    """A connection for one thread at a time; it can only read where the disk has no room for a log."""
    try:
        return _connect(path, _read_only_query(path) if read_only else "?mode=rw", patience_s)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) not in _NO_ROOM or _is_logged(path):
            raise
        return _connect(path, _STILL, patience_s)


def _connect(path: Path, query: str, patience_s: float) -> sqlite3.Connection:
    location = path.absolute().as_uri() + query
    connection = sqlite3.connect(
        location,
        uri=True,
        timeout=patience_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA cache_size = -32768")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        connection.execute("PRAGMA journal_size_limit = 67108864")
    except BaseException:
        connection.close()
        raise
    return connection


def _read_only_query(path: Path) -> str:
    """Where nobody can write, and no log is left, the file holds everything and needs no lock."""
    return "?mode=ro" if is_writable(path) or _is_logged(path) else _STILL


def _is_logged(path: Path) -> bool:
    """Whether a log may hold what the file does not yet."""
    return log_bytes(path) > 0


def log_bytes(path: Path) -> int:
    """Size of the write-ahead log beside the file, 0 without one."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except FileNotFoundError:
        return 0


def identity(path: Path) -> tuple[int, int] | None:
    """Which file is at the path now; None if none is."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_same(path: Path, opened: tuple[int, int] | None) -> None:
    """Raise unless the file at the path is still the one that was opened.

    Else what was removed or replaced would be shown, and written to, until the process ends.
    """
    if identity(path) != opened:
        raise StoreError(
            f"{path} was removed or replaced while it was open: start again to use what is there"
        )


def is_writable(path: Path) -> bool:
    """Whether this user may write to the store: to its file and beside it."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what the database reports into a sentence that names the file."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedStoreError(f"{path} is damaged: {error}") from error
    except sqlite3.Error as error:
        raise _reported(path, error) from error


def _reported(path: Path, error: sqlite3.Error) -> StoreError:
    """What the database reports; without a code it was Python that could not read a text."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _DAMAGED:
        return DamagedStoreError(f"{path} is damaged: {error}")
    return _KINDS.get(code, StoreError)(f"{path} {_TEXTS.get(code, 'cannot be used')} ({error})")


def bring_forward(db: sqlite3.Connection, path: Path, read_only: bool) -> None:
    """Make an open store one of this version, then look whether every table is there.

    Raises
    ------
    NewerStoreError
        A later version has written to it since :func:`check` looked.
    StoreError
        An earlier version wrote it, and it may only be read.
    """
    _refuse_later(path, version(db))
    if version(db) < VERSION and read_only:
        raise StoreError(
            f"{path} was written by an earlier version of Forkmap: open it once where it can be written to"
        )
    migrate(db)
    for table in TABLE_NAMES:
        db.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
