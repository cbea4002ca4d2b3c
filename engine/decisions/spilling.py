"""Rows that are put in order in a temporary file: a trace may be larger than the memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from engine.errors import ForkmapError

Row = TypeVar("Row", bound=NamedTuple)

_SETTINGS = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;"


class Spilled(Generic[Row]):
    """Rows of one kind, in whatever order they come; small ones never reach the disk.

    Parameters
    ----------
    kind : type of Row
    order : str
        The fields they are put in order by, then in the order they came.

    Examples
    --------
    >>> from engine.decisions.audit import Link
    >>> rows = Spilled(Link, "id, line")
    >>> rows.append(Link("b", 1, 2, "b", None, None))
    >>> rows.append(Link("a", 2, 2, "a", None, None))
    >>> len(rows), [row.id for row in rows]
    (2, ['a', 'b'])
    >>> rows.close()
    """

    def __init__(self, kind: type[Row], order: str) -> None:
        self._kind = kind
        self._count = 0
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(f"{_SETTINGS} CREATE TABLE kept ({', '.join(kind._fields)}); BEGIN;")
        self._insert = f"INSERT INTO kept VALUES ({', '.join('?' for _ in kind._fields)})"
        self._select = f"SELECT * FROM kept ORDER BY {order}, rowid"

    def append(self, row: Row) -> None:
        """Remember one.

        Raises
        ------
        ForkmapError
            There is no room for it.
        """
        try:  # One by one, as rows may be long.
            self._db.execute(self._insert, row)
        except sqlite3.Error as error:
            raise _unusable(error) from error
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        """All of them, in order."""
        try:
            yield from map(self._kind._make, self._db.execute(self._select))
        except sqlite3.Error as error:
            raise _unusable(error) from error

    def close(self) -> None:
        """Forget them; the file goes."""
        self._db.close()


def _unusable(error: sqlite3.Error) -> ForkmapError:
    return ForkmapError(f"the temporary file (TMPDIR says where) cannot be used: {error}")
