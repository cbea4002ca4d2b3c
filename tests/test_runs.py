"""From spans to runs: every rule of the run's identity, agent, steps, order and outcome."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.conventions import Evaluation
from engine.runs import (
    ALL_TIME,
    DAY_NS,
    LIVE_NS,
    Declaration,
    Outcome,
    Source,
    Step,
    Window,
    assemble,
    is_live,
    run_key,
)
from engine.spans import Event, Span, Status

OPERATIONS = {
    "llm": ("chat", "gen_ai.request.model"),
    "tool": ("execute_tool", "gen_ai.tool.name"),
    "agent": ("invoke_agent", "gen_ai.agent.name"),
}


def span(
    span_id: str,
    signature: str,
    parent: str | None = None,
    start: int = 0,
    end: int | None = -1,
    more: dict[str, Any] | None = None,
    **facts: Any,
) -> Span:
    """A span in trace ``t``, written as ``kind:name``; without a name, or of another kind, as its bare name.

    It ends a tick after its start, unless told otherwise.
    """
    kind, _, name = signature.partition(":")
    attributes: dict[str, Any] = {}
    if kind in OPERATIONS:
        operation, name_key = OPERATIONS[kind]
        attributes = {"gen_ai.operation.name": operation} | ({name_key: name} if name else {})
    return Span(
        trace_id=facts.pop("trace", "t"),
        span_id=span_id,
        name=facts.pop("name", signature),
        start_ns=start,
        end_ns=start + 1 if end == -1 else end,
        parent_id=parent,
        attributes=attributes | (more or {}),
        **facts,
    )


def path(spans: Sequence[Span]) -> list[str]:
    return [step.signature for step in assemble("r", spans).steps]


def agent(*spans: Span) -> str:
    return assemble("r", spans).agent


# --- the run's id ----------------------------------------------------------------------------------


def test_a_run_is_a_session_else_a_trace() -> None:
    first, second = span("1", "llm:m", start=0), span("2", "tool:a", start=1, more={"session.id": "s"})
    assert run_key([first, second]) == "s"
    assert run_key([first, second], by="trace") == "t"
    assert run_key([first]) == "t"


def test_of_several_sessions_the_foremost_key_counts_then_the_earliest_span() -> None:
    conversation = span("1", "llm:m", start=0, more={"gen_ai.conversation.id": "c"})
    late, early = (span(str(at), "llm:m", start=at, more={"session.id": f"s-{at}"}) for at in (3, 2))
    own = span("4", "llm:m", start=9, more={"forkmap.run.id": "r"})
    assert run_key([conversation, late, early]) == "s-2"
    assert run_key([conversation, late, early, own]) == "r"


def test_a_run_that_paused_goes_on_in_a_second_trace() -> None:
    before = [span("1", "agent:desk", start=0, end=5), span("2", "tool:ask", "1", start=1)]
    after = [
        span("1", "agent:desk", start=10, end=15, trace="u"),
        span("2", "tool:refund", "1", start=11, trace="u"),
    ]
    run = assemble("s", [*after, *before])
    assert [step.signature for step in run.steps] == ["tool:ask", "tool:refund"]
    assert (run.trace_ids, run.start_ns, run.last_ns) == (("t", "u"), 0, 15)


def test_a_run_has_a_span() -> None:
    with pytest.raises(ValueError, match="run 'r' has no span"):
        assemble("r", [])


# --- identity of a span ----------------------------------------------------------------------------


def test_a_copy_changes_nothing_and_a_differing_one_replaces_it() -> None:
    first, other = span("1", "tool:a"), span("1", "tool:b")
    assert path([first, first]) == ["tool:a"]
    assert path([first, other]) == ["tool:b"]


def test_a_span_that_has_ended_is_never_replaced_by_an_open_copy() -> None:
    assert path([span("1", "tool:ended", end=5), span("1", "tool:open", end=None)]) == ["tool:ended"]
    assert path([span("1", "tool:open", end=None), span("1", "tool:ended", end=5)]) == ["tool:ended"]


# --- agent, version, ticket ------------------------------------------------------------------------

SERVICE = {"service.name": "shop", "service.version": "1.0"}


def test_the_agent_is_named_by_the_earliest_outermost_agent_span() -> None:
    outer, later = span("1", "agent:desk", start=1), span("2", "agent:night-desk", start=2)
    inner = span("3", "agent:helper", "1", start=0)
    assert agent(later, inner, outer) == "desk"


def test_else_by_any_span_else_by_the_service() -> None:
    nameless = span("1", "agent:", resource=SERVICE, name="invoke_agent")
    chat = span("2", "llm:m", "1", more={"gen_ai.agent.name": "desk"})
    assert agent(nameless, chat) == "desk"
    assert agent(nameless) == "shop"
    assert agent(span("1", "llm:m")) == "unknown"


def test_an_agent_learnt_late_is_the_runs_agent() -> None:
    child = span("2", "tool:a", "1", resource=SERVICE)
    assert agent(child) == "shop"
    assert agent(child, span("1", "agent:desk")) == "desk"


def test_the_agent_an_import_names_stands_above_all() -> None:
    imported = {"forkmap.agent": "imported"}
    spans = [span("1", "agent:desk", more=imported), span("2", "agent:helper", "1", more=imported)]
    assert (agent(*spans), path(spans)) == ("imported", ["agent:helper"])


def test_version_and_ticket_are_those_of_the_outermost_agent_span() -> None:
    inner = {"gen_ai.agent.version": "inner", "forkmap.ticket": "T-2"}
    outer = {"gen_ai.agent.version": "outer", "forkmap.ticket": "T-1"}
    first = span("2", "agent:helper", "1", start=0, more=inner)
    run = assemble("r", [first, span("1", "agent:desk", start=1, more=outer, resource=SERVICE)])
    assert (run.version, run.ticket) == ("outer", "T-1")
    run = assemble("r", [first, span("1", "agent:desk", start=1, resource=SERVICE)])
    assert (run.version, run.ticket) == ("inner", "T-2")
    run = assemble("r", [span("1", "agent:desk", start=1, resource=SERVICE)])
    assert (run.version, run.ticket) == ("1.0", None)


def test_the_tickets_foremost_key_counts_wherever_it_stands() -> None:
    spans = [
        span("1", "agent:desk", more={"task.id": "third"}),
        span("2", "llm:m", "1", more={"ticket.id": "second"}),
        span("3", "llm:m", "1", more={"forkmap.ticket": "first"}),
    ]
    assert [assemble("r", spans[:size]).ticket for size in (1, 2, 3)] == ["third", "second", "first"]


# --- which spans are steps -------------------------------------------------------------------------


def test_steps_are_model_tool_and_agent_calls() -> None:
    spans = [
        span("1", "agent:desk", start=0, end=9),
        span("2", "llm:m", "1", start=1),
        span("3", "tool:search", "1", start=2),
        span("4", "agent:helper", "1", start=3),
        span("5", "chain", "1", start=4, more={"openinference.span.kind": "CHAIN"}),
        span("6", "embed", "1", start=5, more={"gen_ai.operation.name": "embeddings"}),
        span("7", "guard", "1", start=6, more={"openinference.span.kind": "GUARDRAIL"}),
        span("8", "judge", "1", start=7, more={"openinference.span.kind": "EVALUATOR"}),
        span("9", "docs", "1", start=8, more={"openinference.span.kind": "RETRIEVER"}),
        span("10", "GET /", "1", start=9),
    ]
    assert path(spans) == ["llm:m", "tool:search", "agent:helper", "tool:docs"]


def test_a_step_holds_what_its_span_says() -> None:
    usage = {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4}
    spans = [
        span("1", "llm:m", start=1, end=None, more=usage),
        span("2", "tool:a", start=2, status=Status.ERROR),
    ]
    assert assemble("r", spans).steps == (
        Step("llm:m", 1, None, "t", "1", False, 3, 4),
        Step("tool:a", 2, 3, "t", "2", True, None, None),
    )


def test_outermost_agent_spans_are_no_steps_however_many() -> None:
    spans = [span("0", "workflow"), *(span(str(at), "agent:desk", "0", start=at) for at in (1, 2, 3))]
    assert path([*spans, span("9", "agent:helper", "2", start=9)]) == ["agent:helper"]


def test_an_agent_span_that_names_nobody_inside_an_agents_is_the_same_agents() -> None:
    koog = [
        span("1", "agent:", name="agent.f9f77d1a-437f-4ba6-890e-b592a50cbd21", start=0),
        span("2", "agent:", "1", name="run.6f8d2449-33ed-4c7c-82e7-5410e34ee4e6", start=1),
        span("3", "agent:helper", "2", start=2),
    ]
    assert path(koog) == ["agent:helper"]


def test_a_nested_model_span_is_the_same_call() -> None:
    spans = [
        span("1", "llm:outer", start=0),
        span("2", "chain", "1", start=1),
        span("3", "llm:inner", "2", start=2),
        span("4", "llm:innermost", "3", start=3),
    ]
    assert path(spans) == ["llm:outer"]


def test_the_inner_model_span_names_the_outer_one_and_gives_its_usage() -> None:
    usage = {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4}
    spans = [
        span("1", "llm:", start=0, end=5, name="ChatModel"),
        span("2", "llm:", "1", start=1, name="chat"),
        span("3", "llm:m", "2", start=2, more=usage),
    ]
    assert assemble("r", spans).steps == (Step("llm:m", 0, 5, "t", "1", False, 3, 4),)
    assert path(spans[:2]) == ["llm:ChatModel"]


@pytest.mark.parametrize("between", ["tool:search", "agent:helper"])
def test_a_model_call_below_a_models_tool_or_agent_is_another_call(between: str) -> None:
    spans = [
        span("0", "agent:desk", start=0),
        span("1", "llm:m", "0", start=1),
        span("2", between, "1", start=2),
        span("3", "llm:m", "2", start=3),
    ]
    assert path(spans) == ["llm:m", between, "llm:m"]


def seen_twice(start: int = 1, end: int | None = 9, scope: str = "openai", model: str = "m") -> list[Span]:
    """A model call from 1 to 9 that LangChain records, and what another library records beside it."""
    return [
        span("1", "llm:m", start=1, end=9, scope="langchain"),
        span("2", f"llm:{model}", start=start, end=end, scope=scope),
    ]


@pytest.mark.parametrize(("start", "end"), [(2, 8), (1, 9), (1, 8), (2, 9), (0, 9), (1, 10)])
def test_a_model_call_that_two_libraries_record_counts_once(start: int, end: int) -> None:
    assert path(seen_twice(start, end)) == ["llm:m"]


@pytest.mark.parametrize(
    "spans",
    [
        seen_twice(start=0, end=8),
        seen_twice(start=2, end=10),
        seen_twice(end=None),
        seen_twice(scope="langchain"),
        [seen_twice()[1], span("1", "llm:m", start=1, end=None, scope="langchain")],
    ],
    ids=["begins before", "ends after", "open", "same library", "around it an open one"],
)
def test_otherwise_it_counts_twice(spans: list[Span]) -> None:
    assert path(spans) == ["llm:m", "llm:m"]


def test_another_model_is_another_call() -> None:
    assert path(seen_twice(start=2, model="n")) == ["llm:m", "llm:n"]


def test_in_langgraph_the_root_chain_names_the_agent_and_its_nodes_are_no_steps() -> None:
    scope = "openinference.instrumentation.langchain"

    def node(span_id: str, name: str, kind: str, parent: str | None, start: int) -> Span:
        return Span("t", span_id, name, start, start + 1, parent, scope=scope,
                    attributes={"openinference.span.kind": kind})  # fmt: skip

    spans = [
        node("1", "order_desk", "CHAIN", None, 0),
        node("2", "agent", "AGENT", "1", 1),
        span("3", "llm:m", "2", start=2),
        node("4", "search", "TOOL", "1", 3),
        node("5", "agent", "AGENT", "1", 4),
        span("6", "llm:m", "5", start=5),
    ]
    assert (agent(*spans), path(spans)) == ("order_desk", ["llm:m", "tool:search", "llm:m"])
    assert agent(*(span("0", "job"), *spans[1:])) == "unknown"
    assert agent(node("1", "RunnableSequence", "CHAIN", None, 0)) == "unknown"


@pytest.mark.parametrize(
    ("name", "expected"), [("order_desk", "order_desk"), ("claude.conversation", "shop")]
)
def test_in_langsmith_the_root_chain_names_the_agent_unless_it_is_every_agents(
    name: str, expected: str
) -> None:
    chain = {"langsmith.span.kind": "chain", "gen_ai.operation.name": "chain"}
    resource = {"service.name": "shop"}
    root = Span("t", "1", name, 0, 9, scope="langsmith", attributes=chain, resource=resource)
    node = Span("t", "2", "ask", 1, 2, "1", scope="langsmith", attributes=chain, resource=resource)
    assert agent(root, node) == expected


# --- order -----------------------------------------------------------------------------------------


def test_steps_are_ordered_by_start_then_depth_then_signature_then_span_id() -> None:
    spans = [
        span("1", "chain", start=5),
        span("2", "tool:a", "1", start=5),
        span("3", "tool:c", start=5),
        span("5", "tool:b", start=5),
        span("4", "tool:b", start=5),
        span("6", "tool:z", start=4),
    ]
    ordered = [step.span_id for step in assemble("r", spans).steps]
    assert ordered == ["6", "4", "5", "3", "2"]


def test_a_model_that_is_named_from_within_is_ordered_by_that_name() -> None:
    spans = [
        span("1", "llm:", name="z"),
        span("2", "llm:a", "1"),
        span("3", "llm:b"),
    ]
    assert path(spans) == ["llm:a", "llm:b"]


def test_a_span_whose_parent_is_absent_is_a_root() -> None:
    orphan = span("2", "agent:desk", "gone", start=1)
    run = assemble("r", [orphan, span("3", "tool:a", "2", start=2), span("4", "tool:b", "lost", start=3)])
    assert (run.agent, [step.signature for step in run.steps]) == ("desk", ["tool:a", "tool:b"])


def test_parents_are_looked_for_in_the_same_trace_only() -> None:
    spans = [span("1", "agent:desk", trace="u"), span("2", "agent:helper", "1", start=1)]
    assert path(spans) == []


def test_a_cycle_hangs_nothing_and_its_spans_are_roots() -> None:
    ring = [span("1", "llm:a", "3"), span("2", "llm:b", "1"), span("3", "llm:c", "2")]
    below = [span("4", "tool:x", "2"), span("5", "tool:self", "5")]
    assert path([*below, *ring]) == ["llm:a", "llm:b", "llm:c", "tool:self", "tool:x"]


# --- outcome ---------------------------------------------------------------------------------------


def outcome(*spans: Span, declared: Sequence[Declaration] = ()) -> tuple[Outcome, Source]:
    run = assemble("r", spans, declared)
    return run.outcome, run.source


def said(what: str) -> dict[str, Any]:
    return {"session.outcome": what}


def test_the_span_that_ended_last_decides() -> None:
    failed = span("1", "tool:a", start=0, end=9, status=Status.ERROR)
    assert outcome(failed, span("2", "tool:b", start=1, end=8)) == (Outcome.FAILURE, Source.INFERRED)
    assert outcome(failed, span("2", "tool:b", start=1, end=10)) == (Outcome.SUCCESS, Source.INFERRED)
    assert outcome(failed, span("2", "tool:b", start=20, end=None)) == (Outcome.FAILURE, Source.INFERRED)


def test_of_those_that_ended_together_the_shallower_then_the_lower_id() -> None:
    root = span("9", "agent:desk", end=5)
    inner = span("1", "tool:a", "9", end=5, status=Status.ERROR)
    assert outcome(inner, root)[0] == Outcome.SUCCESS
    assert outcome(inner, span("2", "tool:b", "9", end=5), root, span("0", "x", end=5))[0] == Outcome.SUCCESS
    assert outcome(span("1", "x", end=5, status=Status.ERROR), span("2", "y", end=5))[0] == Outcome.FAILURE


def test_if_nothing_ended_the_run_was_abandoned() -> None:
    assert outcome(span("1", "llm:m", end=None)) == (Outcome.ABANDONED, Source.INFERRED)


def test_an_interrupt_that_ended_last_is_no_failure() -> None:
    interrupt = Event("exception", 5, {"exception.type": "langgraph.errors.GraphInterrupt"})
    paused = span("1", "agent:desk", status=Status.ERROR, events=(interrupt,))
    assert outcome(paused)[0] == Outcome.SUCCESS


def test_the_latest_declaration_wins_over_what_is_inferred() -> None:
    early = span("1", "tool:a", start=0, end=3, more=said("failed"))
    late = span("2", "tool:b", start=1, end=2, events=(Event("done", 8, said("ok")),))
    assert outcome(early, span("3", "x", end=9, status=Status.OK)) == (Outcome.FAILURE, Source.DECLARED)
    assert outcome(early, late) == (Outcome.SUCCESS, Source.DECLARED)
    assert outcome(early, late, declared=[Declaration("r", Outcome.ABANDONED, 9)])[0] == Outcome.ABANDONED
    assert outcome(early, late, declared=[Declaration("r", Outcome.ABANDONED, 7)])[0] == Outcome.SUCCESS


def test_of_declarations_at_one_time_the_last_to_arrive_wins() -> None:
    span_says = span("1", "tool:a", end=5, more=said("success"))
    declared = [Declaration("r", Outcome.FAILURE, 5), Declaration("r", Outcome.ABANDONED, 5)]
    assert outcome(span_says, declared=declared[:1])[0] == Outcome.FAILURE
    assert outcome(span_says, declared=declared)[0] == Outcome.ABANDONED


def test_a_value_that_is_no_outcome_declares_nothing() -> None:
    assert outcome(span("1", "tool:a", more=said("great"))) == (Outcome.SUCCESS, Source.INFERRED)


def test_an_evaluation_declares_if_the_settings_name_it() -> None:
    result = {"gen_ai.evaluation.name": "solved", "gen_ai.evaluation.score.label": "fail"}
    judged = span("1", "tool:a", events=(Event("gen_ai.evaluation.result", 5, result),))
    assert assemble("r", [judged]).source == Source.INFERRED
    run = assemble("r", [judged], evaluation=Evaluation("solved"))
    assert (run.outcome, run.source) == (Outcome.FAILURE, Source.DECLARED)


def test_an_undeclared_run_is_live_for_15_minutes_after_its_last_activity() -> None:
    ages = (-LIVE_NS - 1, -LIVE_NS, 0, LIVE_NS - 1, LIVE_NS)
    assert [is_live(Source.INFERRED, 0, age) for age in ages] == [False, True, True, True, False]
    assert not any(is_live(Source.DECLARED, 0, age) for age in ages)


def test_the_default_window_is_the_last_30_days_whenever_it_is_asked() -> None:
    assert Window().bounds(30 * DAY_NS + 7) == (7, 2**63 - 1)
    assert Window(days=7).bounds(7 * DAY_NS + 5) == (5, 2**63 - 1)
    assert Window(3, 5).bounds(99) == (3, 5)
    assert ALL_TIME.bounds(99) == (0, 2**63 - 1)


# --- whatever arrives ------------------------------------------------------------------------------


@st.composite
def tangles(draw: st.DrawFn) -> list[Span]:
    """Spans of two traces in any shape: trees, cycles, orphans, ties, open spans, two libraries."""
    signatures = st.sampled_from(("llm:m", "llm:n", "llm:", "tool:a", "agent:desk", "agent:helper", "chain"))
    keys = [(trace, str(number)) for trace in "tu" for number in range(draw(st.integers(0, 5)))]
    return [
        span(
            number,
            draw(signatures),
            draw(st.sampled_from((None, "0", "1", "2", "3", "4", "gone"))),
            start=draw(st.integers(0, 3)),
            end=draw(st.none() | st.integers(0, 5)),
            more=draw(st.sampled_from(({}, {}, {"session.outcome": "failed"}, {"task.id": "T"}))),
            trace=trace,
            scope=draw(st.sampled_from(("one", "two"))),
            status=draw(st.sampled_from(Status)),
        )
        for trace, number in keys
    ] or [span("0", "llm:m")]


@given(tangles(), st.integers(0, 2**32))
def test_neither_the_order_of_spans_nor_copies_change_a_run(spans: list[Span], seed: int) -> None:
    mixed = spans + spans[::2]
    Random(seed).shuffle(mixed)
    assert assemble("r", mixed) == assemble("r", spans)
    assert run_key(mixed[:1]) == mixed[0].trace_id


@given(tangles())
def test_every_tool_call_is_a_step_and_steps_are_in_order(spans: list[Span]) -> None:
    steps = assemble("r", spans).steps
    tools = {(item.trace_id, item.span_id) for item in spans if item.name.startswith("tool:")}
    assert tools == {(step.trace_id, step.span_id) for step in steps if step.signature.startswith("tool:")}
    assert [step.start_ns for step in steps] == sorted(step.start_ns for step in steps)
