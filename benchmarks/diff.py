"""Two decision traces compared, in the shapes that are hard to align: few tools, chosen over and over.

``python -m benchmarks.diff [--decisions NUMBER]``
"""

from __future__ import annotations

import argparse
import random
import resource
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

from msgspec import Raw

from benchmarks.timing import best_s, print_table
from engine.decisions.diff import compare
from engine.decisions.schema import Option
from engine.decisions.trace import Call, Choice, Trace

TOOLS = ("search_repo", "read_file", "edit_file", "run_tests")
AT = datetime(2026, 1, 1, tzinfo=UTC)


def trace(chosen: Sequence[str], seed: int) -> Trace:
    """Decisions among all tools with scores of their own, each with a call."""
    chance = random.Random(seed)
    return Trace("r", tuple(_choice(tool, number, chance) for number, tool in enumerate(chosen)))


def _choice(tool: str, number: int, chance: random.Random) -> Choice:
    options = tuple(Option(each, chance.random()) for each in TOOLS)
    call = Call(f"c{number}", AT, tool, Raw(b'{"query": "%d"}' % chance.randrange(10)))
    return Choice(f"d{number}", AT, "goal", options, tool, "argmax", 0.3, (call,))


def shapes(decisions: int) -> Iterator[tuple[str, list[str], list[str]]]:
    """Pairs of choices by their name; all but the last fork at once, so that all of both is aligned."""
    chance = random.Random(7)
    few, others = ([chance.choice(TOOLS[:2]) for _ in range(decisions)] for _ in range(2))
    yield "two tools by chance", ["search_repo", *few[1:]], ["read_file", *others[1:]]
    some, more = ([chance.choice(TOOLS) for _ in range(decisions)] for _ in range(2))
    yield "four tools by chance", ["search_repo", *some[1:]], ["read_file", *more[1:]]
    cycle = [TOOLS[at % 3] for at in range(decisions)]
    yield "a loop, and the same backwards", cycle, cycle[::-1]
    yield "one tool, and another", ["read_file"] * decisions, ["edit_file"] * decisions
    yield "no tool in common", [f"a{at}" for at in range(decisions)], [f"b{at}" for at in range(decisions)]
    yield "equal", some, some


def main() -> None:
    """Print seconds and peak memory of each shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=5_000)
    decisions = parser.parse_args().decisions
    rows = []
    for name, ours, theirs in shapes(decisions):
        a, b = trace(ours, 1), trace(theirs, 2)
        taken_s, diff = best_s(partial(compare, a, b))
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        equal = sum(row.mark == "=" for row in diff.rows)
        rows.append(
            (name, f"{taken_s * 1000:.0f} ms", f"{len(diff.rows):,}", f"{equal:,}", f"{peak_mb:.0f} MB")
        )
    title = f"Two traces of {decisions:,} decisions"
    print_table(title, ("shape", "compared in", "rows", "equal", "peak memory so far"), rows)


if __name__ == "__main__":
    main()
