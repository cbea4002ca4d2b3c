"""Everything that can go wrong for a reason a person should read.

::

    ForkmapError
    ├── InputError          a record that cannot be read: file, line, reason
    │   ├── TooLargeError       a request that holds more than a limit allows
    │   └── ExpressionError     a sequence expression that cannot be read, and where
    ├── StoreError          a store that cannot be used
    │   ├── NotAStoreError      the file is something else
    │   ├── NewerStoreError     written by a later version
    │   ├── DamagedStoreError   the database reports corruption
    │   ├── BusyStoreError      others write for too long: the same may be asked again
    │   └── UnwritableStoreError  only read: it may not be written to, or the disk is full
    ├── CacheError          the cache of built maps does not answer
    ├── UnknownAgentError   nobody by that name in this tenant
    ├── UnknownRunError     no such run in this tenant
    ├── UnknownErasureError no such erasure in this store
    ├── UnknownStepError    a text that means no step
    └── KeyRefusedError     no key was shown, or one that does not work
"""

from __future__ import annotations


class ForkmapError(Exception):
    """Base of the tree: its text is one sentence meant for a person."""


class InputError(ForkmapError):
    """A record that cannot be read.

    Parameters
    ----------
    reason : str
        What is wrong, in words.
    file : str
        Where it was read from, "" if unknown.
    line : int
        Line (or record) number counted from 1, 0 if the whole file is meant.
    """

    def __init__(self, reason: str, file: str = "", line: int = 0) -> None:
        self.reason = reason
        self.file = file
        self.line = line
        where = ":".join(part for part in (file, str(line) if line else "") if part)
        super().__init__(f"{where}: {reason}" if where else reason)


class TooLargeError(InputError):
    """A request that holds more than a limit allows."""


class ExpressionError(InputError):
    """A sequence expression that cannot be read.

    Parameters
    ----------
    reason : str
        What is wrong, in words.
    column : int
        The character it is about, counted from 1; 0 if it is about the whole.
    """

    def __init__(self, reason: str, column: int = 0) -> None:
        super().__init__(reason)
        self.column = column


class StoreError(ForkmapError):
    """A store that cannot be used."""


class NotAStoreError(StoreError):
    """The file exists and is not a Forkmap store."""


class NewerStoreError(StoreError):
    """The store was written by a later version of Forkmap."""


class DamagedStoreError(StoreError):
    """The database file is corrupt."""


class BusyStoreError(StoreError):
    """Others have been writing to it for too long; the same may be asked again."""


class UnwritableStoreError(StoreError):
    """The store can be read at most: it may not be written to, or the disk is full."""


class CacheError(ForkmapError):
    """The cache of built maps does not answer."""


class UnknownAgentError(ForkmapError):
    """No run of that agent is in the tenant's store."""


class UnknownRunError(ForkmapError):
    """No such run is in the tenant's store."""


class UnknownErasureError(ForkmapError):
    """No such erasure is in the store."""


class UnknownStepError(ForkmapError):
    """A text that means no step, or several."""


class KeyRefusedError(ForkmapError):
    """No key was shown where one is needed, or one that does not work."""
