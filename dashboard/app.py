"""The composition root: a store and settings become a Dash application."""

from __future__ import annotations

import atexit
import gc
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from socket import socket
from typing import Any, NamedTuple, Protocol

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from flask import Flask

from dashboard import (
    api,
    bundles,
    callbacks,
    compression,
    exports,
    forms,
    ids,
    lanes,
    palette,
    policy_forms,
    routes,
    security,
    uploads,
    urls,
)
from dashboard.api import events, intake
from dashboard.api.shortcut import Shortcut
from dashboard.auth import gate, signin
from dashboard.auth.checking import KeyCheck
from dashboard.auth.gate import Gate
from dashboard.auth.visits import NO_PROXY, Proxy
from dashboard.bundles import Bundle
from dashboard.cache_place import MEMORY
from dashboard.caching import open_cache
from dashboard.components import charts, states, words
from dashboard.components.markup import lean, written
from dashboard.components.shell import POLL_MS, footer, navigation, shell
from dashboard.metrics import Metrics
from dashboard.pages import (
    backtest,
    behaviour,
    calibration,
    changes,
    compare,
    found,
    fuses,
    home,
    live,
    rules,
    run,
    runs,
)
from dashboard.service import Page, Service
from engine.builder import TTL_S, Cache, Maps, load
from engine.checks import Checks
from engine.claims import claimed
from engine.decisions import detecting
from engine.erasing import Erasing
from engine.errors import ForkmapError
from engine.guard import Guard
from engine.ingest.limits import LIMITS, Limits
from engine.keys import ANYONE, DEFAULT_TENANT
from engine.queries import BOUNDS, Bounds
from engine.store import Store


class PageModule(Protocol):
    """The shape of every page's module."""

    def layout(self, service: Service, look: urls.Look) -> Page:
        """What the page shows of a look."""

    def register(self, app: Dash, service: Service) -> None:
        """Bind the page's callbacks to an application."""


PAGES: dict[str, PageModule] = {
    urls.HOME: home,
    urls.MAP: behaviour,
    urls.RUN: run,
    urls.RUNS: runs,
    urls.LIVE: live,
    urls.CALIBRATION: calibration,
    urls.CHANGES: changes,
    urls.COMPARE: compare,
    urls.FOUND: found,
    urls.RULES: rules,
    urls.FUSES: fuses,
    urls.BACKTEST: backtest,
}

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>{%metas%}<title>{%title%}</title><link rel="icon" type="image/svg+xml" href="/assets/favicon.svg">
<script src="/assets/theme.js"></script>{%css%}</head>
<body>{%app_entry%}<footer hidden>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>"""


UNUSED = ("/deps/polyfill@", "/dash_table/")
"""Scripts of Dash that no page needs: one for old browsers (see ``assets/regenerator.js``), and a table."""


BEFORE = "/dash-renderer/"
"""The script of Dash that ours come before."""
FONT = "/assets/fonts/inter-latin.woff2"
EARLY = ("/_dash-layout", "/_dash-dependencies")
"""What the scripts of every page ask first."""


class Application(Dash):
    """Dash without the scripts that no page needs, and with what it needs asked for in time.

    Attributes
    ----------
    own : dict of Bundle
        Our scripts and styles.
    early : callable
        Addresses that the page of a request will ask for, beside what every page asks.
    """

    own: Mapping[str, Bundle]
    early: Callable[[], Sequence[str]] = staticmethod(tuple)

    def interpolate_index(self, **parts: Any) -> str:  # type: ignore[override]
        """The page that all pages are drawn in."""
        scripts = parts["scripts"].splitlines()
        wanted = [line for line in scripts if not any(name in line for name in UNUSED)]
        place = next(number for number, line in enumerate(wanted) if BEFORE in line)
        wanted.insert(place, f'<script src="{self.own["js"].address}"></script>')
        css = [f'<link rel="stylesheet" href="{self.own["css"].address}">', *self._early()]
        shown = parts | {"css": "\n".join(css), "scripts": "\n".join(wanted)}
        page: str = super().interpolate_index(**shown)  # type: ignore[no-untyped-call]
        return page

    def _early(self) -> list[str]:
        """What a browser may ask for before the scripts do, which takes them half a second."""
        font = f'<link rel="preload" as="font" type="font/woff2" href="{FONT}" crossorigin>'
        asked = [escape(address) for address in (*EARLY, *self.early())]
        return [font, *(f'<link rel="preload" as="fetch" href="{each}" crossorigin>' for each in asked)]


class Settings(NamedTuple):
    """How the dashboard runs.

    Attributes
    ----------
    now_ns : callable or None
        The clock of its questions; None is the store's own if it has one, else the wall clock.
    cache : str
        Where built maps are kept: see :mod:`dashboard.cache_place`.
    cache_known : bool
        Whether that was good when the server began: a process that is begun again does without.
    bounds : Bounds
        How much a map holds.
    proxy : Proxy
        The reverse proxy whose headers are believed.
    limits : Limits
        How much one request of spans may bring.
    """

    tenant: str = DEFAULT_TENANT
    now_ns: Callable[[], int] | None = None
    cache: str = MEMORY
    cache_known: bool = False
    bounds: Bounds = BOUNDS
    ttl_s: float = TTL_S
    proxy: Proxy = NO_PROXY
    limits: Limits = LIMITS


DEFAULTS = Settings()
THREADS = intake.AT_ONCE + events.AT_ONCE + 4
"""Requests answered at once, beside quick ones."""
SWITCH_S = 0.0005
"""How long who computes keeps others from the interpreter: a tenth of Python's own, as answers are small."""
CONNECTIONS = 2_000
"""Connections held at once: an exporter keeps its own open."""
IDLE_S = 60
"""How long a connection that says nothing is kept."""
CHECKS, ERASING = "forkmap.checks", "forkmap.erasing"
"""Where the server keeps what must run while it serves."""
RECEIVED_BYTES = 1 << 17
"""Bytes read of a connection at a time: a usual batch of spans in one piece."""
_log = logging.getLogger(__name__)


def create_app(
    store: Store,
    settings: Settings = DEFAULTS,
    keys: KeyCheck | None = None,
    metrics: Metrics | None = None,
) -> Dash:
    """Build the application; as many as are wanted live in one process.

    Parameters
    ----------
    store : Store
        What it shows; closing it is the caller's.
    settings : Settings
        How it runs.
    keys : KeyCheck, optional
        Looks the store's keys up, and may do so for others beside; wrong ones are counted together.
    metrics : Metrics, optional
        Counts what happens, and may do so for others beside.
    """
    server: Any = Flask("forkmap")
    app = Application(
        "forkmap",
        server=server,
        assets_folder=str(assets()),
        assets_ignore=".*",  # They are bundled.
        title="Forkmap",
        update_title="",
        index_string=INDEX,
        add_log_handler=False,
    )
    meter = metrics or Metrics()
    meter.watch(server)
    door = Gate(keys or KeyCheck(store), ANYONE._replace(tenant=settings.tenant), settings.proxy)
    door.guard(server)
    cache = open_cache(settings.cache, store, meter, known=settings.cache_known)
    service = _service(server, store, settings, cache, meter)
    app.own = bundles.bundles(assets())
    app.early = partial(routes.early, service)
    app.layout = shell()
    ids_of_pages: Any = html.Div([shell(), behaviour.skeleton(), run.skeleton()])
    app.validation_layout = ids_of_pages
    _register(app, service, app.own["js"].address)
    bundles.register(server, app.own)
    routes.register(server, service)
    palette.register(server, service)
    exports.register(server, service)
    signin.register(server, door)
    forms.register(server, service)
    policy_forms.register(server, service)
    uploads.register(server, service)
    api.register(server, service)
    compression.register(server)
    headers = security.harden(app)
    callbacks.guard(app)
    server.wsgi_app = Shortcut(server.wsgi_app, door, service, headers)
    return app


def assets() -> Path:
    """The folder of scripts and styles: inside the installed package, or beside it in a checkout."""
    here = Path(__file__).resolve().parent
    return next(folder for folder in (here / "assets", here.parent / "assets") if folder.is_dir())


def _service(server: Flask, store: Store, settings: Settings, cache: Cache, meter: Metrics) -> Service:
    stands_ns = store.clock_ns()
    now_ns = settings.now_ns or (time.time_ns if stands_ns is None else lambda: stands_ns)
    build = partial(load, bounds=settings.bounds)
    maps = Maps(
        store, cache, now_ns, ttl_s=settings.ttl_s, build=build, claim=claimed(store.path), meter=meter
    )
    atexit.register(maps.close)
    checks = Checks(store, maps, Guard(store, time.time_ns, meter=meter), now_ns, meter=meter)
    erasing = Erasing(store, maps.forget, time.time_ns, meter)
    server.extensions |= {CHECKS: checks, ERASING: erasing}
    frozen, limits = stands_ns is not None, settings.limits
    return Service(
        store, maps, now_ns, gate.caller, frozen, limits, meter, check=checks.check, erase=erasing.erase
    )


def _register(app: Dash, service: Service, scripts: str) -> None:
    app.callback(
        Output(ids.BODY, "data"),
        Output(ids.NAVIGATION, "children"),
        Output(ids.CLOCK, "children"),
        Output(ids.TITLE, "data"),
        Output(ids.STAMP, "data"),
        Output(ids.REFRESH, "data"),
        Input(ids.URL, "pathname"),
        Input(ids.URL, "search"),
        Input(ids.POLL, "n_intervals"),
        State(ids.STAMP, "data"),
    )(partial(show, service, scripts=scripts))
    app.clientside_callback(
        ClientsideFunction("forkmap", "draw"), Output(ids.PAGE, "children"), Input(ids.BODY, "data")
    )
    app.clientside_callback(ClientsideFunction("forkmap", "title"), Input(ids.TITLE, "data"))
    app.clientside_callback(ClientsideFunction("forkmap", "every"), Input(ids.REFRESH, "data"))
    charts.register(app)
    for page in PAGES.values():
        page.register(app, service)


def show(
    service: Service,
    path: str | None,
    search: str | None,
    polls: int | None,
    stamp: str | None,
    scripts: str = "",
) -> tuple[Any, ...]:
    """What a URL shows, and by which scripts; while a page waits or refreshes it tells only what is new."""
    path, look = path or urls.HOME, urls.parse(search)
    page = find_page(service, path, look)
    fresh = f"{path}{search or ''}#{page.stamp}"
    if fresh == stamp:
        return (*[no_update] * 5, _again_ms(page))
    link = urls.as_of(path, search, service.now_ns())
    at = urls.without_node(path, search)
    body = written({"at": at, "link": link, "scripts": scripts, "body": lean(page.body)})
    place = navigation(path, look, page.agent)
    clock_text = footer(service.now_ns(), service.frozen, service.caller())
    return body, place, clock_text, f"{words.quoted(page.title)} · Forkmap", fresh, _again_ms(page)


def _again_ms(page: Page) -> int:
    """After how long the browser asks again, 0 for never."""
    return POLL_MS if page.waiting else round(1000 * page.refresh_s)


def find_page(service: Service, path: str, look: urls.Look) -> Page:
    """The page of a path; what goes wrong for a reason is said in its own words."""
    if path not in PAGES:
        return Page("No such page", states.not_found(path))
    try:
        return PAGES[path].layout(service, look)
    except ForkmapError as error:
        return Page("Not now", states.message("This could not be shown", str(error), _way_out()))
    except Exception:  # noqa: BLE001 - a page never ends in a traceback
        _log.exception("showing %s failed", path)
        said = "This is a fault of Forkmap, not of your data; its log tells more."
        return Page("Not now", states.message("This could not be shown", said, _way_out()))


def _way_out() -> dcc.Link:
    return dcc.Link("All agents", href=urls.HOME)


def serve(
    app: Dash,
    listener: socket,
    limits: Limits = LIMITS,
    give: socket | None = None,
    take: socket | None = None,
) -> None:
    """Serve at a socket until interrupted; checks pass from those who ``give`` to who can ``take``."""
    with app.server.test_request_context("/"):
        app.index()  # Dash finds out which scripts there are, before anybody asks for one.
    detecting.get_ready()
    gc.collect()
    gc.freeze()  # What is loaded by now stays: looking at it again and again costs a fifth of the intake.
    sys.setswitchinterval(SWITCH_S)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # A request that waits is no event.
    with app.server.extensions[CHECKS].running(), app.server.extensions[ERASING].running():
        lanes.serving(
            app.server,
            THREADS,
            give,
            take,
            limits.max_file_bytes,
            sockets=[listener],
            connection_limit=CONNECTIONS,
            channel_timeout=IDLE_S,
            asyncore_use_poll=True,  # select() knows no file past the 1,024th.
            recv_bytes=RECEIVED_BYTES,
            max_request_body_size=max(limits.max_body_bytes, callbacks.MAX_BYTES) + 1,
            clear_untrusted_proxy_headers=False,  # The gate knows whom to believe, and needs to see them all.
        ).run()
