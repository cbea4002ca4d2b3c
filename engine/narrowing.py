"""Runs narrowed by a sequence expression: the expression as it is read, and what is left of the paths.

``Cohort.where`` is such an expression, as :func:`read` gives it. Which runs are as it says is asked where
they are kept (:mod:`engine.store`), for it may ask for more than a path holds: failed calls, long counts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import compress
from typing import Final, NamedTuple
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from engine.paths import Paths
from engine.sequences import fields_of, parse

SHOWN: Final = 60
"""Characters of an expression that are shown around the place a complaint is about."""
_BEFORE: Final = 40
_BLANK: Final = re.compile(r"[\x00-\x1f\x7f]")
_BARE: Final = re.compile(r'(?:[^\s>.!^$()"*]|\.(?!\.))+')
_SIGNS: Final = re.compile(r'[\\*"]')


def read(text: str) -> str:
    """An expression as a cohort keeps it: stripped, on one line; "" is none and lets every run through.

    Raises
    ------
    ExpressionError
        It cannot be read, or is longer than 1,000 characters.

    Examples
    --------
    >>> read(" search_orders x3 ..\\n!issue_refund ")
    'search_orders x3 .. !issue_refund'
    >>> read("a > ")
    Traceback (most recent call last):
    engine.errors.ExpressionError: column 4: a step is missing
    """
    kept = _BLANK.sub(" ", text).strip()
    if kept:
        parse(kept)
    return kept


def asks_how_runs_ended(where: str) -> bool:
    """Whether an expression picks runs by their outcome: then rates among them say nothing.

    >>> asks_how_runs_ended("a > b and !outcome:success"), asks_how_runs_ended("")
    (True, False)
    """
    return bool(where) and "outcome" in fields_of(parse(where))


class Pointed(NamedTuple):
    """A piece of an expression, and under it a caret at the place a complaint is about."""

    text: str
    caret: str


def pointed(text: str, column: int) -> Pointed:
    """Show the place in an expression that a complaint is about.

    Parameters
    ----------
    text : str
        The expression; of a long one only what is around the place is shown.
    column : int
        The character that is meant, from 1; the one behind the last says what is missing.

    Examples
    --------
    >>> print("\\n".join(pointed("a > > b", 5)))
    a > > b
        ^
    """
    line, at = _BLANK.sub(" ", text), column - 1
    first = max(0, at - _BEFORE)
    shown, before = line[first : first + SHOWN], line[first:at]
    if first:
        shown, before = f"…{shown}", f"…{before}"
    width = sum(2 if east_asian_width(sign) in "WF" else 1 for sign in before)
    return Pointed(shown + "…" * (len(line) > first + SHOWN), " " * width + "^")


def step_text(signature: str) -> str:
    """The expression that means the steps of a signature, and no others.

    >>> print(step_text("tool:search_orders"), step_text("tool:look up *"))
    tool:search_orders tool:"look up \\*"
    """
    kind, _, name = signature.partition(":")
    if _BARE.fullmatch(name):
        return f"{kind}:{name}"
    escaped = _SIGNS.sub(r"\\\g<0>", name)
    return f'{kind}:"{escaped}"'


def selected(paths: Paths, keep: NDArray[np.bool_]) -> Paths:
    """The paths of some of the runs, which say of how many they are.

    Parameters
    ----------
    paths : Paths
    keep : bool, shape (runs,)
        Which runs are kept.
    """
    taken = np.diff(paths.offset)
    code = paths.code[np.repeat(keep, taken)]
    used = np.unique(code[code >= 0])
    number = np.full(len(paths.signatures) + 1, -1, np.int32)  # The last is the mark's, which stays -1.
    number[used] = np.arange(len(used))
    chosen = keep.tolist()
    return replace(
        paths,
        signatures=tuple(paths.signatures[each] for each in used.tolist()),
        code=number[code],
        count=paths.count[np.repeat(keep, taken)],
        offset=np.concatenate([[0], np.cumsum(taken[keep])]),
        outcome=paths.outcome[keep],
        source=paths.source[keep],
        half=paths.half[keep],
        run_ids=tuple(compress(paths.run_ids, chosen)),
        tickets=tuple(compress(paths.tickets, chosen)),
        versions=tuple(compress(paths.versions, chosen)),
        narrowed_from=len(keep),
    )
