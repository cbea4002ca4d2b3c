"""Runs narrowed by a sequence expression: the expression as it is read, and what is left of the paths.

``Cohort.where`` is such an expression, as :func:`read` gives it. Which runs are as it says is asked where
they are kept (:mod:`engine.store`), for it may ask for more than a path holds: failed calls, long counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
PICKED_BY_OUTCOME: Final = (
    "The expression picks runs by how they ended, so the success rates say nothing of the agent: "
    "they are what was picked."
)
_BEFORE: Final = 40
_BLANK: Final = re.compile(r"[\x00-\x1f\x7f]")
_BARE: Final = re.compile(r'(?:[^\s>.!^$()"*]|\.(?!\.))+')
_WORD: Final = re.compile(r"(?!(?:and|or|error|x\d+)$)[A-Za-z_][\w-]*", re.ASCII)
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


def examples(signatures: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Expressions to begin with, and what each means, of the steps of an agent.

    Parameters
    ----------
    signatures : iterable of str
        Its steps, those most taken first; tools are taken for examples where there are any.

    Examples
    --------
    >>> for text, meaning in examples(["llm:m", "tool:search_orders", "tool:issue_refund"]):
    ...     print(f"{text:34} {meaning}")
    error(*)                           a call failed
    search_orders x3                   search_orders three times in a row, or more
    search_orders .. !issue_refund     search_orders, and no issue_refund after it
    issue_refund $                     issue_refund came last
    """
    known = [*signatures]
    taken = [each for each in known if each.startswith("tool:")] or known
    found = [("error(*)", "a call failed")]
    if taken:
        first, name = _named(taken[0])
        last, its = _named(taken[min(1, len(taken) - 1)])
        found.append((f"{first} x3", f"{name} three times in a row, or more"))
        if first != last:
            found.append((f"{first} .. !{last}", f"{name}, and no {its} after it"))
        found.append((f"{last} $", f"{its} came last"))
    return tuple(found)


def _named(signature: str) -> tuple[str, str]:
    """The shortest text that plainly means a step, and its name."""
    name = signature.partition(":")[2]
    return (name if _WORD.fullmatch(name) else step_text(signature)), name


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
