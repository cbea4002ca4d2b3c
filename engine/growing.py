"""Growing a prefix tree from paths: every shared beginning becomes one node.

Equal paths are first brought together by a word-keyed hash (guarded: equal hashes are
compared). The distinct paths, as rows of big-endian token numbers, are sorted as bytes;
what neighbours share is what they share in the tree, so the nodes fall out in pre-order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.paths import BUCKET_STARTS, MARK, Paths, Token

HALVES = 2
OUTCOMES = 3

Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_BUCKET_OF = np.searchsorted(BUCKET_STARTS, np.arange(256), side="right").astype(np.int32) - 1
_BUCKET_OF[0] = 0
_BUCKETS = len(BUCKET_STARTS)


@dataclass(frozen=True, slots=True)
class Tree:
    """A prefix tree over the completed runs of a cohort, in lexicographic pre-order.

    Attributes
    ----------
    tokens : tuple of Token
        Token table in (signature, bucket) order; the mark, if any run was cut, comes last.
    parent, token, depth : int32, shape (nodes,)
        Node 0 is the root, with parent and token -1 and depth 0.
    levels : list of int32 arrays
        Nodes of each depth, in order.
    size : int32, shape (nodes,)
        Nodes of the subtree, itself included: a subtree is a contiguous slice.
    through : int32, shape (2, 3, nodes)
        Completed runs that passed the node, by calibration half and outcome.
    ended : int32, shape (nodes,)
        Completed runs whose path ends at the node.
    end_node : int32, shape (completed runs,)
        Where each completed run's path ends, in the order of the paths.
    live_token : int32, shape (folds of live runs,)
        Token numbers of the live runs' paths, behind one another.
    live_length : int64, shape (live runs,)
        Tokens of each live run's path.
    """

    tokens: tuple[Token, ...]
    parent: Nodes
    token: Nodes
    depth: Nodes
    levels: list[Nodes]
    size: Nodes
    through: Nodes
    ended: Nodes
    end_node: Nodes
    live_token: Nodes
    live_length: Ints

    @property
    def mark(self) -> int:
        """Number of the token that marks a cut path; one past the table if there is none."""
        last = len(self.tokens) - 1
        return last if self.tokens and self.tokens[last].signature == MARK else last + 1


def grow(paths: Paths) -> Tree:
    """Grow the prefix tree of the completed runs (outcome known) among the paths."""
    completed = paths.outcome < OUTCOMES
    names = sorted(paths.signatures)
    flat = _ranks(paths, names)
    length = np.diff(paths.offset)
    flat, live_rank = _parted(flat, paths.offset, completed)
    length, live_length = length[completed], length[~completed]
    rows = _matrix(flat, length)
    variant, example = _distinct(rows)
    rows = rows[example]
    order = np.argsort(rows.view(f"S{rows.dtype.itemsize * rows.shape[1]}").ravel(), kind="stable")
    rows, row_length = rows[order], length[example][order]
    shared = _shared_prefix(rows, row_length)
    fresh = row_length - shared
    depth, rank, first = _nodes(rows, shared, fresh)
    tokens, token, live_token = _numbered(names, rank, live_rank)
    levels = by_depth(depth)
    parent = _parents(depth.size, levels, first, fresh, shared)
    size = sizes(parent, levels)
    end_of_row = np.maximum.accumulate(np.where(fresh > 0, first + fresh - 1, 0)).astype(np.int32)
    end_node = np.empty_like(end_of_row)
    end_node[order] = end_of_row
    end_node = end_node[variant]
    through, ended = _counts(end_node, size, paths.half[completed], paths.outcome[completed])
    return Tree(tokens, parent, token, depth, levels, size, through, ended, end_node, live_token, live_length)


def _parted(flat: Nodes, offset: Ints, completed: Flags) -> tuple[Nodes, Nodes]:
    """What belongs to completed runs and to live ones; the usual order, completed ones first, is cheap."""
    count = int(completed.sum())
    if completed[:count].all():
        return flat[: offset[count]], flat[offset[count] :]
    mine = np.repeat(completed, np.diff(offset))
    return flat[mine], flat[~mine]


def _ranks(paths: Paths, names: list[str]) -> Nodes:
    """Rank of every fold's token among all that could be, in (signature, bucket) order, the mark last."""
    place = {name: number for number, name in enumerate(names)}
    first = np.array([place[name] for name in paths.signatures] + [len(names)], np.int32) * np.int32(_BUCKETS)
    return first.take(paths.code, mode="wrap") + _BUCKET_OF.take(paths.count)


def _numbered(names: list[str], rank: Nodes, live_rank: Nodes) -> tuple[tuple[Token, ...], Nodes, Nodes]:
    """Table of the tokens that occur, and the number in it of every node's and live fold's token."""
    occurs = np.zeros((len(names) + 1) * _BUCKETS, bool)
    occurs[rank[1:]] = True
    occurs[live_rank] = True
    number = np.cumsum(occurs, dtype=np.int32) - 1
    texts = [*names, MARK]
    ranks = np.flatnonzero(occurs).tolist()
    tokens = tuple(Token(texts[each // _BUCKETS], each % _BUCKETS) for each in ranks)
    token = number[rank]
    token[0] = -1
    return tokens, token, number[live_rank]


def within(length: Ints) -> Ints:
    """0, 1, … length - 1 for each length, behind one another."""
    end = np.cumsum(length)
    return np.arange(end[-1] if end.size else 0) - np.repeat(end - length, length)


def _matrix(flat: Nodes, length: Ints) -> NDArray[Any]:
    """Paths as zero-padded rows of big-endian token ranks + 1, whole 8-byte words wide."""
    kind = np.dtype(">u2") if flat.max(initial=0) < 2**16 - 1 else np.dtype(">u4")
    per_word = 8 // kind.itemsize
    width = max(1, -(-int(length.max(initial=0)) // per_word)) * per_word
    rows = np.zeros((length.size, width), kind)
    rows[np.arange(width) < length[:, np.newaxis]] = flat + 1
    return rows


def _distinct(rows: NDArray[Any]) -> tuple[Ints, Ints]:
    """Bring equal rows together.

    Returns
    -------
    variant : shape (rows,)
        Number of each row's distinct value.
    example : shape (variants,)
        A row that has it.
    """
    words = rows.view(np.uint64)
    keys = np.random.default_rng(0).integers(0, 2**63, words.shape[1], np.uint64) * np.uint64(2) + np.uint64(
        1
    )
    mixed = words * keys
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    hashed = mixed.sum(axis=1)
    _, example, variant = np.unique(hashed, return_index=True, return_inverse=True)
    if np.array_equal(words, words[example[variant]]):
        return variant, example
    return np.arange(len(rows)), np.arange(len(rows))


def _shared_prefix(rows: NDArray[Any], length: Ints) -> Ints:
    """How many tokens each row shares with the row before it."""
    shared = np.zeros(length.size, np.int64)
    if length.size > 1:
        words = rows.view(np.uint64)
        differ = words[1:] != words[:-1]
        word = differ.argmax(axis=1)
        pair = np.arange(length.size - 1)
        per_word = 8 // rows.dtype.itemsize
        cells = rows.reshape(length.size, -1, per_word)
        inside = (cells[1:][pair, word] != cells[:-1][pair, word]).argmax(axis=1)
        same = ~differ[pair, word]
        shared[1:] = np.where(same, rows.shape[1], word * per_word + inside)
    return np.minimum(shared, length)


def _nodes(rows: NDArray[Any], shared: Ints, fresh: Ints) -> tuple[Nodes, Nodes, Ints]:
    """Depth and token rank of every node in pre-order, and each row's first fresh node."""
    first = 1 + np.cumsum(fresh) - fresh
    below = within(fresh) + np.repeat(shared, fresh)
    row = np.repeat(np.arange(fresh.size), fresh)
    depth = np.zeros(below.size + 1, np.int32)
    depth[1:] = below + 1
    rank = np.full(below.size + 1, -1, np.int32)
    rank[1:] += rows.ravel()[row * rows.shape[1] + below]
    return depth, rank, first


def by_depth(depth: Nodes) -> list[Nodes]:
    """Nodes of each depth, in order."""
    order = np.argsort(depth.astype(np.uint16), kind="stable").astype(np.int32)
    return np.split(order, np.cumsum(np.bincount(depth))[:-1])


def _parents(nodes: int, levels: list[Nodes], first: Ints, fresh: Ints, shared: Ints) -> Nodes:
    """Parent of every node: the one before it.

    For a row's first fresh node it is the last node of the shared depth before it.
    """
    parent = np.arange(-1, nodes - 1, dtype=np.int32)
    starts = first[fresh > 0]
    for level, wanted in zip(levels, _grouped(starts, shared[fresh > 0], len(levels)), strict=True):
        parent[wanted] = level[np.searchsorted(level, wanted) - 1]
    return parent


def _grouped(items: Ints, group: Ints, groups: int) -> list[Ints]:
    order = np.argsort(group.astype(np.uint16), kind="stable")
    return np.split(items[order], np.cumsum(np.bincount(group, minlength=groups))[:-1])


def sizes(parent: Nodes, levels: list[Nodes]) -> Nodes:
    """Nodes of every node's subtree, itself included."""
    size = np.ones(parent.size, np.int32)
    for level in reversed(levels[1:]):
        np.add.at(size, parent[level], size[level])
    return size


def _counts(
    end_node: Nodes, size: Nodes, half: NDArray[np.uint8], outcome: NDArray[np.uint8]
) -> tuple[Nodes, Nodes]:
    """Runs through each node by half and outcome, and runs that ended there."""
    nodes, classes = size.size, HALVES * OUTCOMES
    kind = half.astype(np.int64) * OUTCOMES + outcome
    at = np.bincount(kind * nodes + end_node, minlength=classes * nodes).reshape(classes, nodes)
    running = np.zeros((classes, nodes + 1), np.int32)
    np.cumsum(at, axis=1, out=running[:, 1:])
    through = running.take(np.arange(nodes) + size, axis=1) - running[:, :-1]
    return through.reshape(HALVES, OUTCOMES, nodes), at.sum(axis=0, dtype=np.int32)
