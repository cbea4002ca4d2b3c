"""Lists of runs as files: all pages of what is looked at, streamed, with their number first."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from typing import Any, Final

import msgspec
from flask import Flask, Response, request

from dashboard import urls
from dashboard.components import words
from dashboard.components.narrowing import complaint
from dashboard.pages.runs import table_of
from dashboard.service import Service
from dashboard.urls import Look
from engine.builder import Failed
from engine.errors import UnknownAgentError
from engine.growing import Ints
from engine.judging import KINDS
from engine.listing import Table, narrow, ordered
from engine.narrowing import pointed
from engine.runs import Outcome, Source

COLUMNS: Final = (
    *("run_id", "agent", "outcome", "outcome_source", "by_other_runs", "steps"),
    *("started", "last_activity", "version", "ticket", "node", "ended_at"),
)
"""What is written of each run."""
WAIT_S: Final = 1
"""After so many seconds a map that is being built may be asked for again."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""

    def as_csv() -> Response:
        return _answer(service, "csv", "text/csv; charset=utf-8")

    def as_json() -> Response:
        return _answer(service, "json", "application/json")

    server.add_url_rule(urls.RUNS_CSV, "runs_csv", as_csv)
    server.add_url_rule(urls.RUNS_JSON, "runs_json", as_json)


def _answer(service: Service, kind: str, mimetype: str) -> Response:
    look = urls.parse(request.query_string.decode())
    if wrong := complaint(look.typed):
        place = pointed(look.typed.strip(), wrong.column) if wrong.column else ()
        return Response("\n".join((f"where: {wrong}.", *place)), 400, mimetype="text/plain")
    found = table_of(service, look)
    if isinstance(found, Failed):
        unknown = isinstance(found.error, UnknownAgentError)
        return Response(found.sentence, 404 if unknown else 503, mimetype="text/plain")
    if not isinstance(found, Table):
        waiting = Response(
            "The map is being built: ask again; a browser does so itself.", 202, mimetype="text/plain"
        )
        waiting.headers["Retry-After"] = waiting.headers["Refresh"] = str(WAIT_S)
        return waiting
    rows = ordered(found, narrow(found, look.filters), look.sort)
    lines = csv_lines(found, rows) if kind == "csv" else json_lines(found, rows, look)
    response = Response(lines, content_type=mimetype)
    response.headers["Content-Disposition"] = f'attachment; filename="{file_name(look, found, kind)}"'
    return response


def file_name(look: Look, table: Table, kind: str) -> str:
    """What the file is called: the agent, and the day of the map's moment."""
    agent = re.sub(r"[^A-Za-z0-9._-]+", "-", look.agent).strip("-.")[:60]
    day = words.utc(table.behaviour.now_ns)[:10]
    return f"{'-'.join(filter(None, ('runs', agent, day)))}.{kind}"


def csv_lines(table: Table, rows: Ints) -> Iterator[str]:
    """Lines of CSV: how many rows there are, the names of the columns, the runs."""
    yield f"# {words.count(rows.size, 'row')}\r\n"
    yield _csv(COLUMNS)
    for row in rows.tolist():
        yield _csv([harmless(value) for value in run(table, row).values()])


def _csv(cells: Any) -> str:
    line = StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def harmless(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula, behind an apostrophe; anything else as it is.

    >>> harmless("=cmd"), harmless("a=b"), harmless(-1)
    ("'=cmd", 'a=b', -1)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def json_lines(table: Table, rows: Ints, look: Look) -> Iterator[bytes]:
    """One JSON document, a run a line: how many rows there are, what they are of, the runs."""
    cohort = table.behaviour.cohort
    head = {
        "rows": rows.size,
        "agent": cohort.agent,
        "window": words.window(look.window),
        "steps": cohort.view,
        "where": cohort.where or None,
        "as_of": moment(table.behaviour.now_ns),
        "filters": {key: value for key, value in look.filters._asdict().items() if value},
        "sort": look.sort,
    }
    yield msgspec.json.encode(head)[:-1] + b',"runs":['
    for place, row in enumerate(rows.tolist()):
        yield (b",\n" if place else b"\n") + msgspec.json.encode(run(table, row))
    yield b"\n]}\n"


def run(table: Table, row: int) -> dict[str, Any]:
    """One run; null is what is not known, or not there."""
    behaviour, node = table.behaviour, int(table.node[row])
    live, verdict = table.outcome[row] == Outcome.UNKNOWN, int(table.verdict[row])
    start_ns, last_ns = int(table.start_ns[row]), int(table.last_ns[row])
    values = (
        *(table.run_ids[row], behaviour.cohort.agent),
        "live" if live else Outcome(int(table.outcome[row])).name.lower(),
        None if live else Source(int(table.source[row])).name.lower(),
        None if verdict < 0 else KINDS[verdict],
        int(table.steps[row]) if start_ns else None,
        moment(start_ns) if start_ns else None,
        moment(last_ns) if start_ns else None,
        *(table.versions[row], table.tickets[row], behaviour.key_text(node)),
        str(behaviour.tokens[behaviour.token[node]]) if node else None,
    )
    return dict(zip(COLUMNS, values, strict=True))


def moment(time_ns: int) -> str:
    """A time in UTC as RFC 3339, to the microsecond.

    >>> moment(1_500_000_000)
    '1970-01-01T00:00:01.500000Z'
    """
    seconds, rest_ns = divmod(time_ns, 10**9)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{rest_ns // 1000:06}Z"
