"""Files of traces that a page sends: kept aside while they are imported, and told of line by line.

::

    POST /import?name=NAME   the file as it is  ─▶  {"read": 81920, "size": 240000, "imported": 5000, …}
                                                    …
                                                    {"done": {"imported": 9312, "refusals": […], …}}
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore

import msgspec
from flask import Flask, Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from dashboard import urls
from dashboard.documents import imports
from dashboard.service import Service
from engine.errors import ForkmapError, StoreError
from engine.importing import Imported, importing
from engine.ingest import Refusal
from engine.runs import ALL_TIME
from engine.store import AgentSummary

AT_ONCE = 2
"""Files imported at once by a process; more are sent back for a while."""
NAMED = 100
"""Refusals that are told, the first; the rest are counted."""
NAME_BYTES = 200
"""Bytes kept of a file's name: its end, which says what it is."""
UNNAMED = "traces"
PIECE_BYTES = 1 << 18
SEVERAL = "Other files are being imported: send this one again in a moment."
FAULT = "This is a fault of Forkmap, not of your file; its log tells more."

_log = logging.getLogger(__name__)


def register(server: Flask, service: Service) -> None:
    """Add the route; it takes an admin key or one that may send spans."""
    places = BoundedSemaphore(AT_ONCE)

    def take() -> Response:
        with ExitStack() as held:
            answer = _taken(service, places, held)
            if answer.is_streamed:
                answer.call_on_close(held.pop_all().close)
        return answer

    server.add_url_rule(urls.IMPORT, "import_file", take, methods=["POST"])


def _taken(service: Service, places: BoundedSemaphore, held: ExitStack) -> Response:
    """The answer to a file; it holds a place and the file itself until it is closed."""
    if not places.acquire(blocking=False):
        return _refused(SEVERAL, 503)
    held.callback(places.release)
    try:
        folder = held.enter_context(TemporaryDirectory(prefix="forkmap-"))
        file = _kept(Path(folder), service.limits.max_file_bytes)
    except RequestEntityTooLarge:
        return _refused(too_long(service.limits.max_file_bytes), 413)
    except OSError as error:
        return _refused(f"The file could not be kept while it is read: {error.strerror or error}.", 503)
    return Response(_lines(service, service.tenant, file), mimetype="application/x-ndjson")


def too_long(max_bytes: int) -> str:
    """Why a file is not taken.

    >>> too_long(200 << 20)
    'The file holds more than 200 MB: import it with the command, forkmap import.'
    """
    most = f"{max_bytes >> 20:,} MB" if max_bytes >> 20 else f"{max_bytes:,} bytes"
    return f"The file holds more than {most}: import it with the command, forkmap import."


def file_name(text: str) -> str:
    """A name to keep a file under, of whatever it was called: importers read some names.

    >>> file_name("../../etc/gpt-4o-airline.json.gz"), file_name("C:\\\\runs.jsonl"), file_name("..")
    ('gpt-4o-airline.json.gz', 'runs.jsonl', 'traces')
    """
    last = text.replace("\\", "/").rpartition("/")[2]
    plain = "".join(each for each in last if each.isprintable())
    short = plain.encode(errors="replace")[-NAME_BYTES:].decode(errors="ignore")
    return short if short.strip(". ") else UNNAMED


def _kept(folder: Path, max_bytes: int) -> Path:
    """The body of the request that is answered, as a file."""
    request.max_content_length = left = max_bytes
    path = folder / file_name(request.args.get("name", ""))
    with path.open("wb") as file:
        while piece := request.stream.read(PIECE_BYTES):
            left -= len(piece)
            if left < 0:
                raise RequestEntityTooLarge
            file.write(piece)
    return path


def _lines(service: Service, tenant: str, file: Path) -> Iterator[bytes]:
    """What was done so far, a line a batch; the last line is all of it."""
    read, size = 0, file.stat().st_size

    def tell(done: int) -> None:
        nonlocal read
        read = done

    before, done = _agents(service, tenant), Imported()
    try:
        for done in importing(service.store, tenant, [file], watch=lambda _: tell):
            yield _line(imports.outcome(done, 0) | {"read": read, "size": size})
    except Exception as error:  # noqa: BLE001 - who sent the file is told, whatever it was
        _log.exception("importing a file failed")
        done = done._replace(fault=str(error) if isinstance(error, ForkmapError) else FAULT)
    for agent in {each.agent for each in _agents(service, tenant) - before}:
        service.maps.renew(tenant, agent)
    waiting = {"waiting": len(done.waiting), "fault": done.fault}
    yield _line({"done": imports.outcome(_named(done, file), NAMED) | waiting})


def _agents(service: Service, tenant: str) -> set[AgentSummary]:
    try:
        return set(service.store.agents(tenant, ALL_TIME, service.now_ns()))
    except StoreError:
        return set()


def _named(done: Imported, file: Path) -> Imported:
    """Without the folder that the file was kept in meanwhile."""
    refusals = (Refusal(file.name, each.line, each.reason) for each in done.refusals[:NAMED])
    return done._replace(refusals=tuple(refusals))


def _line(document: dict[str, object]) -> bytes:
    return msgspec.json.encode(document) + b"\n"


def _refused(sentence: str, status: int) -> Response:
    return Response(sentence, status, mimetype="text/plain")
