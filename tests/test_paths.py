"""From steps to a path: buckets, tokens, names and bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.paths import CUT, Fold, Token, bucket, clean_name, fold, identifier, path_text


def test_equal_neighbours_fold_into_one_token() -> None:
    steps = ["llm:m", "tool:s", "tool:s", "tool:s", "tool:s", "llm:m"]
    assert fold(steps) == (Fold("llm:m", 1), Fold("tool:s", 4), Fold("llm:m", 1))
    assert path_text(fold(steps)) == ["llm:m", "tool:s×3-5", "llm:m"]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "t:x"),
        (2, "t:x×2"),
        (3, "t:x×3-5"),
        (5, "t:x×3-5"),
        (6, "t:x×6-10"),
        (10, "t:x×6-10"),
        (11, "t:x×11+"),
    ],
)
def test_buckets(count: int, text: str) -> None:
    assert path_text(fold(["t:x"] * count)) == [text]


def test_a_name_that_looks_like_a_bucket_stays_itself() -> None:
    once, twice = fold(["tool:a×2"]), fold(["tool:a", "tool:a"])
    assert path_text(once) == ["tool:a××2"]
    assert path_text(twice) == ["tool:a×2"]
    assert once[0].token != twice[0].token


def test_a_tool_called_like_the_mark_is_not_the_mark() -> None:
    assert fold(["tool:…"])[0].token != CUT.token
    assert str(Token("tool:…", 0)) == "tool:…"


def test_64_tokens_fit_and_the_65th_is_cut() -> None:
    steps = [f"tool:{number}" for number in range(65)]
    assert fold(steps[:64]) == tuple(Fold(step, 1) for step in steps[:64])
    assert fold(steps) == (*fold(steps[:64]), CUT)


def test_192_steps_are_read_and_the_193rd_is_cut() -> None:
    assert fold(["tool:x"] * 192) == (Fold("tool:x", 192),)
    assert fold(["tool:x"] * 193) == (Fold("tool:x", 192), CUT)


def test_names_are_cut_at_160_bytes_without_splitting_a_character() -> None:
    assert clean_name("a" * 159 + "é") == "a" * 159
    assert clean_name("a" * 158 + "é") == "a" * 158 + "é"


def test_control_characters_and_lone_surrogates_are_replaced() -> None:
    assert clean_name("a\x00b\x1bc\ud800d") == "a\ufffdb\ufffdc\ufffdd"


@given(st.text(), st.integers(1, 300))
def test_an_identifier_is_bounded_and_the_same_when_made_twice(text: str, times: int) -> None:
    kept = identifier(text * times)
    assert identifier(kept) == kept
    assert len(kept.encode()) <= 256
    assert kept.strip() in (kept, "")
    assert identifier(clean_name(text)) == clean_name(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (" chat 7 ", "chat 7"),
        ("chat\n7\t", "chat\ufffd7"),
        ("a\u2028b", "a\ufffdb"),
        ("  ", " "),
        ("\n", "\ufffd"),
    ],
)
def test_an_identifier_has_no_outer_blanks_and_no_control_characters(text: str, kept: str) -> None:
    assert identifier(text) == kept


def test_identifiers_that_differ_far_behind_stay_two() -> None:
    assert identifier("a" * 300 + "b") != identifier("a" * 300 + "c")


@given(st.text())
def test_cleaning_is_idempotent_and_bounded(text: str) -> None:
    name = clean_name(text)
    assert clean_name(name) == name
    assert 0 < len(name.encode()) <= 160


@given(st.integers(1, 500))
def test_buckets_never_fall(count: int) -> None:
    assert bucket(count) <= bucket(count + 1)
