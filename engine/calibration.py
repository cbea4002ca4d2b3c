"""Calibration: what a map's predictions have been worth, by two-fold cross-validation.

The cohort is parted in two by a hash. What one half's runs came to predicts the other half's,
each run after its first 1, 2, 3, … steps as if it stood there live. One tree serves both
directions, since its nodes count their runs by half. The back-off estimate (:mod:`engine.backoff`) is
scored beside the map's rates, its weight chosen inside the half that predicts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.backoff import best_weight, shrunk
from engine.growing import HALVES, Tree, grow
from engine.history import MIN_HISTORY
from engine.paths import BUCKET_STARTS, Paths
from engine.runs import Outcome
from engine.statistics import brier_score, concordant, wilson

STEPS = (1, 2, 3, 5, 8, 13, 21, 34)
"""Raw steps after which a run is predicted."""
BINS = 10
"""Equal bins of the reliability table."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class DepthSkill(NamedTuple):
    """Scores of the predictions made after so many steps.

    ``skill`` is 1 - brier / baseline_brier; None where nothing was predicted or the baseline is 0.
    """

    steps: int
    predicted: int
    brier: float | None
    baseline_brier: float | None
    skill: float | None


class Reliability(NamedTuple):
    """One bin: predictions in [low, high), the last one closed, and what came of them."""

    low: float
    high: float
    predicted_mean: float | None
    observed: float | None
    support: int
    wilson_low: float
    wilson_high: float


class Worth(NamedTuple):
    """Scores of another way of predicting the same; ``told_apart`` as of :class:`Calibration`."""

    brier: float | None
    skill: float | None
    told_apart: float | None


UNTOLD = Worth(None, None, None)


class Calibration(NamedTuple):
    """Scores of all predictions together, after each number of steps, and by bin.

    Attributes
    ----------
    told_apart : float or None
        Of a run that succeeded and one that did not, both predicted from the same half after the same number
        of steps, how often the first had the better odds; equal odds count half. None without such a pair.
    backoff : Worth
        What the back-off estimate would have been worth.
    """

    predicted: int
    brier: float | None
    baseline_brier: float | None
    skill: float | None
    depths: tuple[DepthSkill, ...]
    reliability: tuple[Reliability, ...]
    told_apart: float | None = None
    backoff: Worth = UNTOLD


class _Predictions(NamedTuple):
    """Predicted rate = won / support, and by back-off; what was observed; who predicts, and its base rate."""

    won: Ints
    support: Ints
    estimate: Floats
    observed: Ints
    half: Ints
    base: Floats


def calibrate(paths: Paths) -> Calibration:
    """Score a cohort's predictions of its own runs.

    Parameters
    ----------
    paths : Paths
        The runs; live ones are left out.

    References
    ----------
    G. W. Brier (1950), Verification of forecasts expressed in terms of probability.
    """
    made = _predict(paths)
    together = _Predictions(*(np.concatenate(column) for column in zip(*made, strict=True)))
    return Calibration(
        *_scores(together),
        depths=tuple(DepthSkill(steps, *_scores(some)) for steps, some in zip(STEPS, made, strict=True)),
        reliability=_reliability(together),
        told_apart=_told_apart([(each.won / each.support, each) for each in made]),
        backoff=_worth(together, made),
    )


def sentence(calibration: Calibration) -> str:
    """What the predictions were worth, in words."""
    if not calibration.predicted:
        return "Nothing could be predicted yet: both halves of the cohort need completed runs."
    if calibration.skill is None:
        return (
            f"{calibration.predicted:,} predictions, and the base rate alone was right every time: there was "
            "nothing to be better at."
        )
    scores = f"Brier score {calibration.brier:.3f} against {calibration.baseline_brier:.3f}"
    if calibration.skill <= 0:
        return (
            f"{calibration.predicted:,} predictions, {scores} for the base rate alone: no better than "
            f"assuming the average (skill {_minus(calibration.skill)})."
        )
    return (
        f"{calibration.predicted:,} predictions, {scores} for the base rate alone: the map's are "
        f"{calibration.skill:.1%} better than assuming the average."
    )


def onset(calibration: Calibration) -> str:
    """From how many steps on the predictions are better than the average, in words.

    Depths with fewer than 10 predictions do not count; "" where none counts.
    """
    known = [each for each in calibration.depths if each.skill is not None and each.predicted >= MIN_HISTORY]
    flat = [place for place, each in enumerate(known) if (each.skill or 0.0) <= 0]
    if not known:
        return ""
    if len(flat) == len(known):
        return "After no number of steps are they better."
    first = flat[-1] + 1 if flat else 0
    if first == len(known):
        return f"After {known[-1].steps} steps, the most that can be told, they are no better."
    since = f"From {known[first].steps} steps on" if known[first].steps > 1 else "From the first step on"
    return f"{since} they are better; before that, no better." if first else f"{since} they are better."


def backoff_sentence(calibration: Calibration) -> str:
    """What the estimate by which runs in flight are ordered was worth, in words; "" where nothing tells."""
    theirs, ours = calibration.told_apart, calibration.backoff.told_apart
    if theirs is None or ours is None:
        return ""
    return (
        "Of a run that succeeded and one that did not, each after as many steps, the map's rate gave the "
        f"first the better odds in {theirs:.0%} of pairs, the back-off estimate in {ours:.0%}; chance does "
        "in 50%. Runs in flight are listed in the order of the estimate; verdicts and fuses go by the map's "
        "rate."
    )


def is_off(bin: Reliability) -> bool:
    """Whether the interval of what happened does not hold what was predicted; not of under 10 predictions."""
    within = bin.wilson_low <= (bin.predicted_mean or 0.0) <= bin.wilson_high
    return bin.support >= MIN_HISTORY and not within


def _minus(skill: float) -> str:
    return f"{skill:.1%}".replace("-", "−")


def agreement(calibration: Calibration) -> str:
    """Whether what was predicted happened about as often as predicted, in words."""
    known = [each for each in calibration.reliability if each.support >= MIN_HISTORY]
    wrong = [each for each in known if is_off(each)]
    if not known:
        return f"No bin holds {MIN_HISTORY} predictions: too few to say."
    if not wrong:
        return f"Yes, as far as these runs tell: in {len(known)} of {len(known)} bins the interval holds it."
    return (
        f"Not literally: in {len(wrong)} of the {len(known)} bins with at least {MIN_HISTORY} predictions, "
        "the interval of what happened does not hold what was predicted."
    )


def _predict(paths: Paths) -> list[_Predictions]:
    """The predictions made after each number of steps."""
    tree = grow(paths)
    history = _history(tree)
    runs = np.flatnonzero(paths.outcome < Outcome.UNKNOWN)
    other = 1 - paths.half[runs].astype(np.int64)
    observed = (paths.outcome[runs] == Outcome.SUCCESS).astype(np.int64)
    all_support, all_won = history.support[other, 0], history.won[other, 0]
    estimates = _estimates(tree, history)
    made = []
    for run, depth, bucket in _open_tokens(paths, runs):
        known = all_support[run] > 0
        run, depth, bucket = run[known], depth[known], bucket[known]
        node = _ancestor(tree, tree.end_node[run], depth)
        support, won = _pool(history, node, bucket, other[run])
        weight, above = estimates.weight[other[run]], estimates.rate[other[run], tree.parent[node]]
        estimate = (won + weight * above) / (support + weight)
        few = support < MIN_HISTORY
        support, won = np.where(few, all_support[run], support), np.where(few, all_won[run], won)
        base = all_won[run] / all_support[run]
        made.append(_Predictions(won, support, estimate, observed[run], other[run], base))
    return made


class _Estimates(NamedTuple):
    """Each half's back-off: its weight, and the estimate at every node."""

    weight: Floats
    rate: Floats


def _estimates(tree: Tree, history: _History) -> _Estimates:
    made = []
    for half in range(HALVES):
        counts = tree.levels, tree.parent, history.support[half, :-1], history.won[half, :-1]
        weight = best_weight(*counts)
        made.append((weight, shrunk(*counts, weight)))
    weights, rates = zip(*made, strict=True)
    return _Estimates(np.array(weights), np.stack(rates))


class _OpenTokens(NamedTuple):
    """The last token of the first so many steps of every run that took as many."""

    run: Ints
    depth: Ints
    bucket: Ints


def _open_tokens(paths: Paths, runs: Ints) -> list[_OpenTokens]:
    """The open token after each number of steps; ``run`` counts within ``runs``."""
    taken = np.cumsum(paths.count, dtype=np.int64)
    before = np.concatenate([[0], taken])[paths.offset]
    start, total = before[runs], np.diff(before)[runs]
    found = []
    for steps in STEPS:
        run = np.flatnonzero(total >= steps)
        wanted = start[run] + steps
        fold = np.searchsorted(taken, wanted)
        count = wanted - taken[fold] + paths.count[fold]
        bucket = np.searchsorted(BUCKET_STARTS, count, side="right") - 1
        found.append(_OpenTokens(run, fold - paths.offset[runs[run]] + 1, bucket))
    return found


def _ancestor(tree: Tree, node: Ints, depth: Ints) -> Ints:
    """The ancestor at a depth: in pre-order, the last node of that depth at or before the node."""
    found = np.zeros(node.size, np.int64)
    for level in range(1, int(depth.max(initial=0)) + 1):
        here = np.flatnonzero(depth == level)
        nodes = tree.levels[level]
        found[here] = nodes[np.searchsorted(nodes, node[here], side="right") - 1]
    return found


class _History(NamedTuple):
    """Each half's runs through every node, and which siblings a token is pooled with.

    One more node, without runs, stands behind the last sibling of a signature and before the first.
    """

    support: Ints
    won: Ints
    bucket: Ints
    earlier: Ints
    later: Ints


def _history(tree: Tree) -> _History:
    nodes = tree.parent.size
    names = [token.signature for token in tree.tokens]
    signature = np.append(np.unique(names, return_inverse=True)[1], -1)[tree.token]
    bucket = np.array([*(token.bucket for token in tree.tokens), 0])[tree.token]
    following = np.arange(nodes) + tree.size
    inside = np.minimum(following, nodes - 1)
    alike = (following < nodes) & (tree.parent[inside] == tree.parent) & (signature[inside] == signature)
    earlier, later = np.full((2, nodes + 1), nodes)
    later[:-1][alike] = following[alike]
    earlier[following[alike]] = np.flatnonzero(alike)
    counts = np.pad(tree.through.astype(np.int64), ((0, 0), (0, 0), (0, 1)))
    return _History(counts.sum(axis=1), counts[:, Outcome.SUCCESS], np.append(bucket, -1), earlier, later)


def _pool(history: _History, node: Ints, bucket: Ints, half: Ints) -> tuple[Ints, Ints]:
    """Support and successes, in a half, of the siblings that an open token may become."""
    for _ in BUCKET_STARTS[1:]:
        earlier = history.earlier[node]
        node = np.where(history.bucket[earlier] >= bucket, earlier, node)
    support, won = np.zeros((2, node.size), np.int64)
    for _ in BUCKET_STARTS:
        support += history.support[half, node]
        won += history.won[half, node]
        node = history.later[node]
    return support, won


def _scores(made: _Predictions) -> tuple[int, float | None, float | None, float | None]:
    """Number predicted, Brier score, baseline Brier score, skill."""
    if not made.observed.size:
        return 0, None, None, None
    brier = brier_score(made.won / made.support, made.observed)
    baseline = brier_score(made.base, made.observed)
    return made.observed.size, brier, baseline, 1 - brier / baseline if baseline else None


def _worth(together: _Predictions, made: list[_Predictions]) -> Worth:
    """Scores of the back-off estimate."""
    if not together.observed.size:
        return UNTOLD
    brier = brier_score(together.estimate, together.observed)
    baseline = brier_score(together.base, together.observed)
    skill = 1 - brier / baseline if baseline else None
    return Worth(brier, skill, _told_apart([(each.estimate, each) for each in made]))


def _told_apart(told: list[tuple[Floats, _Predictions]]) -> float | None:
    """Share of the pairs that odds told apart: pairs of one half, so that no half's average does."""
    found = [
        concordant(odds[made.half == half], made.observed[made.half == half])
        for odds, made in told
        for half in range(HALVES)
    ]
    pairs = sum(each for _, each in found)
    return sum(right for right, _ in found) / pairs if pairs else None


def _reliability(made: _Predictions) -> tuple[Reliability, ...]:
    inside = np.minimum(made.won * BINS // made.support, BINS - 1)
    support = np.bincount(inside, minlength=BINS)
    observed = np.bincount(inside, made.observed, BINS)
    predicted = np.bincount(inside, made.won / made.support, BINS)
    low, high = wilson(observed, support)
    some = np.maximum(support, 1)
    rows = zip(predicted / some, observed / some, support, low, high, strict=True)
    return tuple(
        Reliability(
            low=side / BINS,
            high=(side + 1) / BINS,
            predicted_mean=float(mean) if runs else None,
            observed=float(seen) if runs else None,
            support=int(runs),
            wilson_low=float(least),
            wilson_high=float(most),
        )
        for side, (mean, seen, runs, least, most) in enumerate(rows)
    )
