"""The store on SQLite: one file, many readers, one writer at a time.

The write-ahead log is synced to disk at each commit, so what was acknowledged survives;
readers see a snapshot and hold nobody up. Threads take connections from a pool; processes
each open the file.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import Concatenate, ParamSpec, TypeVar

from engine.decisions.redaction import MASK, Redaction, Redactor
from engine.errors import BusyStoreError, UnknownRunError, UnwritableStoreError
from engine.fuses import Firing, Policy
from engine.keys import Key
from engine.paths import Paths
from engine.rules import Rule
from engine.runs import READ_AS_IS, Cohort, Declaration, ReadingSettings, Run, Window
from engine.selections import Selection
from engine.spans import Span
from engine.store import (
    BATCH,
    EVERY,
    EVERY_LINE,
    MAX_NUMBER,
    MAX_RUNS,
    AgentSummary,
    Appended,
    Changes,
    DayRow,
    Expired,
    Lines,
    Marker,
    Names,
    Receipt,
    Recorded,
    RunRow,
    Store,
    Tally,
    TenantRun,
    TicketRow,
    Trail,
    Wanted,
    appending,
    erasing,
    expiring,
    feeding,
    following,
    keyring,
    marking,
    opening,
    policing,
    reading,
    ruling,
    selecting,
    settling,
    suggesting,
    ticketing,
    tidying,
)
from engine.store.cohort import read_paths
from engine.store.fitting import bounded
from engine.store.histories import histories
from engine.store.keys import given_tenant, tenant_names, tenant_number, unsettled_tenants
from engine.store.turns import Turns, begin

AGAIN_S = 1.0
"""How long after a reader gave up settling no reader tries again."""

P = ParamSpec("P")
T = TypeVar("T")


class SQLiteStore:
    """A :class:`engine.store.Store` in one SQLite file; made by :func:`open_store`.

    A store that may not be written to, or has no room to be, is read as it was last settled.
    """

    def __init__(
        self,
        path: Path,
        read_only: bool = False,
        reading_settings: ReadingSettings = READ_AS_IS,
        patience_s: float = opening.PATIENCE_S,
        settling_s: float = inf,
        redaction: Redaction = MASK,
    ) -> None:
        self.path, self.reading_settings = path, reading_settings
        self.patience_s, self.settling_s = patience_s, settling_s
        self.read_only = read_only or not opening.is_writable(path)
        self._idle: deque[sqlite3.Connection] = deque()
        self._turns = Turns()
        self._folding = threading.Lock()
        self._found_busy_s = self._gave_up_s = -inf
        self._file = opening.identity(path)
        self._redactor = Redactor(redaction, self.secret)

    def append(self, tenant: str, spans: Sequence[Span]) -> Appended:
        """See :meth:`engine.store.Store.append`."""
        packed = appending.pack(self._redactor.spans(tenant, spans))
        with self._writing() as db:
            return appending.append(db, given_tenant(db, tenant), packed)

    def declare(self, tenant: str, declarations: Sequence[Declaration], repeat: bool = True) -> Appended:
        """See :meth:`engine.store.Store.declare`."""
        with self._writing() as db:
            return appending.declare(db, given_tenant(db, tenant), declarations, repeat)

    def declarations(self, tenant: str, run_id: str) -> list[Declaration]:
        """See :meth:`engine.store.Store.declarations`."""
        self._settle_if_possible(tenant)
        return self._read(reading.declarations, tenant, run_id, self.reading_settings.evaluation)

    def waiting(self, tenant: str, names: Iterable[str]) -> list[str]:
        """See :meth:`engine.store.Store.waiting`."""
        self._settle_if_possible(tenant)
        return self._read(reading.waiting, tenant, names)

    def withdraw(self, tenant: str, declaration: Declaration) -> bool:
        """See :meth:`engine.store.Store.withdraw`."""
        with self._writing() as db:
            return ruling.withdraw(db, given_tenant(db, tenant), declaration)

    def rules(self, tenant: str, agent: str) -> tuple[Rule, ...]:
        """See :meth:`engine.store.Store.rules`."""
        return self._read(ruling.rules, tenant, agent)

    def set_rules(self, tenant: str, agent: str, rules: Sequence[Rule]) -> None:
        """See :meth:`engine.store.Store.set_rules`."""
        with self._writing() as db:
            ruling.set_rules(db, given_tenant(db, tenant), agent, rules)

    def undeclared(self, tenant: str, agent: str, limit: int = MAX_RUNS) -> Iterator[Run]:
        """See :meth:`engine.store.Store.undeclared`."""
        self._settle_if_possible(tenant)
        with self._transaction(_snapshot) as db:
            yield from reading.undeclared(db, tenant, agent, limit)

    def settle(self, tenant: str, limit_s: float = inf) -> set[str]:
        """See :meth:`engine.store.Store.settle`; a store that is only read is left as it is."""
        run_ids, until_s = set[str](), monotonic() + limit_s
        after, up_to = 0, 0 if self.read_only else self._read(_last_touched, tenant)
        while after < up_to:
            settled = self._settle_batch(tenant, after, up_to, until_s)
            run_ids |= settled.run_ids
            after = settled.up_to if monotonic() < until_s else up_to
        return run_ids

    def _settle_batch(self, tenant: str, after: int, up_to: int, until_s: float) -> settling.Settled:
        """Settle the next touched traces; one thread at a time, or several would fold the same.

        Who has waited for another until ``until_s`` leaves it at that. Who waited for one that found the
        store busy is told so too, and does not wait once more.
        """
        asked_s = monotonic()
        left_s = min(max(until_s - asked_s, 0.0), threading.TIMEOUT_MAX)
        if not self._folding.acquire(timeout=left_s):
            return settling.Settled(set(), up_to)
        try:
            if asked_s < self._found_busy_s:
                raise BusyStoreError(f"{self.path} {opening.BUSY}")
            folded = self._read(_read_batch, tenant, self.reading_settings, after, up_to)
            try:
                return settling.Settled(set(), up_to) if folded is None else self._write_batch(tenant, folded)
            except BusyStoreError:
                self._found_busy_s = monotonic()
                raise
        finally:
            self._folding.release()

    def _write_batch(self, tenant: str, folded: settling.Folded) -> settling.Settled:
        with self._writing() as db:
            number = given_tenant(db, tenant)
            if settling.is_current(db, number, folded):
                return settling.write_batch(db, number, folded)
            touched = min(folded.touched) - 1, max(folded.touched)
            again = settling.read_batch(db, number, self.reading_settings, *touched)
            if again is None:
                return settling.Settled(set(), touched[1])
            return settling.write_batch(db, number, again)

    def _settle_if_possible(self, tenant: str) -> None:
        """Settle before reading; where nothing can be written, or not soon, the answer is as last settled.

        Who asks several things in a row waits for the first only.
        """
        if monotonic() < self._gave_up_s + AGAIN_S:
            return
        until_s = monotonic() + self.settling_s
        with suppress(UnwritableStoreError):
            try:
                self.settle(tenant, self.settling_s)
                is_done = monotonic() < until_s
            except BusyStoreError:
                is_done = False
            if not is_done:
                self._gave_up_s = monotonic()

    def read_anew(self) -> None:
        """Let all spans be folded again if they were read with other settings, or by another version."""
        fingerprint = self.reading_settings.fingerprint()
        if not self.read_only and not self._read(settling.is_read_as, fingerprint):
            with self._writing() as db:
                settling.read_anew(db, fingerprint)

    def agents(self, tenant: str, window: Window, now_ns: int) -> list[AgentSummary]:
        """See :meth:`engine.store.Store.agents`."""
        self._settle_if_possible(tenant)
        return self._read(reading.agents, tenant, window, now_ns)

    def days(self, tenant: str, agents: Sequence[str], now_ns: int) -> list[DayRow]:
        """See :meth:`engine.store.Store.days`."""
        self._settle_if_possible(tenant)
        return self._read(reading.days, tenant, agents, now_ns)

    def paths(self, cohort: Cohort, now_ns: int, max_runs: int = MAX_RUNS) -> Paths:
        """See :meth:`engine.store.Store.paths`."""
        self._settle_if_possible(cohort.tenant)
        return self._read(read_paths, cohort, now_ns, max_runs)

    def histories(self, cohort: Cohort, now_ns: int, max_runs: int = MAX_RUNS) -> Iterator[Run]:
        """See :meth:`engine.store.Store.histories`."""
        self._settle_if_possible(cohort.tenant)
        with self._transaction(_snapshot) as db:
            yield from histories(db, cohort, now_ns, max_runs)

    def run(self, tenant: str, run_id: str) -> Run:
        """See :meth:`engine.store.Store.run`."""
        self._settle_if_possible(tenant)
        return self._read(reading.run, tenant, run_id)

    def spans(self, tenant: str, run_id: str, limit: int | None = None) -> list[Span]:
        """See :meth:`engine.store.Store.spans`."""
        self._settle_if_possible(tenant)
        return self._read(reading.spans, tenant, run_id, limit)

    def runs(self, cohort: Cohort, now_ns: int, limit: int = 100, wanted: Wanted = EVERY) -> list[RunRow]:
        """See :meth:`engine.store.Store.runs`."""
        self._settle_if_possible(cohort.tenant)
        return self._read(reading.runs, cohort, now_ns, limit, wanted)

    def live_runs(self, tenant: str, now_ns: int, limit: int, agent: str | None = None) -> list[Run]:
        """See :meth:`engine.store.Store.live_runs`."""
        self._settle_if_possible(tenant)
        return self._read(reading.live_runs, tenant, now_ns, limit, agent)

    def tickets(self, tenant: str, now_ns: int, text: str = "", limit: int = 100) -> list[TicketRow]:
        """See :meth:`engine.store.Store.tickets`."""
        self._settle_if_possible(tenant)
        return self._read(ticketing.tickets, tenant, now_ns, text, limit)

    def runs_of_ticket(self, tenant: str, ticket: str, now_ns: int, limit: int = 100) -> list[RunRow]:
        """See :meth:`engine.store.Store.runs_of_ticket`."""
        self._settle_if_possible(tenant)
        return self._read(ticketing.runs_of_ticket, tenant, ticket, now_ns, limit)

    def deciding(self, tenant: str, run_ids: Iterable[str]) -> set[str]:
        """See :meth:`engine.store.Store.deciding`."""
        self._settle_if_possible(tenant)
        return self._read(ticketing.deciding, tenant, run_ids)

    def find(self, tenant: str, text: str) -> list[str]:
        """See :meth:`engine.store.Store.find`."""
        self._settle_if_possible(tenant)
        return self._read(reading.find, tenant, text)

    def names(self, tenant: str, text: str, limit: int) -> Names:
        """See :meth:`engine.store.Store.names`."""
        return self._read(suggesting.names, tenant, text, limit)

    def runs_of(self, tenant: str, trace_ids: Iterable[str], run_ids: Iterable[str]) -> set[str]:
        """See :meth:`engine.store.Store.runs_of`."""
        self._settle_if_possible(tenant)
        return self._read(reading.runs_of, tenant, trace_ids, run_ids)

    def add_key(self, key: Key) -> None:
        """See :meth:`engine.store.Store.add_key`."""
        with self._writing() as db:
            keyring.add(db, key)

    def keys(self, tenant: str) -> list[Key]:
        """See :meth:`engine.store.Store.keys`."""
        return self._read(keyring.of_tenant, tenant)

    def revoke_key(self, tenant: str, key_id: str, now_ns: int) -> bool:
        """See :meth:`engine.store.Store.revoke_key`."""
        with self._writing() as db:
            return keyring.revoke(db, tenant, key_id, now_ns)

    def key(self, key_id: str) -> Key | None:
        """See :meth:`engine.store.Store.key`."""
        return self._glance(keyring.by_id, key_id)

    def has_keys(self) -> bool:
        """See :meth:`engine.store.Store.has_keys`."""
        return self._glance(keyring.has_any)

    def secret(self) -> bytes:
        """See :meth:`engine.store.Store.secret`."""
        found = self._read(keyring.secret)
        if found is None:
            with self._writing() as db:
                found = keyring.make_secret(db)
        return found

    def tenants(self) -> list[str]:
        """See :meth:`engine.store.Store.tenants`."""
        return self._read(tenant_names)

    def unsettled(self) -> dict[str, int]:
        """See :meth:`engine.store.Store.unsettled`."""
        return self._read(unsettled_tenants)

    def expire(self, tenant: str, before_ns: int, limit: int) -> Expired:
        """See :meth:`engine.store.Store.expire`."""
        self.settle(tenant)
        old = self._read(expiring.find, tenant, bounded(before_ns), limit)
        if old == expiring.Old():
            return Expired()
        with self._writing() as db:
            return expiring.remove(db, tenant, old, bounded(before_ns), limit)

    def policies(self, tenant: str) -> tuple[Policy, ...]:
        """See :meth:`engine.store.Store.policies`."""
        return self._glance(policing.policies, tenant)

    def set_policy(self, tenant: str, policy: Policy) -> bool:
        """See :meth:`engine.store.Store.set_policy`."""
        with self._writing() as db:
            return policing.set_policy(db, given_tenant(db, tenant), policy)

    def set_policies(self, tenant: str, policies: Sequence[Policy]) -> None:
        """See :meth:`engine.store.Store.set_policies`."""
        with self._writing() as db:
            policing.set_policies(db, given_tenant(db, tenant), policies)

    def remove_policy(self, tenant: str, name: str) -> bool:
        """See :meth:`engine.store.Store.remove_policy`."""
        with self._writing() as db:
            return policing.remove_policy(db, given_tenant(db, tenant), name)

    def markers(self, tenant: str, agent: str | None = None) -> list[Marker]:
        """See :meth:`engine.store.Store.markers`."""
        return self._glance(marking.markers, tenant, agent)

    def add_marker(
        self, tenant: str, name: str, time_ns: int, agent: str | None = None
    ) -> tuple[Marker, bool]:
        """See :meth:`engine.store.Store.add_marker`."""
        with self._writing() as db:
            return marking.add_marker(db, given_tenant(db, tenant), name, time_ns, agent)

    def remove_marker(self, tenant: str, number: int) -> bool:
        """See :meth:`engine.store.Store.remove_marker`."""
        with self._writing() as db:
            return marking.remove_marker(db, given_tenant(db, tenant), number)

    def add_firings(self, tenant: str, firings: Sequence[Firing]) -> int:
        """See :meth:`engine.store.Store.add_firings`."""
        with self._writing() as db:
            return policing.add_firings(db, given_tenant(db, tenant), firings)

    def firings(
        self, tenant: str, now_ns: int, before: int = MAX_NUMBER, limit: int = 100, wanted: Lines = EVERY_LINE
    ) -> list[Recorded]:
        """See :meth:`engine.store.Store.firings`."""
        self._settle_if_possible(tenant)
        return self._read(policing.firings, tenant, now_ns, before, limit, wanted)

    def tally(self, tenant: str, now_ns: int, wanted: Lines = EVERY_LINE) -> list[Tally]:
        """See :meth:`engine.store.Store.tally`."""
        self._settle_if_possible(tenant)
        return self._read(policing.tally, tenant, now_ns, wanted)

    def erasures(self, tenant: str) -> int:
        """See :meth:`engine.store.Store.erasures`."""
        return self._glance(erasing.count, tenant)

    def begin_erasure(self, tenant: str, selection: Selection, asked_by: str, now_ns: int) -> str:
        """See :meth:`engine.store.Store.begin_erasure`."""
        self.settle(tenant)
        asked = selecting.fitted(selection)
        if not self._read(_is_known, tenant, asked):
            raise UnknownRunError(f"{asked.nothing} is in the store.")
        with self._writing() as db:
            return erasing.begin(db, given_tenant(db, tenant), asked, asked_by, now_ns)

    def go_on_erasing(
        self, tenant: str, erasure_id: str, now_ns: Callable[[], int], limit: int = BATCH
    ) -> Iterator[None]:
        """See :meth:`engine.store.Store.go_on_erasing`."""
        self.settle(tenant)
        after: int | None = 0
        while after is not None:
            found = self._read(erasing.next_page, tenant, erasure_id, after, 1 + limit // expiring.ROWS)
            if found.rows:
                with self._writing() as db:
                    erasing.take(db, tenant, erasure_id, found, limit)
            after = found.after
            yield
        is_done = False
        while not is_done:
            with self._writing() as db:
                is_done = erasing.finish(db, tenant, erasure_id, now_ns(), limit)
            yield

    def begun_erasures(self) -> list[tuple[str, str]]:
        """See :meth:`engine.store.Store.begun_erasures`."""
        return self._read(erasing.begun)

    def receipt(self, tenant: str, erasure_id: str) -> Receipt | None:
        """See :meth:`engine.store.Store.receipt`."""
        return self._read(erasing.receipt, tenant, erasure_id)

    def receipts(self, tenant: str, after: str | None = None, limit: int = 100) -> list[Receipt]:
        """See :meth:`engine.store.Store.receipts`."""
        return self._read(erasing.receipts, tenant, after, limit)

    def cut_log(self) -> bool:
        """See :meth:`engine.store.Store.cut_log`."""
        with self._alone() as db:
            return tidying.cut_log(db)

    def tidied(self) -> dict[str, tuple[int, int]]:
        """See :meth:`engine.store.Store.tidied`."""
        return self._glance(erasing.counts)

    def set_tidied(self, tenant: str, count: int) -> None:
        """See :meth:`engine.store.Store.set_tidied`."""
        with self._writing() as db:
            erasing.set_tidied(db, tenant, count)

    def vacuum(self, now_ns: int) -> None:
        """See :meth:`engine.store.Store.vacuum`."""
        with self._alone() as db:
            if not tidying.vacuum(db, now_ns):
                raise BusyStoreError(f"{self.path} was written anew, but is still read as it was: ask again")

    def change(self) -> int:
        """See :meth:`engine.store.Store.change`."""
        return self._glance(feeding.latest)

    def changes(self, after: int) -> Changes:
        """See :meth:`engine.store.Store.changes`."""
        # Most who ask find nothing new: they ask before each call of an agent.
        if self.change() == after:
            return Changes(after, (), True)
        return self._read(following.changes, after)

    def in_flight(self, after_ns: int, limit: int) -> list[TenantRun]:
        """See :meth:`engine.store.Store.in_flight`."""
        return self._read(following.in_flight, after_ns, limit)

    def trail(self, tenant: str, run_id: str, known: Container[int], limit: int) -> Trail | None:
        """See :meth:`engine.store.Store.trail`."""
        return self._read(following.trail, tenant, run_id, known, limit)

    def clock_ns(self) -> int | None:
        """See :meth:`engine.store.Store.clock_ns`."""
        return self._glance(_number, "clock_ns")

    def set_clock(self, now_ns: int) -> None:
        """See :meth:`engine.store.Store.set_clock`."""
        with self._writing() as db:
            tidying.note(db, "clock_ns", bounded(now_ns))

    def close(self) -> None:
        """See :meth:`engine.store.Store.close`."""
        while self._idle:
            self._idle.pop().close()

    def _read(
        self, ask: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Ask within one snapshot."""
        with self._transaction(_snapshot) as db:
            return ask(db, *args, **kwargs)

    def _glance(
        self, ask: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Ask by one statement, a snapshot by itself: to begin and end one would take longer than that.

        So would what :meth:`_connected` does about errors; it is asked once more if there is one.
        """
        opening.check_same(self.path, self._file)
        with suppress(IndexError, sqlite3.Error, ValueError):
            db = self._idle.pop()
            found = ask(db, *args, **kwargs)
            self._idle.append(db)
            return found
        with self._connected() as db:
            return ask(db, *args, **kwargs)

    @contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        """A new connection outside any transaction."""
        if self.read_only:
            raise UnwritableStoreError(f"{self.path} is read-only")
        with opening.told(self.path):
            opening.check_same(self.path, self._file)
            with closing(opening.connect(self.path, read_only=False, patience_s=self.patience_s)) as db:
                yield db

    def _connection(self) -> sqlite3.Connection:
        """One that is idle, else a new one; threads may ask at once."""
        try:
            return self._idle.pop()
        except IndexError:
            return opening.connect(self.path, self.read_only, self.patience_s)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if self.read_only:
            raise UnwritableStoreError(f"{self.path} is read-only")
        asked_s = monotonic()
        if not self._turns.acquire(self.patience_s):
            raise BusyStoreError(f"{self.path} {opening.BUSY}")
        try:
            left_s = max(0.0, asked_s + self.patience_s - monotonic())
            with self._transaction(partial(begin, timeout_s=left_s)) as db:
                yield db
        finally:
            self._turns.release()

    @contextmanager
    def _transaction(self, begin: Callable[[sqlite3.Connection], object]) -> Iterator[sqlite3.Connection]:
        """A connection of one's own inside a transaction, kept on success and undone on any error."""
        with self._connected() as db:
            try:
                begin(db)
                yield db
                db.execute("COMMIT")
            except sqlite3.Error:
                raise
            except BaseException:
                db.execute("ROLLBACK")
                raise

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection of one's own, given up if the database fails."""
        with opening.told(self.path):
            opening.check_same(self.path, self._file)
            db = self._connection()
            try:
                yield db
            except sqlite3.Error:
                db.close()
                raise
            except BaseException:
                self._idle.append(db)
                raise
            self._idle.append(db)


def _snapshot(db: sqlite3.Connection) -> None:
    db.execute("BEGIN")


def _last_touched(db: sqlite3.Connection, tenant: str) -> int:
    number = tenant_number(db, tenant)
    return 0 if number is None else settling.last_touched(db, number)


def _read_batch(
    db: sqlite3.Connection, tenant: str, reading_settings: ReadingSettings, after: int, up_to: int
) -> settling.Folded | None:
    number = tenant_number(db, tenant)
    if number is None:
        return None
    return settling.read_batch(db, number, reading_settings, after, up_to)


def _is_known(db: sqlite3.Connection, tenant: str, asked: Selection) -> bool:
    number = tenant_number(db, tenant)
    return bool(erasing.asked(db, number, asked)) or selecting.is_known(db, number, asked)


def _number(db: sqlite3.Connection, name: str) -> int | None:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (name,)).fetchone()
    return int(row[0]) if row else None


def open_store(
    path: Path,
    create: bool = False,
    read_only: bool = False,
    reading_settings: ReadingSettings = READ_AS_IS,
    patience_s: float = opening.PATIENCE_S,
    settling_s: float = inf,
    redaction: Redaction = MASK,
) -> Store:
    """Open a store's file, or make an empty one.

    Parameters
    ----------
    path : Path
        The file.
    create : bool
        Make the store (and its directory) if nothing is there.
    read_only : bool
        Never write, even where that is possible.
    reading_settings : ReadingSettings
        How spans are read into runs. Where they differ from those the store was last opened for
        writing with, or this version reads otherwise, all runs are folded anew when next asked for.
    patience_s : float
        How long a writer waits for the others before :class:`engine.errors.BusyStoreError`.
    settling_s : float
        After how long a reader that settles what has arrived waits for no other and begins no further
        batch: it is answered with what is settled.
    redaction : Redaction
        What becomes of goals, reasons and arguments before they are written.

    Raises
    ------
    NotAStoreError, NewerStoreError, DamagedStoreError, StoreError
        One sentence that names the path; the file is left as it was.
    """
    if create:
        opening.create(path)
    opening.check(path)
    with opening.told(path):
        only_read = read_only or not opening.is_writable(path)
        db = opening.connect(path, only_read)
        try:
            opening.bring_forward(db, path, only_read)
        finally:
            db.close()
    store = SQLiteStore(path, read_only, reading_settings, patience_s, settling_s, redaction)
    with suppress(UnwritableStoreError):
        store.read_anew()
    return store
