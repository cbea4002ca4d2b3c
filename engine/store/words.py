"""A path as uint32 words, and a run's names as JSON text, so that many can be read at once."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.paths import MAX_TOKENS, Fold, half
from engine.runs import Run

MAX_SIGNATURES = 2**24 - 2
"""Largest signature number a word holds."""
_END = 0xFFFFFF00
NAMED = 3
"""Names that a run has: its id, its ticket and its version."""
_NAMES = msgspec.json.Decoder(tuple[str | None, ...])


class PackedPaths(NamedTuple):
    """Many paths as columns: signature number and count of each fold, then what each run has."""

    number: NDArray[np.int32]
    repeats: NDArray[np.uint8]
    offset: NDArray[np.int64]
    outcome: NDArray[np.uint8]
    source: NDArray[np.uint8]
    half: NDArray[np.uint8]


def pack_path(folds: Sequence[Fold], numbers: Mapping[str, int], run: Run) -> bytes:
    """A path as little-endian uint32 words.

    A fold is ``signature number << 8 | count``, the mark 0. The last word says that the
    path ends (24 one bits) and how: half, source and outcome, two bits each. So many paths
    can be joined into one blob and parted again.
    """
    words = [numbers[item.signature] << 8 | item.count if item.count else 0 for item in folds]
    end = _END | half(run.run_id) << 4 | run.source << 2 | run.outcome
    return struct.pack(f"<{len(words) + 1}I", *words, end)


def unpack_paths(blob: bytes) -> PackedPaths:
    """Any number of packed paths, joined, as columns.

    >>> unpack_paths(bytes.fromhex("0301000000000000" "12ffffff" "01ffffff")).offset.tolist()
    [0, 2, 2]
    """
    words: NDArray[np.uint32] = np.frombuffer(blob, "<u4").astype(np.uint32, copy=False)
    is_end = words >= _END
    ends = np.flatnonzero(is_end)
    kind = words[ends].astype(np.uint8)
    folds = words[~is_end]
    offset = np.zeros(len(ends) + 1, np.int64)
    offset[1:] = ends - np.arange(len(ends))
    two = np.uint8(3)
    repeats = folds.astype(np.uint8)
    folds >>= np.uint32(8)
    return PackedPaths(
        folds.view(np.int32),
        repeats,
        offset,
        kind & two,
        kind >> np.uint8(2) & two,
        kind >> np.uint8(4) & two,
    )


def without_last(blob: bytes) -> bytes:
    """Joined paths without the last of them.

    >>> without_last(bytes.fromhex("12ffffff" "0301000001ffffff")).hex()
    '12ffffff'
    """
    longest = 4 * (MAX_TOKENS + 2)
    before = np.flatnonzero(np.frombuffer(blob[-longest - 4 : -4], "<u4") >= _END)
    kept = max(0, len(blob) - longest - 4) + 4 * int(before[-1] + 1) if len(before) else 0
    return blob[:kept]


def pack_names(run: Run) -> str:
    """Run id, ticket and version as the inside of a JSON list, to be joined by commas."""
    return msgspec.json.encode((run.run_id, run.ticket, run.version)).decode()[1:-1]


def unpack_names(joined: str) -> tuple[Any, ...]:
    """Run id, ticket and version of each row in turn.

    >>> unpack_names('"a",null,"2","b","t",null')
    ('a', None, '2', 'b', 't', None)
    """
    return _NAMES.decode(f"[{joined}]")
