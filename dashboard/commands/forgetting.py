"""``forkmap erase`` and ``forkmap doctor --erasure``: what went for good, and whether it is still gone."""

from __future__ import annotations

from argparse import Namespace
from typing import NamedTuple

import msgspec
from rich.console import Group, RenderableType

from dashboard.commands.terminal import shown
from dashboard.components import words
from dashboard.documents.erasures import Erasure, erasure
from engine.errors import ForkmapError
from engine.selections import Before, ByAttribute, ByRun, ByTicket, Selection
from engine.store import Receipt
from engine.store.verifying import Verified

BY_COMMAND = "by command"
"""How erasures that were asked for on the command line are told from others."""
LOGGED = "The log is still read from and holds what was erased, until a server or the last reader empties it."
_MIB = 2**20


def selection(asked: Namespace) -> Selection:
    """What the flags name.

    Raises
    ------
    ForkmapError
        An attribute without its value.

    Examples
    --------
    >>> selection(Namespace(run=None, ticket=None, attribute="user.id=u=7", before=None))
    ByAttribute(name='user.id', value='u=7')
    """
    if asked.run is not None:
        return ByRun(asked.run)
    if asked.ticket is not None:
        return ByTicket(asked.ticket)
    if asked.before is not None:
        return Before(asked.before)
    name, is_given, value = asked.attribute.partition("=")
    if not (is_given and name and value):
        raise ForkmapError(f"--attribute {asked.attribute!r} is no NAME=VALUE")
    return ByAttribute(name, value)


def report(receipt: Receipt) -> RenderableType:
    """A receipt in lines."""
    about = erasure(receipt)
    counts = ", ".join(
        words.count(getattr(receipt, f"{noun}s"), noun)
        for noun in ("run", "trace", "span", "outcome", "firing")
    )
    ended = f"done {about.done}" if about.done else "not done yet"
    return Group(
        shown(f"Erasure {about.erasure_id}: {about.what}, asked {about.asked} {about.asked_by}, {ended}"),
        shown(f"{counts} erased; digest {about.digest}"),
    )


class VerifiedErasure(msgspec.Struct, frozen=True):
    """A receipt, and whether what went is still gone.

    Attributes
    ----------
    gone : bool
        It is done, and nothing of it came back.
    caches_emptied : bool
        Whether a server has emptied its caches and the store's log since.
    vacuumed : bool
        Whether the whole file was written anew since.
    """

    gone: bool
    back: list[str]
    caches_emptied: bool
    vacuumed: bool
    receipt: Erasure


def document(found: Verified) -> VerifiedErasure:
    """What is known of an erasure, for programs."""
    gone = is_gone(found)
    return VerifiedErasure(gone, [*found.back], found.is_tidied, found.is_vacuumed, erasure(found.receipt))


def is_gone(found: Verified) -> bool:
    """Whether it is done, and nothing of it came back."""
    return found.receipt.done_ns is not None and not found.back


def verified(found: Verified) -> RenderableType:
    """The same in lines."""
    lines = [shown(f"{sentence}.") for sentence in _sentences(found)]
    verdict = "What was erased is gone." if is_gone(found) else "What was erased is not gone:"
    style = "bold" if is_gone(found) else "bold red"
    back = [shown(f"- {each} was sent again since") for each in found.back]
    return Group(report(found.receipt), *lines, shown(verdict, style=style), *back)


def _sentences(found: Verified) -> list[str]:
    said = []
    if found.receipt.done_ns is None:
        said.append("It is not done: a server, or the next command that opens the store, goes on with it")
    if not found.is_tidied:
        said.append("No server has emptied its cache and the log since; each does when it runs")
    if not found.is_vacuumed:
        said.append("The file was not written anew since: forkmap vacuum leaves no remains in unused places")
    return said


class Vacuumed(NamedTuple):
    """The size of a store's file before it was written anew, and after, with its log."""

    before_bytes: int
    after_bytes: int


def vacuumed(done: Vacuumed) -> RenderableType:
    """How much smaller it is."""
    before, after = (f"{size / _MIB:,.1f} MiB" for size in done)
    return shown(f"The store was written anew: {before} before, {after} now.")
