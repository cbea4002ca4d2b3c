"""What a store of spans and runs must do; :mod:`engine.store.sqlite` does it on SQLite.

Spans are appended durably and as sent; *settling* folds the traces they touched into runs
and paths. A reader that asks about runs settles first, so its answer includes every span
that was acknowledged before the question. Everything belongs to a tenant, and no method
finds what another tenant holds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from engine.fuses import Firing, Policy
from engine.keys import Key
from engine.paths import Paths
from engine.rules import Rule
from engine.runs import Cohort, Declaration, Outcome, ReadingSettings, Run, Source, Window
from engine.selections import Selection
from engine.spans import Span

BATCH = 2_000
"""Records that are erased in one transaction, about."""
MAX_NUMBER = 2**63 - 1
"""Larger than the number of any line of the ledger."""
MAX_MARKERS = 1_000
"""Markers that a tenant may have."""
MAX_RUNS = 20_000
"""Completed runs read of one cohort by default: the latest by start."""


class Appended(NamedTuple):
    """What a batch did to the store: records that were new, replaced one, or changed nothing."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0


class Expired(NamedTuple):
    """How much was removed because it was old; outcomes are those of runs that were never seen."""

    runs: int = 0
    spans: int = 0
    outcomes: int = 0
    markers: int = 0


class Marker(NamedTuple):
    """A moment at which something was changed, as a deploy.

    Attributes
    ----------
    number : int
        By which it is removed.
    agent : str or None
        Whose runs it concerns; None if everybody's.
    """

    number: int
    name: str
    time_ns: int
    agent: str | None


class Receipt(NamedTuple):
    """What became of an erasure.

    Attributes
    ----------
    what : str
        What was asked for, without whose it was.
    digest : str
        Of what was asked for, keyed by the store's secret; in hex.
    done_ns : int or None
        When all of it was gone; None while it is still being erased.
    runs, traces, spans, outcomes, firings : int
        How much was removed, so far.
    """

    erasure_id: str
    what: str
    digest: str
    asked_by: str
    asked_ns: int
    done_ns: int | None
    runs: int
    traces: int
    spans: int
    outcomes: int
    firings: int


class AgentSummary(NamedTuple):
    """How the runs of one agent ended inside a window, and when its latest run ever began."""

    tenant: str
    agent: str
    completed: int
    successes: int
    failures: int
    abandoned: int
    unknown: int
    declared: int
    by_rule: int
    inferred: int
    last_ns: int


class DayRow(NamedTuple):
    """How an agent's runs of one day ended.

    Attributes
    ----------
    day : int
        Days of 24 hours back from the moment of asking: 0 is the last, and what is dated ahead.
    """

    agent: str
    day: int
    successes: int
    failures: int
    abandoned: int
    live: int


class Names(NamedTuple):
    """Names that hold a text."""

    agents: tuple[str, ...] = ()
    tickets: tuple[str, ...] = ()
    run_ids: tuple[str, ...] = ()


class RunRow(NamedTuple):
    """One line of a list of runs; a live run's outcome is UNKNOWN."""

    run_id: str
    agent: str
    version: str | None
    ticket: str | None
    start_ns: int
    last_ns: int
    outcome: Outcome
    source: Source
    live: bool
    steps: int
    number: int = 0

    @property
    def place(self) -> Place:
        """Where it stands in the list."""
        return Place(self.start_ns, self.number)


class TicketRow(NamedTuple):
    """One line of a list of tickets: how the latest runs of each ended.

    Attributes
    ----------
    agents : tuple of str
        Who worked on it, by name.
    last_ns : int
        When its latest run began.
    """

    ticket: str
    agents: tuple[str, ...]
    successes: int
    failures: int
    abandoned: int
    live: int
    last_ns: int

    @property
    def contrasts(self) -> bool:
        """Whether one run succeeded and another did not."""
        return self.successes > 0 and self.failures + self.abandoned > 0


class Place(NamedTuple):
    """Where a run stands in a list, newest first; of runs that began at once the number decides."""

    start_ns: int
    number: int


class Wanted(NamedTuple):
    """Which runs of a cohort are listed.

    Attributes
    ----------
    outcome : Outcome or None
        With UNKNOWN only the live, else only so ended ones.
    version, ticket : str or None
        Only those of this version, or ticket.
    after : Place or None
        Only those that stand after this place.
    """

    outcome: Outcome | None = None
    version: str | None = None
    ticket: str | None = None
    after: Place | None = None


EVERY = Wanted()


TenantRun: TypeAlias = tuple[str, str]
"""A tenant, and the id of a run of its."""


class Touched(NamedTuple):
    """A trace whose spans came, changed or went.

    Attributes
    ----------
    trace : int
        Its number, as in :attr:`Trail.traces`.
    tenant : str
        Whose it is; "" if it is gone.
    run_ids : tuple of str
        Ids of all runs it may belong to now, the likeliest first.
    """

    trace: int
    tenant: str
    run_ids: tuple[str, ...]


class Changes(NamedTuple):
    """What changed after a change that somebody knows of.

    Attributes
    ----------
    up_to : int
        Number of the newest change.
    touched : tuple of Touched
        Each trace once, by its newest change.
    whole : bool
        False if older changes are no longer kept: anything may have changed, and nothing is told.
    """

    up_to: int
    touched: tuple[Touched, ...]
    whole: bool


class Trail(NamedTuple):
    """What came of a run so far, settled or not.

    Attributes
    ----------
    run_id : str
        As the store keeps it.
    change : int
        Number of the newest change that was there.
    traces : tuple of int
        Numbers of all traces that may belong to the run.
    spans : dict or None
        Their spans by digest; None in place of one that was known. None if they are too many.
    """

    run_id: str
    change: int
    traces: tuple[int, ...]
    spans: dict[int, Span | None] | None


class Recorded(NamedTuple):
    """A line of the ledger of fuses: its number, what fired, and how the run ended.

    Attributes
    ----------
    outcome : Outcome or None
        UNKNOWN while the run is live; None if it is not there any more.
    source : Source or None
        Where the outcome comes from; None while there is none.
    """

    number: int
    firing: Firing
    outcome: Outcome | None
    source: Source | None


class Lines(NamedTuple):
    """Which lines of the ledger: a policy's, a run's by its id, an agent's; None does not ask."""

    policy: str | None = None
    run_id: str | None = None
    agent: str | None = None


EVERY_LINE = Lines()


class Tally(NamedTuple):
    """How the runs ended that fuses of one policy fired in, each run counted once.

    Attributes
    ----------
    successes, failures, abandoned : int
        Of those whose outcome was declared or follows from a rule: somebody said so, and a success was
        a false alarm.
    inferred_successes, inferred_failures, inferred_abandoned : int
        Of those nobody says anything of; one that was stopped after a good step looks like a success.
    unknown : int
        Runs that are live, or not there any more.
    """

    policy: str
    action: str
    mode: str
    runs: int
    successes: int
    failures: int
    abandoned: int
    inferred_successes: int
    inferred_failures: int
    inferred_abandoned: int
    unknown: int


class Store(Protocol):
    """A durable store that several threads and processes may use at once.

    Every method may raise :class:`engine.errors.StoreError` (damaged, busy, full or
    read-only), with a sentence that names the file.

    Attributes
    ----------
    reading_settings : ReadingSettings
        How spans are read into runs.
    """

    reading_settings: ReadingSettings

    @property
    def path(self) -> Path | None:
        """The file, if it is in one."""

    def append(self, tenant: str, spans: Sequence[Span]) -> Appended:
        """Keep a batch of spans; on return they survive the death of the process and the machine.

        Goals, reasons and arguments are redacted first, as the store was opened to do.

        A span is identified by ``(trace_id, span_id)``. An identical copy changes nothing, a
        differing one replaces it, but never an ended span by one that has not ended. Of copies
        inside one batch only the last counts (of those that have ended, if any has); the others
        are unchanged. The batch is kept whole or, on an error, not at all.
        """

    def declare(self, tenant: str, declarations: Sequence[Declaration], repeat: bool = True) -> Appended:
        """Keep declared outcomes, all of them; a run's may arrive before its spans do.

        A run is named by its id, or by the id of any of its traces, with dashes or without, in small
        letters or capitals: it is kept under one form.

        Without ``repeat``, one that says what the latest by the same source says changes nothing:
        so it may be told again and again at another time.
        """

    def declarations(self, tenant: str, run_id: str) -> list[Declaration]:
        """What is declared for a run, by its spans or beside them; the first is the one that counts."""

    def waiting(self, tenant: str, names: Iterable[str]) -> list[str]:
        """Those of these ids that name no run yet, nor a trace of one: outcomes told of them wait."""

    def withdraw(self, tenant: str, declaration: Declaration) -> bool:
        """Take back what was declared beside the spans; whether it was there."""

    def rules(self, tenant: str, agent: str) -> tuple[Rule, ...]:
        """The rules for outcomes of an agent, known or not, in order."""

    def set_rules(self, tenant: str, agent: str, rules: Sequence[Rule]) -> None:
        """Replace an agent's rules; they hold for its runs so far and for those to come."""

    def undeclared(self, tenant: str, agent: str, limit: int = MAX_RUNS) -> Iterator[Run]:
        """An agent's (latest ``limit``) runs that nobody declared an outcome of, newest first."""

    def settle(self, tenant: str, limit_s: float = inf) -> set[str]:
        """Fold every trace touched since the last time; ids of the runs these belong to.

        What is touched only meanwhile is left to the next time, so it ends however much arrives; and
        so is what is left after the batch that ``limit_s`` seconds end in, which is not cut short, or what
        another thread is still settling by then.
        """

    def agents(self, tenant: str, window: Window, now_ns: int) -> list[AgentSummary]:
        """Every agent that has a run, by name, with the counts of the window."""

    def days(self, tenant: str, agents: Sequence[str], now_ns: int) -> list[DayRow]:
        """How these agents' runs of the last 30 days ended, by agent and day, but for empty days."""

    def paths(self, cohort: Cohort, now_ns: int, max_runs: int = MAX_RUNS) -> Paths:
        """The cohort's paths, newest first: completed runs, then live ones, ``max_runs`` of each.

        Of these, where the cohort is narrowed, the runs that are what its expression says.

        Raises
        ------
        UnknownAgentError
            If the agent has no run at all in the tenant; an empty window is no error.
        InputError
            The expression cannot be read, or takes more than 10 seconds to ask.
        """

    def histories(self, cohort: Cohort, now_ns: int, max_runs: int = MAX_RUNS) -> Iterator[Run]:
        """The runs of :meth:`paths`, in its order, with all their steps whatever the view.

        Nothing that comes in while they are read changes what is read; raises UnknownAgentError.
        """

    def run(self, tenant: str, run_id: str) -> Run:
        """One run, with its outcome as it stands once over.

        Raises
        ------
        UnknownRunError
            If the tenant holds no span of such a run.
        """

    def spans(self, tenant: str, run_id: str, limit: int | None = None) -> list[Span]:
        """The (first ``limit``) spans of the run's traces by start; raises UnknownRunError."""

    def runs(self, cohort: Cohort, now_ns: int, limit: int = 100, wanted: Wanted = EVERY) -> list[RunRow]:
        """The first of the cohort's runs that are wanted, newest first.

        Where the cohort is narrowed, the first of the next 20,000 that are wanted and are what it says.
        """

    def live_runs(self, tenant: str, now_ns: int, limit: int, agent: str | None = None) -> list[Run]:
        """Runs in flight with their steps, of all agents or one, the most recently active ``limit`` first."""

    def tickets(self, tenant: str, now_ns: int, text: str = "", limit: int = 100) -> list[TicketRow]:
        """Tickets whose name holds a text, in capitals or not: what the latest 20,000 runs were about.

        Those with a success and another ending come first, and of these the latest.
        """

    def runs_of_ticket(self, tenant: str, ticket: str, now_ns: int, limit: int = 100) -> list[RunRow]:
        """The runs of a ticket, of whichever agent, newest first."""

    def deciding(self, tenant: str, run_ids: Iterable[str]) -> set[str]:
        """Those of these runs that recorded a decision."""

    def find(self, tenant: str, text: str) -> list[str]:
        """Ids of the runs that a run id, a trace id (dashed or not) or a ticket names, newest first."""

    def names(self, tenant: str, text: str, limit: int) -> Names:
        """Names that hold a text, so many of each at most: runs and tickets that begin with it come first.

        Where too few begin with it, the first 20,000 by name are looked through.
        """

    def runs_of(self, tenant: str, trace_ids: Iterable[str], run_ids: Iterable[str]) -> set[str]:
        """Ids of the runs that these traces belong to, and of those named by these ids, if there are any."""

    def add_key(self, key: Key) -> None:
        """Keep a new key of its tenant."""

    def keys(self, tenant: str) -> list[Key]:
        """A tenant's keys by age, the revoked ones too."""

    def revoke_key(self, tenant: str, key_id: str, now_ns: int) -> bool:
        """Let a key of the tenant stop working at once; False if it has none such that works."""

    def key(self, key_id: str) -> Key | None:
        """The key of an id, whosever it is: the one question that is asked before the tenant is known."""

    def has_keys(self) -> bool:
        """Whether a key was ever made, by any tenant: revoking the last one opens no door."""

    def secret(self) -> bytes:
        """32 random bytes that every server of this store signs with, made at the first question."""

    def tenants(self) -> list[str]:
        """Every tenant that holds something, by name."""

    def unsettled(self) -> dict[str, int]:
        """Every tenant with spans that are not settled yet, and the number of their latest trace."""

    def expire(self, tenant: str, before_ns: int, limit: int) -> Expired:
        """Remove runs whose last activity is before a moment, and all that belongs to them; settles first.

        About ``limit`` records go at once, so that writers never wait long: call it until nothing goes.
        Outcomes declared before the moment for runs that were never seen go too, and markers before it.
        """

    def policies(self, tenant: str) -> tuple[Policy, ...]:
        """What fuses ask about the tenant's runs, by name."""

    def set_policy(self, tenant: str, policy: Policy) -> bool:
        """Write a policy in place of the one of its name; whether there was none.

        Raises
        ------
        InputError
            There are :data:`engine.fuses.MAX_POLICIES` others.
        """

    def set_policies(self, tenant: str, policies: Sequence[Policy]) -> None:
        """Replace all policies of the tenant at once, as :meth:`set_policy` each."""

    def remove_policy(self, tenant: str, name: str) -> bool:
        """Remove a policy; whether it was there."""

    def markers(self, tenant: str, agent: str | None = None) -> list[Marker]:
        """The markers of a tenant, or those that concern an agent, the latest first."""

    def add_marker(
        self, tenant: str, name: str, time_ns: int, agent: str | None = None
    ) -> tuple[Marker, bool]:
        """Keep a marker, and whether it is new: the same once more is the one that is there.

        Raises
        ------
        InputError
            There are :data:`MAX_MARKERS` others.
        """

    def remove_marker(self, tenant: str, number: int) -> bool:
        """Remove a marker; whether the tenant had it."""

    def add_firings(self, tenant: str, firings: Sequence[Firing]) -> int:
        """Write lines of the ledger, but for those of runs that are gone; how many were written."""

    def firings(
        self, tenant: str, now_ns: int, before: int = MAX_NUMBER, limit: int = 100, wanted: Lines = EVERY_LINE
    ) -> list[Recorded]:
        """The ledger, or a part of it, newest first: the first ``limit`` lines before a number."""

    def tally(self, tenant: str, now_ns: int, wanted: Lines = EVERY_LINE) -> list[Tally]:
        """How the runs ended that fuses fired in, by policy: of the whole ledger, or a part of it."""

    def erasures(self, tenant: str) -> int:
        """How often something of a tenant's was begun or ended to be erased.

        What was built of it under another count is void.
        """

    def begin_erasure(self, tenant: str, selection: Selection, asked_by: str, now_ns: int) -> str:
        """Write down that something is to be forgotten; from then on it will be. The id of the erasure.

        Settles first. What is asked for again while it is still being erased is the same erasure.

        Raises
        ------
        UnknownRunError
            The tenant holds nothing of it; nothing is written down then.
        """

    def go_on_erasing(
        self, tenant: str, erasure_id: str, now_ns: Callable[[], int], limit: int = BATCH
    ) -> Iterator[None]:
        """Erase what an erasure is of, a transaction of about ``limit`` records a turn, until it is done.

        Who stops in between, or is killed, leaves the rest to whoever goes on; several may at once.
        """

    def begun_erasures(self) -> list[tuple[str, str]]:
        """Tenant and id of every erasure that is not done, the oldest first."""

    def receipt(self, tenant: str, erasure_id: str) -> Receipt | None:
        """What became of an erasure of the tenant; None if it has none of this id."""

    def receipts(self, tenant: str, after: str | None = None, limit: int = 100) -> list[Receipt]:
        """What became of the latest erasures of the tenant, or of those before the one of an id."""

    def cut_log(self) -> bool:
        """Empty the log that may still hold what was removed; False if somebody was reading from it."""

    def tidied(self) -> dict[str, tuple[int, int]]:
        """Of every tenant that anything was erased of: its count of erasures, and the one tidied up to.

        Of those up to the latter nothing is left in caches and the log.
        """

    def set_tidied(self, tenant: str, count: int) -> None:
        """Note that nothing is left in caches and the log of a tenant's erasures up to this count."""

    def vacuum(self, now_ns: int) -> None:
        """Write the whole file anew, small and without what was removed; others cannot write meanwhile.

        Raises
        ------
        BusyStoreError
            Others write, or read for so long that remains may still be in the file.
        """

    def change(self) -> int:
        """Number of the newest change of spans, by whichever process; 0 before the first."""

    def changes(self, after: int) -> Changes:
        """What changed after a change, by whichever process; -1 is before all that is kept."""

    def in_flight(self, after_ns: int, limit: int) -> list[TenantRun]:
        """The latest ``limit`` runs of all tenants that were active after a moment or are not settled."""

    def trail(self, tenant: str, run_id: str, known: Container[int], limit: int) -> Trail | None:
        """The spans of every trace that may belong to a run, without settling; None if there is no trace.

        Digests are of the process; spans whose digests are ``known`` are not read again. More than
        ``limit`` spans are not read at all.
        """

    def clock_ns(self) -> int | None:
        """The store's own clock, if it has one: a demo's stands still."""

    def set_clock(self, now_ns: int) -> None:
        """Give the store a clock of its own."""

    def close(self) -> None:
        """Release the file; the store is not to be used afterwards."""
