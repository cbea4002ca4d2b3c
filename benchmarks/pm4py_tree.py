"""pm4py's prefix tree of the benchmark's steps, run by pm4py's own interpreter.

Usage: ``python pm4py_tree.py RUNS PER_RUN ROUNDS``; prints the shortest seconds.
The table is made and the library loaded before the clock starts.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pandas as pd
import pm4py  # type: ignore[import-not-found]

from benchmarks.timing import best_s
from benchmarks.workload import steps


def main() -> None:
    """Time ``format_dataframe`` + ``discover_prefix_tree``."""
    runs, per_run, rounds = (int(argument) for argument in sys.argv[1:4])
    made = steps(runs, per_run)
    names = pd.Categorical.from_codes(made.signature, pd.Index(made.signatures)).astype(str)
    frame = pd.DataFrame(
        {"case": made.run.astype(str), "activity": names, "at": pd.to_datetime(made.start_ns)}
    )

    def tree() -> object:
        log = pm4py.format_dataframe(frame, case_id="case", activity_key="activity", timestamp_key="at")
        return pm4py.discover_prefix_tree(log)

    print(best_s(tree, rounds)[0])


if __name__ == "__main__":
    main()
