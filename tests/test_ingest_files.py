"""Opening a file, telling its format, and what is said of a file that cannot be read."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import InputError
from engine.ingest import FORMATS, Refusal, read_file
from engine.ingest.detect import of_head
from engine.ingest.source import Source
from engine.runs import assemble
from engine.spans import Span
from tests import recordings

ONE_LINE = {
    "otlp-json": recordings.OTLP,
    "forkmap": recordings.FORKMAP_SPAN,
    "tau-bench": [recordings.TAU],
    "tau2-bench": recordings.TAU2,
    "atif": recordings.ATIF,
    "openai-chat": recordings.CHAT,
}


@pytest.mark.parametrize("name", ONE_LINE)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_format_is_told_from_its_keys(name: str, indent: int | None) -> None:
    assert of_head(json.dumps(ONE_LINE[name], indent=indent).encode()) == name


def test_a_session_is_told_though_it_opens_with_other_records() -> None:
    assert of_head("\n".join(map(json.dumps, recordings.CLAUDE_CODE)).encode()) == "claude-code"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (json.dumps(recordings.CHAT["messages"]).encode(), "openai-chat"),
        (json.dumps(recordings.FORKMAP_OUTCOME).encode(), "forkmap"),
        (b'not json\n{"resourceSpans": []}', "otlp-json"),
        (b'{"resourceSpans": [{"reso', "otlp-json"),
        (b'{"messages": [{"role": "user", "content": "\\"resourceSpans\\": 1"}]}', "openai-chat"),
        (b'\n{\n "resourceSpans": []}', "otlp-json"),
        (b"\x0a\x02\x12\x00", "otlp-protobuf"),
        (b'1\n{"resourceSpans": []}', "otlp-json"),
        (b'-\n{"resourceSpans": []}', "otlp-json"),
        (b'}\n{"resourceSpans": []}', "otlp-json"),
        (b'\n\n\nlog\n{"resourceSpans": []}', "otlp-json"),
        (b'\x1b[0m\n{"resourceSpans": []}', "otlp-json"),
        (b"\x0a\x00", "otlp-protobuf"),
        (b'{"a": 1}', None),
        (b"a,b\n1,2\n", None),
    ],
)
def test_what_a_head_says(head: bytes, name: str | None) -> None:
    assert of_head(head) == name


def test_a_text_that_is_not_closed_is_looked_at_once() -> None:
    begun = time.perf_counter()
    assert of_head(b'{"resourceSpans": "' + b'\\"' * 500_000) == "otlp-json"
    assert of_head(b'{"a": "' + b'\\"' * 500_000) is None
    assert time.perf_counter() - begun < 10


def reason_of(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_file(path, **options)
    assert caught.value.file == str(path)
    return caught.value.reason


def test_a_file_that_cannot_be_read_is_an_error_at_once(tmp_path: Path) -> None:
    names = ("empty", "blank", "nul", "wide", "other")
    empty, blank, nul, wide, other = (tmp_path / name for name in names)
    empty.write_bytes(b"")
    nul.write_bytes(bytes(5000))
    blank.write_bytes(gzip.compress(b" \n\n"))
    wide.write_text("{}", encoding="utf-16")
    other.write_text("a,b\n")
    assert reason_of(tmp_path / "none") == "it cannot be read: No such file or directory"
    assert reason_of(tmp_path) == "this is not a regular file"
    assert reason_of(Path(os.devnull)) == "this is not a regular file"
    assert reason_of(tmp_path / ("a" * 300)) == "it cannot be read: File name too long"
    assert reason_of(empty) == reason_of(blank) == reason_of(nul) == "the file is empty"
    assert reason_of(empty, format="otlp-json") == reason_of(nul, format="tau2-bench") == "the file is empty"
    assert reason_of(wide) == "the text is UTF-16: save it as UTF-8"
    assert reason_of(other) == "no format fits: forkmap import --format names one, if you know it"
    assert reason_of(other, format="csv") == f"unknown format 'csv'; known: {', '.join(FORMATS)}"


@pytest.mark.parametrize("name", ONE_LINE)
def test_a_compressed_file_says_the_same(tmp_path: Path, name: str) -> None:
    plain, packed = tmp_path / "plain.json", tmp_path / "plain.json.gz"
    plain.write_text(json.dumps(ONE_LINE[name]))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    records = list(read_file(plain))
    assert records == list(read_file(packed))
    assert all(isinstance(record, Span) for record in records)


@pytest.mark.parametrize("name", ONE_LINE)
def test_reading_twice_gives_the_same(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(ONE_LINE[name]))
    assert list(read_file(path)) == list(read_file(path, format=name))


def test_a_compressed_file_that_is_cut_off_gives_what_was_whole(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl.gz"
    line = json.dumps(recordings.OTLP).encode() + b"\n"
    path.write_bytes(gzip.compress(line + os.urandom(200_000))[:-100_000])
    span, *_, refusal = read_file(path)
    assert isinstance(span, Span)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "the rest cannot be read: the compressed data is cut off"


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    "damaged", [lambda packed: packed + b"garbage", lambda packed: packed[:-8] + b"12345678"]
)
def test_what_comes_before_a_damaged_tail_is_kept(
    tmp_path: Path, damaged: Callable[[bytes], bytes], end: str
) -> None:
    path = tmp_path / "spans.jsonl.gz"
    lines = "\n".join(json.dumps(recordings.FORKMAP_SPAN | {"span_id": name}) for name in "abc")
    path.write_bytes(damaged(gzip.compress((lines + end).encode())))
    *spans, refusal = read_file(path)
    assert [span.span_id for span in spans if isinstance(span, Span)] == ["a", "b", "c"]
    reason = "the rest cannot be read: the compressed data is damaged, or something else follows it"
    assert refusal == Refusal(str(path), 3, reason)


def test_progress_reaches_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text((json.dumps(recordings.OTLP) + "\n") * 1000)
    seen: list[int] = []
    assert sum(1 for _ in read_file(path, progress=seen.append)) == 1000
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
    assert seen[-1] == path.stat().st_size


def test_a_digest_names_the_content(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c.gz")]
    for path, content in zip(paths, (b"one", b"two", gzip.compress(b"one")), strict=True):
        path.write_bytes(content)
    one, two, packed = (Source(path).digest() for path in paths)
    assert one == packed != two
    assert len(one) == 16


def test_an_outcome_that_is_none_is_named_and_the_span_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(
        json.dumps(recordings.FORKMAP_SPAN | {"attributes": {"session.outcome": "great", "a": 1}})
    )
    refusal, span = read_file(path)
    assert isinstance(span, Span)
    assert span.attributes == {"a": 1}
    assert isinstance(refusal, Refusal)
    assert (refusal.line, refusal.reason[:47]) == (1, "span 1: session.outcome 'great' is left out: al")


@pytest.mark.parametrize("name", ONE_LINE)
def test_the_agent_can_be_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(ONE_LINE[name]))
    spans = [record for record in read_file(path, agent="front-desk") if isinstance(record, Span)]
    assert assemble("r", spans).agent == "front-desk"
