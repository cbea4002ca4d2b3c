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
        gc.collect()
        begun = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - begun)
    return shortest, result


def print_table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a Markdown table."""
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
