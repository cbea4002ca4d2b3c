"""Timing: the best of a few rounds, so that a busy machine disturbs least."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def best_s(work: Callable[[], T], rounds: int = 3) -> tuple[float, T]:
    """Shortest wall time of ``work`` in seconds over some rounds, and its last result."""
    shortest = float("inf")
    for _ in range(rounds):
        taken, result = _timed(work)
        shortest = min(shortest, taken)
    return shortest, result


def side_by_side_s(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Shortest wall time of each work in seconds; they take turns, so that a drift meets all."""
    return [
        min(times)
        for times in zip(*([_timed(work)[0] for work in works] for _ in range(rounds)), strict=True)
    ]


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    gc.collect()
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def print_table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a Markdown table."""
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
