"""Outcomes where people keep them: a table (CSV) or JSON lines, a run a line.

What the columns are called, and in which order they come, is found out from the first line; so is
what parts them. A row that cannot be read costs itself only.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

from engine.conventions import OUTCOMES
from engine.errors import InputError
from engine.ingest import Refusal
from engine.ingest.documents import documents, lines
from engine.ingest.scalars import cut, optional_text, scrub, short, time_ns
from engine.paths import replace_controls
from engine.runs import Declaration, Outcome

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "run_id", "trace", "trace_id", "session", "session_id", "conversation_id", "id"),
    "outcome": ("outcome", "session.outcome", "result", "status", "label"),
    "time": ("time", "timestamp", "at", "date"),
    "by": ("by", "source", "annotator", "reviewer"),
}
"""What each column may be called; the foremost that is there counts."""
SEPARATORS = (",", ";", "\t", "|")
MAX_ROW_LINES = 100
"""Lines that one row may go over, where a quoted text holds line ends."""

_ENCODINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_NUMBER = re.compile(r"\d{1,19}(\.\d+)?")
LEAST_S = 10**8
"""Fewer seconds (before 1973) are no time of a run, but a date such as 20260101."""


class Told(NamedTuple):
    """A row: how a run ended, by whom, and when that was said, if the row says so."""

    run_id: str
    outcome: Outcome
    time_ns: int | None
    by: str

    def declaration(self, now_ns: int) -> Declaration:
        """What it declares; without a time of its own it is said now."""
        return Declaration(
            self.run_id, self.outcome, now_ns if self.time_ns is None else self.time_ns, self.by
        )


def read_outcomes(data: bytes, file: str, by: str) -> Iterator[Told | Refusal]:
    """The outcomes of a file.

    Parameters
    ----------
    data : bytes
        CSV with a header, parted by commas, semicolons, tabs or bars; or JSON, an object a line.
    file : str
        How refusals call it.
    by : str
        Who says so, where a row does not name somebody.

    Raises
    ------
    InputError
        If it is empty, or lacks a column that is needed.

    Examples
    --------
    >>> list(read_outcomes(b"run_id;outcome\\r\\nr-1;Succeeded\\r\\nr-2;great\\r\\n", "f.csv", "f.csv"))
    [Told(run_id='r-1', outcome=<Outcome.SUCCESS: 0>, time_ns=None, by='f.csv'), \
Refusal(file='f.csv', line=3, reason="outcome 'great' is none of success, succeeded, ok, failure, \
failed, error, abandoned, cancelled")]
    """
    encoding = next((name for mark, name in _ENCODINGS.items() if data.startswith(mark)), "utf-8")
    if not data.strip():
        raise InputError("the file is empty", file)
    text = data.decode(encoding, "replace")
    rows = _objects(text) if text.lstrip()[:1] in ("{", "[") else _table(text, file)
    return _told(rows, file, by)


def _told(rows: Iterator[tuple[int, Any]], file: str, by: str) -> Iterator[Told | Refusal]:
    for number, row in rows:
        try:
            if isinstance(row, InputError):
                raise row
            yield _read(row, by)
        except InputError as error:
            yield Refusal(file, number, error.reason)


def _objects(text: str) -> Iterator[tuple[int, Any]]:
    one_by_one = documents if text.lstrip().startswith("[") else lines
    for number, value in one_by_one(BytesIO(text.encode())):
        if isinstance(value, dict):
            named = {_called(str(name)): item for name, item in value.items()}
            yield number, {role: _value(named, names) for role, names in COLUMNS.items()}
        else:
            problem = value if isinstance(value, InputError) else InputError("it is no object")
            yield number, problem


def _value(named: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((named[name] for name in names if named.get(name) not in (None, "")), None)


def _table(text: str, file: str) -> Iterator[tuple[int, Any]]:
    every = re.split("\r\n|\r|\n", text)
    first = next(number for number, line in enumerate(every) if line.strip())
    separator = max(SEPARATORS, key=lambda each: len(_places(_split(every[first], each))))
    names = _split(every[first], separator)
    places = _places(names)
    missing = [role for role in ("run", "outcome") if role not in places]
    if missing:
        found = ", ".join(map(short, names[:10]))
        raise InputError(f"no column is called {' or '.join(missing)}: the first line has {found}", file)
    return _rows(every, first + 1, separator, len(names), places)


def _split(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _places(names: Sequence[str]) -> dict[str, int]:
    """Where each column stands."""
    called = [_called(name) for name in names]
    return {
        role: called.index(known)
        for role, all_known in COLUMNS.items()
        for known in all_known[::-1]
        if known in called
    }


def _called(name: str) -> str:
    return "_".join(name.strip(' "').lower().split())


def _rows(
    every: Sequence[str], at: int, separator: str, width: int, places: Mapping[str, int]
) -> Iterator[tuple[int, Any]]:
    """Each row with the number of its first line; one may go over several lines."""
    while at < len(every):
        if not every[at].strip():
            at += 1
            continue
        row, size = _row(every, at, separator)
        if isinstance(row, InputError):
            yield at + 1, row
        elif len(row) > width:
            yield at + 1, InputError(f"it has {len(row)} fields, the first line has {width}")
        else:
            padded = [*row, *[""] * (width - len(row))]
            yield at + 1, {role: padded[place] for role, place in places.items()}
        at += size


def _row(every: Sequence[str], at: int, separator: str) -> tuple[list[str] | InputError, int]:
    """The fields of the row that begins at a line, or what is wrong, and over how many lines it goes."""
    reason = ""
    for size in range(1, MAX_ROW_LINES + 1):
        joined = [line + "\n" for line in every[at : at + size]]
        try:
            return next(csv.reader(joined, delimiter=separator, strict=True)), size
        except csv.Error as error:
            reason = reason or str(error)
            if "unexpected end" not in str(error) or at + size >= len(every):
                break
    unclosed = "unexpected end" in reason
    return InputError("a quotation begins that does not end" if unclosed else f"it is no row: {reason}"), 1


def _read(row: Mapping[str, Any], by: str) -> Told:
    run_id = optional_text(row.get("run")) or ""
    if not run_id:
        raise InputError("the run's id is missing")
    if "\ufffd" in run_id:
        raise InputError(f"the run's id {short(run_id)} is no UTF-8 text")
    word = optional_text(row.get("outcome")) or ""
    outcome = OUTCOMES.get(word.strip('"').lower())
    if outcome is None:
        raise InputError(f"outcome {cut(word, 60)!r} is none of {', '.join(OUTCOMES)}")
    said_by = replace_controls(scrub(optional_text(row.get("by")) or by))
    return Told(
        replace_controls(run_id), Outcome[outcome.upper()], moment(row.get("time")), cut(said_by, 160)
    )


def moment(value: Any) -> int | None:
    """A time as people keep it: RFC 3339, or a number of seconds, milli-, micro- or nanoseconds by its size.

    >>> moment("1767225600") == moment(1767225600000) == moment("2026-01-01T00:00:00Z")
    True
    >>> moment("") is None
    True
    >>> moment("20260101")
    Traceback (most recent call last):
    ...
    engine.errors.InputError: 20260101 is no time: a number is seconds since 1970, or milliseconds, and so on
    """
    text = "" if value is None else str(value).strip()
    if not _NUMBER.fullmatch(text):
        return time_ns(text)
    whole, _, fraction = text.partition(".")
    if 0 < int(whole) < LEAST_S:
        raise InputError(f"{text} is no time: a number is seconds since 1970, or milliseconds, and so on")
    scale = next((s for s in (10**9, 10**6, 10**3) if int(whole) * s < 10**19 // 2), 1)
    return time_ns(int(whole) * scale + int((fraction + "0" * 9)[:9]) * scale // 10**9)
