"""A store of ready-made runs, for tests of what stands above the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import count
from math import inf
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from engine.errors import UnknownAgentError, UnknownRunError
from engine.fuses import Firing, Policy
from engine.keys import Key
from engine.narrowing import selected
from engine.paths import MARK, Paths, fold, half, parse_signature
from engine.rules import Rule, ruled
from engine.runs import (
    READ_AS_IS,
    SECOND_NS,
    Cohort,
    Declaration,
    Outcome,
    Run,
    Source,
    Step,
    Window,
    is_live,
)
from engine.selections import Selection
from engine.sequences import matches, parse
from engine.spans import Span
from engine.store import (
    BATCH,
    EVERY,
    EVERY_LINE,
    MAX_NUMBER,
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
    Tally,
    TenantRun,
    TicketRow,
    Trail,
    Wanted,
)

NOW_NS = 1_800_000_000 * SECOND_NS
HOUR_NS = 3600 * SECOND_NS
DAY_NS = 24 * HOUR_NS


def make_run(
    run_id: str,
    path: str,
    outcome: Outcome = Outcome.SUCCESS,
    agent: str = "support-agent",
    source: Source = Source.DECLARED,
    age_ns: int = DAY_NS,
    ticket: str | None = None,
) -> Run:
    """A run that took these steps, ``kind:name`` parted by spaces, one a second.

    It began ``age_ns`` before :data:`NOW_NS`.
    """
    start_ns = NOW_NS - age_ns
    steps = tuple(
        Step(signature, at, at + SECOND_NS // 2, f"trace-{run_id}", f"span-{place}", False, None, None)
        for place, (signature, at) in enumerate(zip(path.split(), count(start_ns, SECOND_NS), strict=False))
    )
    last_ns = steps[-1].end_ns if steps else start_ns
    assert last_ns is not None
    return Run(run_id, agent, None, ticket, start_ns, last_ns, outcome, source, steps, (f"trace-{run_id}",))


class MemoryStore:
    """The runs it was given; spans are made of their steps."""

    path: Path | None = None
    reading_settings = READ_AS_IS

    def __init__(self, runs: Iterable[Run] = (), clock: int | None = NOW_NS) -> None:
        self._given = {run.run_id: run for run in runs}
        self._runs = dict(self._given)
        self._declared: list[Declaration] = []
        self._rules: dict[str, tuple[Rule, ...]] = {}
        self._clock = clock
        self._keys: dict[str, Key] = {}
        self._policies: tuple[Policy, ...] = ()
        self._fired: list[Firing] = []
        self._markers: list[Marker] = []

    def become(self, runs: Iterable[Run]) -> None:
        """Hold these runs from now on, and no others."""
        self._given = {run.run_id: run for run in runs}
        self._tell()

    def append(self, tenant: str, spans: Sequence[Span]) -> Appended:
        raise NotImplementedError

    def declare(self, tenant: str, declarations: Sequence[Declaration], repeat: bool = True) -> Appended:
        self._declared += declarations
        self._tell()
        return Appended(new=len(declarations))

    def declarations(self, tenant: str, run_id: str) -> list[Declaration]:
        found = [said for said in self._declared if said.run_id == run_id]
        return sorted(found, key=lambda said: said.time_ns)[::-1]

    def waiting(self, tenant: str, names: Iterable[str]) -> list[str]:
        return [name for name in names if not self.runs_of(tenant, [name], [name])]

    def withdraw(self, tenant: str, declaration: Declaration) -> bool:
        kept = [said for said in self._declared if said != declaration]
        was_there, self._declared = len(kept) < len(self._declared), kept
        self._tell()
        return was_there

    def rules(self, tenant: str, agent: str) -> tuple[Rule, ...]:
        return self._rules.get(agent, ())

    def set_rules(self, tenant: str, agent: str, rules: Sequence[Rule]) -> None:
        self._rules[agent] = tuple(rules)
        self._tell()

    def undeclared(self, tenant: str, agent: str, limit: int = 20_000) -> Iterator[Run]:
        found = [run for run in self._runs.values() if run.agent == agent and run.source != Source.DECLARED]
        return iter(sorted(found, key=lambda run: -run.start_ns)[:limit])

    def _tell(self) -> None:
        """Let every run end as was declared, else as the rules have it, else as it was given."""
        told = dict[str, Run]()
        for run_id, run in self._given.items():
            said = self.declarations("", run_id)[:1]
            ended = [
                replace(run, outcome=each.outcome, source=Source.DECLARED, said_by=each.by) for each in said
            ]
            told[run_id] = ended[0] if ended else ruled(run, self._rules.get(run.agent, ()))
        self._runs = told

    def settle(self, tenant: str, limit_s: float = inf) -> set[str]:
        return set()

    def agents(self, tenant: str, window: Window, now_ns: int) -> list[AgentSummary]:
        return [
            _summary(
                tenant,
                agent,
                self._inside(agent, window, now_ns),
                self._inside(agent, Window(0), now_ns),
                now_ns,
            )
            for agent in sorted({run.agent for run in self._runs.values()})
        ]

    def days(self, tenant: str, agents: Sequence[str], now_ns: int) -> list[DayRow]:
        ended = Counter(
            (agent, max(0, (now_ns - run.start_ns - 1) // DAY_NS), _outcome(run, now_ns))
            for agent in agents
            for run in self._inside(agent, Window(), now_ns)
        )
        days = sorted({(agent, day) for agent, day, _ in ended})
        return [DayRow._make((*day, *(ended[*day, outcome] for outcome in Outcome))) for day in days]

    def paths(self, cohort: Cohort, now_ns: int, max_runs: int = 20_000) -> Paths:
        if not self._inside(cohort.agent, Window(0), now_ns):
            raise UnknownAgentError(f"No run of agent {cohort.agent!r} is in this store.")
        paths = _paths(self._inside(cohort.agent, cohort.window, now_ns), cohort, now_ns)
        if not cohort.where:
            return paths
        fitting = {run.run_id for run in self._of(cohort, now_ns)}
        return selected(paths, np.array([run_id in fitting for run_id in paths.run_ids], bool))

    def histories(self, cohort: Cohort, now_ns: int, max_runs: int = 20_000) -> Iterator[Run]:
        if not self._inside(cohort.agent, Window(0), now_ns):
            raise UnknownAgentError(f"No run of agent {cohort.agent!r} is in this store.")
        return iter(self._of(cohort, now_ns))

    def run(self, tenant: str, run_id: str) -> Run:
        if run_id not in self._runs:
            raise UnknownRunError(f"No run {run_id!r} is in this store.")
        return self._runs[run_id]

    def spans(self, tenant: str, run_id: str, limit: int | None = None) -> list[Span]:
        return [
            Span(step.trace_id, step.span_id, step.signature, step.start_ns, step.end_ns)
            for step in self.run(tenant, run_id).steps[:limit]
        ]

    def runs(self, cohort: Cohort, now_ns: int, limit: int = 100, wanted: Wanted = EVERY) -> list[RunRow]:
        rows = [_row(run, now_ns) for run in self._of(cohort, now_ns)]
        return [row for row in rows if wanted.outcome in (None, row.outcome)][:limit]

    def live_runs(self, tenant: str, now_ns: int, limit: int, agent: str | None = None) -> list[Run]:
        found = [
            run
            for run in self._runs.values()
            if agent in (None, run.agent) and _outcome(run, now_ns) is Outcome.UNKNOWN
        ]
        return sorted(found, key=lambda run: -run.last_ns)[:limit]

    def tickets(self, tenant: str, now_ns: int, text: str = "", limit: int = 100) -> list[TicketRow]:
        every = sorted({run.ticket for run in self._runs.values() if run.ticket})
        names = [name for name in every if text.strip().lower() in name.lower()]
        rows = [_ticket(name, self.runs_of_ticket(tenant, name, now_ns)) for name in names]
        return sorted(rows, key=lambda row: (not row.contrasts, -row.last_ns))[:limit]

    def runs_of_ticket(self, tenant: str, ticket: str, now_ns: int, limit: int = 100) -> list[RunRow]:
        found = [run for run in self._runs.values() if run.ticket == ticket]
        return [_row(run, now_ns) for run in sorted(found, key=lambda run: -run.start_ns)[:limit]]

    def deciding(self, tenant: str, run_ids: Iterable[str]) -> set[str]:
        return set()

    def find(self, tenant: str, text: str) -> list[str]:
        names = {run.run_id: {run.run_id, run.ticket, *run.trace_ids} for run in self._runs.values()}
        return [run_id for run_id, known in names.items() if text in known]

    def names(self, tenant: str, text: str, limit: int) -> Names:
        runs = self._runs.values()
        every = (
            {run.agent for run in runs},
            {run.ticket or "" for run in runs},
            {run.run_id for run in runs},
        )
        wanted = text.strip().lower()
        held = ([name for name in sorted(names) if wanted and wanted in name.lower()] for names in every)
        return Names(*(tuple(names[:limit]) for names in held))

    def runs_of(self, tenant: str, trace_ids: Iterable[str], run_ids: Iterable[str]) -> set[str]:
        names = {*trace_ids, *run_ids}
        return {
            run_id for run_id, run in self._runs.items() if not names.isdisjoint((run_id, *run.trace_ids))
        }

    def add_key(self, key: Key) -> None:
        self._keys[key.key_id] = key

    def keys(self, tenant: str) -> list[Key]:
        return [key for key in self._keys.values() if key.tenant == tenant]

    def revoke_key(self, tenant: str, key_id: str, now_ns: int) -> bool:
        key = self._keys.get(key_id)
        if key is None or key.tenant != tenant or key.revoked_ns is not None:
            return False
        self._keys[key_id] = key._replace(revoked_ns=now_ns)
        return True

    def key(self, key_id: str) -> Key | None:
        return self._keys.get(key_id)

    def has_keys(self) -> bool:
        return bool(self._keys)

    def secret(self) -> bytes:
        return bytes(range(32))

    def tenants(self) -> list[str]:
        return ["default"]

    def unsettled(self) -> dict[str, int]:
        return {}

    def policies(self, tenant: str) -> tuple[Policy, ...]:
        return self._policies

    def set_policy(self, tenant: str, policy: Policy) -> bool:
        was_there = self.remove_policy(tenant, policy.name)
        self._policies = (*self._policies, policy)
        return not was_there

    def set_policies(self, tenant: str, policies: Sequence[Policy]) -> None:
        self._policies = tuple(policies)

    def remove_policy(self, tenant: str, name: str) -> bool:
        kept = tuple(policy for policy in self._policies if policy.name != name)
        was_there, self._policies = len(kept) < len(self._policies), kept
        return was_there

    def markers(self, tenant: str, agent: str | None = None) -> list[Marker]:
        found = [each for each in self._markers if agent is None or each.agent in (None, agent)]
        return sorted(found, key=lambda each: (-each.time_ns, -each.number))

    def add_marker(
        self, tenant: str, name: str, time_ns: int, agent: str | None = None
    ) -> tuple[Marker, bool]:
        same = [each for each in self._markers if each[1:] == (name, time_ns, agent)]
        self._markers += [] if same else [Marker(len(self._markers) + 1, name, time_ns, agent)]
        return (same or self._markers)[-1], not same

    def remove_marker(self, tenant: str, number: int) -> bool:
        kept = [each for each in self._markers if each.number != number]
        was_there, self._markers = len(kept) < len(self._markers), kept
        return was_there

    def add_firings(self, tenant: str, firings: Sequence[Firing]) -> int:
        self._fired += firings
        return len(firings)

    def firings(
        self, tenant: str, now_ns: int, before: int = MAX_NUMBER, limit: int = 100, wanted: Lines = EVERY_LINE
    ) -> list[Recorded]:
        lines = [
            (number, firing)
            for number, firing in enumerate(self._fired, 1)
            if number < before
            and wanted.policy in (None, firing.policy)
            and wanted.run_id in (None, firing.run_id)
            and wanted.agent in (None, firing.agent)
        ]
        return [self._recorded(number, firing, now_ns) for number, firing in lines[::-1][:limit]]

    def _recorded(self, number: int, firing: Firing, now_ns: int) -> Recorded:
        run = self._runs.get(firing.run_id)
        if run is None:
            return Recorded(number, firing, None, None)
        outcome = _outcome(run, now_ns)
        return Recorded(number, firing, outcome, None if outcome is Outcome.UNKNOWN else run.source)

    def tally(self, tenant: str, now_ns: int, wanted: Lines = EVERY_LINE) -> list[Tally]:
        runs: dict[tuple[str, str, str], dict[str, tuple[bool, Outcome | None]]] = {}
        for line in self.firings(tenant, now_ns, limit=MAX_NUMBER, wanted=wanted):
            key = line.firing.policy, line.firing.action, line.firing.mode
            ended = line.source is Source.INFERRED, line.outcome if line.source is not None else None
            runs.setdefault(key, {})[line.firing.run_id] = ended
        return [_tally(key, [*ended.values()]) for key, ended in sorted(runs.items())]

    def expire(self, tenant: str, before_ns: int, limit: int) -> Expired:
        raise NotImplementedError

    def erasures(self, tenant: str) -> int:
        return 0

    def begin_erasure(self, tenant: str, selection: Selection, asked_by: str, now_ns: int) -> str:
        raise NotImplementedError

    def go_on_erasing(
        self, tenant: str, erasure_id: str, now_ns: Callable[[], int], limit: int = BATCH
    ) -> Iterator[None]:
        raise NotImplementedError

    def begun_erasures(self) -> list[tuple[str, str]]:
        return []

    def receipt(self, tenant: str, erasure_id: str) -> Receipt | None:
        raise NotImplementedError

    def receipts(self, tenant: str, after: str | None = None, limit: int = 100) -> list[Receipt]:
        raise NotImplementedError

    def cut_log(self) -> bool:
        return True

    def tidied(self) -> dict[str, tuple[int, int]]:
        return {}

    def set_tidied(self, tenant: str, count: int) -> None:
        raise NotImplementedError

    def vacuum(self, now_ns: int) -> None:
        raise NotImplementedError

    def change(self) -> int:
        return 0

    def changes(self, after: int) -> Changes:
        return Changes(0, (), after == 0)

    def in_flight(self, after_ns: int, limit: int) -> list[TenantRun]:
        return [("default", run_id) for run_id, run in self._runs.items() if run.last_ns > after_ns][:limit]

    def trail(self, tenant: str, run_id: str, known: Container[int], limit: int) -> Trail | None:
        if run_id not in self._runs:
            return None
        run = self._runs[run_id]
        return Trail(run_id, 0, (0,), dict(enumerate(_sent(run, step) for step in run.steps)))

    def clock_ns(self) -> int | None:
        return self._clock

    def set_clock(self, now_ns: int) -> None:
        self._clock = now_ns

    def close(self) -> None:
        pass

    def _of(self, cohort: Cohort, now_ns: int) -> list[Run]:
        found = self._inside(cohort.agent, cohort.window, now_ns)
        return [run for run in found if not cohort.where or _fits(run, cohort.where, now_ns)]

    def _inside(self, agent: str, window: Window, now_ns: int) -> list[Run]:
        start_ns, end_ns = window.bounds(now_ns)
        chosen = [
            run for run in self._runs.values() if run.agent == agent and start_ns <= run.start_ns < end_ns
        ]
        return sorted(chosen, key=lambda run: -run.start_ns)


def _fits(run: Run, where: str, now_ns: int) -> bool:
    fields = {
        "version": run.version,
        "ticket": run.ticket,
        "outcome": _outcome(run, now_ns).name.lower(),
    }
    return matches(parse(where), run.steps, fields)


def _sent(run: Run, step: Step) -> Span:
    """The span a step may have been made of."""
    kind, name = parse_signature(step.signature)
    attributes = {"forkmap.kind": kind, "forkmap.name": name, "forkmap.run.id": run.run_id}
    service = {"service.name": run.agent}
    times = step.start_ns, step.end_ns
    return Span(step.trace_id, step.span_id, name, *times, attributes=attributes, resource=service)


def _outcome(run: Run, now_ns: int) -> Outcome:
    return Outcome.UNKNOWN if is_live(run.source, run.last_ns, now_ns) else run.outcome


def _row(run: Run, now_ns: int) -> RunRow:
    live, outcome = is_live(run.source, run.last_ns, now_ns), _outcome(run, now_ns)
    times = (run.start_ns, run.last_ns)
    return RunRow(
        run.run_id, run.agent, run.version, run.ticket, *times, outcome, run.source, live, len(run.steps)
    )


def _ticket(name: str, rows: list[RunRow]) -> TicketRow:
    agents, outcomes = sorted({row.agent for row in rows}), [row.outcome for row in rows]
    ended = [outcomes.count(outcome) for outcome in Outcome]
    starts = [row.start_ns for row in rows]
    return TicketRow._make((name, tuple(agents), *ended, max(starts)))


def _tally(key: tuple[str, str, str], ended: list[tuple[bool, Outcome | None]]) -> Tally:
    counts = [
        ended.count((inferred, outcome))
        for inferred in (False, True)
        for outcome in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABANDONED)
    ]
    return Tally._make((*key, len(ended), *counts, ended.count((False, None))))


def _summary(tenant: str, agent: str, inside: list[Run], every: list[Run], now_ns: int) -> AgentSummary:
    outcomes = [_outcome(run, now_ns) for run in inside]
    ended = [run.source for run, outcome in zip(inside, outcomes, strict=True) if outcome != Outcome.UNKNOWN]
    by_outcome = [outcomes.count(outcome) for outcome in Outcome]
    starts = [run.start_ns for run in every]
    by_source = [ended.count(source) for source in Source]
    return AgentSummary._make((tenant, agent, len(ended), *by_outcome, *by_source, max(starts)))


def _paths(runs: list[Run], cohort: Cohort, now_ns: int) -> Paths:
    kept = [
        [
            step.signature
            for step in run.steps
            if cohort.view == "all" or parse_signature(step.signature)[0] != "llm"
        ]
        for run in runs
    ]
    folds = [fold(signatures) for signatures in kept]
    signatures = tuple(sorted({item.signature for path in folds for item in path} - {MARK}))
    code = {signature: place for place, signature in enumerate(signatures)} | {MARK: -1}
    return Paths(
        signatures=signatures,
        code=np.array([code[item.signature] for path in folds for item in path], np.int32),
        count=np.array([item.count for path in folds for item in path], np.uint8),
        offset=np.cumsum([0, *map(len, folds)], dtype=np.int64),
        outcome=np.array([_outcome(run, now_ns) for run in runs], np.uint8),
        source=np.array([run.source for run in runs], np.uint8),
        half=np.array([half(run.run_id) for run in runs], np.uint8),
        run_ids=tuple(run.run_id for run in runs),
        tickets=tuple(run.ticket for run in runs),
        versions=tuple(run.version for run in runs),
    )


def corpus() -> list[Run]:
    """Sixty runs of one agent: those that search again and again end badly; and a live one."""
    good = "llm:gpt tool:search_orders llm:gpt tool:issue_refund"
    bad = "llm:gpt tool:search_orders tool:search_orders tool:search_orders llm:gpt"
    runs = [
        make_run(
            f"good-{number}",
            good,
            Outcome.FAILURE if number % 6 == 0 else Outcome.SUCCESS,
            ticket=f"t-{number % 20}",
        )
        for number in range(36)
    ]
    runs += [
        make_run(
            f"bad-{number}",
            bad,
            Outcome.SUCCESS if number % 8 == 0 else Outcome.FAILURE,
            age_ns=2 * DAY_NS,
            ticket=f"t-{number % 20}",
        )
        for number in range(24)
    ]
    live = make_run("live-1", bad, Outcome.FAILURE, source=Source.INFERRED, age_ns=60 * SECOND_NS)
    return [*runs, live]
