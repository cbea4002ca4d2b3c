"""What redaction costs intake: ``python -m benchmarks.redaction``.

Requests of 512 spans, half of them tool calls, are read and kept with ``mode = "keep"`` and with
``"mask"``, in turn. What counts is processor time, which a busy machine changes less than the clock's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from msgspec import structs

from benchmarks.otlp_batches import SPANS, request
from benchmarks.timing import print_table
from engine.decisions.redaction import KEEP, MASK, Redaction
from engine.ingest.request import read
from engine.spans import Span
from engine.store.sqlite import open_store

PLACE = Path(__file__).resolve().parent / ".cache"
REQUESTS, TURNS = 40, 5
ARGUMENTS = {
    "none": "",
    "a word": '{"order_id": "W2378156"}',
    "a few words": '{"order_id": "#W2378156", "item_ids": ["4579334072", "6259501109"], "why": "not needed"}',
    "a longer name": '{"order_id": "#W2378156", "payment_method_id": "credit_card_number_3024827"}',
    "a path": '{"path": "src/app/dates.py", "old": "a = 1", "new": "a = 2"}',
}
"""Of each tool call."""


def batches(arguments: str) -> list[list[Span]]:
    """The spans of some requests."""
    told = {"gen_ai.tool.call.arguments": arguments} if arguments else {}
    return [
        [
            structs.replace(span, attributes=span.attributes | told)
            if "gen_ai.tool.name" in span.attributes
            else span
            for span in read(request(number), "protobuf").spans
        ]
        for number in range(1, REQUESTS + 1)
    ]


def reading_us() -> float:
    """Microseconds a span that reading requests takes."""
    bodies = [request(number) for number in range(1, REQUESTS + 1)]
    begun_s = process_time()
    for body in bodies:
        read(body, "protobuf")
    return (process_time() - begun_s) * 1e6 / REQUESTS / SPANS


def keeping_us(spans: Sequence[Sequence[Span]], redaction: Redaction) -> float:
    """Microseconds a span that writing batches takes, redaction included."""
    with TemporaryDirectory(dir=PLACE) as folder:
        store = open_store(Path(folder) / "spans.sqlite", create=True, redaction=redaction)
        begun_s = process_time()
        for batch in spans:
            store.append("default", batch)
        used_s = process_time() - begun_s
        store.close()
    return used_s * 1e6 / REQUESTS / SPANS


def main() -> None:
    """Print one line for each kind of arguments."""
    PLACE.mkdir(exist_ok=True)
    reading = median(reading_us() for _ in range(TURNS))
    rows = []
    for name, arguments in ARGUMENTS.items():
        spans = batches(arguments)
        turns = [(keeping_us(spans, KEEP), keeping_us(spans, MASK)) for _ in range(TURNS)]
        kept, masked = (median(turn) for turn in zip(*turns, strict=True))
        loss = (masked - kept) / (reading + masked)
        rows.append((name, f"{kept:.1f}", f"{masked:.1f}", f"{loss:.1%}"))
    head = ("arguments of a call", "kept", "masked", "of reading and writing")
    print_table(f"Redaction, µs of processor a span; reading takes {reading:.1f}", head, rows)


if __name__ == "__main__":
    main()
