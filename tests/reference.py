"""A slow, plain reading of the rules: the judge in the property tests.

Paths are tuples of (signature, bucket) pairs, a tree is a dictionary from path to counts,
tests are integers and fractions. Nothing here uses the engine's arrays, its folding or its
statistics; a run that is left out is left out by growing the tree again without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from itertools import groupby, pairwise
from math import comb, log2, sqrt
from typing import NamedTuple

Token = tuple[str, int]
Path = tuple[Token, ...]

MARK: Token = ("…", 0)
DEPTHS = (1, 2, 3, 5, 8, 13, 21, 34)


class Sample(NamedTuple):
    """A run as a test writes it down; ``outcome`` None means it is still live."""

    run_id: str
    signatures: tuple[str, ...]
    outcome: str | None
    ticket: str | None = None
    version: str | None = None

    @property
    def success(self) -> bool:
        return self.outcome == "success"


# --- paths ---------------------------------------------------------------------------------


def bucket(count: int) -> int:
    if count <= 2:
        return count - 1
    if count <= 5:
        return 2
    return 3 if count <= 10 else 4


def path(signatures: Sequence[str]) -> Path:
    tokens = [(name, bucket(len(list(same)))) for name, same in groupby(signatures[:192])]
    if len(signatures) > 192 or len(tokens) > 64:
        return (*tokens[:64], MARK)
    return tuple(tokens)


# --- statistics ----------------------------------------------------------------------------


def wilson(successes: int, support: int) -> tuple[float, float]:
    if support == 0:
        return 0.0, 1.0
    z2 = 1.96**2
    centre = (successes + z2 / 2) / (support + z2)
    half = 1.96 / (support + z2) * sqrt(successes * (support - successes) / support + z2 / 4)
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == support else centre + half
    return low, high


def fisher(a: int, b: int, c: int, d: int) -> Fraction:
    """Two-sided p of [[a, b], [c, d]] in integers; ties within 1e-7."""
    row, column, total = a + b, a + c, a + b + c + d

    def ways(k: int) -> int:
        return comb(row, k) * comb(total - row, column - k)

    tables = [ways(k) for k in range(max(0, row + column - total), min(row, column) + 1)]
    tail = sum(way for way in tables if way * 10**7 <= ways(a) * (10**7 + 1))
    return Fraction(tail, comb(total, column))


def entropy_bits(counts: Iterable[int]) -> float:
    some = [count for count in counts if count]
    return -sum(count / sum(some) * log2(count / sum(some)) for count in some)


def q_values(p: dict[Path, Fraction]) -> dict[Path, Fraction]:
    """Benjamini-Hochberg: the smallest p·m/rank over everything ranked at or after."""
    ranked = sorted(p, key=lambda node: p[node])
    stepped = [p[node] * len(ranked) / rank for rank, node in enumerate(ranked, 1)]
    return {node: min([Fraction(1), *stepped[rank:]]) for rank, node in enumerate(ranked)}


# --- the map -------------------------------------------------------------------------------


@dataclass
class Node:
    support: int = 0
    successes: int = 0
    abandoned: int = 0
    ended: int = 0
    cut: bool = False

    @property
    def rate(self) -> Fraction:
        return Fraction(self.successes, self.support)


@dataclass
class Facts:
    """What is known of a node beside its counts."""

    sibling_support: int = 0
    sibling_successes: int = 0
    p: Fraction | None = None
    q: Fraction | None = None
    fork: bool = False
    golden: bool = False
    visits: int = 0
    entropy_bits: float = 0.0
    hotspot: bool = False


Tree = dict[Path, Node]


def grow(samples: Iterable[Sample]) -> Tree:
    """Count every completed run at the root and at each prefix of its path."""
    tree: Tree = {(): Node()}
    for sample in samples:
        if sample.outcome is None:
            continue
        tokens = path(sample.signatures)
        for depth in range(len(tokens) + 1):
            node = tree.setdefault(tokens[:depth], Node())
            node.support += 1
            node.successes += sample.success
            node.abandoned += sample.outcome == "abandoned"
        tree[tokens].ended += 1
    return tree


def children(tree: Tree, parent: Path) -> dict[Token, Node]:
    """The node's children, without the mark."""
    depth = len(parent) + 1
    return {
        place[-1]: node
        for place, node in tree.items()
        if len(place) == depth and place[:-1] == parent and place[-1] != MARK
    }


def facts(tree: Tree) -> dict[Path, Facts]:
    """Siblings, tests, forks and hotspots of every node of a tree that has lost nothing."""
    known = {place: Facts() for place in tree}
    for parent in tree:
        below = children(tree, parent)
        here = known[parent]
        here.visits = sum(child.support for child in below.values())
        here.entropy_bits = entropy_bits(child.support for child in below.values())
        here.hotspot = here.visits >= 3 and here.entropy_bits >= 1 - 1e-9
        for token in below:
            _compare(known[(*parent, token)], below[token], [below[t] for t in below if t != token])
    q = q_values({place: fact.p for place, fact in known.items() if fact.p is not None})
    for place, value in q.items():
        known[place].q = value
    return known


def _compare(fact: Facts, child: Node, siblings: list[Node]) -> None:
    fact.sibling_support = sum(sibling.support for sibling in siblings)
    fact.sibling_successes = sum(sibling.successes for sibling in siblings)
    if child.support < 3 or fact.sibling_support < 3:
        return
    rate = Fraction(fact.sibling_successes, fact.sibling_support)
    fact.p = fisher(
        child.successes,
        child.support - child.successes,
        fact.sibling_successes,
        fact.sibling_support - fact.sibling_successes,
    )
    fact.fork = rate - child.rate >= Fraction(1, 4) and fact.p < Fraction(1, 20)
    fact.golden = child.rate - rate >= Fraction(1, 4) and fact.p < Fraction(1, 20)


def impossible(known: dict[Path, Facts]) -> int:
    """Tested children whose siblings' rate is under 25 %."""
    return sum(
        Fraction(fact.sibling_successes, fact.sibling_support) < Fraction(1, 4)
        for fact in known.values()
        if fact.p is not None
    )


def bound(tree: Tree, max_nodes: int, key: Callable[[Path], int]) -> Tree:
    """Keep the nodes with the largest support, ties by depth, then key; mark who lost children."""
    ranked = sorted(tree, key=lambda place: (-tree[place].support, len(place), key(place)))
    kept = {place: tree[place] for place in ranked[:max_nodes]}
    for place in ranked[max_nodes:]:
        if place[:-1] in kept:
            kept[place[:-1]].cut = True
    return kept


def runs_lost(node: Node, fact: Facts) -> Fraction:
    return node.support * (Fraction(fact.sibling_successes, fact.sibling_support) - node.rate)


# --- the verdict ---------------------------------------------------------------------------


class Standing(NamedTuple):
    why: str
    depth: int
    support: int
    successes: int


@dataclass
class Verdict:
    verdict: str
    support: int
    successes: int
    base_rate: Fraction | None
    depths: list[tuple[int, int]]
    fell_most: int | None
    next_steps: dict[str, tuple[int, int]] = field(default_factory=dict)
    best_next_step: str | None = None


def pool(tree: Tree, parent: Path, wanted: Token, is_open: bool) -> Standing:
    """The counts of a wanted child; open, of every sibling token that may become it.

    A child that is there, but that nobody else took, is known to be absent.
    """
    buckets = range(wanted[1], 5) if is_open else [wanted[1]]
    places = [(*parent, (wanted[0], each)) for each in buckets]
    found = [tree[place] for place in places if place in tree]
    if tree[parent].cut and len(found) < len(places):
        return Standing("cut", len(parent), 0, 0)
    support = sum(node.support for node in found)
    return Standing(
        "reached" if support else "absent", len(parent), support, sum(node.successes for node in found)
    )


def stand(tree: Tree, tokens: Path, is_open: bool) -> Standing:
    """Walk down; stop where the tree does not go on."""
    here = Standing("reached", 0, tree[()].support, tree[()].successes)
    for depth, token in enumerate(tokens):
        here = pool(tree, tokens[:depth], token, is_open and depth == len(tokens) - 1)
        if here.why != "reached":
            return here
    return here


def without(tree: Tree, samples: Iterable[Sample], run_id: str) -> Tree:
    """The tree grown again without a run: the same nodes, though one may have lost its only run."""
    again = grow(sample for sample in samples if sample.run_id != run_id)
    kept = {place: again.get(place, Node()) for place in tree}
    for place, node in kept.items():
        node.cut = tree[place].cut
    return kept


def judge(
    tree: Tree, samples: Sequence[Sample], sample: Sample, live: bool, named: str | None = None
) -> Verdict:
    """The verdict for one run by a tree that was grown from (and perhaps cut after) samples.

    A step that is named next is open, whatever the run; who is left out, the run alone decides.
    """
    if not live and sample.outcome is not None:
        held = [s for s in samples if s.run_id == sample.run_id and s.outcome == sample.outcome]
        if any(path(s.signatures) == path(sample.signatures) for s in held):
            tree = without(tree, samples, sample.run_id)
    steps_taken = sample.signatures if named is None else (*sample.signatures, named)
    last_open = live or named is not None
    tokens = path(steps_taken)
    marked = MARK in tokens
    read = tokens[:-1] if marked else tokens
    is_open = last_open and not marked
    here = stand(tree, read, is_open)
    root = tree[()]
    base = root.rate if root.support else None
    depths = [_odds(stand(tree, read[:d], is_open and d == len(read))) for d in range(1, len(read) + 1)]
    stopped = marked or (here.why != "reached" and not last_open)
    steps = {} if stopped else _next(tree, steps_taken, last_open)
    return Verdict(
        _rule(tree, read, here, base, marked),
        here.support,
        here.successes,
        base,
        depths + [(0, 0)] * marked,
        _fell_most(depths),
        steps,
        _best(steps),
    )


def _odds(here: Standing) -> tuple[int, int]:
    return here.support, here.successes


def _rule(tree: Tree, read: Path, here: Standing, base: Fraction | None, marked: bool) -> str:
    if base is None or marked or here.why == "cut":
        return "insufficient_history"
    if here.why == "absent":
        return "novel" if tree[read[: here.depth]].support >= 10 else "insufficient_history"
    if here.support < 10:
        return "insufficient_history"
    high = wilson(here.successes, here.support)[1]
    return "likely_failure" if high < base and high < 0.5 else "on_track"


def _fell_most(depths: list[tuple[int, int]]) -> int | None:
    falls = {
        depth: Fraction(before[1], before[0]) - Fraction(after[1], after[0])
        for depth, (before, after) in enumerate(pairwise(depths), 2)
        if before[0] >= 10 and after[0] >= 10
    }
    worst = max(falls.values(), default=Fraction(0))
    return min(depth for depth, fall in falls.items() if fall == worst) if worst > 0 else None


def _next(tree: Tree, signatures: tuple[str, ...], last_open: bool) -> dict[str, tuple[int, int]]:
    """Last token open: try every signature by naming it. Closed: the children of its node."""
    every = sorted({token[0] for place in tree for token in place} - {MARK[0]})
    steps = {}
    for name in every:
        if last_open:
            tokens = path((*signatures, name))
            here = Standing("mark", 0, 0, 0) if MARK in tokens else stand(tree, tokens, True)
        else:
            here = pool(tree, path(signatures), (name, 0), True)
        if here.why == "reached":
            steps[name] = (here.support, here.successes)
    return steps


def _best(steps: dict[str, tuple[int, int]]) -> str | None:
    enough = {name: wilson(won, support)[0] for name, (support, won) in steps.items() if support >= 30}
    return min(enough, key=lambda name: (-enough[name], -steps[name][0], name), default=None)


# --- calibration ---------------------------------------------------------------------------


class Prediction(NamedTuple):
    steps: int
    predicted: Fraction
    baseline: Fraction
    observed: int


class Scores(NamedTuple):
    predicted: int
    brier: Fraction | None
    baseline_brier: Fraction | None
    skill: Fraction | None


def half(run_id: str) -> int:
    return blake2b(run_id.encode()).digest()[0] % 2


def predictions(samples: Iterable[Sample]) -> list[Prediction]:
    """Every prediction of every completed run, each half's tree grown on its own."""
    completed = [sample for sample in samples if sample.outcome is not None]
    trees = [grow(s for s in completed if half(s.run_id) == side) for side in (0, 1)]
    made = []
    for sample in completed:
        tree = trees[1 - half(sample.run_id)]
        if not tree[()].support:
            continue
        for steps in DEPTHS:
            if len(sample.signatures) >= steps:
                here = stand(tree, path(sample.signatures[:steps]), True)
                base = tree[()].rate
                rate = Fraction(here.successes, here.support) if here.support >= 10 else base
                made.append(Prediction(steps, rate, base, int(sample.success)))
    return made


def scores(made: Sequence[Prediction]) -> Scores:
    if not made:
        return Scores(0, None, None, None)
    brier = sum(((p.predicted - p.observed) ** 2 for p in made), Fraction(0)) / len(made)
    baseline = sum(((p.baseline - p.observed) ** 2 for p in made), Fraction(0)) / len(made)
    return Scores(len(made), brier, baseline, 1 - brier / baseline if baseline else None)


def reliability(made: Sequence[Prediction]) -> list[tuple[int, Fraction | None, int]]:
    """(support, mean predicted, successes) of each of the ten bins; 1 belongs to the last."""
    table = []
    for side in range(10):
        inside = [p for p in made if min(int(p.predicted * 10), 9) == side]
        mean = sum((p.predicted for p in inside), Fraction(0)) / len(inside) if inside else None
        table.append((len(inside), mean, sum(p.observed for p in inside)))
    return table
