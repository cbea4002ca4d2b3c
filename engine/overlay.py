"""Laying the runs that are still live over a map of the completed ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from engine.growing import Ints, Nodes, Tree


def overlay(tree: Tree, parent: Nodes, token: Nodes, size: Nodes) -> Nodes:
    """Live runs at or below each node of a map: each stands where its path leaves the map.

    Parameters
    ----------
    tree : Tree
        Holds the live paths and the token table.
    parent, token, size : int32, shape (nodes,)
        The map's nodes, in its pre-order.
    """
    if not tree.live_length.size:
        return np.zeros(parent.size, np.int32)
    at = np.bincount(_standing(tree, parent, token), minlength=parent.size)
    running = np.zeros(at.size + 1, np.int32)
    np.cumsum(at, out=running[1:])
    here = np.arange(at.size)
    live: Nodes = running[here + size] - running[here]
    return live


def _standing(tree: Tree, parent: Nodes, token: Nodes) -> Ints:
    """Deepest node on each live path; its last token is open, so a higher bucket will do.

    All paths go down together, a level at a time, by look-ups in the sorted (parent, token)
    pairs. Tokens of one signature are numbered by bucket, so the next pair not below the wanted
    one is the lowest bucket that is there.
    """
    length = tree.live_length
    width = len(tree.tokens) + 1
    family = np.cumsum([one.signature != other.signature for one, other in pairwise(tree.tokens)])
    family = np.concatenate([[0], family, [-1]])
    pair = parent[1:].astype(np.int64) * width + token[1:]
    child = np.argsort(pair)
    pair = np.append(pair[child], np.iinfo(np.int64).max)
    child = np.append(child + 1, 0)
    node = np.zeros(length.size, np.int64)
    start = np.cumsum(length) - length
    going = np.flatnonzero(length > 0)
    depth = 0
    while going.size:
        taken = tree.live_token[start[going] + depth]
        wanted = node[going] * width + taken
        found = np.searchsorted(pair, wanted)
        open_last = length[going] == depth + 1
        similar = (pair[found] // width == node[going]) & (family[pair[found] % width] == family[taken])
        there = (pair[found] == wanted) | (open_last & similar)
        going, depth = going[there], depth + 1
        node[going] = child[found[there]]
        going = going[length[going] > depth]
    return node
