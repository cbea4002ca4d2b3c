"""Laying the runs that are still live over a map of the completed ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from engine.growing import Ints, Nodes, Tree


def count_below(node: Ints, size: Nodes) -> Nodes:
    """How many of some runs stand at or below each node of a map.

    Parameters
    ----------
    node : ndarray of int, shape (runs,)
        Where each run stands.
    size : int32, shape (nodes,)
        Size of every node's subtree.
    """
    at = np.bincount(node, minlength=size.size)
    running = np.zeros(at.size + 1, np.int32)
    np.cumsum(at, out=running[1:])
    here = np.arange(at.size)
    below: Nodes = running[here + size] - running[here]
    return below


def standing(tree: Tree, parent: Nodes, token: Nodes) -> Ints:
    """Where each live run stands: the deepest node of a map on its path.

    The last token of a live path is open, so a higher bucket will do. All paths go down
    together, a level at a time, by look-ups in the sorted (parent, token) pairs. Tokens of one
    signature are numbered by bucket, so the next pair not below the wanted one is the lowest
    bucket that is there.

    Parameters
    ----------
    tree : Tree
        Holds the live paths and the token table.
    parent, token : int32, shape (nodes,)
        The map's nodes, in its pre-order.
    """
    if not tree.live_length.size:
        return np.zeros(0, np.int64)
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
        at = pair[found]
        there = at == wanted
        open_last = np.flatnonzero(~there & (length[going] == depth + 1))
        if open_last.size:
            beside, own = np.divmod(at[open_last], width)
            similar = family[own] == family[taken[open_last]]
            there[open_last] = similar & (beside == node[going[open_last]])
        going, depth = going[there], depth + 1
        node[going] = child[found[there]]
        going = going[length[going] > depth]
    return node
