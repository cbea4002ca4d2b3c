"""Which nodes of a tree a map keeps, what they are called, and the order they stand in."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from engine.growing import Flags, Ints, Nodes, Tree, by_depth, sizes


def bound(tree: Tree, support: Nodes, max_nodes: int) -> tuple[Flags, NDArray[np.uint64]]:
    """Which nodes are kept, and the keys of these."""
    room = max(1, max_nodes)
    if support.size <= room:
        kept = np.ones(support.size, bool)
        return kept, _keys(tree, kept)
    least = np.partition(support, support.size - room)[support.size - room]
    kept = support > least
    tied = np.flatnonzero(support == least)
    depth = tree.depth[tied]
    fits = np.cumsum(np.bincount(depth)) <= room - kept.sum()
    kept[tied[fits[depth]]] = True
    partly = tied[depth == fits.sum()]
    missing = room - int(kept.sum())
    kept[partly] = True
    key = _keys(tree, kept)
    kept[partly[np.argsort(key[partly])[missing:]]] = False
    return kept, key


def _keys(tree: Tree, wanted: Flags) -> NDArray[np.uint64]:
    """Key of each wanted node: its parent's key and its token, mixed by splitmix64's finaliser."""
    digests = [blake2b(f"{t.signature}\0{t.bucket}".encode(), digest_size=8).digest() for t in tree.tokens]
    hashed = np.frombuffer(b"".join(digests) or bytes(8), "<u8")
    key = np.zeros(tree.parent.size, np.uint64)
    for level in tree.levels[1:]:
        level = level[wanted[level]]
        mixed = key[tree.parent[level]] * np.uint64(0x9E3779B97F4A7C15) + hashed[tree.token[level]]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        key[level] = mixed ^ (mixed >> np.uint64(31))
    return key


def kept_ancestor(parent: Nodes, kept: Flags, node: Nodes) -> Nodes:
    """Nearest kept node at or above each node."""
    here = node.copy()
    lost = np.flatnonzero(~kept[here])
    while lost.size:
        here[lost] = parent[here[lost]]
        lost = lost[~kept[here[lost]]]
    return here


def in_map_order(tree: Tree, support: Nodes, kept: Flags) -> Ints:
    """Kept nodes in the map's pre-order: children by support (descending), then token."""
    nodes = np.flatnonzero(kept)
    place = np.cumsum(kept) - 1
    parent = np.where(tree.parent[nodes] >= 0, place[tree.parent[nodes]], 0)
    levels = by_depth(tree.depth[nodes])
    size = sizes(parent, levels)
    most = int(support[0])
    ranked = 1 + np.argsort(parent[1:] * (most + 1) + (most - support[nodes[1:]]), kind="stable")
    before = np.cumsum(size[ranked]) - size[ranked]
    new_family = np.diff(parent[ranked], prepend=-1) != 0
    skip = np.empty(nodes.size, np.int64)
    skip[ranked] = before - np.maximum.accumulate(np.where(new_family, before, 0))
    position = np.zeros(nodes.size, np.int64)
    for level in levels[1:]:
        position[level] = position[parent[level]] + 1 + skip[level]
    order = np.empty(nodes.size, np.int64)
    order[position] = nodes
    return order
