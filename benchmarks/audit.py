"""What ``forkmap audit`` takes for large traces: ``python -m benchmarks.audit --megabytes 1000``.

Each trace is audited by a process of its own, whose peak memory is what the system says of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from benchmarks.timing import print_table

PLACE = Path(__file__).parent / ".cache" / "audit"
START = datetime(2026, 1, 1, tzinfo=UTC)
TOOLS = ("search_repo", "edit_file", "run_tests", "read_file")
EVENTS_A_TURN = 3


def turn(number: int, decision: str, parent: str) -> bytes:
    """A decision of four options, a call under ``parent`` and what came of it."""
    ts = (START + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    tools = TOOLS[number % 4 :] + TOOLS[: number % 4]
    options = ", ".join(
        f'{{"tool": "{tool}", "score": {0.8 - place / 8}, "reason": "as it stands in the plan"}}'
        for place, tool in enumerate(tools)
    )
    return (
        f'{{"type": "decision", "span_id": "{decision}", "parent_id": "run", "ts": "{ts}", '
        f'"goal": "make the tests of module {number % 977} pass", "options": [{options}], '
        f'"chosen": "{tools[0]}", "policy": "argmax_score", "margin": 0.125}}\n'
        f'{{"type": "tool_call", "span_id": "call-{number:x}", "parent_id": "{parent}", "ts": "{ts}", '
        f'"tool": "{tools[0]}", "args": {{"query": "module {number % 977}", "limit": 20}}}}\n'
        f'{{"type": "tool_result", "span_id": "result-{number:x}", "parent_id": "call-{number:x}", '
        f'"ts": "{ts}", "ok": true, "bytes": 842}}\n'
    ).encode()


def sound(number: int) -> bytes:
    """A turn without a fault; its ids come in no order, as ids do."""
    decision = f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}"
    return turn(number, decision, decision)


def loose(number: int) -> bytes:
    """A turn of which the call hangs from the run: two findings, both of the same two ids' kind."""
    return turn(number, f"decision-{number:x}", "run")


def repeated(number: int) -> bytes:
    """A turn whose decision has the id of every other."""
    return turn(number, "decision", "decision")


CASES: dict[str, Callable[[int], bytes]] = {
    "sound": sound,
    "every call under the run": loose,
    "every decision of one id": repeated,
    "no JSON": lambda number: b"{oops" * 10 + b"\n",
}


def write(path: Path, make: Callable[[int], bytes], size: int) -> int:
    """Turns to a file until it is of that size; how many lines they are."""
    lines = 0
    with path.open("wb") as file:
        for piece in _until(make, size):
            file.write(piece)
            lines += piece.count(b"\n")
    return lines


def _until(make: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    number = written = 0
    while written < size:
        piece = make(number)
        number, written = number + 1, written + len(piece)
        yield piece


def audit(path: Path) -> tuple[int, float, float]:
    """Findings, seconds and peak memory in MB of auditing a file."""
    begun_s = perf_counter()
    program = str(Path(sys.executable).with_name("forkmap"))
    with subprocess.Popen([program, "audit", str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        last = deque(process.stdout, maxlen=1).pop()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return int(last.split()[1]), perf_counter() - begun_s, used.ru_maxrss / 1024


def main() -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--case", choices=[*CASES])
    asked = parser.parse_args()
    rows = []
    for name, make in CASES.items():
        if asked.case in (None, name):
            shutil.rmtree(PLACE, ignore_errors=True)
            PLACE.mkdir(parents=True)
            lines = write(PLACE / "trace.jsonl", make, asked.megabytes * 10**6)
            found, taken_s, peak_mb = audit(PLACE / "trace.jsonl")
            speed = f"{asked.megabytes / taken_s:.0f}"
            rows.append((name, f"{lines:,}", f"{found:,}", f"{taken_s:.1f}", speed, f"{peak_mb:.0f}"))
            shutil.rmtree(PLACE)
    head = ("trace", "lines", "findings", "s", "MB/s", "peak MB")
    print_table(f"forkmap audit of {asked.megabytes:,} MB", head, rows)


if __name__ == "__main__":
    main()
