"""Several threads and processes at one store, and one that is killed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from engine.runs import ALL_TIME, Cohort
from engine.spans import Span
from engine.store import Appended, settling
from engine.store.sqlite import SQLiteStore, open_store

APPEND = """
import sys
from itertools import count
from pathlib import Path
from engine.spans import Span
from engine.store.sqlite import open_store

path, writer, batches = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = open_store(path, create=True)
for batch in range(batches) if batches else count():
    at_ns = batch * 1000
    spans = [Span(f"{writer}-{batch}", f"s{n}", "n", at_ns + n, at_ns + n + 1) for n in range(20)]
    spans.append(Span("shared", f"{writer}-{batch}", "n", 1, 2))
    store.append("default", spans)
    print(batch, flush=True)
    if batch % 5 == 4 and sys.argv[4] == "settle":
        store.settle("default")
"""
COHORT = Cohort("default", "unknown", ALL_TIME)
LATER = 10**18


def writer(path: Path, name: str, batches: int, *, settles: bool) -> subprocess.Popen[str]:
    """A process that appends batches of 21 spans, endlessly if 0, and says when each is kept."""
    arguments = [str(path), name, str(batches), "settle" if settles else ""]
    return subprocess.Popen([sys.executable, "-c", APPEND, *arguments], stdout=subprocess.PIPE, text=True)


def test_four_processes_that_create_append_and_settle_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    writers = [writer(path, f"w{number}", 20, settles=True) for number in range(4)]
    assert [process.communicate()[0].count("\n") for process in writers] == [20] * 4
    assert [process.returncode for process in writers] == [0] * 4

    store = open_store(path)
    paths = store.paths(COHORT, LATER)
    expected = {f"w{number}-{batch}" for number in range(4) for batch in range(20)}
    assert sorted(paths.run_ids) == sorted(expected | {"shared"})
    assert {len(store.spans("default", run_id)) for run_id in expected} == {20}
    assert {span.span_id for span in store.spans("default", "shared")} == expected
    store.close()


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    process = writer(path, "w", 0, settles=True)
    assert process.stdout is not None
    kept = [int(line) for line in islice(process.stdout, 60)]
    process.kill()
    kept += [int(line) for line in process.stdout.read().splitlines()]
    process.wait()
    process.stdout.close()

    store = open_store(path)
    assert len(kept) >= 60
    assert {len(store.spans("default", f"w-{batch}")) for batch in kept} == {20}
    assert {span.span_id for span in store.spans("default", "shared")} >= {f"w-{batch}" for batch in kept}
    store.close()


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = open_store(tmp_path / "runs.sqlite", create=True)

    def work(number: int) -> tuple[Appended, int]:
        spans = [Span(f"t{number}", f"s{n}", "n", n, n + 1) for n in range(50)]
        appended = store.append("default", spans)
        store.settle("default")
        return appended, len(store.spans("default", f"t{number}"))

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(40))) == [(Appended(new=50), 50)] * 40
    assert len(store.paths(COHORT, LATER).run_ids) == 40
    store.close()


class Snatched(deque[sqlite3.Connection]):
    """Idle connections that another thread always takes first."""

    def __bool__(self) -> bool:
        return True

    def pop(self) -> sqlite3.Connection:  # type: ignore[override]  # deque.pop takes no index either
        raise IndexError


def test_a_connection_that_another_thread_took_is_replaced(tmp_path: Path) -> None:
    open_store(tmp_path / "runs.sqlite", create=True).close()
    store = SQLiteStore(tmp_path / "runs.sqlite")
    store._idle = Snatched()
    assert store.append("default", [Span("t", "s", "n", 1, 2)]) == Appended(new=1)
    for connection in store._idle.copy():
        connection.close()


def test_a_reader_holds_no_writer_up(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    store = open_store(path, create=True)
    store.append("default", [Span("t", "s", "n", 1, 2)])
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM spans").fetchone() == (1,)

    assert store.append("default", [Span("u", "s", "n", 1, 2)]) == Appended(new=1)

    assert reader.execute("SELECT count(*) FROM spans").fetchone() == (1,)
    reader.close()
    assert store.find("default", "u") == ["u"]
    store.close()


class Overtaken(SQLiteStore):
    """A store into which others append, settle and append again while it folds for the first time."""

    def _write_batch(self, tenant: str, folded: settling.Folded) -> settling.Settled:
        other = open_store(self.path)
        if other.append(tenant, [Span("t", "b", "n", 1, 9)]).new:
            other.settle(tenant)
            other.append(tenant, [Span("t", "c", "n", 1, 99)])
        other.close()
        return super()._write_batch(tenant, folded)


def test_what_changes_while_a_batch_is_folded_is_read_again(tmp_path: Path) -> None:
    open_store(tmp_path / "runs.sqlite", create=True).close()
    store = Overtaken(tmp_path / "runs.sqlite")
    store.append("default", [Span("t", "a", "n", 1, 2)])

    assert store.settle("default") == {"t"}
    assert store.run("default", "t").last_ns == 99
    assert store.settle("default") == set()
    store.close()
