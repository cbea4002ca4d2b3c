"""A path as uint32 words, so that many can be read as one array."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.paths import Fold, half
from engine.runs import Run

MAX_SIGNATURES = 2**24 - 2
"""Largest signature number a word holds."""
_END = 0xFFFFFF00


class PackedPaths(NamedTuple):
    """Many paths as columns: signature number and count of each fold, then what each run has."""

    number: NDArray[np.uint32]
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
    return PackedPaths(
        folds >> np.uint32(8),
        folds.astype(np.uint8),
        offset,
        kind & two,
        kind >> np.uint8(2) & two,
        kind >> np.uint8(4) & two,
    )
