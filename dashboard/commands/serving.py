"""``forkmap serve`` and ``forkmap demo``: the dashboard over a store, or over a fresh demo."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from dashboard import urls
from dashboard.auth.checking import KeyCheck
from dashboard.auth.visits import is_loopback
from dashboard.cache_place import MEMORY
from dashboard.commands import logs
from dashboard.commands.listening import HOST, PORT, first_free, in_url, listening
from dashboard.commands.settings import DEFAULTS, Settings
from dashboard.commands.workers import supervise
from dashboard.components import words
from engine import demo, upkeep
from engine.decisions.redaction import KEEP
from engine.errors import ForkmapError, StoreError
from engine.ingest.limits import Limits
from engine.keys import ANYONE
from engine.metering import Meter
from engine.store import Store
from engine.store.sqlite import open_store

if TYPE_CHECKING:
    from dashboard.metrics import Metrics

PATIENCE_S = 5.0
"""How long who sends spans, or looks at a page, waits while others write to the store."""
SETTLING_S = 2.0
"""How long who looks at a page waits for what has arrived to be settled; the rest is in the background."""
TENANT = "default"
"""Whose the demo's runs are."""
OPEN_FILES = 65_536
"""Files and connections a server may have open: strangers' idle ones must not use them up."""
_OPEN = (
    "and without a key anybody could read every run: make one first, with forkmap keys create --role admin"
)
_STILL = (
    "The clock of this store stands still at {}: runs that are sent to it count as over at once,"
    " and firings carry that time."
)
_UNSHARED = (
    "several workers need a cache that they share: set FORKMAP_CACHE to the path of a folder,"
    " or to redis://HOST:PORT/NUMBER"
)


def serve(
    store: Store,
    tenant: str,
    now_ns: int | None,
    port: int | None,
    settings: Settings = DEFAULTS,
    grpc_port: int | None = None,
    host: str = HOST,
    workers: int = 1,
    look_at: str = "",
) -> None:
    """Serve the dashboard over a store until interrupted.

    Parameters
    ----------
    now_ns : int or None
        A clock that stands still; None is the store's own, else the wall clock.
    port : int or None
        None is the first free one from 8050, 0 whichever the system gives.
    settings : Settings
        What the environment sets.
    grpc_port : int or None
        Where spans are taken over gRPC too; 0 is whichever the system gives.
    host : str
        The address to listen at.
    workers : int
        Processes that answer; from two on one more answers checks, and another keeps the store up and
        takes spans over gRPC.
    look_at : str
        The path of two runs that are worth comparing, to be named.

    Raises
    ------
    ForkmapError
        The port, or every port tried, is taken; others could reach the host, and no key was ever made;
        or several workers have no cache that they share.
    """
    if workers > 1 and settings.cache == MEMORY:
        raise ForkmapError(_UNSHARED)
    logs.begin()
    _open_many()
    keyed = store.has_keys()
    if not (keyed or is_loopback(host)):
        raise ForkmapError(f"others can reach {host}, {_OPEN}")
    clock = None if now_ns is None else lambda: now_ns
    days = settings.retention_days if now_ns is None else None
    with _until_told(), first_free(host) if port is None else listening(port, host) as listener:
        served = Served(store, tenant, clock, settings, listener, days, grpc_port, host)
        chosen = listener.getsockname()[1]
        if port is None and chosen != PORT:
            print(f"Port {PORT} is taken, so this is port {chosen}.", flush=True)
        said = [f"Forkmap is at http://{in_url(host)}:{chosen}/ (Ctrl-C stops it)."]
        if not keyed:
            said.append("No key was made: it serves this machine only, and nobody signs in.")
        if (moment_ns := store.clock_ns() if now_ns is None else now_ns) is not None:
            said.append(_STILL.format(words.utc(moment_ns)))
        if days is not None:
            said.append(f"Runs are removed {days} days after their last activity.")
        if look_at:
            said.append(f"Two runs that chose differently: http://{in_url(host)}:{chosen}{look_at}")
        if workers == 1:
            _serve_here(served, said)
        else:
            _serve_by(served, workers, said)


class Served(NamedTuple):
    """What is served, and how."""

    store: Store
    tenant: str
    clock: Callable[[], int] | None
    settings: Settings
    listener: socket.socket
    retention_days: int | None
    grpc_port: int | None
    host: str


def _serve_here(served: Served, said: list[str]) -> None:
    """Do it all in this process."""
    # Dash and Flask take a second to import: only who serves waits for them.
    from dashboard.metrics import Metrics

    keys, metrics = KeyCheck(served.store), Metrics()
    answer = _answering(served, keys, metrics)
    with _kept_up(served, keys, metrics):
        print(*said, sep="\n", flush=True)
        answer()


def _serve_by(served: Served, count: int, said: list[str]) -> None:
    """Have some processes answer, one for checks, and one keep the store up: forked, with all loaded."""
    with TemporaryDirectory(prefix="forkmap-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # Read when its client is imported.
        from prometheus_client.multiprocess import mark_process_dead

        from dashboard import app  # noqa: F401 - loaded once, for all of them
        from dashboard.caching import open_cache
        from dashboard.metrics import Metrics
        from dashboard.passing import passage

        open_cache(served.settings.cache, served.store)  # Says so once if it cannot be.
        served.store.close()  # No connection may be open on both sides of a fork.

        way = passage()

        def answer() -> None:
            _answering(served, KeyCheck(served.store), Metrics(), cache_known=True)(give=way.give)

        def check() -> None:
            _answering(served, KeyCheck(served.store), Metrics(), cache_known=True)(take=way.take)

        def keep() -> None:
            with _kept_up(served, KeyCheck(served.store), Metrics()):
                threading.Event().wait()

        print(*said, sep="\n", flush=True)

        def forget(pid: int) -> None:
            mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]

        try:
            supervise([*[answer] * count, check, keep], forget)
        finally:
            with suppress(StoreError):
                served.store.change()  # Opens it: whoever closes it last has its log written back.


def _answering(
    served: Served, keys: KeyCheck, metrics: Metrics, cache_known: bool = False
) -> Callable[..., None]:
    """Answers at the socket, until interrupted."""
    from dashboard import app

    settings = served.settings
    asked = app.Settings(
        served.tenant,
        served.clock,
        cache=settings.cache,
        cache_known=cache_known,
        bounds=settings.bounds,
        limits=settings.limits,
        proxy=settings.proxy,
    )
    dashboard = app.create_app(served.store, asked, keys, metrics)
    return partial(app.serve, dashboard, served.listener, settings.limits)


@contextmanager
def _kept_up(served: Served, keys: KeyCheck, metrics: Metrics) -> Iterator[None]:
    """Keep the store up meanwhile, and take spans over gRPC if that is asked."""
    limits = served.settings.limits
    grpc = _grpc(keys, served.tenant, served.grpc_port, limits, served.host, metrics)
    with upkeep.kept_up(served.store, served.retention_days, time.time_ns), grpc:
        yield


def _open_many() -> None:
    """Let this process hold as many connections as it may, where that is a setting of it."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@contextmanager
def _grpc(
    keys: KeyCheck, tenant: str, port: int | None, limits: Limits, host: str, meter: Meter
) -> Iterator[None]:
    """Take spans over gRPC meanwhile, if a port is given."""
    if port is None:
        yield
        return
    try:
        from dashboard.api import otlp_grpc
    except ImportError as error:
        raise ForkmapError("--grpc needs gRPC: pip install 'forkmap[grpc]'") from error
    from dashboard.auth.senders import Senders

    senders = Senders(keys, ANYONE._replace(tenant=tenant))
    with otlp_grpc.listening(f"{in_url(host)}:{port}", keys.store, senders.known, limits, meter) as chosen:
        print(f"Spans are taken over gRPC at {in_url(host)}:{chosen}.", flush=True)
        yield


def serve_demo(port: int | None) -> None:
    """Serve the dashboard over the demo corpus, in a store that is gone afterwards."""
    with _until_told(), TemporaryDirectory(prefix="forkmap-demo-") as folder:
        path = Path(folder) / "demo.sqlite"
        load_demo(path)
        store = open_store(path, redaction=KEEP)
        try:
            serve(store, TENANT, None, port, look_at=urls.compare_url(*demo.PAIR))
        finally:
            store.close()


def load_demo(path: Path) -> None:
    """Write the demo corpus into a new store: whole, or not at all.

    Raises
    ------
    ForkmapError
        Something is at the path already, or it cannot be written.
    """
    if path.exists():
        raise ForkmapError(f"{path} exists already: the demo corpus goes into a new store only")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        store = open_store(draft, create=True, redaction=KEEP)
        try:
            demo.load(store, TENANT)
        finally:
            store.close()
        draft.rename(path)


@contextmanager
def _until_told() -> Iterator[None]:
    """Until Ctrl-C or SIGTERM, both of which end it in peace."""

    def stop(number: int, frame: object) -> None:
        sys.exit(0)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        print(flush=True)
    finally:
        signal.signal(signal.SIGTERM, before)
