"""Is the prediction any good? Every set of told runs, predicted from other runs of the same set.

``python -m benchmarks.prediction [--peers PYTHON]``

A run is predicted after 25, 50 and 75 % of its steps by the runs of the other four of five folds, in ten
seeded partitions. Where tickets have several runs, once more with all runs of a ticket in one fold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.scoring import Floats, Interval, Ints, Pairs, auc_interval, isotonic, mean_interval, pairs
from benchmarks.timing import print_table
from benchmarks.told_runs import TestSet, Told, test_sets
from engine.backoff import back_off, expect
from engine.history import MIN_HISTORY
from engine.live import so_far
from engine.maps import build
from engine.paths import Paths, fold
from engine.runs import Cohort, Outcome
from engine.statistics import wilson_one
from engine.walk import Index

FOLDS, PARTITIONS = 5, 10
POINTS = (0.25, 0.5, 0.75)
COHORT = Cohort("default", "bench")
BASE, NODE, BACKOFF = "average", "node rate", "back-off"
BOUND = "interval's end"
"""By which runs were ordered before: where the interval of the node ends; fewer than 10 runs come last."""
RULES, MODEL = "agentguard rules", "agentguard model"
OURS, THEIRS = (BASE, NODE, BACKOFF, BOUND), (RULES, MODEL)

Risks: TypeAlias = dict[str, list[list[float]]]
Key: TypeAlias = tuple[str, float]


class Scored(NamedTuple):
    """What a way of predicting was worth at one point of the run.

    Attributes
    ----------
    squares : shape (runs,)
        Each run's squared error, mean of the partitions.
    """

    pairs: Pairs
    squares: Floats


class Result(NamedTuple):
    """A set, and what every way of predicting it was worth at every point."""

    of: TestSet
    scores: dict[Key, Scored]


Gain: TypeAlias = Callable[[Sequence[Result], Key, Key], Interval]


def main() -> None:
    """Print the tables of all sets; the peer's columns only where its interpreter is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, help="interpreter that has benchmarks/peers.txt installed")
    python = parser.parse_args().peers
    plain, grouped = list[Result](), list[Result]()
    for each in test_sets():
        risks = watched(python, each.runs) if python else {}
        plain.append(Result(each, scores(each.runs, risks, by_ticket=False)))
        if len({run.ticket for run in each.runs}) < len(each.runs):
            grouped.append(Result(each, scores(each.runs, risks, by_ticket=True)))
    tables("each run in any fold", plain)
    tables("all runs of a ticket in one fold", grouped)
    if not python:
        print("\nagentguard-predict: not compared (no --peers).", file=sys.stderr)


def watched(python: Path, runs: Sequence[Told]) -> Risks:
    """The peer's risk after every step of every run."""
    script = Path(__file__).with_name("agentguard_risk.py")
    told = "\n".join(json.dumps(run.watched) for run in runs)
    command = [str(python), str(script)]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {RULES: [line["rules"] for line in lines], MODEL: [line["model"] for line in lines]}


def steps_known(run: Told, point: float) -> int:
    """Steps that make up a share of the run: at most that share, and at least one.

    >>> [steps_known(Told("t", True, ("llm:m",) * 7, []), point) for point in POINTS]
    [1, 3, 5]
    """
    return max(1, int(point * len(run.signatures)))


def partitions(runs: Sequence[Told], by_ticket: bool) -> Iterator[Ints]:
    """The fold of each run, again and again: folds are as even as can be in runs, or in tickets."""
    chance = np.random.default_rng(0)
    tickets = [run.ticket if by_ticket else str(number) for number, run in enumerate(runs)]
    names, ticket = np.unique(tickets, return_inverse=True)
    for _ in range(PARTITIONS):
        yield chance.permutation(np.arange(names.size) % FOLDS)[ticket]


def scores(runs: Sequence[Told], risks: Risks, by_ticket: bool) -> dict[Key, Scored]:
    """Every way of predicting, at every point."""
    won = ends(runs)
    parted = list(partitions(runs, by_ticket))
    made = [predictions(runs, risks, part) for part in parted]
    return {
        key: Scored(
            pairs([each[key] for each in made], won, parted),
            np.mean([(each[key] - won) ** 2 for each in made], axis=0),
        )
        for key in made[0]
    }


def ends(runs: Sequence[Told]) -> Floats:
    """1 for a run that succeeded, else 0."""
    return np.array([run.won for run in runs], np.float64)


def predictions(runs: Sequence[Told], risks: Risks, part: Ints) -> dict[Key, Floats]:
    """The success of each run as the other folds predict it."""
    watched = {(name, point): _safety(runs, each, point) for name, each in risks.items() for point in POINTS}
    names = [*OURS, *risks, *map(fitted, risks)]
    made = {(name, point): np.empty(len(runs)) for name in names for point in POINTS}
    for number in range(FOLDS):
        asked, known = np.flatnonzero(part == number), np.flatnonzero(part != number)
        others = [runs[each] for each in known.tolist()]
        for key, column in foretell(others, [runs[each] for each in asked.tolist()]).items():
            made[key][asked] = column
        for (name, point), odds in watched.items():
            made[name, point][asked] = odds[asked]
            made[fitted(name), point][asked] = isotonic(odds[known], ends(others), odds[asked])
    return made


def _safety(runs: Sequence[Told], risks: Sequence[Sequence[float]], point: float) -> Floats:
    """1 - risk of each run at a point."""
    known = [steps_known(run, point) for run in runs]
    return np.array([1 - risk[steps - 1] for risk, steps in zip(risks, known, strict=True)])


def fitted(name: str) -> str:
    """The way whose odds are replaced by what came of such odds in the other folds."""
    return f"{name}, fitted"


def foretell(known: Sequence[Told], asked: Sequence[Told]) -> dict[Key, list[float]]:
    """What a map of some runs says of others, in every way of ours."""
    behaviour = build(COHORT, paths(known), 0)
    index, backoff = Index(behaviour), back_off(behaviour)
    base = behaviour.totals.successes / behaviour.totals.completed
    made: dict[Key, list[float]] = {(name, point): [] for name in OURS for point in POINTS}
    for point in POINTS:
        for run in asked:
            live = so_far("", "", run.signatures[: steps_known(run, point)], 0)
            here = index.stand(live.closed, None if live.cut else live.last)
            enough = here.support >= MIN_HISTORY
            _, high = wilson_one(here.successes, here.support)
            made[BASE, point].append(base)
            made[NODE, point].append(here.successes / here.support if enough else base)
            made[BACKOFF, point].append(expect(backoff, behaviour, here))
            made[BOUND, point].append(high if enough else 1 + high)
    return made


def paths(runs: Sequence[Told]) -> Paths:
    """The runs' paths, as a map is built from."""
    folds = [fold(run.signatures) for run in runs]
    names = sorted({name for run in runs for name in run.signatures})
    number = {name: place for place, name in enumerate(names)}
    outcome = [Outcome.SUCCESS if run.won else Outcome.FAILURE for run in runs]
    return Paths(
        signatures=tuple(names),
        code=np.array([number.get(each.signature, -1) for path in folds for each in path], np.int32),
        count=np.array([each.count for path in folds for each in path], np.uint8),
        offset=np.cumsum([0, *map(len, folds)], dtype=np.int64),
        outcome=np.array(outcome, np.uint8),
        source=np.zeros(len(runs), np.uint8),
        half=np.zeros(len(runs), np.uint8),
        run_ids=tuple(str(place) for place in range(len(runs))),
        tickets=tuple(run.ticket for run in runs),
        versions=(None,) * len(runs),
    )


def tables(title: str, found: Sequence[Result]) -> None:
    """Print AUC, Brier skill, and which way is better than which."""
    risks = [name for name in THEIRS if (name, POINTS[0]) in found[0].scores]
    about, points = ("set", "runs", "succeeded"), tuple(f"{point:.0%}" for point in POINTS)
    names = (BOUND, NODE, BACKOFF, *risks)
    rows = [(*_about(each.of), *(_three(each, name, _auc) for name in names)) for each in found]
    print_table(f"AUC at 25 · 50 · 75 %, {title}", (*about, *names), rows)
    names = (NODE, BACKOFF, *risks, *map(fitted, risks))
    rows = [(*_about(each.of), *(_three(each, name, _skill) for name in names)) for each in found]
    print_table(f"Brier skill at 25 · 50 · 75 %, {title}", (*about, *names), rows)
    rows = [(each.of.name, *_row(_nearer, [each], BACKOFF, BASE)) for each in found]
    print_table(f"Brier score of the back-off less that of the average, {title}", ("set", *points), rows)
    once = [each for each in found if each.of.published and not each.of.pooled]
    ranked = [("AUC", _ranked, BACKOFF, other) for other in (BOUND, NODE, *risks)]
    nearer = [("Brier score", _nearer, BACKOFF, NODE)]
    nearer += [("Brier score", _nearer, name, BASE) for name in (NODE, BACKOFF, *map(fitted, risks))]
    rows = [(what, *pair, *_row(gain, once, *pair)) for what, gain, *pair in (*ranked, *nearer)]
    head = ("score", "of", "less that of", *points)
    print_table(f"All published runs, each once, with 95 % intervals, {title}", head, rows)


def _about(each: TestSet) -> tuple[str, str, str]:
    return each.name, str(len(each.runs)), str(sum(run.won for run in each.runs))


def _three(each: Result, name: str, score: Callable[[Result, Key], float]) -> str:
    values = [score(each, (name, point)) for point in POINTS]
    return " · ".join("–" if np.isnan(value) else f"{value:.2f}".replace("-", "−") for value in values)


def _auc(each: Result, key: Key) -> float:
    return each.scores[key].pairs.auc


def _skill(each: Result, key: Key) -> float:
    """1 - Brier score ÷ that of the other folds' average."""
    return float(1 - each.scores[key].squares.mean() / each.scores[BASE, key[1]].squares.mean())


def _row(gain: Gain, found: Sequence[Result], ours: str, theirs: str) -> Iterator[str]:
    """The gain of one way over another at every point."""
    for point in POINTS:
        mean, low, high = gain(found, (ours, point), (theirs, point))
        yield f"{mean:+.3f} ({low:+.3f} to {high:+.3f})".replace("-", "−")


def _ranked(found: Sequence[Result], ours: Key, theirs: Key) -> Interval:
    first, second = ([each.scores[key].pairs for each in found] for key in (ours, theirs))
    return auc_interval(first, second, [ends(each.of.runs) for each in found], _tickets(found))


def _nearer(found: Sequence[Result], ours: Key, theirs: Key) -> Interval:
    gains = [each.scores[ours].squares - each.scores[theirs].squares for each in found]
    return mean_interval(np.concatenate(gains), _tickets(found))


def _tickets(found: Sequence[Result]) -> Ints:
    """Number of every run's ticket; one that two sets of an agent share is one."""
    names = [f"{each.of.agent} {run.ticket}" for each in found for run in each.of.runs]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


if __name__ == "__main__":
    main()
