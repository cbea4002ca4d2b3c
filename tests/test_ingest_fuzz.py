"""Whatever the bytes, a reader yields records and refusals, or says at once why it cannot."""

from __future__ import annotations

import copy
import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.errors import InputError
from engine.ingest import FORMATS, Refusal, read_file
from engine.runs import Declaration
from engine.spans import Span
from tests import recordings

KEYS = re.findall(
    r"\w+",
    "resourceSpans scopeSpans spans scope resource attributes key value stringValue intValue doubleValue "
    "boolValue arrayValue kvlistValue values traceId spanId parentSpanId name startTimeUnixNano status code "
    "endTimeUnixNano events low high seconds nanos type trace_id span_id start end outcome run time traj "
    "task_id reward role content tool_calls function id info simulations messages reward_info usage error "
    "termination_reason timestamp requestor schema_version steps source message observation results agent "
    "uuid sessionId version",
)
"""Every name that some reader looks for."""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ("span", "outcome", "success", "assistant", "user", "tool", "agent", "0a" * 16, "0b" * 8)
    ),
    st.sampled_from(("1700000000000000000", "2026-01-01T00:00:00Z", "ATIF-v1.7", "\ud800", "Error: no")),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
documents = st.lists(values, min_size=1, max_size=3).map(
    lambda found: "\n".join(map(json.dumps, found)).encode()
)

quick = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes, str | None], list[Any]]:
    """Write the bytes to a file and read it; the records must be ones the store can hold."""
    path = tmp_path_factory.mktemp("fuzz") / "file"

    def read(content: bytes, name: str | None) -> list[Any]:
        path.write_bytes(content)
        try:
            records = list(read_file(path, format=name))
        except InputError:
            return []
        for record in records:
            assert isinstance(record, Span | Declaration | Refusal)
            assert msgspec.msgpack.encode(record)
            json.dumps(msgspec.to_builtins(record), allow_nan=False).encode()
            if isinstance(record, Span):
                assert record.trace_id and record.span_id and 0 < record.start_ns < 2**63
        return records

    return read


@pytest.mark.parametrize("name", [None, *FORMATS])
@quick
@given(content=st.binary(max_size=200))
@example(content=b"[" * 100_000)
@example(content=b'{"a":' * 5_000)
@example(content=b"\xef\xbb\xbf")
@example(content=b"\x00" * 40)
@example(content=b"1" * 5_000)
@example(content=b"\x0a\xff\xff\xff\xff\x0f\x0a")
@example(content=b"\x1f\x8b\x08 not gzip")
@example(content=gzip.compress(b'{"resourceSpans": []}' * 50)[:-12])
def test_arbitrary_bytes_never_raise(
    kept: Callable[[bytes, str | None], list[Any]], name: str | None, content: bytes
) -> None:
    kept(content, name)


@pytest.mark.parametrize("name", [None, *FORMATS])
@quick
@given(content=documents)
def test_arbitrary_documents_never_raise(
    kept: Callable[[bytes, str | None], list[Any]], name: str | None, content: bytes
) -> None:
    kept(content, name)


ONE_A_LINE = {
    "otlp-json": recordings.OTLP,
    "forkmap": recordings.FORKMAP_SPAN,
    "tau-bench": recordings.TAU,
    "tau2-bench": recordings.TAU2,
    "atif": recordings.ATIF,
    "openai-chat": recordings.CHAT,
}
"""A good record of every format whose files may hold one record a line."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in ((*path, key), *places(inner, (*path, key)))]


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """The value with something else in one place."""
    if not place:
        return new
    changed = copy.copy(value)
    changed[place[0]] = replaced(value[place[0]], place[1:], new)
    return changed


def damaged(record: Any) -> st.SearchStrategy[str]:
    """A line with anything at all in one place of it, or cut off."""
    line = json.dumps(record)
    strange = st.tuples(st.sampled_from(places(record)), values)
    return st.one_of(
        strange.map(lambda change: json.dumps(replaced(record, *change))),
        st.integers(1, len(line) - 1).map(lambda end: line[:end]),
    )


@pytest.mark.parametrize("name", ONE_A_LINE)
@quick
@given(data=st.data())
def test_a_damaged_record_costs_no_other(
    kept: Callable[[bytes, str | None], list[Any]], name: str, data: st.DataObject
) -> None:
    good = json.dumps(ONE_A_LINE[name])
    alone = [item for item in kept(f"{good}\n{good}\n".encode(), name) if isinstance(item, Span)]
    bad = data.draw(damaged(ONE_A_LINE[name]))
    items = kept(f"{good}\n{bad}\n{good}\n".encode(), name)
    spans = [item for item in items if isinstance(item, Span)]
    half = len(alone) // 2
    assert [(span.name, span.start_ns) for span in (*spans[:half], *spans[-half:])] == [
        (span.name, span.start_ns) for span in alone
    ]
