"""What a pasted text may name, however it was copied."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard import urls
from dashboard.urls import Look
from engine.pasting import READ, TRIED, alike, candidates

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
DASHED = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"


@pytest.mark.parametrize(
    "text",
    [
        "run-1",
        " run-1\n",
        '"run-1"',
        "'run-1',",
        "`run-1`.",
        "“run-1”",
        "(run-1)",
        "[run-1]",
        "<run-1>",
        '{"run_id": "run-1", "outcome": "failure"}',
        "run_id=run-1",
        "run: run-1",
        "session.id: run-1",
        "gen_ai.conversation.id = 'run-1'",
        "2026-10-18 12:00:00 ERROR trace_id=run-1 the tool failed",
        "my.own.key = run-1",
        "\u200brun-1\ufeff",
        "http://127.0.0.1:8050/run?run=run-1&window=all",
        "127.0.0.1:8050/run?window=all&run=run-1",
        "/run?run=run-1",
        "<https://tool.example/project/7/traces/run-1?observation=9>",
        "https://tool.example/#/trace/run-1",
        "https://tool.example/explore?left=1&traceID=run-1",
        "https://tool.example/trace/run-1/spans",
        "[the trace](https://tool.example/trace/run-1)",
    ],
)
def test_a_run_is_found_however_it_was_copied(text: str) -> None:
    assert "run-1" in candidates(text)


@pytest.mark.parametrize("spelling", [TRACE, DASHED, TRACE.upper()])
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "trace {} failed",
        "https://tool.example/apm/trace/{}?span=1",
        'https://tool.example/explore?panes={{"a":{{"queries":[{{"query":"{}"}}]}}}}',
        "Trace-Id:{};",
    ],
)
def test_the_id_of_a_trace_is_found_in_any_text(text: str, spelling: str) -> None:
    assert spelling in candidates(text.format(spelling))


def test_the_id_of_a_trace_is_found_in_a_traceparent() -> None:
    assert candidates(f"00-{TRACE}-00f067aa0ba902b7-01")[1:] == (TRACE,)


def test_the_text_as_it_is_comes_first_then_the_likeliest() -> None:
    assert candidates("") == candidates(" \n ") == ()
    assert candidates("run=a")[0] == "run=a"
    address = "http://here/compare?agent=desk&ticket=T&a=1&run=r"
    assert candidates(address)[1:] == ("r", "T", "desk", "1", "compare")


names = st.text(
    st.characters(codec="utf-8", categories=("L", "N")) | st.sampled_from("-_.:"), min_size=1
).filter(lambda name: name[0].isalnum() and name[-1].isalnum())
wrappings: dict[str, Callable[[str], str]] = {
    "quotes": '"{}"'.format,
    "backticks": "`{}`".format,
    "brackets": "[{}]".format,
    "spaces": " \t{}\n".format,
    "comma": "{},".format,
    "key": "run_id={}".format,
    "JSON": '"session.id": "{}"'.format,
    "page": lambda name: f"http://127.0.0.1:8050{urls.run_url(Look(run=name))}",
    "other tool": lambda name: f"https://tool.example/traces/{quote(name, safe='')}?tab=1",
}


@given(names, st.sampled_from(sorted(wrappings)), st.sampled_from(["{}", " {} ", '"{}"', "({})", "{}."]))
def test_any_name_comes_out_of_any_wrapping(name: str, wrapping: str, around: str) -> None:
    assert name in candidates(around.format(wrappings[wrapping](name)))


@given(st.text() | st.text(alphabet="/?&=:%[]#\"'{} runid-", max_size=60))
@example("0\x1f[")
def test_no_text_is_too_odd_and_the_stripped_text_comes_first(text: str) -> None:
    found = candidates(text)
    assert len(found) == len(set(found)) <= TRIED
    assert found[:1] == ((text.strip(),) if text.strip() else ())
    assert all(each.strip() == each and each for each in found)


def test_of_an_endless_text_the_beginning_is_read() -> None:
    assert candidates("a " * READ + "run=late")[1:] == ("a " * (READ // 2 - 1) + "a",)


def test_names_that_differ_in_one_place_are_alike_and_the_nearest_come_first() -> None:
    known = ["run-2041", "run-2014", "run-2049", "desk-1"]
    assert alike("run-2040", known, 2) == ("run-2041", "run-2049")
    assert alike("un-2014", known, 1) == ("run-2014",)
    assert alike("run-2149", known, 1) == ("run-2049",)
    assert alike("2014", known, 5) == ("run-2014",)
    assert alike("nobody", known, 5) == alike("", known, 5) == ()
