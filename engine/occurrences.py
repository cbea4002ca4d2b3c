"""Steps that hurt, or help, wherever they stand: runs that have one against those that have not.

The tree compares ways that part at one point; here the order is left out. A failed call of a step
is looked for likewise. What is found goes with how runs end: that it is the reason is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from engine.forks import compared
from engine.growing import Flags, Floats, Ints
from engine.paths import BUCKET_STARTS, Paths, Token, bucket
from engine.runs import Outcome, Run, View
from engine.siblings import ALPHA, FORK_GAP_POINTS, MIN_SUPPORT
from engine.statistics import benjamini_hochberg, fisher_exact, wilson_one
from engine.strata import Columns, Evidence, Strata, columns, strata

LISTED: Final = 100
"""Steps that are told of each kind, harmful and golden: those with most runs lost or gained."""

_BUCKETS = len(BUCKET_STARTS)


class Occurrence(NamedTuple):
    """A step whose runs end significantly worse, or better, than those without it.

    Attributes
    ----------
    step : Token
        The step; of failed calls, whichever the count, in the first bucket.
    failed : bool
        Whether it is failed calls of the step that are counted, and not the step itself.
    support, successes : int
        Completed runs that have it, and how many of them succeeded.
    rate, low, high : float
        Their success rate and its Wilson score interval.
    other_support, other_successes, other_rate : int, int, float
        The same of the completed runs that have it not.
    p, q : float
        Fisher's exact test, and its Benjamini-Hochberg q-value over all steps and failed calls tested.
    runs_lost : float
        Runs that would have succeeded besides, at the others' rate; negative of a golden step.
    strata : Strata
        The same comparison within tickets, within versions, and within both.
    """

    step: Token
    failed: bool
    support: int
    successes: int
    rate: float
    low: float
    high: float
    other_support: int
    other_successes: int
    other_rate: float
    p: float
    q: float
    runs_lost: float
    strata: Strata

    @property
    def evidence(self) -> Evidence:
        """All that speaks for it."""
        return Evidence(self.p, self.q, self.strata, worse=self.runs_lost > 0)

    @property
    def runs_gained(self) -> float:
        """Runs that succeeded beyond what the others' rate makes of them."""
        return -self.runs_lost


class Family(NamedTuple):
    """What is found among steps, or among failed calls; all of them are tested together.

    Attributes
    ----------
    tested : int
        Steps that enough runs have, and enough have not.
    harmful, golden : tuple of Occurrence
        Those that end worse, by runs lost, and better, by runs gained; :data:`LISTED` at most.
    harmful_found, golden_found : int
        How many there are.
    """

    tested: int
    harmful: tuple[Occurrence, ...]
    golden: tuple[Occurrence, ...]
    harmful_found: int
    golden_found: int


class Occurrences(NamedTuple):
    """Steps, and failed calls, of a cohort's completed runs."""

    completed: int
    steps: Family
    failed: Family


class _Incidence(NamedTuple):
    """Which run has which step, or failed call of one: pairs of numbers, each once."""

    steps: tuple[Token, ...]
    failed: Flags
    run: Ints
    step: Ints


class _Tests(NamedTuple):
    """The steps tested, with p- and q-values, and the runs lost or gained; 0 where that is not clear."""

    step: Ints
    p: Floats
    q: Floats
    lost: Floats


def occurrences(paths: Paths, failed: Mapping[str, Iterable[str]]) -> Occurrences:
    """Compare, for every step, the completed runs that have it with those that have not.

    Parameters
    ----------
    paths : Paths
        The runs; live ones are left out.
    failed : mapping
        By run id the signatures that a call failed of: see :func:`failures`.
    """
    completed = np.flatnonzero(paths.outcome < Outcome.UNKNOWN)
    won = paths.outcome[completed] == Outcome.SUCCESS
    run_ids = [paths.run_ids[run] for run in completed.tolist()]
    of = columns(*([each[run] for run in completed.tolist()] for each in (paths.tickets, paths.versions)))
    has = _joined(_taken(paths, completed), _failed(run_ids, failed))
    tests = _tests(has, won)
    steps, calls = (_family(has, tests, won, of, is_failed) for is_failed in (False, True))
    return Occurrences(completed.size, steps, calls)


def failures(runs: Iterable[Run], view: View = "all") -> dict[str, frozenset[str]]:
    """By run id the signatures that a call failed of, of the runs that have such; all their steps count."""
    return {run.run_id: found for run in runs if (found := frozenset(_failed_in(run, view)))}


def _failed_in(run: Run, view: View) -> Iterator[str]:
    for step in run.steps:
        if step.error and not (view == "tools" and step.signature.startswith("llm:")):
            yield step.signature


def _taken(paths: Paths, completed: Ints) -> _Incidence:
    """The tokens on the paths of completed runs; the mark is none."""
    place = np.full(paths.outcome.size, -1, np.int64)
    place[completed] = np.arange(completed.size)
    run = np.repeat(place, np.diff(paths.offset))
    counted = (run >= 0) & (paths.code >= 0)
    of_count = np.array([bucket(max(1, count)) for count in range(256)], np.int64)
    token = (paths.code.astype(np.int64) * _BUCKETS + of_count[paths.count])[counted]
    occurs = np.zeros(len(paths.signatures) * _BUCKETS, bool)
    occurs[token] = True
    number, tokens = np.cumsum(occurs) - 1, np.flatnonzero(occurs).tolist()
    steps = tuple(Token(paths.signatures[each // _BUCKETS], each % _BUCKETS) for each in tokens)
    return _once(steps, run[counted], number[token])


def _failed(run_ids: list[str], failed: Mapping[str, Iterable[str]]) -> _Incidence:
    pairs = [(run, text) for run, run_id in enumerate(run_ids) for text in failed.get(run_id, ())]
    texts = sorted({text for _, text in pairs})
    number = {text: place for place, text in enumerate(texts)}
    run = np.array([run for run, _ in pairs], np.int64)
    step = np.array([number[text] for _, text in pairs], np.int64)
    return _once(tuple(Token(text, 0) for text in texts), run, step)


def _once(steps: tuple[Token, ...], run: Ints, step: Ints) -> _Incidence:
    runs = int(run.max(initial=0)) + 1
    pairs = np.sort(step * runs + run)
    step, run = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], runs)
    return _Incidence(steps, np.zeros(len(steps), bool), run, step)


def _joined(taken: _Incidence, failed: _Incidence) -> _Incidence:
    """Steps and failed calls behind one another: they are tested together."""
    return _Incidence(
        taken.steps + failed.steps,
        np.repeat([False, True], [len(taken.steps), len(failed.steps)]),
        np.concatenate([taken.run, failed.run]),
        np.concatenate([taken.step, failed.step + len(taken.steps)]),
    )


def _tests(has: _Incidence, won: Flags) -> _Tests:
    """Test every step that enough runs have, and enough have not."""
    support = np.bincount(has.step, minlength=len(has.steps))
    successes = np.bincount(has.step[won[has.run]], minlength=len(has.steps))
    tested = np.flatnonzero((support >= MIN_SUPPORT) & (won.size - support >= MIN_SUPPORT))
    own, own_won = support[tested], successes[tested]
    others, others_won = won.size - own, int(won.sum()) - own_won
    p = fisher_exact(own_won, own - own_won, others_won, others - others_won)
    q = benjamini_hochberg(p) if tested.size else p
    gap = others_won * own - own_won * others
    clear = (p < ALPHA) & (100 * np.abs(gap) >= FORK_GAP_POINTS * own * others)
    return _Tests(tested, p, q, np.where(clear, gap / np.maximum(others, 1), 0.0))


def _family(has: _Incidence, tests: _Tests, won: Flags, of: Columns, failed: bool) -> Family:
    """What was found among steps, or among failed calls, the weightiest first."""
    order = np.lexsort((tests.p, -np.abs(tests.lost)))
    order = order[has.failed[tests.step[order]] == failed]
    sides = [order[tests.lost[order] > 0], order[tests.lost[order] < 0]]
    harmful, golden = (
        tuple(_occurrence(has, tests, each, won, of) for each in side[:LISTED].tolist()) for side in sides
    )
    return Family(order.size, harmful, golden, sides[0].size, sides[1].size)


def _occurrence(has: _Incidence, tests: _Tests, test: int, won: Flags, of: Columns) -> Occurrence:
    """A step that was found, with its counts and strata."""
    step, mine = int(tests.step[test]), np.zeros(won.size, bool)
    mine[has.run[has.step == step]] = True
    own, own_won = int(mine.sum()), int(won[mine].sum())
    others, others_won = won.size - own, int(won.sum()) - own_won
    low, high = wilson_one(own_won, own)
    return Occurrence(
        step=has.steps[step],
        failed=bool(has.failed[step]),
        support=own,
        successes=own_won,
        rate=own_won / own,
        low=low,
        high=high,
        other_support=others,
        other_successes=others_won,
        other_rate=others_won / others,
        p=float(tests.p[test]),
        q=float(tests.q[test]),
        runs_lost=own * others_won / others - own_won,
        strata=strata(of, np.arange(won.size), mine, won),
    )


def explain(found: Occurrence) -> str:
    """A step in one sentence: counts, then rate and interval, then the comparison."""
    once = "" if found.step.bucket else " once in a row"
    have = (
        f"with a failed call of {found.step.signature}" if found.failed else f"that took {found.step}{once}"
    )
    without = "without one" if found.failed else "that did not"
    return (
        f"{found.successes} of {found.support} runs {have}, wherever it stood, succeeded ({found.rate:.1%}, "
        f"95% interval {found.low * 100:.1f}–{found.high * 100:.1f}%), against {found.other_successes} of "
        f"{found.other_support} ({found.other_rate:.1%}) {without}; Fisher p {compared(found.p)}, "
        f"q {compared(found.q)}."
    )


def nothing(found: Family, noun: str) -> str:
    """Why there is no harmful or no golden one; "" where there are both.

    >>> nothing(Family(200, (), (), 0, 0), "step")
    'Of 200 steps tested none ends 25 points worse or better than the runs without it with p < 0.05.'
    >>> nothing(Family(0, (), (), 0, 0), "failed call")
    'No failed call could be tested: none is in 3 completed runs and missing from 3 others.'
    """
    if not found.tested:
        return (
            f"No {noun} could be tested: none is in {MIN_SUPPORT} completed runs and missing from "
            f"{MIN_SUPPORT} others."
        )
    missing = [*["worse"] * (not found.harmful_found), *["better"] * (not found.golden_found)]
    if not missing:
        return ""
    return (
        f"Of {found.tested:,} {noun}{'s' * (found.tested != 1)} tested none ends {FORK_GAP_POINTS} points "
        f"{' or '.join(missing)} than the runs without it with p < {ALPHA}."
    )
