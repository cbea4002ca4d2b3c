"""``forkmap serve`` and ``forkmap demo``: the dashboard over a store, or over a fresh demo."""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EADDRNOTAVAIL
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dashboard.auth.checking import KeyCheck
from dashboard.auth.visits import is_loopback
from dashboard.commands.settings import DEFAULTS, Settings
from engine import demo, upkeep
from engine.errors import ForkmapError
from engine.ingest.limits import Limits
from engine.keys import ANYONE
from engine.metering import Meter
from engine.store import Store
from engine.store.sqlite import open_store

HOST = "127.0.0.1"
PATIENCE_S = 5.0
"""How long who sends spans, or looks at a page, waits while others write to the store."""
SETTLING_S = 2.0
"""How long who looks at a page waits for what has arrived to be settled; the rest is in the background."""
PORT = 8050
"""The port that is tried first; taken ones are passed over."""
TENANT = "default"
"""Whose the demo's runs are."""
_TRIED = 20
OPEN_FILES = 65_536
"""Files and connections a server may have open: strangers' idle ones must not use them up."""
_OPEN = (
    "and without a key anybody could read every run: make one first, with forkmap keys create --role admin"
)
_NOWHERE = "is no address of this machine: choose another with --host"


def serve(
    store: Store,
    tenant: str,
    now_ns: int | None,
    port: int | None,
    settings: Settings = DEFAULTS,
    grpc_port: int | None = None,
    host: str = HOST,
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

    Raises
    ------
    ForkmapError
        The port, or every port tried, is taken; or others could reach the host, and no key was ever made.
    """
    # Dash and Flask take a second to import: only who serves waits for them.
    from dashboard import app
    from dashboard.metrics import Metrics

    _open_many()
    keyed = store.has_keys()
    if not (keyed or is_loopback(host)):
        raise ForkmapError(f"others can reach {host}, {_OPEN}")
    clock = None if now_ns is None else lambda: now_ns
    limits = settings.limits
    asked = app.Settings(tenant, clock, bounds=settings.bounds, limits=limits, proxy=settings.proxy)
    with _until_told(), first_free(host) if port is None else listening(port, host) as listener:
        keys = KeyCheck(store)
        metrics = Metrics()
        dashboard = app.create_app(store, asked, keys, metrics)
        chosen = listener.getsockname()[1]
        if port is None and chosen != PORT:
            print(f"Port {PORT} is taken, so this is port {chosen}.", flush=True)
        days = settings.retention_days if now_ns is None else None
        grpc = _grpc(keys, tenant, grpc_port, limits, host, metrics)
        with upkeep.kept_up(store, days, time.time_ns), grpc:
            print(f"Forkmap is at http://{_in_url(host)}:{chosen}/ (Ctrl-C stops it).", flush=True)
            if not keyed:
                print("No key was made: it serves this machine only, and nobody signs in.", flush=True)
            if days is not None:
                print(f"Runs are removed {days} days after their last activity.", flush=True)
            app.serve(dashboard, listener, limits)


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
    with otlp_grpc.listening(f"{_in_url(host)}:{port}", keys.store, senders.known, limits, meter) as chosen:
        print(f"Spans are taken over gRPC at {_in_url(host)}:{chosen}.", flush=True)
        yield


def serve_demo(port: int | None) -> None:
    """Serve the dashboard over the demo corpus, in a store that is gone afterwards."""
    with _until_told(), TemporaryDirectory(prefix="forkmap-demo-") as folder:
        path = Path(folder) / "demo.sqlite"
        load_demo(path)
        store = open_store(path)
        try:
            serve(store, TENANT, None, port)
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
        store = open_store(draft, create=True)
        try:
            demo.load(store, TENANT)
        finally:
            store.close()
        draft.rename(path)


def first_free(host: str = HOST) -> socket.socket:
    """A listening socket at the first free port from 8050.

    Raises
    ------
    ForkmapError
        None of the next 20 is free.
    """
    listening(0, host).close()  # Says so if the host is the trouble.
    for port in range(PORT, PORT + _TRIED):
        with suppress(ForkmapError):
            return listening(port, host)
    raise ForkmapError(f"ports {PORT} to {PORT + _TRIED - 1} are all taken: choose another with --port")


def listening(port: int, host: str = HOST) -> socket.socket:
    """A listening socket at a port; at port 0 the system chooses one.

    Raises
    ------
    ForkmapError
        The port is taken, or may not be used; or the host is no address of this machine.
    """
    family, address = _address(host, port)
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == EADDRNOTAVAIL:
            raise ForkmapError(f"{host} {_NOWHERE}") from error
        raise ForkmapError(f"port {port} is taken or may not be used: choose another with --port") from error
    return listener


def _address(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """What a socket is bound to for a host's name or address."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ForkmapError(f"{host} {_NOWHERE}") from error
    return family, address


def _in_url(host: str) -> str:
    """A host as a URL writes it.

    >>> _in_url("::1"), _in_url("127.0.0.1")
    ('[::1]', '127.0.0.1')
    """
    return f"[{host}]" if ":" in host else host


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
