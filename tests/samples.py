"""The published sample spans, each in its own shape, as spans of the engine.

They are read where they lie, beside the checkout or where ``FORKMAP_SHARED`` points.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine.ingest import otlp_json
from engine.spans import Span

SHARED = Path(os.environ.get("FORKMAP_SHARED") or Path(__file__).resolve().parents[1] / "../shared")
FOLDER = SHARED / "examples" / "spans"
SECOND_NS = 1_000_000_000

needs_samples = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no sample spans in {FOLDER}")


def sample(number: int) -> list[Span]:
    """The spans of a sample, in the order of its file."""
    (path,) = FOLDER.glob(f"{number:02}-*.json")
    return list(_spans(json.loads(path.read_text())["data"]))


def _spans(data: Mapping[str, Any]) -> Iterator[Span]:
    if "observations" in data:
        yield from (_observation(at, item) for at, item in enumerate(data["observations"]))
    elif "spans" in data:
        yield from (_otlp({**item["span"], "scope": item["scope"]}) for item in data["spans"])
    elif "attributes" in data:
        yield _otlp(data)
    else:
        yield Span("sample", "0", "sample", 0, 1, attributes=dict(data))


def _observation(number: int, item: Mapping[str, Any]) -> Span:
    """An exported observation: it names its parent, but has lost its own id."""
    return Span(
        trace_id="sample",
        span_id=str(number),
        name=item["name"],
        start_ns=_time_ns(item["startTime"]),
        end_ns=_time_ns(item["endTime"]),
        parent_id=item["parentObservationId"],
        scope=item["scope"],
        attributes=item["attributes"],
    )


def _time_ns(text: str) -> int:
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return int(moment.timestamp()) * SECOND_NS + moment.microsecond * 1000


def _otlp(item: Mapping[str, Any]) -> Span:
    """A span as OTLP JSON or an SDK prints it."""
    (span,) = otlp_json.spans({"scopeSpans": [{"scope": item.get("scope"), "spans": [item]}]})
    assert isinstance(span, Span)
    return span
