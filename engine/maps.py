"""The behaviour map: a cohort's prefix tree with what each node's runs came to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import compress, pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.growing import Nodes, Tree, by_depth, grow, sizes
from engine.paths import Paths, Token
from engine.runs import Cohort, Outcome, Source
from engine.statistics import benjamini_hochberg, entropy_bits, fisher_exact, wilson, wilson_one

MAX_NODES = 50_000
"""Nodes a map keeps: those with the largest support."""
MIN_SUPPORT = 3
"""Runs a child and its siblings each need before they are compared, and visits of a hotspot."""
FORK_GAP_POINTS = 25
"""Points a fatal fork's rate lies below its siblings' at least."""
ALPHA = 0.05
"""A fatal fork's p-value lies below this."""
HOTSPOT_BITS = 1.0
"""Entropy of a hotspot at least."""

_BITS_TOLERANCE = 1e-9
_FRAME_COLUMNS = (
    *("parent", "depth", "support", "successes", "abandoned", "ended", "went_on", "live", "low", "high"),
    *("sibling_support", "sibling_successes", "p", "q", "fork", "entropy_bits", "hotspot", "cut"),
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Totals(NamedTuple):
    """What a map was built from; counts of runs."""

    completed: int
    successes: int
    failures: int
    abandoned: int
    unknown: int
    declared: int
    by_rule: int
    inferred: int
    no_steps: int
    cut_paths: int
    bounds_met: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BehaviourMap:
    """A cohort's behaviour as arrays over nodes, in pre-order; node 0 is the root.

    Children stand by support (descending), then token.

    Attributes
    ----------
    tokens : tuple of Token
        Token table; ``token`` indexes it, -1 at the root.
    parent, token, depth, size : int32, shape (nodes,)
        Structure; a node's subtree is ``node:node + size[node]``.
    support, successes, abandoned : int32, shape (nodes,)
        Completed runs that passed the node, and how many of them ended so.
    ended : int32, shape (nodes,)
        Completed runs whose path ends exactly here.
    went_on : int32, shape (nodes,)
        Completed runs that took a token next, dropped children's included; ``…`` is none.
    live : int32, shape (nodes,)
        Live runs whose path stands here or below.
    low, high : float64, shape (nodes,)
        Wilson score interval of successes / support.
    sibling_support, sibling_successes : int32, shape (nodes,)
        The parent's other children pooled, without runs that ended there and without ``…``.
    p, q : float64, shape (nodes,)
        Fisher's exact test against the siblings and its Benjamini-Hochberg q-value; NaN where
        the support rule is not met.
    fork, hotspot, cut : bool, shape (nodes,)
        Fatal fork; hotspot; lost children to the bound.
    entropy_bits : float64, shape (nodes,)
        Entropy of the tokens taken next.
    key : uint64, shape (nodes,)
        Hash of the token path: the same in every build and process.
    run_ids, tickets : tuple, length completed runs
        The members.
    member_node, member_outcome : shape (completed runs,)
        The node each member's path ends at (its last kept ancestor if that was dropped, see
        ``member_kept``), and its outcome.
    member_kept : bool, shape (completed runs,)
        Whether the member's own node was kept.
    tested, impossible : int
        Children compared with their siblings; of these, how many had siblings under 25 %.
    """

    cohort: Cohort
    now_ns: int
    tokens: tuple[Token, ...]
    parent: Nodes
    token: Nodes
    depth: Nodes
    size: Nodes
    support: Nodes
    successes: Nodes
    abandoned: Nodes
    ended: Nodes
    went_on: Nodes
    live: Nodes
    low: Floats
    high: Floats
    sibling_support: Nodes
    sibling_successes: Nodes
    p: Floats
    q: Floats
    fork: Flags
    entropy_bits: Floats
    hotspot: Flags
    cut: Flags
    key: NDArray[np.uint64]
    run_ids: tuple[str, ...]
    tickets: tuple[str | None, ...]
    member_node: Nodes
    member_outcome: NDArray[np.uint8]
    member_kept: Flags
    totals: Totals
    tested: int
    impossible: int

    def __len__(self) -> int:
        return self.parent.size

    @property
    def base_rate(self) -> float | None:
        """Success rate of the cohort; None without a completed run."""
        return self.totals.successes / self.totals.completed if self.totals.completed else None

    @property
    def base_interval(self) -> tuple[float, float]:
        """Wilson score interval of the base rate."""
        return wilson_one(self.totals.successes, self.totals.completed)

    def path(self, node: int) -> tuple[Token, ...]:
        """Tokens that lead from the root to the node."""
        tokens = []
        while node > 0:
            tokens.append(self.tokens[self.token[node]])
            node = int(self.parent[node])
        return tuple(reversed(tokens))

    def key_text(self, node: int) -> str:
        """The node's key as 16 hex digits."""
        return f"{int(self.key[node]):016x}"

    def find(self, key_text: str) -> int | None:
        """The node with that key, or None."""
        try:
            wanted = np.uint64(int(key_text, 16))
        except (ValueError, OverflowError):
            return None
        found = np.flatnonzero(self.key == wanted)
        return int(found[0]) if found.size else None

    def children(self, node: int) -> Nodes:
        """The node's children, by support (descending), then token."""
        last = node + int(self.size[node])
        return (node + 1 + np.flatnonzero(self.parent[node + 1 : last] == node)).astype(np.int32)

    def member(self, run_id: str) -> int | None:
        """Index of a completed run among the members, or None."""
        try:
            return self.run_ids.index(run_id)
        except ValueError:
            return None

    def to_frame(self) -> pd.DataFrame:
        """The nodes as a table, one row a node in pre-order, indexed by key."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in _FRAME_COLUMNS}
        texts = np.array([*map(str, self.tokens), ""], dtype=object)
        index = pd.Index([self.key_text(node) for node in range(len(self))], name="key")
        return pd.DataFrame({"token": texts[self.token], **columns}, index=index)


def build(cohort: Cohort, paths: Paths, now_ns: int, max_nodes: int = MAX_NODES) -> BehaviourMap:
    """Build a cohort's map.

    Parameters
    ----------
    cohort : Cohort
        Whose runs these are; kept in the map.
    paths : Paths
        The runs: completed ones make the tree, live ones are laid over it.
    now_ns : int
        The moment the cohort was read.
    max_nodes : int
        Nodes to keep at most (the root is always kept): the largest support; of equal ones the
        shallower, then the smaller key. What compares siblings is computed before any is dropped.
    """
    tree = grow(paths)
    support = tree.through.sum(axis=(0, 1), dtype=np.int32)
    kept, key = _bound(tree, support, max_nodes)
    cut = np.zeros(support.size, bool)
    cut[tree.parent[~kept]] = True
    order = _by_support(tree, support, kept)
    place = np.full(support.size, -1, np.int32)
    place[order] = np.arange(order.size)
    comparison = compare_siblings(tree, support)
    outcomes = tree.through[:, :, order].sum(axis=0, dtype=np.int32)
    successes = outcomes[Outcome.SUCCESS]
    low, high = wilson(successes, support[order])
    depth = tree.depth[order]
    parent = np.where(tree.parent[order] >= 0, place[tree.parent[order]], np.int32(-1))
    completed = paths.outcome < Outcome.UNKNOWN
    behaviour = BehaviourMap(
        cohort=cohort,
        now_ns=now_ns,
        tokens=tree.tokens,
        parent=parent,
        token=tree.token[order],
        depth=depth,
        size=sizes(parent, by_depth(depth)),
        support=support[order],
        successes=successes,
        abandoned=outcomes[Outcome.ABANDONED],
        ended=tree.ended[order],
        went_on=comparison.went_on[order],
        live=np.zeros(order.size, np.int32),
        low=low,
        high=high,
        sibling_support=comparison.sibling_support[order],
        sibling_successes=comparison.sibling_successes[order],
        p=comparison.p[order],
        q=comparison.q[order],
        fork=comparison.fork[order],
        entropy_bits=comparison.entropy_bits[order],
        hotspot=comparison.hotspot[order],
        cut=cut[order],
        key=key[order],
        run_ids=_chosen(paths.run_ids, completed),
        tickets=_chosen(paths.tickets, completed),
        member_node=place[_kept_ancestor(tree.parent, kept, tree.end_node)],
        member_outcome=paths.outcome[completed],
        member_kept=kept[tree.end_node],
        totals=_totals(paths, tree, support, bounded=bool(not kept.all())),
        tested=comparison.tested,
        impossible=comparison.impossible,
    )
    return behaviour if completed.all() else replace(behaviour, live=_overlay(behaviour, tree))


def _chosen(values: tuple[Any, ...], flags: Flags) -> tuple[Any, ...]:
    return values if flags.all() else tuple(compress(values, flags.tolist()))


def _totals(paths: Paths, tree: Tree, support: Nodes, bounded: bool) -> Totals:
    successes, failures, abandoned = tree.through[:, :, 0].sum(axis=0).tolist()
    source = np.bincount(paths.source[paths.outcome < Outcome.UNKNOWN], minlength=3).tolist()
    return Totals(
        completed=int(support[0]),
        successes=successes,
        failures=failures,
        abandoned=abandoned,
        unknown=int((paths.outcome == Outcome.UNKNOWN).sum()),
        declared=source[Source.DECLARED],
        by_rule=source[Source.RULE],
        inferred=source[Source.INFERRED],
        no_steps=int(tree.ended[0]),
        cut_paths=int(support[tree.token == tree.mark].sum()),
        bounds_met=("runs",) * paths.bounded + ("nodes",) * bounded,
    )


def _bound(tree: Tree, support: Nodes, max_nodes: int) -> tuple[Flags, NDArray[np.uint64]]:
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


def _kept_ancestor(parent: Nodes, kept: Flags, node: Nodes) -> Nodes:
    """Nearest kept node at or above each node."""
    here = node.copy()
    while (lost := ~kept[here]).any():
        here[lost] = parent[here[lost]]
    return here


def _by_support(tree: Tree, support: Nodes, kept: Flags) -> Ints:
    """Kept nodes in the map's pre-order: children by support (descending), then token."""
    nodes = np.flatnonzero(kept)
    place = np.cumsum(kept) - 1
    parent = np.where(tree.parent[nodes] >= 0, place[tree.parent[nodes]], 0)
    levels = by_depth(tree.depth[nodes])
    size = sizes(parent, levels)
    ranked = 1 + np.lexsort((-support[nodes[1:]], parent[1:]))
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


class Comparison(NamedTuple):
    """What :func:`compare_siblings` finds of every node; see :class:`BehaviourMap`."""

    went_on: Nodes
    sibling_support: Nodes
    sibling_successes: Nodes
    p: Floats
    q: Floats
    fork: Flags
    entropy_bits: Floats
    hotspot: Flags
    tested: int
    impossible: int


def compare_siblings(tree: Tree, support: Nodes) -> Comparison:
    """Compare every child with its siblings, before any node is dropped."""
    nodes = support.size
    successes = tree.through[:, Outcome.SUCCESS].sum(axis=0, dtype=np.int32)
    child = np.flatnonzero((tree.token >= 0) & (tree.token != tree.mark))
    parent = tree.parent[child]
    went_on = np.bincount(parent, weights=support[child], minlength=nodes).astype(np.int32)
    child = child[support[child] < went_on[parent]]  # an only child has nothing to be compared with
    parent = tree.parent[child]
    won_on = np.bincount(parent, weights=successes[child], minlength=nodes).astype(np.int32)
    sibling_support, sibling_successes = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)
    sibling_support[child] = went_on[parent] - support[child]
    sibling_successes[child] = won_on[parent] - successes[child]
    tested = child[(support[child] >= MIN_SUPPORT) & (sibling_support[child] >= MIN_SUPPORT)]
    own, won, others, others_won = (
        counts[tested].astype(np.int64) for counts in (support, successes, sibling_support, sibling_successes)
    )
    p, q = np.full(nodes, np.nan), np.full(nodes, np.nan)
    p[tested] = fisher_exact(won, own - won, others_won, others - others_won)
    q[tested] = benjamini_hochberg(p[tested])
    far = 100 * (others_won * own - won * others) >= FORK_GAP_POINTS * own * others
    fork = np.zeros(nodes, bool)
    fork[tested] = far & (p[tested] < ALPHA)
    bits = entropy_bits(parent, support[child], nodes)
    hotspot = (bits >= HOTSPOT_BITS - _BITS_TOLERANCE) & (went_on >= MIN_SUPPORT)
    impossible = int((100 * others_won < FORK_GAP_POINTS * others).sum())
    return Comparison(
        went_on, sibling_support, sibling_successes, p, q, fork, bits, hotspot, tested.size, impossible
    )


def _overlay(behaviour: BehaviourMap, tree: Tree) -> Nodes:
    """Live runs at or below each node: each stands where its path leaves the map."""
    at = np.bincount(_standing(behaviour, tree.live_token, tree.live_length), minlength=len(behaviour))
    running = np.zeros(at.size + 1, np.int32)
    np.cumsum(at, out=running[1:])
    here = np.arange(at.size)
    live: Nodes = running[here + behaviour.size] - running[here]
    return live


def _standing(behaviour: BehaviourMap, token: Nodes, length: Ints) -> Ints:
    """Deepest node on each live path; its last token is open, so a higher bucket will do.

    All paths go down together, a level at a time, by look-ups in the sorted (parent, token)
    pairs. Tokens of one signature are numbered by bucket, so the next pair not below the wanted
    one is the lowest bucket that is there.
    """
    width = len(behaviour.tokens) + 1
    family = np.cumsum([one.signature != other.signature for one, other in pairwise(behaviour.tokens)])
    family = np.concatenate([[0], family, [-1]])
    pair = behaviour.parent[1:].astype(np.int64) * width + behaviour.token[1:]
    child = np.argsort(pair)
    pair = np.append(pair[child], np.iinfo(np.int64).max)
    child = np.append(child + 1, 0)
    node = np.zeros(length.size, np.int64)
    start = np.cumsum(length) - length
    going = np.flatnonzero(length > 0)
    depth = 0
    while going.size:
        taken = token[start[going] + depth]
        wanted = node[going] * width + taken
        found = np.searchsorted(pair, wanted)
        open_last = length[going] == depth + 1
        similar = (pair[found] // width == node[going]) & (family[pair[found] % width] == family[taken])
        there = (pair[found] == wanted) | (open_last & similar)
        going, depth = going[there], depth + 1
        node[going] = child[found[there]]
        going = going[length[going] > depth]
    return node
