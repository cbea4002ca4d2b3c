"""What a server counts, as Prometheus reads it: the engine's meter, and how long each request took.

No label holds a name out of anybody's runs. Several workers count into the files of one folder, which
prometheus-client finds in ``PROMETHEUS_MULTIPROC_DIR``; whichever answers tells the numbers of all.
"""

from __future__ import annotations

import os
from time import perf_counter
from typing import Any, Literal, NamedTuple

from flask import Flask, Response, g, request
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from dashboard import urls

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder workers share; set before this module is imported."""
PREFIX = "forkmap"

CHECK_S = (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 1e-1)
"""Bounds of the buckets for what takes microseconds."""
REQUEST_S = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1, 2e-1, 5e-1, 1, 5)
"""Bounds of the buckets for what takes milliseconds."""
BUILD_S = (1e-2, 5e-2, 1e-1, 2e-1, 5e-1, 1, 2, 5, 10, 30, 60)
"""Bounds of the buckets for what takes seconds."""


disable_created_metrics()  # type: ignore[no-untyped-call]  # They would double what is told, and say little.


class Metric(NamedTuple):
    """What is counted under a name.

    Attributes
    ----------
    label : str
        What parts it, "" if nothing does.
    buckets_s : tuple of float
        Upper bounds of a histogram's buckets.
    workers : "livesum" or "livemax"
        How the levels of several workers become one.
    """

    kind: Literal["counter", "gauge", "histogram"]
    text: str
    label: str = ""
    buckets_s: tuple[float, ...] = ()
    workers: Literal["livesum", "livemax"] = "livesum"


METRICS = {
    "spans_accepted": Metric("counter", "spans that were taken"),
    "spans_refused": Metric("counter", "spans that were refused in a request that was taken"),
    "append_seconds": Metric("histogram", "time until a request's spans were on disk", "", REQUEST_S),
    "requests_refused": Metric("counter", "requests that ended with a status of 400 or more", "status"),
    "request_seconds": Metric("histogram", "time to answer a request", "route", REQUEST_S),
    "builds": Metric("counter", "maps and calibrations built: ready or failed", "result"),
    "build_seconds": Metric("histogram", "time a build took", "", BUILD_S),
    "builds_waiting": Metric("gauge", "builds requested and not begun"),
    "cache": Metric("counter", "questions to the cache of built maps: hit, miss or fault", "result"),
    "checks": Metric("counter", "checks of fuses: allow, warn or stop", "action"),
    "checks_blind": Metric(
        "counter", "checks that allowed as nothing was known: no run followed, or no map yet", "unknown"
    ),
    "check_seconds": Metric("histogram", "time a check took, without HTTP", "", CHECK_S),
    "check_faults": Metric("counter", "checks that met a fault, and so allowed"),
    "firings_lost": Metric("counter", "firings that could not be written to the ledger"),
    "guard_runs": Metric("gauge", "runs held in memory for checks", workers="livemax"),
    "guard_evicted": Metric("counter", "runs let go to make room for more recent ones"),
    "guard_too_long": Metric("counter", "runs not followed, as they have too many spans"),
    "guard_lag_seconds": Metric("gauge", "how long ago the guard last saw the store", workers="livemax"),
    "erasures": Metric("counter", "erasures that servers completed; `forkmap erase` ends its own"),
}
"""Everything that is counted, by the name the engine's meter is told."""


class Metrics:
    """The engine's meter, whose numbers Prometheus reads; each application has its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._folder = os.environ.get(FOLDER)
        if self._folder is None:
            ProcessCollector(registry=self._registry)
        self._metrics = {name: _made(name, metric, self._registry) for name, metric in METRICS.items()}
        self._parts: dict[tuple[str, str], Any] = {}

    def count(self, name: str, by: int = 1, label: str = "") -> None:
        """See :meth:`engine.metering.Meter.count`."""
        self._part(name, label).inc(by)

    def time(self, name: str, seconds: float, label: str = "") -> None:
        """See :meth:`engine.metering.Meter.time`."""
        self._part(name, label).observe(seconds)

    def level(self, name: str, value: float) -> None:
        """See :meth:`engine.metering.Meter.level`."""
        self._part(name, "").set(value)

    def _part(self, name: str, label: str) -> Any:
        """A metric's own child of a label: looking it up anew would cost more than counting."""
        part = self._parts.get((name, label))
        if part is None:
            metric = self._metrics[name]
            part = self._parts[name, label] = metric.labels(label) if METRICS[name].label else metric
        return part

    def text(self) -> bytes:
        """Every number, in Prometheus' text format."""
        registry = self._registry
        if self._folder is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def watch(self, server: Flask) -> None:
        """Time every request of a server, and answer at ``/metrics``; call it before others add checks."""

        def begin() -> None:
            g.begun_s = perf_counter()

        def end(response: Response) -> Response:
            route = f"{request.method} {request.url_rule.rule}" if request.url_rule else "none"
            self.time("request_seconds", perf_counter() - g.begun_s, route)
            if response.status_code >= 400:
                self.count("requests_refused", label=str(response.status_code))
            return response

        def metrics() -> Response:
            return Response(self.text(), content_type=CONTENT_TYPE_PLAIN_0_0_4)

        server.before_request(begin)
        server.after_request(end)
        server.add_url_rule(urls.PROMETHEUS, "prometheus", metrics)


def _made(name: str, metric: Metric, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    labels = (metric.label,) if metric.label else ()
    match metric.kind:
        case "counter":
            return Counter(name, metric.text, labels, PREFIX, registry=registry)
        case "gauge":
            mode = metric.workers
            return Gauge(name, metric.text, labels, PREFIX, registry=registry, multiprocess_mode=mode)
        case "histogram":
            bounds = metric.buckets_s
            return Histogram(name, metric.text, labels, PREFIX, registry=registry, buckets=bounds)
