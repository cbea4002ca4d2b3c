"""The behaviour map: a cohort's prefix tree with what each node's runs came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.bounding import bound, in_map_order, kept_ancestor
from engine.growing import Flags, Floats, Ints, Nodes, Tree, by_depth, grow, sizes
from engine.overlay import count_below, standing
from engine.paths import Paths, Token
from engine.runs import Cohort, Outcome, Source
from engine.siblings import compare_siblings
from engine.statistics import proportion, wilson, wilson_one

if TYPE_CHECKING:
    import pandas as pd

MAX_NODES = 50_000
"""Nodes a map keeps: those with the largest support."""

_FRAME_COLUMNS = (
    *("parent", "depth", "support", "successes", "abandoned", "ended", "went_on", "live", "low", "high"),
    *("sibling_support", "sibling_successes", "p", "q", "fork", "golden", "entropy_bits", "hotspot", "cut"),
)


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
    fork, golden, hotspot, cut : bool, shape (nodes,)
        Fatal fork; golden fork; hotspot; lost children to the bound.
    entropy_bits : float64, shape (nodes,)
        Entropy of the tokens taken next.
    key : uint64, shape (nodes,)
        Hash of the token path: the same in every build and process.
    run_ids, tickets, versions : tuple, length completed runs
        The members.
    member_node, member_outcome : shape (completed runs,)
        The node each member's path ends at (its last kept ancestor if that was dropped, see
        ``member_kept``), and its outcome.
    member_kept : bool, shape (completed runs,)
        Whether the member's own node was kept.
    member_stopped : bool, shape (completed runs,)
        Whether the member took no token from there: its path ends there, or was cut (``…``) right after.
    live_run_ids : tuple of str, length live runs
        The runs that are still going.
    live_node : int64, shape (live runs,)
        Where each of them stands.
    tested, impossible : int
        Children compared with their siblings; of these, how many had siblings under 25 %.
    narrowed_from : int
        Completed and live runs that were asked the cohort's expression; 0 if it has none.
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
    golden: Flags
    entropy_bits: Floats
    hotspot: Flags
    cut: Flags
    key: NDArray[np.uint64]
    run_ids: tuple[str, ...]
    tickets: tuple[str | None, ...]
    versions: tuple[str | None, ...]
    member_node: Nodes
    member_outcome: NDArray[np.uint8]
    member_kept: Flags
    member_stopped: Flags
    live_run_ids: tuple[str, ...]
    live_node: Ints
    totals: Totals
    tested: int
    impossible: int
    narrowed_from: int = 0

    def __len__(self) -> int:
        return self.parent.size

    @property
    def base_rate(self) -> float | None:
        """Success rate of the cohort; None without a completed run."""
        return proportion(self.totals.successes, self.totals.completed)

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
        import pandas as pd  # Half a second and 40 MB, which nothing else that reads maps needs.

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
    kept, key = bound(tree, support, max_nodes)
    cut = np.zeros(support.size, bool)
    cut[tree.parent[~kept]] = True
    order = in_map_order(tree, support, kept)
    place = np.full(support.size, -1, np.int32)
    place[order] = np.arange(order.size)
    comparison = compare_siblings(tree, support)
    outcomes = tree.through[:, :, order].sum(axis=0, dtype=np.int32)
    successes = outcomes[Outcome.SUCCESS]
    low, high = wilson(successes, support[order])
    depth = tree.depth[order]
    parent = np.where(tree.parent[order] >= 0, place[tree.parent[order]], np.int32(-1))
    completed = paths.outcome < Outcome.UNKNOWN
    size = sizes(parent, by_depth(depth))
    live_node = standing(tree, parent, tree.token[order])
    return BehaviourMap(
        cohort=cohort,
        now_ns=now_ns,
        tokens=tree.tokens,
        parent=parent,
        token=tree.token[order],
        depth=depth,
        size=size,
        support=support[order],
        successes=successes,
        abandoned=outcomes[Outcome.ABANDONED],
        ended=tree.ended[order],
        went_on=comparison.went_on[order],
        live=count_below(live_node, size),
        low=low,
        high=high,
        sibling_support=comparison.sibling_support[order],
        sibling_successes=comparison.sibling_successes[order],
        p=comparison.p[order],
        q=comparison.q[order],
        fork=comparison.fork[order],
        golden=comparison.golden[order],
        entropy_bits=comparison.entropy_bits[order],
        hotspot=comparison.hotspot[order],
        cut=cut[order],
        key=key[order],
        run_ids=_chosen(paths.run_ids, completed),
        tickets=_chosen(paths.tickets, completed),
        versions=_chosen(paths.versions, completed),
        member_node=place[kept_ancestor(tree.parent, kept, tree.end_node)],
        member_outcome=paths.outcome[completed],
        member_kept=kept[tree.end_node],
        member_stopped=_stopped(tree, kept),
        live_run_ids=_chosen(paths.run_ids, ~completed),
        live_node=live_node,
        totals=_totals(paths, tree, support, bounded=bool(not kept.all())),
        tested=comparison.tested,
        impossible=comparison.impossible,
        narrowed_from=paths.narrowed_from,
    )


def _stopped(tree: Tree, kept: Flags) -> Flags:
    end = tree.end_node
    stopped: Flags = kept[end] | ((tree.token[end] == tree.mark) & kept[tree.parent[end]])
    return stopped


def _chosen(values: tuple[Any, ...], flags: Flags) -> tuple[Any, ...]:
    chosen = np.flatnonzero(flags)
    if chosen.size and chosen[-1] == chosen.size - 1:
        return values[: chosen.size]
    return tuple(values[index] for index in chosen.tolist())


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
        bounds_met=("runs",) * paths.bounded + ("live",) * paths.live_bounded + ("nodes",) * bounded,
    )
