"""Whole map from unsorted span columns, against one ``np.lexsort`` and against pm4py.

``python -m benchmarks.map_build [--peers PYTHON]``
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.timing import print_table, side_by_side_s
from benchmarks.workload import Steps, steps
from engine.columns import paths_from_columns
from engine.maps import BehaviourMap, build
from engine.runs import Cohort

COHORT = Cohort("default", "bench")
SIZES = ((20_000, 30), (20_000, 192), (200_000, 30))
GROWTH = ((20_000, 30), (200_000, 30))
ROUNDS = 7
PEER_SIZES = ((20_000, 30), (20_000, 192))


def whole_map(columns: Steps) -> BehaviourMap:
    """Fold, outcomes, counts, Wilson, Fisher, q and entropy."""
    return build(COHORT, paths_from_columns(*columns), 0)


def against_lexsort() -> dict[tuple[int, int], float]:
    """Print the ratios to one lexsort of the same spans; return the seconds of each size."""
    rows, seconds = [], {}
    for size in SIZES:
        columns = steps(*size)
        sort_s, map_s = side_by_side_s([partial(lexsort, columns), partial(whole_map, columns)], ROUNDS)
        behaviour = whole_map(columns)
        seconds[size] = map_s
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append(
            (
                f"{size[0]:,} × {size[1]}",
                f"{sort_s * 1000:.0f} ms",
                f"{map_s * 1000:.0f} ms",
                f"{map_s / sort_s:.2f}",
                f"{len(behaviour):,}",
                f"{behaviour.tested:,}",
                f"{peak_mb:,.0f} MB",
            )
        )
    head = ("runs × steps", "lexsort", "whole map", "ratio", "nodes kept", "tested", "peak memory so far")
    print_table("Whole map from unsorted span columns", head, rows)
    return seconds


def lexsort(columns: Steps) -> object:
    """The measure: one sort of the same spans by run and start."""
    return np.lexsort((columns.start_ns, columns.run))


def growth() -> None:
    """Print how much longer ten times the runs take."""
    small, large = side_by_side_s([partial(whole_map, steps(*size)) for size in GROWTH], ROUNDS)
    print(
        f"\n200,000 × 30 takes {large / small:.1f} × the time of 20,000 × 30 ({large:.2f} s, {small:.2f} s)."
    )


def against_pm4py(python: Path, seconds: dict[tuple[int, int], float]) -> None:
    """Print the ratios to pm4py's prefix tree, which keeps no counts."""
    rows = []
    for runs, per_run in PEER_SIZES:
        script = Path(__file__).with_name("pm4py_tree.py")
        command = [str(python), str(script), str(runs), str(per_run), "2"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        theirs = float(done.stdout.split()[-1])
        ours = seconds[runs, per_run]
        rows.append(
            (f"{runs:,} × {per_run}", f"{theirs:.2f} s", f"{ours:.2f} s", f"{theirs / ours:.1f} × faster")
        )
    print_table(
        "Against pm4py: format_dataframe + discover_prefix_tree", ("size", "pm4py", "Forkmap", "ratio"), rows
    )


def main() -> None:
    """Run both comparisons; the peer's only where its interpreter is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, help="interpreter that has benchmarks/peers.txt installed")
    options = parser.parse_args()
    seconds = against_lexsort()
    growth()
    if options.peers:
        against_pm4py(options.peers, seconds)
    else:
        print("\npm4py: not compared (no --peers).", file=sys.stderr)


if __name__ == "__main__":
    main()
