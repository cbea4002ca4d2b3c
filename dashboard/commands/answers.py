"""What each command does with its parsed arguments; every function returns the exit code."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from math import inf
from typing import Any, TypeVar

from msgspec import structs
from rich.console import RenderableType

from dashboard.commands import (
    auditing,
    backtesting,
    changing,
    comparing,
    examining,
    forgetting,
    importing,
    keyring,
    ruling,
    serving,
    tables,
    telling,
    wherever,
)
from dashboard.commands.settings import Settings, from_environment
from dashboard.commands.terminal import console, json_text, plain, shown
from dashboard.documents import erasures as documents
from dashboard.documents.agents import agent
from dashboard.documents.backtests import backtest as backtested
from dashboard.documents.calibrations import scores
from dashboard.documents.changes import compared
from dashboard.documents.decisions import comparison
from dashboard.documents.imports import outcome
from dashboard.documents.rules import listed, trial
from dashboard.documents.steps import steps as stepwise
from dashboard.documents.verdicts import verdict
from engine import erasing, queries
from engine.decisions.diff import Diagnosis
from engine.decisions.schema import json_schema
from engine.decisions.sides import Side, compare_sides, side
from engine.errors import ForkmapError, StoreError, UnknownAgentError, UnknownRunError
from engine.importing import import_files as write_files
from engine.ingest import Refusal
from engine.keys import Role
from engine.maps import BehaviourMap
from engine.narrowing import read
from engine.paths import identifier
from engine.queries import Bounds
from engine.runs import ALL_TIME, Cohort, Window, is_live
from engine.store import Store
from engine.store.doctoring import examine
from engine.store.opening import PATIENCE_S, log_bytes
from engine.store.sqlite import open_store
from engine.store.verifying import verify
from engine.trials import try_rules

DONE, REFUSED, CANNOT = 0, 1, 2
"""The exit codes."""

T = TypeVar("T")


def demo(asked: Namespace) -> int:
    """Serve the demo, or write its corpus into a new store."""
    if asked.load is None:
        serving.serve_demo(asked.port)
    else:
        serving.load_demo(asked.load)
        console().print(shown(f"The demo corpus is in {asked.load}."))
    return DONE


def serve(asked: Namespace) -> int:
    """Serve a store."""
    with _store(asked, True, serving.PATIENCE_S, serving.SETTLING_S) as store:
        where = asked.port, _settings(), asked.grpc, asked.host, asked.workers
        serving.serve(store, asked.tenant, asked.now, *where)
    return DONE


def import_files(asked: Namespace) -> int:
    """Import files; what was refused is named on standard error."""
    errors = console(stderr=True)
    with _store(asked, create=True) as store, importing.progress_bar(errors, asked.files) as watch:
        how = asked.format, asked.agent, asked.ticket, watch
        done = write_files(store, asked.tenant, asked.files, *how)
    _tell([*map(tables.refusal, done.refusals), *tables.notes(done)])
    _print(asked, outcome, tables.imported, done)
    if done.fault or done.unreadable == len(asked.files):
        return CANNOT
    return REFUSED if done.refused else DONE


def tell_outcomes(asked: Namespace) -> int:
    """Keep the outcomes of files; rows that were refused are named on standard error."""
    with _store(asked) as store:
        done = telling.tell(store, asked.tenant, asked.files, _now_ns(asked, store))
    unnamed = tables.unnamed(done.refused - len(done.refusals))
    _tell([*map(tables.refusal, done.refusals), *unnamed, *tables.waiting(done.waiting)])
    _print(asked, telling.document, telling.table, done)
    if done.unreadable == len(asked.files):
        return CANNOT
    return REFUSED if done.refusals else DONE


def rules(asked: Namespace) -> int:
    """Print an agent's rules, try others, or set them; a name that nobody has is told."""
    with _store(asked) as store:
        now_ns = _now_ns(asked, store)
        if not store.runs(Cohort(asked.tenant, asked.agent, ALL_TIME), now_ns, limit=1):
            name = plain(f"{asked.agent!r} of the tenant {asked.tenant!r}")
            _tell([f"forkmap: no run of the agent {name} is in this store yet"])
        if asked.set is not None or asked.clear:
            store.set_rules(asked.tenant, asked.agent, () if asked.clear else ruling.read(asked.set))
        elif asked.trial is not None:
            rules = ruling.read(asked.trial)
            found = ruling.Tried(rules, try_rules(store, asked.tenant, asked.agent, rules, now_ns))
            return _print(asked, lambda tried: trial(*tried), ruling.trial_table, found)
        return _print(asked, listed, ruling.lines, store.rules(asked.tenant, asked.agent))


def _tell(lines: Sequence[str]) -> None:
    """Say on standard error what fits nowhere else; that nobody listens changes nothing."""
    try:
        for line in lines:
            print(line, file=sys.stderr)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def audit(asked: Namespace) -> int:
    """Audit files of decision traces; those that cannot be read are named on standard error."""
    with auditing.audit(asked.files, asked.low_margin, console(stderr=True)) as audited:
        if asked.format == "json" or audited.found or len(audited.unread) < len(audited.files):
            auditing.FORMATS[asked.format](audited, sys.stdout)
        _tell([plain(f"forkmap: {each.file}: {each.reason}") for each in audited.unread])
        if audited.unread:
            return CANNOT
        return REFUSED if audited.found else DONE


def schema(asked: Namespace) -> int:
    """Print the JSON Schema of decision traces, which is for programs only."""
    print(json_text(json_schema()))
    return DONE


def agents(asked: Namespace) -> int:
    """List the agents."""
    with _store(asked) as store:
        found = store.agents(asked.tenant, _window(asked), _now_ns(asked, store))
    table = partial(tables.agents, tenant=asked.tenant)
    return _print(asked, lambda summaries: [agent(each) for each in summaries], table, found)


def about_map(
    asked: Namespace,
    document: Callable[[BehaviourMap], Any],
    table: Callable[[BehaviourMap], RenderableType],
) -> int:
    """Build an agent's map and say something about it."""
    return _print(asked, document, table, _of_cohort(asked, queries.load_map))


def calibrate(asked: Namespace) -> int:
    """Score an agent's predictions."""
    return _print(asked, scores, tables.calibration, _of_cohort(asked, queries.load_calibration))


def backtest(asked: Namespace) -> int:
    """Try a fuse on an agent's runs that are over."""
    done = _of_cohort(asked, partial(backtesting.load, asked=asked))
    return _print(asked, lambda done: backtested(*done), backtesting.table, done)


def compare(asked: Namespace) -> int:
    """Say what changed between two sides of an agent's runs."""
    return _print(asked, compared, changing.report, _of_cohort(asked, partial(changing.load, asked=asked)))


def steps(asked: Namespace) -> int:
    """Tell which steps hurt or help wherever they stand."""
    found = _of_cohort(asked, queries.load_occurrences)
    report = partial(wherever.report, agent=asked.agent, window=_window(asked), where=asked.where)
    return _print(asked, stepwise, report, found)


def run(asked: Namespace) -> int:
    """Judge a run, or the run with a next step."""
    with _store(asked) as store:
        now_ns = _now_ns(asked, store)
        run_id = _run_id(store, asked.tenant, asked.run, now_ns)
        window, bounds = _window(asked), _settings().bounds
        judged = queries.load_verdict(store, asked.tenant, run_id, now_ns, window, asked.next, bounds)
    return _print(asked, verdict, partial(tables.run, window=window), judged)


def diff(asked: Namespace) -> int:
    """Compare two runs; equal ones are told as that only if all of both could be read."""
    read = [_side(asked, text) for text in (asked.a, asked.b)]
    refusals = [refusal for _, left_out in read for refusal in left_out]
    (a, _), (b, _) = read
    if a.name == b.name:
        a, b = (structs.replace(each, name=text) for each, text in ((a, asked.a), (b, asked.b)))
    found = comparing.Compared(compare_sides(a, b, asked.low_margin), a, b)
    asked.json = asked.format == "json"
    _tell([tables.refusal(each) for each in refusals])
    _print(asked, lambda found: comparison(*found), comparing.report, found)
    if found.diff.diagnosis is not Diagnosis.IDENTICAL:
        return REFUSED
    return CANNOT if refusals else DONE


def _side(asked: Namespace, text: str) -> tuple[Side, list[Refusal]]:
    """A run of a file that is there, else of the store, and what could not be read of it."""
    if found := comparing.place(text):
        return comparing.read_run(*found)
    if not asked.store.exists():
        raise ForkmapError(f"{text!r} is no file, and the store {asked.store} does not exist either")
    with _store(asked) as store:
        now_ns = _now_ns(asked, store)
        run = store.run(asked.tenant, _run_id(store, asked.tenant, text, now_ns))
        if is_live(run.source, run.last_ns, now_ns):
            _tell([plain(f"forkmap: run {run.run_id} is still going: what is there by now is compared")])
        return comparing.with_losses(side(run, store.spans(asked.tenant, run.run_id)))


def _run_id(store: Store, tenant: str, text: str, now_ns: int) -> str:
    """The run that a text names, itself where it names none.

    Raises
    ------
    UnknownRunError
        It names several.
    """
    named = queries.find(store, tenant, text, now_ns).run_ids
    run_id = identifier(text)
    if len(named) > 1 and run_id not in named:
        some = ", ".join(named[:10]) + (" …" if len(named) > 10 else "")
        raise UnknownRunError(f"{len(named)} runs are named {text!r}: {some}. Ask for one of them.")
    return run_id if run_id in named else next(iter(named), text)


def erase(asked: Namespace) -> int:
    """Forget something for good, and print the receipt: whatever comes after it is written down."""
    with _store(asked) as store:
        chosen = forgetting.selection(asked)
        erasure_id = store.begin_erasure(asked.tenant, chosen, forgetting.BY_COMMAND, time.time_ns())
        try:
            erasing.end_begun(store, time.time_ns)
            if asked.vacuum:
                store.vacuum(time.time_ns())
            elif not store.cut_log():
                console(stderr=True).print(shown(forgetting.LOGGED))
        finally:
            receipt = store.receipt(asked.tenant, erasure_id)
            assert receipt is not None
            _print(asked, documents.erasure, forgetting.report, receipt)
    return DONE


def vacuum(asked: Namespace) -> int:
    """Write a store anew."""
    with _store(asked) as store:
        before = asked.store.stat().st_size + log_bytes(asked.store)
        store.vacuum(time.time_ns())
    sizes = forgetting.Vacuumed(before, asked.store.stat().st_size + log_bytes(asked.store))
    return _print(asked, forgetting.Vacuumed._asdict, forgetting.vacuumed, sizes)


def doctor(asked: Namespace) -> int:
    """Look a store over, or an erasure; findings are no refusals, and make the same exit code."""
    if asked.erasure is not None:
        found = verify(asked.store, asked.erasure)
        _print(asked, forgetting.document, forgetting.verified, found)
        return DONE if forgetting.is_gone(found) else REFUSED
    examined = examine(asked.store)
    _print(asked, examining.document, examining.report, examined)
    return REFUSED if examined.findings else DONE


def create_key(asked: Namespace) -> int:
    """Make a key; its text, which is nowhere else, is all that is printed to standard output."""
    with _store(asked, create=True) as store:
        key, text = keyring.create(store, asked.tenant, Role(asked.role), asked.label, time.time_ns())
    if asked.json:
        return _print(asked, lambda key: keyring.document(key) | {"key": text}, keyring.made, key)
    print(text)
    console(stderr=True).print(keyring.made(key))
    return DONE


def list_keys(asked: Namespace) -> int:
    """List a tenant's keys."""
    with _store(asked) as store:
        return _print(
            asked, keyring.documents, partial(keyring.table, tenant=asked.tenant), store.keys(asked.tenant)
        )


def revoke_key(asked: Namespace) -> int:
    """Let a key stop working."""
    with _store(asked) as store:
        key = keyring.revoke(store, asked.id, time.time_ns())
    return _print(asked, keyring.document, keyring.revoked, key)


def _of_cohort(asked: Namespace, load: Callable[[Store, Cohort, int, Bounds], T]) -> T:
    with _store(asked) as store:
        now_ns = _now_ns(asked, store)
        try:
            cohort = Cohort(asked.tenant, asked.agent, _window(asked), asked.steps, read(asked.where))
            return load(store, cohort, now_ns, _settings().bounds)
        except UnknownAgentError as error:
            known = ", ".join(each.agent for each in store.agents(asked.tenant, ALL_TIME, now_ns)[:10])
            raise UnknownAgentError(
                f"{error} {f'These have: {known}.' if known else 'Nobody has.'}"
            ) from error


@contextmanager
def _store(
    asked: Namespace, create: bool = False, patience_s: float = PATIENCE_S, settling_s: float = inf
) -> Iterator[Store]:
    if not create and not asked.store.exists():
        raise ForkmapError(f"{asked.store} does not exist: forkmap import makes it, --store names another")
    settings = _settings()
    store = open_store(
        asked.store,
        create=create,
        reading_settings=settings.reading,
        patience_s=patience_s,
        settling_s=settling_s,
        redaction=settings.redaction,
    )
    try:
        if settling_s == inf:
            with suppress(StoreError):
                erasing.end_begun(store, time.time_ns)
        yield store
    finally:
        store.close()


def _settings() -> Settings:
    return from_environment(os.environ)


def _now_ns(asked: Namespace, store: Store) -> int:
    """The moment of the question: as asked, else the store's own clock, else now."""
    return next(now for now in (asked.now, store.clock_ns(), time.time_ns()) if now is not None)


def _window(asked: Namespace) -> Window:
    if asked.start is None and asked.end is None:
        return ALL_TIME if asked.all else queries.DEFAULT_WINDOW
    if asked.all:
        raise ForkmapError("--all leaves nothing for --from and --to to say: give either")
    if None not in (asked.start, asked.end) and asked.start >= asked.end:
        raise ForkmapError("--from must be earlier than --to")
    return Window(asked.start or 0, asked.end)


def _print(
    asked: Namespace, document: Callable[[T], Any], table: Callable[[T], RenderableType], value: T
) -> int:
    """Print a value for a program or for a person."""
    if asked.json:
        text = json_text(document(value))
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode() + b"\n")  # JSON is UTF-8 whatever the locale.
    else:
        console().print(table(value))
    return DONE
