"""Parting a stream into JSON documents."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from engine.errors import InputError
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
        (b'{"a": [1}}', "not JSON: Expecting ',' delimiter at character 9"),
        (b'{"a": 1]', "not JSON: Expecting ',' delimiter at character 8"),
        (b"hello", "not JSON: '{' was expected"),
        (b'"text"', "not JSON: '{' was expected"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (
            b'{"a": ' + b"9" * 5000 + b"}",
            "not JSON: Exceeds the limit (4300 digits) for integer string conversion",
        ),
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
