"""Synthetic steps with the shape of real agent runs: a few habits, loops, and a long tail."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SIGNATURES = 24
LIKELY = (0.86, 0.09, 0.03, 0.02)
"""How often a run takes the first, second, third and any other habit after a step."""


class Steps(NamedTuple):
    """Unsorted columns, one row a step."""

    run: NDArray[np.int32]
    signature: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    error: NDArray[np.bool_]
    signatures: tuple[str, ...]
    run_ids: tuple[str, ...]


def steps(runs: int, per_run: int, seed: int = 1) -> Steps:
    """Runs of ``per_run`` steps each, shuffled.

    Each step follows from the one before by a fixed preference (a Markov chain), so that
    beginnings are shared and endings scatter, as in real maps.
    """
    rng = np.random.default_rng(seed)
    habit = np.stack([rng.permutation(SIGNATURES) for _ in range(SIGNATURES)])
    taken = np.zeros((per_run, runs), np.int32)
    for step in range(1, per_run):
        choice = rng.choice(4, runs, p=LIKELY)
        other = rng.integers(3, SIGNATURES, runs)
        taken[step] = habit[taken[step - 1], np.where(choice == 3, other, choice)]
    run = np.tile(np.arange(runs, dtype=np.int32), per_run)
    begin = 1_750_000_000_000_000_000 + rng.integers(0, 30 * 86_400, runs) * 1_000_000_000
    start = (
        begin + np.arange(per_run)[:, None] * 2_000_000_000 + rng.integers(0, 10**9, (per_run, runs))
    ).ravel()
    order = rng.permutation(run.size)
    return Steps(
        run[order],
        taken.ravel()[order],
        start[order],
        start[order] + 900_000_000,
        rng.random(run.size) < 0.2,
        tuple(f"{'llm' if number % 4 == 0 else 'tool'}:step_{number}" for number in range(SIGNATURES)),
        tuple(f"run-{number}" for number in range(runs)),
    )
