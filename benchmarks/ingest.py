"""How fast spans are kept: ``python -m benchmarks.ingest [spans]``.

Spans are made before the clock starts; every batch is one durable transaction
(``synchronous=FULL``). Settling is measured behind it, so that the sum is what a reader
waits for at worst.
"""

from __future__ import annotations

import resource
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from engine.spans import Span, Status
from engine.store import Store
from engine.store.sqlite import open_store

PLACE = Path(__file__).parent / ".cache" / "ingest"
BATCHES = (100, 1_000, 5_000)
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


def measure(spans: list[Span], batch: int) -> tuple[float, float, int]:
    """Seconds to append, seconds to settle, bytes of the file."""
    shutil.rmtree(PLACE, ignore_errors=True)
    store = open_store(PLACE / f"{batch}.sqlite", create=True)
    started = perf_counter()
    _append(store, spans, batch)
    appended = perf_counter()
    store.settle("default")
    settled = perf_counter()
    store.close()
    size = sum(file.stat().st_size for file in PLACE.iterdir())
    shutil.rmtree(PLACE)
    return appended - started, settled - appended, size


def _append(store: Store, spans: list[Span], batch: int) -> None:
    for first in range(0, len(spans), batch):
        store.append("default", spans[first : first + batch])


def main() -> None:
    """Print one line a batch size."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    spans = [span for number in range(wanted // SPANS_A_RUN) for span in trace(number)]
    print(f"{len(spans):,} spans in {len(spans) // SPANS_A_RUN:,} runs; durable batches, one process")
    print(f"{'batch':>6} {'append/s':>10} {'settle/s':>10} {'both/s':>10} {'bytes/span':>11} {'peak MB':>8}")
    for batch in BATCHES:
        append_s, settle_s, size = measure(spans, batch)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rates = (len(spans) / seconds for seconds in (append_s, settle_s, append_s + settle_s))
        print(
            f"{batch:>6,} " + " ".join(f"{rate:>10,.0f}" for rate in rates),
            f"{size / len(spans):>11,.0f} {peak_mb:>8,.0f}",
        )


if __name__ == "__main__":
    main()
