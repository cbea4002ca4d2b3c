"""What opening a store says of files that are none, and that it leaves them as they were."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from engine.errors import (
    BusyStoreError,
    DamagedStoreError,
    NewerStoreError,
    NotAStoreError,
    StoreError,
    UnwritableStoreError,
)
from engine.runs import ALL_TIME, Cohort
from engine.spans import Span
from engine.store import Appended, opening
from engine.store.schema import VERSION
from engine.store.sqlite import SQLiteStore, open_store
from engine.store.turns import begin

SPANS = [
    Span(f"t{number}", "s", "n", 1, 2, attributes={"text": f"text {number} " * 50}) for number in range(200)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def made(path: Path) -> None:
    """A store with something in it, closed."""
    store = open_store(path, create=True)
    store.append("default", SPANS)
    store.settle("default")
    store.close()


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def newer(path: Path) -> None:
    made(path)
    execute(path, f"PRAGMA user_version = {VERSION + 1}")


def without_a_table(path: Path) -> None:
    made(path)
    execute(path, "DROP TABLE outcomes")


def scribbled(path: Path) -> None:
    """The first page's header is whole, its content is not."""
    made(path)
    overwrite(path, 100, b"\xa5" * 3000)


def scribbled_schema(path: Path) -> None:
    """What SQLite says of it is no text."""
    made(path)
    overwrite(path, path.read_bytes().index(b"ticket) WHERE"), b"tick\xaft")


def cut_short(path: Path) -> None:
    made(path)
    os.truncate(path, 1500)


BAD: list[tuple[Callable[[Path], object], type[StoreError], str]] = [
    (lambda path: path.write_text("a,b\n1,2\n" * 50), NotAStoreError, "it is not a SQLite file"),
    (lambda path: path.write_bytes(b""), NotAStoreError, "it is not a SQLite file"),
    (lambda path: path.write_bytes(b"SQLite format 3\0"), NotAStoreError, "it is not a SQLite file"),
    (lambda path: execute(path, "CREATE TABLE runs (a)"), NotAStoreError, "but not a Forkmap store"),
    (newer, NewerStoreError, f"later version of Forkmap (store version {VERSION + 1}, this one: {VERSION})"),
    (without_a_table, DamagedStoreError, "no such table"),
    (scribbled, DamagedStoreError, "is damaged"),
    (scribbled_schema, DamagedStoreError, "is damaged"),
    (cut_short, DamagedStoreError, "is damaged"),
]


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize(("make", "error", "words"), BAD)
def test_a_bad_file_is_named_and_left_as_it_was(
    path: Path, make: Callable[[Path], object], error: type[StoreError], words: str, create: bool
) -> None:
    make(path)
    digest = sha256(path.read_bytes()).digest()

    with pytest.raises(StoreError) as caught:
        open_store(path, create)

    assert type(caught.value) is error
    assert str(caught.value).startswith(f"{path} ") and words in str(caught.value)
    assert sha256(path.read_bytes()).digest() == digest


def test_a_directory_is_no_store(tmp_path: Path) -> None:
    for create in (False, True):
        with pytest.raises(NotAStoreError, match="is a directory, not a Forkmap store"):
            open_store(tmp_path, create)


def test_a_pipe_is_no_store_and_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    for create in (False, True):
        with pytest.raises(NotAStoreError, match="is not a Forkmap store: it is not a file"):
            open_store(path, create)


def test_a_missing_store_is_not_made_unless_asked(path: Path) -> None:
    with pytest.raises(NotAStoreError, match="does not exist"):
        open_store(path)
    assert not path.exists()


def test_a_store_is_made_with_its_directory_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "new ?#%20" / "dir" / "runs.sqlite"
    made(path)

    store = open_store(path, create=True)
    assert store.append("default", SPANS) == Appended(unchanged=200)
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["runs.sqlite"]


def test_a_store_is_its_users_alone(path: Path) -> None:
    store = open_store(path, create=True)
    store.append("default", SPANS)
    rights = {
        file.name: file.stat().st_mode & 0o777 for file in path.parent.glob("runs.sqlite*") if file.is_file()
    }
    assert rights == dict.fromkeys(("runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"), 0o600)
    store.close()


def test_a_place_where_nothing_can_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be created"):
        open_store(tmp_path / "file" / "runs.sqlite", create=True)


def test_damage_found_while_reading_is_told(path: Path) -> None:
    made(path)
    page = path.read_bytes().index(b"text 150 ") // 4096
    overwrite(path, page * 4096, b"\xa5" * 4096)
    store = open_store(path)

    with pytest.raises(DamagedStoreError, match="is damaged"):
        store.spans("default", "t150")
    assert store.spans("default", "t0") == SPANS[:1]
    store.close()


def test_a_body_that_cannot_be_read_is_damage(path: Path) -> None:
    made(path)
    execute(path, "UPDATE spans SET body = x'c1'")
    store = open_store(path)

    with pytest.raises(DamagedStoreError, match="is damaged"):
        store.spans("default", "t0")
    store.close()


def failure(code: int, kind: type[sqlite3.Error] = sqlite3.OperationalError) -> sqlite3.Error:
    error = kind("what SQLite says")
    error.sqlite_errorcode = code
    return error


def too_big(db: sqlite3.Connection) -> None:
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    db.execute("SELECT zeroblob(2000)")


def full(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA max_page_count = 3")
    db.execute("CREATE TABLE t AS SELECT zeroblob(100000)")


def locked(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE t (a)")
    db.execute("INSERT INTO t VALUES (1), (2)")
    for _ in db.execute("SELECT a FROM t"):
        db.execute("DROP TABLE t")


def read_only(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA query_only = 1")
    db.execute("CREATE TABLE t (a)")


def raised(error: Exception) -> Callable[[sqlite3.Connection], None]:
    def fail(db: sqlite3.Connection) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("fail", "kind", "words"),
    [
        (too_big, StoreError, "cannot hold or hand out so much at once"),
        (full, UnwritableStoreError, "cannot grow: the disk is full"),
        (locked, BusyStoreError, "is busy"),
        (read_only, UnwritableStoreError, "cannot be written to"),
        (raised(failure(sqlite3.SQLITE_NOMEM)), StoreError, "cannot be used: memory is short"),
        (raised(failure(sqlite3.SQLITE_AUTH)), StoreError, "may not be used by this user"),
        (
            raised(failure(sqlite3.SQLITE_IOERR_FSYNC)),
            StoreError,
            "cannot be read or written: the disk reports",
        ),
        (raised(failure(sqlite3.SQLITE_INTERNAL)), StoreError, "cannot be used"),
        (
            raised(failure(sqlite3.SQLITE_CORRUPT_VTAB, sqlite3.DatabaseError)),
            DamagedStoreError,
            "is damaged",
        ),
        (raised(sqlite3.OperationalError("Could not decode to UTF-8")), DamagedStoreError, "is damaged"),
        (lambda db: db.execute("SELECT a FROM nowhere"), DamagedStoreError, "is damaged"),
    ],
)
def test_only_damage_is_called_damage(
    path: Path, fail: Callable[[sqlite3.Connection], object], kind: type[StoreError], words: str
) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(StoreError) as caught, opening.told(path):
        fail(db)
    db.close()
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"{path} {words}")


# Reading only


def test_a_store_opened_for_reading_is_read_as_it_was_settled(path: Path) -> None:
    made(path)
    store = open_store(path)
    store.append("default", [Span("late", "s", "n", 1, 2)])
    reader = open_store(path, read_only=True)

    assert len(reader.paths(Cohort("default", "unknown", ALL_TIME), 10**18).run_ids) == 200
    assert reader.settle("default") == set()
    for write in (lambda: reader.append("default", SPANS), lambda: reader.set_clock(1)):
        with pytest.raises(StoreError, match="is read-only"):
            write()
    reader.close()
    store.close()


class OnAFullDisk(SQLiteStore):
    """A store that can write no more."""

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._transaction(partial(begin, timeout_s=1)) as db:
            full(db)
            yield db


def test_a_store_on_a_full_disk_is_read_as_it_was_settled(path: Path) -> None:
    made(path)
    store = open_store(path)
    store.append("default", [Span("late", "s", "n", 1, 2)])
    store.close()
    reader = OnAFullDisk(path)

    assert len(reader.paths(Cohort("default", "unknown", ALL_TIME), 10**18).run_ids) == 200
    with pytest.raises(UnwritableStoreError, match="the disk is full"):
        reader.settle("default")
    reader.close()


WITHOUT_ROOM = """
import resource, sys
from pathlib import Path
from engine.store.sqlite import open_store
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
store = open_store(Path(sys.argv[1]))
print(len(store.spans("default", "t0")))
"""


def test_a_disk_without_room_for_a_log_stops_no_reader(path: Path) -> None:
    made(path)
    command = [sys.executable, "-c", WITHOUT_ROOM, str(path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1\n"


READ = """
import os, sys, urllib.parse  # pathlib would load it when the stranger may no longer
from pathlib import Path
from engine.errors import StoreError
from engine.store.sqlite import open_store
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    store = open_store(Path(sys.argv[1]))
    print(len(store.spans("default", "t0")))
    store.append("default", [])
except StoreError as error:
    print(error)
"""


@pytest.fixture
def shown() -> Iterator[Path]:
    """A directory that any user may look into."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def as_a_stranger(path: Path) -> list[str]:
    """What a process without any rights to the file is told."""
    command = [sys.executable, "-c", READ, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users to change to")
def test_a_store_nobody_may_write_to_is_still_read(shown: Path) -> None:
    path = shown / "runs.sqlite"
    made(path)
    path.chmod(0o444)
    shown.chmod(0o555)

    assert as_a_stranger(path) == ["1", f"{path} is read-only"]
    assert [file.name for file in shown.iterdir()] == ["runs.sqlite"]
    shown.chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users to change to")
def test_a_store_this_user_may_not_read_is_told(shown: Path) -> None:
    path = shown / "runs.sqlite"
    made(path)
    path.chmod(0o000)

    assert as_a_stranger(path) == [f"{path} cannot be read: Permission denied"]


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_that_was_removed_or_replaced_while_open_is_told(path: Path, replace: bool) -> None:
    made(path)
    store = open_store(path)
    assert store.find("default", "t1") == ["t1"]
    path.rename(path.with_name("kept.sqlite"))
    if replace:
        made(path)
    with pytest.raises(StoreError, match="was removed or replaced while it was open: start again"):
        store.find("default", "t1")
    with pytest.raises(StoreError, match="was removed or replaced"):
        store.append("default", SPANS)
    store.close()
