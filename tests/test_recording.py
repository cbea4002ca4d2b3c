"""Events of decision traces as spans: which run they belong to, in which order, under which ids."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from engine.decisions.outlining import Line, Start, outline, read_line
from engine.decisions.reading import read
from engine.decisions.recording import spans, trace_id
from engine.decisions.schema import BadLine, Decision, Option, Rest, ToolCall, ToolResult
from engine.decisions.trace import Kind
from engine.errors import InputError
from engine.runs import Outcome, assemble
from engine.spans import Span, Status

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_NS = 1_767_268_800_000_000_000
SECOND_NS = 10**9
SCOPE = "forkmap.decisions"


def second(number: int) -> datetime:
    return NOON + timedelta(seconds=number)


def decided(at: int = 0, span_id: str = "d", parent_id: str = "job", **facts: Any) -> Decision:
    options = (Option("search", 0.8, "look first"), Option("edit", 0.3))
    said: dict[str, Any] = {"goal": "add a test", "chosen": "search", "policy": "argmax", "margin": 0.5}
    return Decision(span_id, parent_id, second(at), options=options, **said | facts)


def called(at: int = 1, span_id: str = "c", parent_id: str = "d", tool: str = "search") -> ToolCall:
    return ToolCall(span_id, parent_id, second(at), tool, Raw(b'{"query":"date"}'))


def ended(at: int = 2, span_id: str = "r", parent_id: str = "c", ok: bool = True) -> ToolResult:
    return ToolResult(span_id, parent_id, second(at), ok, 842)


def kept(*lines: Line, run_id: str = "") -> list[Span]:
    """The spans of lines, none of which is refused."""
    found = [each for _, each in spans(enumerate(lines, 1), run_id)]
    return [each for each in found if isinstance(each, Span)]


def refused(*lines: Line) -> list[tuple[int, str]]:
    found = spans(enumerate(lines, 1))
    return [(number, each.reason) for number, each in found if isinstance(each, InputError)]


def test_every_event_becomes_a_span_of_its_runs_own_trace() -> None:
    start = Start("job", agent="coder", ticket="T-1", version="v2")
    root, decision, call, result = kept(start, decided(), called(), ended(ok=False))
    facts: dict[str, Any] = {"trace_id": trace_id("job"), "scope": SCOPE}
    assert root == Span(
        span_id="job",
        name="coder",
        start_ns=NOON_NS,
        end_ns=NOON_NS,
        attributes={
            "session.id": "job",
            "forkmap.kind": "agent",
            "forkmap.name": "coder",
            "forkmap.ticket": "T-1",
            "gen_ai.agent.version": "v2",
        },
        **facts,
    )
    assert decision == Span(
        span_id="d",
        name="decision",
        start_ns=NOON_NS,
        end_ns=NOON_NS,
        parent_id="job",
        attributes={
            "session.id": "job",
            "forkmap.kind": "other",
            "forkmap.decision.goal": "add a test",
            "forkmap.decision.options": '[{"tool":"search","score":0.8,"reason":"look first"},'
            '{"tool":"edit","score":0.3}]',
            "forkmap.decision.chosen": "search",
            "forkmap.decision.policy": "argmax",
            "forkmap.decision.margin": 0.5,
        },
        **facts,
    )
    assert call == Span(
        span_id="c",
        name="search",
        start_ns=NOON_NS + SECOND_NS,
        end_ns=NOON_NS + SECOND_NS,
        parent_id="d",
        attributes={
            "session.id": "job",
            "forkmap.kind": "tool",
            "forkmap.name": "search",
            "gen_ai.tool.call.arguments": '{"query":"date"}',
        },
        **facts,
    )
    assert result == Span(
        span_id="r",
        name="tool result",
        start_ns=NOON_NS + 2 * SECOND_NS,
        end_ns=NOON_NS + 2 * SECOND_NS,
        parent_id="c",
        status=Status.ERROR,
        attributes={
            "session.id": "job",
            "forkmap.kind": "other",
            "forkmap.result.ok": False,
            "forkmap.result.bytes": 842,
        },
        **facts,
    )


def test_a_margin_that_is_not_given_is_not_made_up() -> None:
    (span,) = kept(decided(margin=None))
    assert "forkmap.decision.margin" not in span.attributes


def test_the_run_of_an_event_is_its_first_ancestor_that_is_none() -> None:
    lines: list[Line] = [ended(), called(), decided(), decided(3, "d2", "c"), decided(0, "other", "job 2")]
    runs = [span.attributes["session.id"] for span in kept(*lines)]
    assert runs == ["job", "job", "job", "job", "job 2"]


def test_who_says_the_run_is_believed() -> None:
    """A call that comes after its decision, in a request of its own, names no run."""
    assert [span.attributes["session.id"] for span in kept(called())] == ["d"]
    assert [(span.trace_id, span.parent_id) for span in kept(called(), run_id="job")] == [
        (trace_id("job"), "d")
    ]


def test_who_says_the_run_says_it_of_its_start_too() -> None:
    start, decision = kept(Start("another", agent="coder"), decided(), run_id="job")
    assert (start.span_id, start.trace_id) == ("job", decision.trace_id)


def test_an_event_cannot_take_the_place_of_its_run() -> None:
    found = [each for _, each in spans([(1, decided(span_id="job", parent_id="x"))], "job")]
    assert [each.reason for each in found if isinstance(each, InputError)] == [
        "span_id: 'job' is the run itself"
    ]


def test_parents_in_a_ring_name_no_run() -> None:
    lines: list[Line] = [called(0, "a", "b"), called(0, "b", "a"), called(0, "below", "a"), decided()]
    reason = "the parents of {} form a ring, so that no run is named"
    assert refused(*lines) == [
        (1, reason.format("'a'")),
        (2, reason.format("'b'")),
        (3, reason.format("'below'")),
    ]
    assert [span.span_id for span in kept(*lines)] == ["d"]


def test_a_long_chain_of_parents_is_climbed_once() -> None:
    chain = [(number, called(0, f"c{number}", f"c{number + 1}")) for number in range(100_000)]
    assert {*outline(chain).runs.values()} == {"c100000"}


def test_an_id_that_is_there_twice_is_kept_twice_and_a_copy_once() -> None:
    first, copy, other = kept(decided(), decided(), decided(goal="another"))
    assert first == copy
    assert (other.span_id, other.attributes["forkmap.event.id"]) == ("d~2", "d")
    assert kept(decided(), decided(goal="another"), decided(goal="third"))[2].span_id == "d~3"
    assert kept(decided(), decided(goal="another"), decided(goal="another"))[1:] == [other, other]
    trace = read("job", [first, other])
    assert trace is not None
    assert [(each.kind, each.span_id) for each in trace.findings if each.kind is Kind.DUPLICATE_SPAN] == [
        (Kind.DUPLICATE_SPAN, other.span_id)
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (decided(span_id="d" * 257), "span_id: over 256 characters, blank or not printable"),
        (decided(parent_id="\n"), "parent_id: over 256 characters, blank or not printable"),
        (
            msgspec.structs.replace(decided(), ts=datetime(1969, 1, 1, tzinfo=UTC)),
            "ts: lies outside 1970 to 2262",
        ),
        (
            msgspec.structs.replace(decided(), ts=datetime(9999, 1, 1, tzinfo=UTC)),
            "ts: lies outside 1970 to 2262",
        ),
        (Start("job", agent="coder"), "ts: missing, and no event of the run is here to date it"),
        (decided(parent_id='"job"'), "run: in quotes, or with blanks around it"),
        (Start("job ", NOON), "run: in quotes, or with blanks around it"),
        (Start(" ", NOON), "run: over 256 characters, blank or not printable"),
    ],
)
def test_what_cannot_be_kept_says_why(line: Line, reason: str) -> None:
    assert refused(line) == [(1, reason)]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (b'{"type": "run"}', "run_id: missing"),
        (b'{"type": "run", "run_id": "job", "name": "x"}', "the line: object contains unknown field `name`"),
        (b'{"type": "run", "run_id": "job", "ts": "noon"}', "ts: invalid RFC3339 encoded datetime"),
        (b'{"type": "run", "run_id": "job"', "Input data was truncated"),
    ],
)
def test_a_start_that_cannot_be_read_says_why(text: bytes, detail: str) -> None:
    with pytest.raises(BadLine) as caught:
        read_line(text)
    assert caught.value.detail == detail


def test_a_start_is_dated_by_the_earliest_event_of_its_run() -> None:
    spans = kept(Start("job", agent="coder"), called(9, "late", "job"), decided(4), decided(0, "x", "other"))
    assert spans[0].start_ns == NOON_NS + 4 * SECOND_NS


# --- what becomes of the spans -------------------------------------------------------------------


def test_a_result_completes_its_call() -> None:
    lines = (decided(), called(), ended(ok=False), called(3, "c2"), decided(4, "d2", "c2"))
    run = assemble("job", kept(*lines))
    assert [(step.signature, step.start_ns, step.end_ns, step.error) for step in run.steps] == [
        ("tool:search", NOON_NS + SECOND_NS, NOON_NS + 2 * SECOND_NS, True),
        ("tool:search", NOON_NS + 3 * SECOND_NS, NOON_NS + 3 * SECOND_NS, False),
    ]


def test_of_two_results_the_first_counts() -> None:
    run = assemble("job", kept(decided(), called(), ended(2, "r1", ok=False), ended(3, "r2")))
    assert [(step.end_ns, step.error) for step in run.steps] == [(NOON_NS + 2 * SECOND_NS, True)]


def test_without_a_declaration_a_run_ended_as_its_last_result() -> None:
    lines: list[Line] = [decided(), called(), ended(ok=False)]
    assert assemble("job", kept(*lines)).outcome is Outcome.FAILURE
    assert assemble("job", kept(*lines, called(3, "c2"), ended(4, "r2", "c2"))).outcome is Outcome.SUCCESS


def test_lines_of_one_second_keep_their_order() -> None:
    calls = [called(0, span_id, "job", tool) for span_id, tool in zip("zyxw", "bcad", strict=True)]
    assert [step.signature for step in assemble("job", kept(*calls)).steps] == [
        *("tool:b", "tool:c", "tool:a", "tool:d")
    ]


def test_the_time_of_an_event_is_its_own_wherever_it_stands() -> None:
    """A thousand lines of nanoseconds would make a call earlier than a decision sent before it."""
    (first,) = spans([(5_000, decided())])
    lines: list[Line] = [decided(0, "other", "job 2"), decided(), called(0), called(0, "c2")]
    assert kept(*lines)[1] == first[1]
    assert [span.start_ns - NOON_NS for span in kept(*lines)] == [0, 0, 1, 2]


def test_runs_that_use_the_same_ids_keep_apart() -> None:
    """As programs write them that count the events of each run; of the results one is like the other."""
    one: list[Line] = [decided(), called(0), ended()]
    two: list[Line] = [decided(parent_id="job 2"), called(), ended()]
    found = kept(*one, *two)
    assert [span.attributes["session.id"] for span in found] == [*3 * ["job"], *3 * ["job 2"]]
    for run_id, its in (("job", found[:3]), ("job 2", found[3:])):
        trace = read(run_id, its)
        assert trace is not None
        assert ([call.ok for choice in trace.choices for call in choice.calls], trace.findings) == (
            [True],
            (),
        )


def test_a_bad_line_hangs_from_the_last_of_an_id_too() -> None:
    bad = BadLine("bad_record", "tool: missing", Rest("tool_call", "c", "d"))
    lines: list[Line | BadLine] = [decided(), decided(parent_id="job 2"), bad, ended()]
    assert outline(enumerate(lines, 1)).runs["r"] == "job 2"


def test_a_call_that_the_tracing_tells_of_too_counts_once() -> None:
    traced = {"session.id": "job", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    model = {"session.id": "job", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    events = kept(decided(), called())
    thought = Span("t", "0", "chat", NOON_NS, NOON_NS + 1, attributes=model)
    call = Span("t", "1", "find", NOON_NS + 5, NOON_NS + 9, attributes=traced)
    signatures = [step.signature for step in assemble("job", [*events, thought, call]).steps]
    assert signatures == ["llm:m", "tool:find"]
    signatures = [step.signature for step in assemble("job", [*events, thought]).steps]
    assert signatures == ["llm:m", "tool:search"]


EVENTS: Sequence[Line] = (
    *(Start("job", NOON, agent="coder"), decided(), called(), ended()),
    *(decided(3, "d2", "c"), called(4, "c2", "d2"), ended(5, "r2", "c2")),
    *(decided(6, "d3", "d2", margin=0.02), called(7, "c3", "d3", "edit")),
)


@given(st.permutations(range(len(EVENTS))), st.lists(st.integers(1, len(EVENTS) - 1), max_size=3))
def test_events_come_in_any_order_and_in_any_pieces(order: list[int], cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(order)]
    pieces = [order[start:end] for start, end in pairwise(ends)]
    spans = [span for piece in pieces for span in kept(*(EVENTS[at] for at in piece), run_id="job")]
    assert read("job", spans) == read("job", kept(*EVENTS))
    steps, whole = assemble("job", spans).steps, assemble("job", kept(*EVENTS)).steps
    assert [(step.signature, step.error) for step in steps] == [
        (step.signature, step.error) for step in whole
    ]
