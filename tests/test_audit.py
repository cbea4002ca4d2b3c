"""What is found in a decision trace: every kind with its line and detail, and nothing else."""

from __future__ import annotations

import importlib.util
import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decisions.audit import Link, audit, findings, order
from engine.decisions.lines import MAX_LINE_BYTES, events
from engine.decisions.schema import MAX_EVENT_BYTES
from engine.decisions.spilling import Spilled
from engine.decisions.trace import Finding, Kind
from tests.samples import SHARED

SEED = SHARED / "seeds" / "decision-spans.txt"
needs_seed = pytest.mark.skipif(not SEED.is_file(), reason=f"the article is not at {SEED}")

Record = dict[str, Any]
MENU = [{"tool": "read", "score": 0.75}, {"tool": "edit", "score": 0.5}]


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def decision(span_id: str = "d", second: int = 0, **fields: Any) -> Record:
    sound = {"goal": "fix it", "options": MENU, "chosen": "read", "policy": "argmax_score", "margin": 0.25}
    return {"type": "decision", "span_id": span_id, "parent_id": "run", "ts": at(second)} | sound | fields


def call(parent_id: str = "d", second: int = 0, **fields: Any) -> Record:
    sound = {"span_id": f"call of {parent_id}", "tool": "read", "args": {"path": "a.py"}}
    return {"type": "tool_call", "parent_id": parent_id, "ts": at(second)} | sound | fields


def result(parent_id: str = "call of d", second: int = 0, **fields: Any) -> Record:
    sound = {"span_id": f"result of {parent_id}", "ok": True, "bytes": 2}
    return {"type": "tool_result", "parent_id": parent_id, "ts": at(second)} | sound | fields


def without(record: Record, field: str) -> Record:
    return {name: value for name, value in record.items() if name != field}


def text(*lines: Record | str) -> bytes:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()


def found(content: bytes, low_margin: float = 0.05) -> list[tuple[str, int, str]]:
    numbered = events(io.BytesIO(content))
    return [(each.kind.value, each.line, each.detail) for each in audit(numbered, low_margin)]


def scored(*scores: float | None) -> list[Record]:
    return [
        {"tool": tool, "score": score} for tool, score in zip(("read", "edit", "test"), scores, strict=False)
    ]


FAULTS: dict[str, tuple[list[Record | str], list[tuple[str, int, str]]]] = {
    "nothing": ([decision(), call(), result()], []),
    "cut off": ([decision(), call(), '{"type": "tool_re'], [("bad_json", 3, "Input data was truncated")]),
    "no number": (
        [decision(), call(), json.dumps(decision("e", margin=float("nan")))],
        [("bad_json", 3, "JSON is malformed: invalid character (byte 237)")],
    ),
    "a field missing": ([without(decision(), "policy"), call()], [("bad_record", 1, "policy: missing")]),
    "a field of another type": (
        [decision(options=[{"tool": "read", "score": "0.75"}]), call()],
        [("bad_record", 1, "options[0].score: expected `float | null`, got `str`")],
    ),
    "a number too large": (
        [json.dumps(decision()).replace("0.75", "1e999"), call()],
        [("bad_record", 1, "options[0].score: number out of range")],
    ),
    "a margin too large": (
        [json.dumps(decision()).replace("0.25", "1" + "0" * 400), call()],
        [("bad_record", 1, "margin: number out of range")],
    ),
    "a time without zone": (
        [decision(), call(), result(ts="2026-01-01T00:00:00")],
        [("bad_record", 3, "ts: expected `datetime` with a timezone component")],
    ),
    "an array": (["[1]"], [("bad_record", 1, "the line: expected `object`, got `array`")]),
    "another choice than was offered": (
        [decision(chosen="test"), call(tool="test")],
        [("chosen_missing", 1, "test")],
    ),
    "another margin than the scores'": ([decision(margin=0.3), call()], [("bad_margin", 1, "0.3")]),
    "a whole margin, as it was written": ([decision(margin=1), call()], [("bad_margin", 1, "1")]),
    "a margin within the tolerance": ([decision(margin=0.2500009), call()], []),
    "a margin without scores": (
        [decision(options=scored(None, None)), call()],
        [("bad_margin", 1, "0.25")],
    ),
    "a margin without the choice's score": (
        [decision(options=scored(None, 0.5)), call()],
        [("bad_margin", 1, "0.25")],
    ),
    "a margin beside other scores": ([decision(options=scored(0.75, None, 0.5)), call()], []),
    "no margin": ([decision(options=scored(0.5, 0.5), margin=None), call()], []),
    "one option": ([decision(options=scored(0.75), margin=7), call()], []),
    "a call under no decision": (
        [decision(), call(), call("run")],
        [("missing_decision", 3, "read")],
    ),
    "a second call under a decision": (
        [decision(), call(), call(span_id="again", tool="edit")],
        [("missing_decision", 3, "edit")],
    ),
    "a call before its decision": (
        [call(), decision()],
        [("missing_decision", 1, "read"), ("unconsumed_decision", 2, "d")],
    ),
    "a call without a parent": (
        [decision(), without(call(), "parent_id")],
        [
            ("unconsumed_decision", 1, "d"),
            ("bad_record", 2, "parent_id: missing"),
            ("missing_decision", 2, "read"),
        ],
    ),
    "a bad call under its decision": (
        [decision(), without(call(tool="edit"), "args")],
        [("bad_record", 2, "args: missing"), ("choice_mismatch", 2, "read->edit")],
    ),
    "another call than was chosen": (
        [decision(), call(tool="edit")],
        [("choice_mismatch", 2, "read->edit")],
    ),
    "no call": (
        [decision(), decision("e", margin=0.5, options=scored(1, 0.5)), call()],
        [("unconsumed_decision", 2, "e")],
    ),
    "an id again": (
        [decision(), call(), result(), result()],
        [("duplicate_span", 4, "result of call of d")],
    ),
    "a decision again": ([decision(), call(), decision(), call(span_id="2")], [("duplicate_span", 3, "d")]),
    "an option again": (
        [decision(options=[*MENU, {"tool": "edit", "score": 0.1}, MENU[1]]), call()],
        [("duplicate_option", 1, "edit")],
    ),
    "close to a tie": (
        [decision(options=scored(0.52, 0.5), margin=0.02), call()],
        [("low_margin", 1, "0.02")],
    ),
    "a tie": ([decision(options=scored(0.5, 0.5), margin=0), call()], [("low_margin", 1, "0")]),
    "on the threshold": ([decision(options=scored(0.55, 0.5), margin=0.05), call()], []),
    "close to a tie, whatever it says": (
        [decision(options=scored(0.52, 0.5), margin=0.4), call()],
        [("bad_margin", 1, "0.4"), ("low_margin", 1, "0.02")],
    ),
    "not the best": (
        [decision(chosen="edit", margin=-0.25), call(tool="edit")],
        [("not_top", 1, "-0.25")],
    ),
    "not the best, as the policy says": (
        [decision(chosen="edit", margin=-0.25, policy="explore"), call(tool="edit")],
        [],
    ),
    "earlier than the line before": (
        [decision(second=9), call(second=8), result(second=8)],
        [("time_reversed", 2, "earlier than the line before")],
    ),
    "earlier than its parent": (
        [decision("d", 9), decision("e", 5), call("e", 5), call("d", 7)],
        [
            ("time_reversed", 2, "earlier than the line before"),
            ("time_reversed", 4, "earlier than its parent d"),
        ],
    ),
    "the same moment, elsewhere": ([decision(), call(ts="2026-01-01T01:00:00+01:00")], []),
    "a long goal": ([decision(goal="g" * 201), call()], [("long_goal", 1, "201 characters")]),
    "a goal that is long enough": ([decision(goal="é" * 200), call()], []),
    "lines of other types": (['{"type": "note"}', decision(), "", '{"type": "run"}', call()], []),
    "no line": ([], [("bad_json", 1, "there is nothing in it")]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_where_it_is_and_nothing_else(name: str) -> None:
    lines, expected = FAULTS[name]
    assert found(text(*lines)) == expected


def test_each_kind_is_shown_here() -> None:
    assert {kind for _, expected in FAULTS.values() for kind, _, _ in expected} == {*Kind}


def test_findings_name_the_event_they_are_about() -> None:
    lines = text(decision(), without(result("call of d", span_id="bad"), "ok"), "{")
    assert audit(events(io.BytesIO(lines))) == (
        Finding(1, Kind.UNCONSUMED_DECISION, "d", "d"),
        Finding(2, Kind.BAD_RECORD, "ok: missing", "bad"),
        Finding(3, Kind.BAD_JSON, "Input data was truncated", ""),
    )


def test_what_is_a_low_margin_is_a_setting() -> None:
    assert found(text(decision(), call()), low_margin=0.3) == [("low_margin", 1, "0.25")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbf" + text(decision(), call()), []),
        (text(decision(), call()).replace(b"\n", b"\r\n") + b"\r\n", []),
        (text(decision(), "", call()) + b"\n\n\n", []),
        (text(decision(), call()) + b"\n\xff\n" + text(call("run")), ["bad_json 3", "missing_decision 4"]),
        (text(decision(), call(), result(span_id="\ud800")), ["bad_json 3"]),
        (text(decision(), call(), "[" * 10**5), ["bad_json 3"]),
        (text(decision(), "\0" * 10, call()), ["bad_json 2"]),
    ],
    ids=["BOM", "CRLF", "blank lines", "no UTF-8", "half a character", "deep nesting", "zeros"],
)
def test_lines_are_counted_and_read_whatever_is_between_them(content: bytes, expected: list[str]) -> None:
    assert [f"{kind} {line}" for kind, line, _ in found(content)] == expected


def test_arguments_may_nest_and_options_may_be_many() -> None:
    deep = json.dumps(call(args="here")).replace('"here"', "[" * 900 + "]" * 900)
    many = [{"tool": f"tool-{number}", "score": number} for number in range(10_000)]
    chosen = decision("e", options=many, chosen="tool-9999", margin=1)
    assert found(text(decision(), deep, chosen, call("e", tool="tool-9999"))) == []


def test_a_line_that_is_too_long_is_passed_over() -> None:
    long = json.dumps(result(span_id="long")).encode() + b" " * MAX_LINE_BYTES
    content = text(decision()) + b"\n" + long + b"\n" + text(call())
    assert found(content) == [("bad_json", 2, "the line is longer than 64 MiB")]


def test_an_event_is_no_longer_than_it_may_be_but_for_its_arguments() -> None:
    many = "x" * MAX_EVENT_BYTES
    assert found(text(decision(goal=many), call(args=many), {"type": "note", "text": many})) == [
        ("bad_record", 1, "the line: longer than 2 MiB without its arguments")
    ]
    assert found(text({"type": many})) == []


def test_no_line_takes_more_memory_than_a_trace_may(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    size = MAX_LINE_BYTES - (1 << 20)
    head = '{"type": "decision", "span_id": "d", "parent_id": "run", "ts": "2026-01-01T00:00:00Z", '
    with path.open("w") as file:
        file.write(head + '"options": [' + ",".join(['{"tool":"a"}'] * (size // 13)) + "]}\n")
        file.write('{"type": "tool_call", "tool": [' + ",".join(["[]"] * (size // 3)) + "]}\n")
        file.write(head + '"goal": "\U0001f600' + "g" * size + '"}\n')
        for number in range(3):
            file.write(json.dumps(call("run", span_id=str(number), args="a" * size)) + "\n")
    program = (
        "import re, sys; from dashboard.cli import main; code = main(['audit', sys.argv[1]]); "
        r"print(code, re.search(r'VmHWM:\s+(\d+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    *_, count, last = done.stdout.splitlines()
    code, peak_kb = map(int, last.split())
    assert (count, code) == ("finding_count\t9", 1)
    assert peak_kb * 1024 < 200e6


def test_long_ids_do_not_wait_in_memory() -> None:
    tracemalloc.start()
    try:
        with closing(Spilled(Link, "id, line, role")) as links:
            for line in range(500):
                links.append(Link(f"{line:06}" * 20_000, line, 0, "", None, None))
            assert len(links) == 500
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def article() -> str:
    return SEED.read_text()


@pytest.fixture(scope="module")
def fragment(article: str) -> list[Record]:
    return [json.loads(line) for line in article.splitlines() if line.startswith('{"type"')]


BROKEN: dict[str, tuple[Callable[[Record, Record, Record], list[Record]], list[tuple[str, int, str]]]] = {
    "as it is": (lambda d, c, r: [d, c, r], []),
    "the parent is missing": (lambda d, c, r: [c, r], [("missing_decision", 1, "search_repo")]),
    "the parent is the run": (
        lambda d, c, r: [d, c | {"parent_id": "run_91"}, r],
        [("unconsumed_decision", 1, "dec_7f3a"), ("missing_decision", 2, "search_repo")],
    ),
    "the winner is rewritten": (
        lambda d, c, r: [d, c | {"tool": "edit_file"}, r],
        [("choice_mismatch", 2, "search_repo->edit_file")],
    ),
    "the choice was not offered": (
        lambda d, c, r: [d | {"chosen": "open_file"}, c | {"tool": "open_file"}, r],
        [("chosen_missing", 1, "open_file")],
    ),
    "the margin is another": (lambda d, c, r: [d | {"margin": 0.36}, c, r], [("bad_margin", 1, "0.36")]),
    "nothing was called": (lambda d, c, r: [d], [("unconsumed_decision", 1, "dec_7f3a")]),
    "no scores, and no margin": (
        lambda d, c, r: [d | {"options": [{"tool": "search_repo"}, {"tool": "x"}], "margin": None}, c, r],
        [],
    ),
}


@needs_seed
@pytest.mark.parametrize("name", BROKEN)
def test_the_fragment_of_the_article_is_sound_until_it_is_broken(name: str, fragment: list[Record]) -> None:
    broken, expected = BROKEN[name]
    assert found(text(*broken(*fragment))) == expected


@pytest.fixture(scope="module")
def script(article: str, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The article's own program, of which five kinds of findings keep their meaning."""
    path = tmp_path_factory.mktemp("article") / "article.py"
    body = article.partition("#!/usr/bin/env python3")[2].partition("raise SystemExit(main())")[0]
    path.write_text(f"{body}pass\n")
    spec = importlib.util.spec_from_file_location("article", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["article"] = module
    spec.loader.exec_module(module)
    return module


ids = st.sampled_from("abc")
tools = st.sampled_from(("read", "edit", "test"))
scores = st.sampled_from((0, 1, 0.1, 0.3, 0.30000004, -2.5))
options = st.lists(st.fixed_dictionaries({"tool": tools, "score": scores}), max_size=4)
margins = st.one_of(st.none(), scores, st.sampled_from((0.2, -0.2, 0.20000096, 0.7)))
seconds = st.integers(0, 3)
decisions = st.builds(
    lambda id_, second, offered, chosen, margin: decision(
        id_, second, options=offered, chosen=chosen, margin=margin
    ),
    *(ids, seconds, options, tools, margins),
)
calls = st.builds(
    lambda id_, parent, second, tool: call(parent, second, span_id=id_, tool=tool), ids, ids, seconds, tools
)
results = st.builds(lambda id_, parent, second: result(parent, second, span_id=id_), ids, ids, seconds)
traces = st.lists(st.one_of(decisions, calls, results), max_size=12)


@needs_seed
@given(traces)
def test_the_five_kinds_of_the_article_keep_their_meaning(
    script: ModuleType, tmp_path_factory: pytest.TempPathFactory, trace: list[Record]
) -> None:
    path = tmp_path_factory.getbasetemp() / "trace.jsonl"
    path.write_bytes(text(*trace))
    told = sorted((each.kind, each.line, each.detail) for each in script.audit(str(path)))
    theirs = {"chosen_missing", "bad_margin", "missing_decision", "choice_mismatch", "unconsumed_decision"}
    ours = [
        (kind, 0 if kind == "unconsumed_decision" else line, detail)
        for kind, line, detail in found(path.read_bytes())
        if kind in theirs
    ]
    assert sorted(ours) == told


@given(traces)
def test_a_trace_of_any_size_is_judged_as_one_in_memory(trace: list[Record]) -> None:
    numbered = [*events(io.BytesIO(text(*trace)))]
    with closing(Spilled(Link, "id, line, role")) as links:
        assert tuple(sorted(findings(numbered, 0.05, links), key=order)) == audit(numbered)


garbage = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60).map(str.encode),
    st.sampled_from((b"{", b"null", b"NaN", b"\xef\xbb\xbf{}", b'{"type": 5}', b'{"type": "decision"}')),
).map(lambda line: line.replace(b"\n", b" "))


@given(garbage, garbage, garbage)
def test_no_bytes_stop_the_audit_or_hide_what_is_around_them(a: bytes, b: bytes, c: bytes) -> None:
    content = b"\n".join([a, text(decision()), b, text(call(tool="edit")), c])
    kinds = {line: kind for kind, line, _ in found(content) if line not in (2, 4)}
    assert {*kinds.values()} <= {"bad_json", "bad_record"}
    assert [each for each in found(content) if each[1] in (2, 4)] == [("choice_mismatch", 4, "read->edit")]


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), ids, tools),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner)),
    max_leaves=5,
)
FIELDS = sorted({*decision(), *call(), *result(), "score", "reason"})


records = st.builds(
    lambda record, others, lost: {k: v for k, v in (record | others).items() if k not in lost},
    st.one_of(decisions, calls, results),
    st.dictionaries(st.sampled_from(FIELDS), values, max_size=2),
    st.sets(st.sampled_from(FIELDS), max_size=1),
)
"""Events of which something is changed or lost, mostly."""


@given(records)
def test_no_values_stop_the_audit(record: Record) -> None:
    assert {line for _, line, _ in found(text(record, record))} <= {1, 2}
