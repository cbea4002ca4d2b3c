"""Parting a stream into JSON documents."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.errors import InputError
from engine.ingest import documents as parting
from engine.ingest.documents import documents, lines


def found(content: bytes, flatten: bool = True) -> list[tuple[int, Any]]:
    """Documents, with the reason in place of a bad one."""
    return [
        (line, value.reason if isinstance(value, InputError) else value)
        for line, value in documents(io.BytesIO(content), flatten)
    ]


def test_one_document_one_a_line_and_back_to_back() -> None:
    assert found(b'{"a": 1}') == [(1, {"a": 1})]
    assert found(b'{"a": 1}\n\n{"a": 2}\r\n') == [(1, {"a": 1}), (3, {"a": 2})]
    assert found(b'{"a": 1}{"a": 2} {"a":\n3}{"a": 4}') == [
        (1, {"a": 1}),
        (1, {"a": 2}),
        (1, {"a": 3}),
        (2, {"a": 4}),
    ]


def test_indented_documents_behind_one_another() -> None:
    assert found(b'{\n  "a": {\n    "b": 1\n  }\n}\n{\n  "a": 2\n}\n') == [
        (1, {"a": {"b": 1}}),
        (6, {"a": 2}),
    ]


def test_arrays_are_opened_unless_asked_not_to() -> None:
    content = b'[\n  {"a": 1},\n  {"a": 2}\n]\n[{"a": 3}]'
    assert found(content) == [(2, {"a": 1}), (3, {"a": 2}), (5, {"a": 3})]
    assert found(content, flatten=False) == [(1, [{"a": 1}, {"a": 2}]), (5, [{"a": 3}])]


def test_brackets_and_quotes_inside_text_end_nothing() -> None:
    assert found(b'{"a": "}{][\\"\\\\"}{"b": "\\u007b"}') == [(1, {"a": '}{]["\\'}), (1, {"b": "{"})]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'{"a": 1', "the document is cut off"),
        (b'{"a": "x', "not JSON: a text that is not closed"),
        (b"{'a': 1}", "not JSON: Expecting property name enclosed in double quotes at character 2"),
        (b'{"a": [1}}', "not JSON: Expecting ',' delimiter at character 9"),
        (b'{"a": 1]', "not JSON: Expecting ',' delimiter at character 8"),
        (b"hello", "not JSON: '{' was expected"),
        (b'"text"', "not JSON: '{' was expected"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 50_000 + b"}", "the document is cut off"),
    ],
)
def test_a_bad_line_costs_itself(bad: bytes, reason: str) -> None:
    first, second, third = found(b'{"a": 1}\n' + bad + b'\n{"a": 2}\n')
    assert (first, third) == ((1, {"a": 1}), (3, {"a": 2}))
    assert second[0] == 2
    assert second[1].startswith(reason)


def test_a_cut_off_indented_document_costs_itself() -> None:
    content = b'[\n  {\n    "a": 1\n  },\n  {\n    "b": [\n  {\n    "a": 2\n  }\n]\n'
    assert found(content) == [(2, {"a": 1}), (5, "the document is cut off"), (7, {"a": 2})]


def test_a_broken_indented_document_is_skipped_to_the_next() -> None:
    content = b'[\n  {\n    "a": "open,\n    "b": 2\n  },\n  {\n    "a": 2\n  }\n]\n'
    assert found(content) == [(2, "not JSON: a text that is not closed"), (6, {"a": 2})]


def test_a_file_that_ends_early_gives_what_was_whole() -> None:
    assert found(b'[{"a": 1}, {"a": 2}, {"a": ') == [
        (1, {"a": 1}),
        (1, {"a": 2}),
        (1, "the document is cut off"),
    ]


def test_byte_order_marks_and_nul_bytes_between_documents_are_passed_over() -> None:
    assert found(b'\xef\xbb\xbf{"a": 1}\n\xef\xbb\xbf{"a": 2}\n\0\0\0\n\x1e{"a": 3}') == [
        (1, {"a": 1}),
        (2, {"a": 2}),
        (4, {"a": 3}),
    ]


def test_bytes_that_are_not_utf8_do_not_cost_the_document() -> None:
    assert found(b'{"a": "caf\xe9"}') == [(1, {"a": "caf\udce9"})]


def test_what_is_nested_too_deeply_and_long_integers_do_not_cost_the_document() -> None:
    deep = b"[" * 100_000 + b"1" + b"]" * 100_000
    ((_, value),) = found(b'{"deep": ' + deep + b', "long": ' + b"9" * 10_000 + b', "a": 1}')
    assert (value["long"], value["a"]) == ("9" * 10_000, 1)
    depth, inner = 1, value["deep"]
    while inner != [None]:
        depth, (inner,) = depth + 1, inner
    assert depth == parting.MAX_NESTING - 1


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> int:
    """A small bound on a record's length, read in small pieces."""
    monkeypatch.setattr(parting, "_PIECE_BYTES", 1000)
    monkeypatch.setattr(parting, "MAX_RECORD_BYTES", 10_000)
    return 10_000


TOO_LONG = "it is longer than 64 MiB"


@pytest.mark.parametrize(
    "long",
    [
        b'{"a": "' + b"x" * 20_000 + b'"}',
        b'{"a": "' + b'\\"}' * 20_000 + b'"}',
        b'{"a": [' + b'{"a": "b"},' * 2_000 + b"1]}",
        b'{"a": ' + b"9" * 20_000 + b"}",
    ],
)
def test_a_document_that_is_too_long_costs_itself(bound: int, long: bytes) -> None:
    assert found(b'{"a": 1}' + long + b'{"a": 2}\n{"a": 3}') == [
        (1, {"a": 1}),
        (1, TOO_LONG),
        (1, {"a": 2}),
        (2, {"a": 3}),
    ]


def test_a_document_that_is_as_long_as_may_be_is_kept(bound: int) -> None:
    text = "x" * (bound - len('{"a": ""}'))
    assert found(json.dumps({"a": text}).encode()) == [(1, {"a": text})]
    assert found(json.dumps({"a": text + "x"}).encode()) == [(1, TOO_LONG)]


@pytest.mark.parametrize("end", ["", '"'])
def test_a_document_that_is_too_long_and_cut_off_costs_itself(bound: int, end: str) -> None:
    long = '{\n  "a": [\n' + '    "x",\n' * 3_000 + '    "' + end
    assert found(long.encode()) == [(1, TOO_LONG)]
    assert found(f'{long}\n{{\n  "a": 2\n}}\n'.encode()) == [(1, TOO_LONG), (3004, {"a": 2})]


def test_a_long_line_that_is_no_json_is_named_once(bound: int) -> None:
    assert found(b"x" * 20_000 + b'\n{"a": 2}\ny\n') == [
        (1, "not JSON: '{' was expected"),
        (2, {"a": 2}),
        (3, "not JSON: '{' was expected"),
    ]


def test_a_line_that_is_too_long_costs_itself(bound: int) -> None:
    content = b'{"a": 1}\n"' + b"x" * 20_000 + b'"\n{"a": 2}\n' + b"x" * bound
    numbered = [
        (line, value if not isinstance(value, InputError) else value.reason)
        for line, value in lines(io.BytesIO(content))
    ]
    assert numbered[:3] == [(1, {"a": 1}), (2, TOO_LONG), (3, {"a": 2})]
    assert numbered[3] == (4, "not JSON: Expecting value at character 1")


def test_a_long_text_is_looked_at_once() -> None:
    def seconds(size: int) -> float:
        begun = time.perf_counter()
        assert [len(value["a"]) for _, value in found(b'{"a": "' + b"x" * size + b'"}')] == [size]
        return time.perf_counter() - begun

    assert seconds(60 << 20) < 30 * seconds(6 << 20) + 1


def test_lines_are_taken_one_by_one() -> None:
    numbered = [
        (line, value if not isinstance(value, InputError) else value.reason)
        for line, value in lines(io.BytesIO(b'\xef\xbb\xbf{"a": 1}\n\n{"b":\n[2]\n'))
    ]
    assert numbered == [(1, {"a": 1}), (3, "not JSON: Expecting value at character 6"), (4, [2])]


class Endless(io.RawIOBase):
    """A stream that never ends, so a reader that wants all of it never answers."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = len(buffer) - len(buffer) % len(self._text)
        buffer[:size] = self._text * (size // len(self._text))
        return size


@pytest.mark.parametrize("text", [b'{"a": 1}\n', b'{"a": 1}'])
def test_documents_stream(text: bytes) -> None:
    stream: Iterator[tuple[int, Any]] = documents(io.BufferedReader(Endless(text), 1 << 16))
    assert [next(stream)[1] for _ in range(100_000)] == [json.loads(text)] * 100_000
