"""What redaction costs intake: ``python -m benchmarks.redaction``.

The spans of requests of 512, half of them tool calls, are redacted; beside it stands what reading the
requests and writing the spans takes. All is processor time, the shortest of some turns.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from msgspec import structs

from benchmarks.otlp_batches import SPANS, request
from benchmarks.timing import print_table
from engine.decisions import detecting
from engine.decisions.redaction import KEEP, MASK, Redactor
from engine.ingest.request import read
from engine.spans import Span
from engine.store.sqlite import open_store

PLACE = Path(__file__).resolve().parent / ".cache"
REQUESTS, TURNS = 30, 8
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


def best_us(work: Callable[[], object]) -> float:
    """Microseconds a span that the shortest turn takes."""
    gc.collect()
    return min(_taken_s(work) for _ in range(TURNS)) * 1e6 / REQUESTS / SPANS


def _taken_s(work: Callable[[], object]) -> float:
    begun_s = process_time()
    work()
    return process_time() - begun_s


def read_all() -> None:
    for number in range(1, REQUESTS + 1):
        read(request(number), "protobuf")


def write(spans: Sequence[Sequence[Span]]) -> None:
    with TemporaryDirectory(dir=PLACE) as folder:
        store = open_store(Path(folder) / "spans.sqlite", create=True, redaction=KEEP)
        for batch in spans:
            store.append("default", batch)
        store.close()


def redact(redactor: Redactor, spans: Sequence[Sequence[Span]]) -> None:
    for batch in spans:
        redactor.spans("default", batch)


def main() -> None:
    """Print one line for each kind of arguments."""
    PLACE.mkdir(exist_ok=True)
    detecting.get_ready()
    reading = best_us(read_all)
    rows = []
    for name, arguments in ARGUMENTS.items():
        spans = batches(arguments)
        writing = best_us(partial(write, spans))
        redacting = best_us(partial(redact, Redactor(MASK, partial(bytes, 32)), spans))
        share = redacting / (reading + writing)
        rows.append((name, f"{reading:.1f}", f"{writing:.1f}", f"{redacting:.1f}", f"{share:.0%}"))
    head = ("arguments of a call", "reading", "writing", "redacting", "of both")
    print_table("Redaction: µs of processor a span", head, rows)


if __name__ == "__main__":
    main()
