"""Comparing every child with its siblings: fatal and golden forks and hotspots of a whole tree at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.growing import Flags, Floats, Nodes, Tree
from engine.runs import Outcome
from engine.statistics import benjamini_hochberg, entropy_bits, fisher_exact

MIN_SUPPORT = 3
"""Runs a child and its siblings each need before they are compared, and visits of a hotspot."""
FORK_GAP_POINTS = 25
"""Points a fatal fork's rate lies below its siblings' at least, and a golden fork's above."""
ALPHA = 0.05
"""The p-value of a fatal or golden fork lies below this."""
HOTSPOT_BITS = 1.0
"""Entropy of a hotspot at least."""

_BITS_TOLERANCE = 1e-9


class Comparison(NamedTuple):
    """What :func:`compare_siblings` finds of every node; see :class:`BehaviourMap`."""

    went_on: Nodes
    sibling_support: Nodes
    sibling_successes: Nodes
    p: Floats
    q: Floats
    fork: Flags
    golden: Flags
    entropy_bits: Floats
    hotspot: Flags
    tested: int
    impossible: int


def compare_siblings(tree: Tree, support: Nodes) -> Comparison:
    """Compare every child with its siblings, before any node is dropped."""
    nodes = support.size
    successes = tree.through[:, Outcome.SUCCESS].sum(axis=0, dtype=np.int32)
    child = np.flatnonzero((tree.token >= 0) & (tree.token != tree.mark))
    runs, parent = support.take(child), tree.parent.take(child)
    went_on = np.bincount(parent, weights=runs, minlength=nodes).astype(np.int32)
    compared = runs < went_on.take(parent)  # an only child has nothing to be compared with
    child, parent = child[compared], parent[compared]
    won_on = np.bincount(parent, weights=successes.take(child), minlength=nodes).astype(np.int32)
    sibling_support, sibling_successes = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)
    sibling_support[child] = went_on.take(parent) - support.take(child)
    sibling_successes[child] = won_on.take(parent) - successes.take(child)
    tested = child[(support[child] >= MIN_SUPPORT) & (sibling_support[child] >= MIN_SUPPORT)]
    own, won, others, others_won = (
        counts[tested].astype(np.int64) for counts in (support, successes, sibling_support, sibling_successes)
    )
    p, q = np.full(nodes, np.nan), np.full(nodes, np.nan)
    p[tested] = fisher_exact(won, own - won, others_won, others - others_won)
    q[tested] = benjamini_hochberg(p[tested])
    gap, least = 100 * (others_won * own - won * others), FORK_GAP_POINTS * own * others
    fork, golden, clear = np.zeros(nodes, bool), np.zeros(nodes, bool), p[tested] < ALPHA
    fork[tested], golden[tested] = clear & (gap >= least), clear & (-gap >= least)
    bits = entropy_bits(parent, support[child], nodes)
    hotspot = (bits >= HOTSPOT_BITS - _BITS_TOLERANCE) & (went_on >= MIN_SUPPORT)
    impossible = int((100 * others_won < FORK_GAP_POINTS * others).sum())
    return Comparison(
        went_on,
        sibling_support,
        sibling_successes,
        p,
        q,
        fork,
        golden,
        bits,
        hotspot,
        tested.size,
        impossible,
    )
