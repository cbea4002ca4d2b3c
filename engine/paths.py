"""From steps to a path: signatures, repeat buckets, tokens and their bounds.

A step's *signature* is the text ``kind:name``. Consecutive equal signatures fold into
one *token*, a pair (signature, bucket), so that a loop is one shape however often it
turned. A path that meets a bound goes on with the mark ``…``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_STEPS = 192
"""Steps read of one run: the earliest."""
MAX_TOKENS = 64
"""Tokens a path holds before it is cut."""
MAX_NAME_BYTES = 160
"""UTF-8 bytes of a name."""
MAX_ID_BYTES = 256
"""UTF-8 bytes of a run id or a ticket."""
MARK = "…"
"""Stands where a path was cut."""

BUCKET_STARTS = (1, 2, 3, 6, 11)
"""Smallest count of each repeat bucket."""
BUCKET_TEXTS = ("", "×2", "×3-5", "×6-10", "×11+")
"""How each repeat bucket is written after a name."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def bucket(count: int) -> int:
    """Index of the repeat bucket that ``count`` consecutive steps fall into.

    >>> [bucket(count) for count in (1, 2, 3, 5, 6, 10, 11, 192)]
    [0, 1, 2, 2, 3, 3, 4, 4]
    """
    return bisect_right(BUCKET_STARTS, count) - 1


def replace_controls(text: str) -> str:
    """Replace control characters, line separators and lone surrogates by U+FFFD.

    >>> replace_controls("a\\tb")
    'a�b'
    """
    return _CONTROL.sub("\ufffd", text)


def clean_name(text: str) -> str:
    """Strip, replace control characters and cut to 160 bytes; nothing left is ``?``.

    >>> clean_name("  search\\torders "), clean_name("   ")
    ('search�orders', '?')
    >>> len(clean_name("é" * 200).encode())
    160
    """
    name = replace_controls(text.strip())
    cut = name.encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    return cut.rstrip() or "?"


def identifier(text: str) -> str:
    """A run id or ticket as it is kept: stripped, without control characters, and cut to 256 bytes.

    Of a long one the last bytes are a digest of the whole. Doing it twice changes nothing, so what is
    looked up may be given as it was sent or as it is kept.

    >>> identifier("r-17"), identifier(" chat\\n7 ")
    ('r-17', 'chat�7')
    >>> identifier("é" * 200)[109:]
    'é…cad5a9c16b6cbbb8966421655e70a46b'
    """
    kept = replace_controls(text.strip() or text[:1])
    data = kept.encode()
    if len(data) <= MAX_ID_BYTES:
        return kept
    tail = f"…{blake2b(data, digest_size=16).hexdigest()}"
    return data[: MAX_ID_BYTES - len(tail.encode())].decode(errors="ignore") + tail


class Token(NamedTuple):
    """A folded step: the signature and the index of its repeat bucket.

    >>> str(Token("tool:search_orders", 2)), str(Token("tool:a×2", 0))
    ('tool:search_orders×3-5', 'tool:a××2')
    """

    signature: str
    bucket: int

    def __str__(self) -> str:
        if self.signature == MARK:
            return MARK
        return self.signature.replace("×", "××") + BUCKET_TEXTS[self.bucket]


class Fold(NamedTuple):
    """Consecutive equal signatures with their exact count; the mark has count 0."""

    signature: str
    count: int  # type: ignore[assignment]  # a tuple has a method of that name

    @property
    def token(self) -> Token:
        """The token this fold stands for in a path."""
        return Token(self.signature, bucket(self.count) if self.count else 0)


CUT = Fold(MARK, 0)


def fold(signatures: Iterable[str]) -> tuple[Fold, ...]:
    """Fold a run's signatures, in order, into its path.

    Parameters
    ----------
    signatures : iterable of str
        ``kind:name`` of each step, in start order.

    Returns
    -------
    tuple of Fold
        At most 64 folds, then :data:`CUT` if the run went on past 64 tokens or 192 steps.

    Examples
    --------
    >>> fold(["llm:m", "tool:s", "tool:s", "tool:s", "llm:m"])
    (Fold(signature='llm:m', count=1), Fold(signature='tool:s', count=3), Fold(signature='llm:m', count=1))
    """
    steps = list(signatures)
    folds = [Fold(signature, sum(1 for _ in run)) for signature, run in groupby(steps[:MAX_STEPS])]
    if len(steps) > MAX_STEPS or len(folds) > MAX_TOKENS:
        return (*folds[:MAX_TOKENS], CUT)
    return tuple(folds)


@dataclass(frozen=True, slots=True)
class Paths:
    """The folded paths of a cohort's runs, as columns.

    Attributes
    ----------
    signatures : tuple of str
        The vocabulary; ``code`` indexes it.
    code : int32, shape (tokens,)
        Signature of each fold, all runs behind one another; -1 for the mark.
    count : uint8, shape (tokens,)
        Exact repeat count of each fold, 0 for the mark.
    offset : int64, shape (runs + 1,)
        Run ``r`` owns folds ``offset[r]:offset[r + 1]``.
    outcome : uint8, shape (runs,)
        :class:`engine.runs.Outcome`; UNKNOWN (3) for a run that is still live.
    source : uint8, shape (runs,)
        :class:`engine.runs.Source` of the outcome.
    half : uint8, shape (runs,)
        Calibration half of the run, :func:`engine.paths.half`.
    run_ids, tickets, versions : tuple, length runs
        Run id; ticket or None; version of the agent or None.
    bounded : bool
        True if more completed runs exist than were read.
    live_bounded : bool
        True if more live runs exist than were read.
    narrowed_from : int
        Runs of which these are the ones that an expression lets through; 0 if none was asked.
    """

    signatures: tuple[str, ...]
    code: NDArray[np.int32]
    count: NDArray[np.uint8]
    offset: NDArray[np.int64]
    outcome: NDArray[np.uint8]
    source: NDArray[np.uint8]
    half: NDArray[np.uint8]
    run_ids: tuple[str, ...]
    tickets: tuple[str | None, ...]
    versions: tuple[str | None, ...]
    bounded: bool = False
    live_bounded: bool = False
    narrowed_from: int = 0

    def folds(self, run: int) -> tuple[Fold, ...]:
        """The path of the run at that index."""
        span = slice(self.offset[run], self.offset[run + 1])
        return tuple(
            Fold(self.signatures[code], int(count)) if code >= 0 else CUT
            for code, count in zip(self.code[span].tolist(), self.count[span].tolist(), strict=True)
        )


def half(run_id: str) -> int:
    """Calibration half of a run, 0 or 1: the lowest bit of the first byte of blake2b(run id).

    >>> [half(run_id) for run_id in ("a", "b", "c", "d")]
    [1, 0, 1, 1]
    """
    return blake2b(run_id.encode()).digest()[0] & 1


def parse_signature(signature: str) -> tuple[str, str]:
    """Split ``kind:name``.

    >>> parse_signature("tool:a:b")
    ('tool', 'a:b')
    """
    kind, _, name = signature.partition(":")
    return kind, name


def without_models(signatures: Iterable[str]) -> list[str]:
    """The signatures that the view ``tools`` shows: all but model steps.

    >>> without_models(["llm:m", "tool:s"])
    ['tool:s']
    """
    return [signature for signature in signatures if parse_signature(signature)[0] != "llm"]


def path_text(folds: Sequence[Fold]) -> list[str]:
    """The text of each token of a path.

    >>> path_text(fold(["llm:m", "tool:s", "tool:s"]))
    ['llm:m', 'tool:s×2']
    """
    return [str(item.token) for item in folds]
