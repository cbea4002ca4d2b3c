"""What the environment sets: how spans are taken in and read into runs, and how much a map holds.

================================ ===================================================
``FORKMAP_RUN_KEY``              ``session`` or ``trace``: what makes traces one run
``FORKMAP_EVALUATION``           name of the evaluation whose results are outcomes
``FORKMAP_EVALUATION_THRESHOLD`` lowest score of that evaluation that is a success
``FORKMAP_MAX_RUNS``             completed runs (and live ones) read for a map
``FORKMAP_MAX_NODES``            nodes kept of a map
``FORKMAP_MAX_BODY_BYTES``       bytes of a request of spans, decompressed
``FORKMAP_MAX_SPANS``            spans of a request
``FORKMAP_MAX_FILE_BYTES``       bytes of a file that is sent from a page
``FORKMAP_MAX_ATTRIBUTES``       attributes kept of a span that is sent, and events
``FORKMAP_CACHE``                where built maps are kept: ``memory``, a folder, or Redis
``FORKMAP_RETENTION_DAYS``       days that a server keeps runs
``FORKMAP_REDACTION``            the file that says what becomes of goals, reasons and arguments
``FORKMAP_TRUSTED_PROXY``        address of the reverse proxy whose headers are believed
``FORKMAP_PROXY_HEADER``         header in which it names the tenant that may be read
================================ ===================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from dashboard import cache_place
from dashboard.auth.visits import NO_PROXY, Proxy
from dashboard.cache_place import MEMORY
from dashboard.commands import redacting
from engine.conventions import Evaluation
from engine.decisions.redaction import MASK, Redaction
from engine.errors import ForkmapError
from engine.ingest.limits import LIMITS, Limits
from engine.queries import Bounds
from engine.runs import ReadingSettings, RunKey

_MAX_DIGITS = 9


class Settings(NamedTuple):
    """What was set, and the defaults of the rest."""

    reading: ReadingSettings = ReadingSettings()
    bounds: Bounds = Bounds()
    limits: Limits = LIMITS
    retention_days: int | None = None
    proxy: Proxy = NO_PROXY
    cache: str = MEMORY
    redaction: Redaction = MASK


DEFAULTS = Settings()


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Read the settings; a variable that is empty is not set.

    Raises
    ------
    ForkmapError
        A value cannot be used; the sentence names the variable.

    Examples
    --------
    >>> from_environment({"FORKMAP_MAX_RUNS": "500", "FORKMAP_MAX_NODES": ""}).bounds
    Bounds(max_runs=500, max_nodes=50000)
    """
    given = {name: text.strip() for name, text in environment.items() if text.strip()}
    bounds = Bounds(
        _count(given, "FORKMAP_MAX_RUNS", DEFAULTS.bounds.max_runs),
        _count(given, "FORKMAP_MAX_NODES", DEFAULTS.bounds.max_nodes),
    )
    limits = Limits(
        _count(given, "FORKMAP_MAX_BODY_BYTES", LIMITS.max_body_bytes),
        _count(given, "FORKMAP_MAX_ATTRIBUTES", LIMITS.max_attributes),
        _count(given, "FORKMAP_MAX_SPANS", LIMITS.max_spans),
        _count(given, "FORKMAP_MAX_FILE_BYTES", LIMITS.max_file_bytes),
    )
    days = _count(given, "FORKMAP_RETENTION_DAYS", 1) if "FORKMAP_RETENTION_DAYS" in given else None
    reading = ReadingSettings(_run_key(given), _evaluation(given))
    cache = cache_place.parse(given.get("FORKMAP_CACHE", MEMORY))
    file = given.get("FORKMAP_REDACTION")
    redaction = redacting.read(Path(file)) if file else MASK
    return Settings(reading, bounds, limits, days, _proxy(given), cache, redaction)


def _proxy(given: Mapping[str, str]) -> Proxy:
    address, header = given.get("FORKMAP_TRUSTED_PROXY", ""), given.get("FORKMAP_PROXY_HEADER", "")
    if header and not address:
        raise ForkmapError("FORKMAP_PROXY_HEADER needs FORKMAP_TRUSTED_PROXY: whom it is believed of")
    if not re.fullmatch(r"[A-Za-z0-9-]*", header):
        raise ForkmapError(f"FORKMAP_PROXY_HEADER is {header!r}: it must be the name of a header")
    try:
        return Proxy(str(ip_address(address)) if address else "", header)
    except ValueError:
        raise ForkmapError(f"FORKMAP_TRUSTED_PROXY is {address!r}: it must be an IP address") from None


def _run_key(given: Mapping[str, str]) -> RunKey:
    match given.get("FORKMAP_RUN_KEY", DEFAULTS.reading.run_key):
        case "session":
            return "session"
        case "trace":
            return "trace"
        case text:
            raise ForkmapError(f"FORKMAP_RUN_KEY is {text!r}: it may be session or trace")


def _evaluation(given: Mapping[str, str]) -> Evaluation:
    name, text = given.get("FORKMAP_EVALUATION"), given.get("FORKMAP_EVALUATION_THRESHOLD")
    if text is None:
        return Evaluation(name)
    if name is None:
        raise ForkmapError(
            "FORKMAP_EVALUATION_THRESHOLD needs FORKMAP_EVALUATION: the evaluation it is a score of"
        )
    try:
        threshold = float(text)
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        raise ForkmapError(f"FORKMAP_EVALUATION_THRESHOLD is {text!r}: it must be a number")
    return Evaluation(name, threshold)


def _count(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isdecimal() and len(text) <= _MAX_DIGITS and int(text) > 0):
        raise ForkmapError(f"{name} is {text!r}: it must be a whole number from 1 to 999999999")
    return int(text)
