"""How fast spans are kept: ``python -m benchmarks.ingest``.

Spans are made while the clock stands; every batch is one durable transaction
(``synchronous=FULL``). Settling is measured behind it, so that the sum is what a reader
waits for at worst.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter

from engine.spans import Span, Status
from engine.store.sqlite import open_store

PLACE = Path(__file__).parent / ".cache" / "ingest"
CASES = ((20_000, 1_000), (100_000, 100), (100_000, 1_000), (100_000, 5_000), (400_000, 1_000))
"""Spans kept, spans a batch."""
SPANS_A_RUN = 20
START_NS = 1_750_000_000_000_000_000


def trace(number: int) -> Iterator[Span]:
    """One run: an agent span over model and tool calls in turn, with usual attributes."""
    trace_id = f"{number * 0x9E3779B97F4A7C15 % 2**128:032x}"
    start_ns = START_NS + number * 1_000_000_000
    resource_ = {"service.name": "shop", "service.version": "1.4.2", "telemetry.sdk.language": "python"}
    root = f"{number * SPANS_A_RUN:016x}"
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": f"agent_{number % 5}"}
    end_ns = start_ns + SPANS_A_RUN * 10_000_000
    yield Span(trace_id, root, "invoke_agent", start_ns, end_ns, None, Status.OK, "bench", agent, resource_)
    for step in range(1, SPANS_A_RUN):
        attributes: dict[str, object] = {
            "gen_ai.operation.name": "chat" if step % 2 else "execute_tool",
            "gen_ai.request.model" if step % 2 else "gen_ai.tool.name": f"name_{step * number % 7}",
            "gen_ai.usage.input_tokens" if step % 2 else "gen_ai.tool.call.id": 417
            if step % 2
            else f"call_{step}",
            "gen_ai.conversation.id": trace_id,
        }
        at_ns = start_ns + step * 10_000_000
        status = Status.ERROR if step * number % 11 == 10 else Status.OK
        span_id = f"{number * SPANS_A_RUN + step:016x}"
        yield Span(
            trace_id, span_id, "step", at_ns, at_ns + 9_000_000, root, status, "bench", attributes, resource_
        )


def measure(spans: int, batch: int) -> tuple[float, float, int]:
    """Seconds to append, seconds to settle, bytes of the file."""
    shutil.rmtree(PLACE, ignore_errors=True)
    store = open_store(PLACE / "spans.sqlite", create=True)
    coming = (span for number in range(spans // SPANS_A_RUN) for span in trace(number))
    append_s = 0.0
    while some := list(islice(coming, batch)):
        started = perf_counter()
        store.append("default", some)
        append_s += perf_counter() - started
    started = perf_counter()
    store.settle("default")
    settle_s = perf_counter() - started
    store.close()
    size = sum(file.stat().st_size for file in PLACE.iterdir())
    shutil.rmtree(PLACE)
    return append_s, settle_s, size


def case(spans: int, batch: int) -> None:
    """Print the line of one case, with the peak memory of this process."""
    append_s, settle_s, size = measure(spans, batch)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rates = (spans / seconds for seconds in (append_s, settle_s, append_s + settle_s))
    print(
        f"{spans:>7,} {batch:>6,} " + " ".join(f"{rate:>10,.0f}" for rate in rates),
        f"{size / spans:>11,.0f} {peak_mb:>8,.0f}",
    )


def main() -> None:
    """Print one line a case, each measured by a process of its own."""
    if len(sys.argv) == 3:
        case(int(sys.argv[1]), int(sys.argv[2]))
        return
    print(f"runs of {SPANS_A_RUN} spans; durable batches, one process")
    print("  spans  batch   append/s   settle/s     both/s  bytes/span  peak MB", flush=True)
    for spans, batch in CASES:
        subprocess.run([sys.executable, "-m", "benchmarks.ingest", str(spans), str(batch)], check=True)


if __name__ == "__main__":
    main()
