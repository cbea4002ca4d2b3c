"""How long a fuse check takes, in process: ``python -m benchmarks.fuse_check``.

A map of 50,000 nodes, runs of 63 tokens whose last is open, so pooled; every check walks, pools
and computes the interval. Each call is timed by itself, with the garbage collector on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from time import perf_counter_ns

import numpy as np

from benchmarks.timing import print_table
from benchmarks.workload import SIGNATURES, Steps, steps
from engine.columns import paths_from_columns
from engine.fuses import MIN_SUPPORT, Policy, ask
from engine.live import Live, so_far
from engine.maps import BehaviourMap, build
from engine.paths import BUCKET_STARTS, Token
from engine.runs import Cohort
from engine.walk import Index

TOKENS = 63
RUNS = 20_000
TRODDEN = 2_000
CALLS = 100_000
POLICIES = (
    Policy(name="everybody", min_success_odds=0.2, action="warn"),
    Policy(name="bench", agent="bench", min_success_odds=0.1, action="stop"),
)


def columns() -> Steps:
    """20,000 runs of 62 steps: a tenth go one way, and then repeat a last step up to a dozen times."""
    known = steps(RUNS, TOKENS - 1)
    rng = np.random.default_rng(2)
    trodden = np.flatnonzero(known.run < TRODDEN)
    ordered = trodden[np.lexsort((known.start_ns[trodden], known.run[trodden]))]
    known.signature[ordered] = np.tile(np.arange(TOKENS - 1) % SIGNATURES, TRODDEN)
    more = np.repeat(np.arange(TRODDEN, dtype=np.int32), 1 + np.arange(TRODDEN) % 12)
    last_ns = np.full(more.size, known.start_ns.max() + 1)
    return known._replace(
        run=np.concatenate((known.run, more)),
        signature=np.concatenate((known.signature, np.full(more.size, (TOKENS - 1) % SIGNATURES, np.int32))),
        start_ns=np.concatenate((known.start_ns, last_ns)),
        end_ns=np.concatenate((known.end_ns, last_ns + 1)),
        error=np.concatenate((known.error, rng.random(more.size) < 0.5)),
    )


def flights(behaviour: BehaviourMap) -> list[Live]:
    """A run in flight at every node that lies that deep and was passed often."""
    deep = np.flatnonzero((behaviour.depth == TOKENS) & (behaviour.support >= MIN_SUPPORT))
    paths = [behaviour.path(node) for node in deep.tolist()]
    return [so_far("live", "bench", chain.from_iterable(map(_steps, path))) for path in paths]


def _steps(token: Token) -> list[str]:
    """The fewest steps that make a token."""
    return [token.signature] * BUCKET_STARTS[token.bucket]


def each_us(call: Callable[[int], object], calls: int = CALLS) -> list[float]:
    """Microseconds of each call, sorted."""
    times = []
    for number in range(calls):
        begun = perf_counter_ns()
        call(number)
        times.append((perf_counter_ns() - begun) / 1000)
    return sorted(times)


def percentile(times: list[float], share: float) -> float:
    """The time that so many of all calls do not exceed."""
    return times[min(len(times) - 1, int(len(times) * share))]


def row(what: str, times: list[float]) -> tuple[str, ...]:
    """A line of the table."""
    return (what, *(f"{percentile(times, share):.1f}" for share in (0.5, 0.99, 0.999)), f"{len(times):,}")


def main() -> None:
    """Measure and print."""
    behaviour = build(Cohort("default", "bench"), paths_from_columns(*columns()), 0)
    index, live = Index(behaviour), flights(behaviour)
    named = behaviour.tokens[0].signature
    rows = [
        row("path", each_us(lambda n: ask(index, live[n % len(live)], POLICIES))),
        row(
            "path, and with a step named", each_us(lambda n: ask(index, live[n % len(live)], POLICIES, named))
        ),
    ]
    print_table(
        f"Fuse check in process: {len(behaviour):,} nodes, {TOKENS} tokens, {len(POLICIES)} policies",
        ("asked", "p50 µs", "p99 µs", "p99.9 µs", "calls"),
        rows,
    )


if __name__ == "__main__":
    main()
