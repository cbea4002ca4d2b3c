"""What spans say, in every convention: published samples first, then one span a rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.conventions import Evaluation, Kind, check, read, session
from engine.runs import assemble, run_key
from engine.spans import Event, Span, Status
from tests.samples import needs_samples, sample

AGENT, LLM, OTHER, TOOL = Kind.AGENT, Kind.LLM, Kind.OTHER, Kind.TOOL


def span(name: str = "span", scope: str = "", **facts: Any) -> Span:
    """A closed span of one second; ``facts`` are fields of a span."""
    return Span("t", "1", name, 0, 10**9, scope=scope, **facts)


def kind_and_name(name: str, attributes: dict[str, Any], scope: str = "") -> tuple[Kind, str]:
    reading = read(span(name, scope, attributes=attributes))
    return reading.kind, reading.name


def named(item: Span) -> str | None:
    """The session a span names."""
    found = session(item)
    return found and found[1]


# --- the samples: (kind, name, agent, session, input tokens, output tokens) of each span ----------

SAMPLES: dict[int, list[tuple[Kind, str, str | None, str | None, int | None, int | None]]] = {
    1: [(TOOL, "get_weather", None, None, None, None)],
    2: [(LLM, "gpt-4", None, None, 97, 52)],
    3: [(LLM, "gpt-4", None, None, 97, 52)],
    # The request's model, though llm.model_name says gpt-4-0613.
    4: [(LLM, "gpt-4", None, None, 97, 52)],
    5: [(AGENT, "test-generate-text", "test-generate-text", None, None, None)],
    6: [(LLM, "gpt-4o-mini", None, None, 14, 20)],
    # This sample has lost the kind keys; only the model call still shows by another key what it is.
    7: [
        (OTHER, "ChatOpenAI", None, None, None, None),
        (OTHER, "tavily_search", None, None, None, None),
        (LLM, "ChatCompletion", None, None, None, None),
        (OTHER, "AgentExecutor", None, None, None, None),
    ],
    8: [
        (LLM, "gemini-2.0-flash", None, "demo-session", 39, 6),
        (OTHER, "hello_app", None, "demo-session", None, None),
        (AGENT, "hello_agent", "hello_agent", "demo-session", None, None),
        (TOOL, "say_hello", None, "demo-session", None, None),
    ],
    9: [
        (LLM, "claude-sonnet-4-5-20250929", None, None, None, None),
        (OTHER, "claude.conversation", None, "6fb9b4b8-dd4d-4d41-8d4f-c0c0799a6559", None, None),
        (TOOL, "mcp__weather__get_weather", None, None, None, None),
    ],
    # The agent's name is a fresh UUID in every process.
    10: [
        (AGENT, "*", None, None, None, None),
        (LLM, "gpt-5-mini", None, None, 77, 86),
        (TOOL, "get_weather", None, None, None, None),
    ],
    11: [
        (OTHER, "run_joke_generator", None, None, None, None),
        (LLM, "gpt-4o-mini", None, None, 417, 53),
        (TOOL, "get_dad_joke_suggestion", None, None, None, None),
    ],
    12: [
        (AGENT, "ai.generateText", None, None, None, None),
        (LLM, "gpt-5", None, None, 62, 85),
        (TOOL, "getWeather", None, None, None, None),
    ],
    13: [
        (AGENT, "agent.*", None, None, None, None),
        (AGENT, "run.*", None, "6f8d2449-33ed-4c7c-82e7-5410e34ee4e6", None, None),
        (OTHER, "node.__finish__", None, "6f8d2449-33ed-4c7c-82e7-5410e34ee4e6", None, None),
        (LLM, "gpt-4o", None, "6f8d2449-33ed-4c7c-82e7-5410e34ee4e6", None, None),
    ],
    14: [
        (AGENT, "Agent workflow", "Agent workflow", None, None, None),
        (LLM, "gpt-4.1-2025-04-14", None, None, 85, 29),
        (TOOL, "get_weather", None, None, None, None),
    ],
    15: [
        (LLM, "gpt-4o-mini", None, None, 190, 164),
        (OTHER, "Crew.kickoff", None, None, None, None),
        (OTHER, "crewai-index-trace", None, None, None, None),
        (AGENT, "Task._execute_core", None, None, None, None),
    ],
}

RUNS: dict[int, tuple[str, list[str]]] = {
    8: ("hello_agent", ["tool:say_hello", "llm:gemini-2.0-flash"]),
    9: ("unknown", ["tool:mcp__weather__get_weather", "llm:claude-sonnet-4-5-20250929"]),
    10: ("unknown", ["llm:gpt-5-mini", "tool:get_weather"]),
    11: ("unknown", ["tool:get_dad_joke_suggestion", "llm:gpt-4o-mini"]),
    12: ("unknown", ["llm:gpt-5", "tool:getWeather"]),
    13: ("unknown", ["llm:gpt-4o"]),
    14: ("Agent workflow", ["tool:get_weather", "llm:gpt-4.1-2025-04-14"]),
    15: ("unknown", ["llm:gpt-4o-mini"]),
}
"""Agent and steps. The samples hold neither resources nor every span of their traces."""


@needs_samples
@pytest.mark.parametrize("number", SAMPLES)
def test_every_sample_span_is_read(number: int) -> None:
    spans = sample(number)
    readings = [read(item) for item in spans]
    assert [
        (found.kind, found.name, found.agent, named(item), found.input_tokens, found.output_tokens)
        for item, found in zip(spans, readings, strict=True)
    ] == SAMPLES[number]
    expected = Status.OK if number == 7 else Status.UNSET
    assert {found.status for found in readings} == {expected}


@needs_samples
@pytest.mark.parametrize("number", RUNS)
def test_samples_become_runs(number: int) -> None:
    run = assemble("run", sample(number))
    assert (run.agent, [step.signature for step in run.steps]) == RUNS[number]


# --- kind ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        # Forkmap's own key stands above all others, and only its own words count.
        ({"forkmap.kind": "other", "gen_ai.operation.name": "chat"}, OTHER),
        ({"forkmap.kind": "step", "gen_ai.operation.name": "chat"}, LLM),
        # A benchmark's simulated customer is not the agent.
        ({"requestor": "user", "gen_ai.operation.name": "execute_tool"}, OTHER),
        ({"requestor": "assistant", "gen_ai.operation.name": "execute_tool"}, TOOL),
        # The order of the kind keys.
        ({"langfuse.observation.type": "tool", "openinference.span.kind": "LLM"}, TOOL),
        ({"openinference.span.kind": "AGENT", "gen_ai.operation.name": "chat"}, AGENT),
        ({"gen_ai.operation.name": "chat", "ai.operationId": "ai.toolCall"}, LLM),
        ({"genkit:metadata:subtype": "model", "ai.operationId": "ai.toolCall"}, LLM),
        # A chat span that carries an agent's or a tool's name is a model call.
        ({"gen_ai.operation.name": "chat", "gen_ai.agent.name": "desk"}, LLM),
        ({"gen_ai.operation.name": "chat", "gen_ai.tool.name": "search"}, LLM),
        # OpenTelemetry GenAI.
        ({"gen_ai.operation.name": "generate_content"}, LLM),
        ({"gen_ai.operation.name": "text_completion"}, LLM),
        ({"gen_ai.operation.name": "invoke_agent"}, AGENT),
        ({"gen_ai.operation.name": "create_agent"}, AGENT),
        ({"gen_ai.operation.name": "invoke_workflow"}, OTHER),
        ({"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m"}, OTHER),
        ({"gen_ai.operation.name": "plan"}, OTHER),
        ({"gen_ai.operation.name": "agent_step"}, OTHER),
        # OpenInference.
        ({"openinference.span.kind": "RETRIEVER"}, TOOL),
        ({"openinference.span.kind": "CHAIN", "llm.model_name": "m"}, OTHER),
        ({"openinference.span.kind": "EMBEDDING"}, OTHER),
        ({"openinference.span.kind": "GUARDRAIL"}, OTHER),
        ({"openinference.span.kind": "EVALUATOR"}, OTHER),
        ({"openinference.span.kind": "DECISION"}, OTHER),
        ({"openinference.span.kind": "UNKNOWN", "llm.model_name": "m"}, LLM),
        # OpenLLMetry.
        ({"llm.request.type": "chat"}, LLM),
        ({"traceloop.span.kind": "tool"}, TOOL),
        ({"traceloop.span.kind": "agent"}, AGENT),
        ({"traceloop.span.kind": "workflow"}, OTHER),
        ({"traceloop.span.kind": "workflow", "gen_ai.operation.name": "invoke_agent"}, OTHER),
        ({"traceloop.span.kind": "task"}, OTHER),
        ({"gen_ai.operation.name": "handoff"}, AGENT),
        # Langfuse.
        ({"langfuse.observation.type": "generation"}, LLM),
        ({"langfuse.observation.type": "agent"}, AGENT),
        ({"langfuse.observation.type": "span", "model": "m"}, OTHER),
        # Vercel AI SDK, with the function's id behind the operation.
        ({"operation.name": "ai.streamText.doStream answer"}, LLM),
        ({"operation.name": "ai.toolCall answer"}, TOOL),
        ({"operation.name": "ai.streamText answer"}, AGENT),
        ({"ai.operationId": "ai.embed.doEmbed", "gen_ai.request.model": "m"}, OTHER),
        # LangSmith.
        ({"langsmith.span.kind": "tool"}, TOOL),
        ({"langsmith.span.kind": "chain"}, OTHER),
        # MLflow quotes its values.
        ({"mlflow.spanType": '"CHAT_MODEL"'}, LLM),
        ({"mlflow.spanType": '"TOOL"'}, TOOL),
        ({"mlflow.spanType": '"AGENT"'}, AGENT),
        ({"mlflow.spanType": '"WORKFLOW"'}, OTHER),
        # AgentOps.
        ({"agentops.span.kind": "llm"}, LLM),
        ({"agentops.span.kind": "tool"}, TOOL),
        ({"agentops.span.kind": "session"}, OTHER),
        ({"agentops.span.kind": "agent.decision"}, OTHER),
        # Claude Code, Laminar, VoltAgent, Gemini CLI.
        ({"span.type": "llm_request"}, LLM),
        ({"span.type": "claude_code.tool"}, TOOL),
        ({"span.type": "claude_code.interaction"}, AGENT),
        ({"lmnr.span.type": "TOOL"}, TOOL),
        ({"span.type": "tool"}, TOOL),
        ({"gen_ai.operation.name": "tool_call"}, TOOL),
        # Without a kind key.
        ({"gen_ai.tool.call.id": "c", "gen_ai.request.model": "m"}, TOOL),
        ({"gen_ai.response.model": "m"}, LLM),
        ({"gen_ai.agent.name": "desk"}, OTHER),
        ({"http.method": "GET", "operation.name": "http.request"}, OTHER),
        ({}, OTHER),
        # A value may be a list, or no value at all.
        ({"gen_ai.operation.name": ["chat"]}, LLM),
        ({"gen_ai.operation.name": {"a": 1}, "openinference.span.kind": 7}, OTHER),
    ],
)
def test_kind(attributes: dict[str, Any], kind: Kind) -> None:
    assert read(span(attributes=attributes)).kind == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("function_tool", TOOL),
        ("llm_request", LLM),
        ("agent run", AGENT),
        ("agent_run [desk]", AGENT),
        ("invocation [app]", OTHER),
        ("tts_node", OTHER),
        ("GET /agents", OTHER),
    ],
)
def test_the_span_name_tells_the_kind_where_no_key_does(name: str, kind: Kind) -> None:
    attributes = {"gen_ai.request.model": "m"} if name == "tts_node" else {}
    assert read(span(name, attributes=attributes)).kind == kind


def test_a_tool_that_sums_up_parallel_calls_is_no_step() -> None:
    merged = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}
    assert kind_and_name("execute_tool (merged tools)", merged) == (OTHER, "(merged tools)")


# --- names -----------------------------------------------------------------------------------------

CHAT = {"gen_ai.operation.name": "chat"}
EXECUTE = {"gen_ai.operation.name": "execute_tool"}
INVOKE = {"gen_ai.operation.name": "invoke_agent"}
UUID = "171105b7-59dd-49c0-9677-0b95395aa46a"


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("chat m", {**CHAT, "forkmap.name": "planner", "gen_ai.request.model": "m"}, "planner"),
        ("chat m", {**CHAT, "gen_ai.response.model": "m-0613", "gen_ai.request.model": "m"}, "m"),
        ("chat m", {**CHAT, "gen_ai.response.model": "m-0613"}, "m-0613"),
        ("x", {**CHAT, "llm.model_name": "m-0613", "llm.invocation_parameters": '{"model": "m"}'}, "m"),
        ("x", {**CHAT, "llm.model_name": "m-0613", "llm.invocation_parameters": '{"mod'}, "m-0613"),
        ("x", {**CHAT, "llm.invocation_parameters": {"model": "m"}}, "m"),
        ("chat gpt-5", CHAT, "gpt-5"),
        ("chat", CHAT, "chat"),
        ("x", {**EXECUTE, "gen_ai.tool.name": "search", "tool.name": "find"}, "search"),
        ("x", {**EXECUTE, "tool.name": "find"}, "find"),
        ("x", {**EXECUTE, "ai.toolCall.name": "find"}, "find"),
        ("x", {"traceloop.span.kind": "tool", "traceloop.entity.name": "find"}, "find"),
        ("execute_tool find", EXECUTE, "find"),
        ("running tool: find", EXECUTE, "find"),
        ("invoke_agent desk", INVOKE, "desk"),
        ("x", {**INVOKE, "gen_ai.agent.name": "desk", "agent.name": "counter"}, "desk"),
        (f"invoke_agent {UUID}", {**INVOKE, "gen_ai.agent.name": UUID}, "*"),
        # Ids in a span's own name would make a branch each; those in an attribute are the sender's will.
        (f"find {UUID} in 0123456789abcdef", EXECUTE, "find * in *"),
        ("find 0123456789abcde", EXECUTE, "find 0123456789abcde"),
        ("x", {**EXECUTE, "gen_ai.tool.name": f"find {UUID}"}, f"find {UUID}"),
        ("x", {**EXECUTE, "gen_ai.tool.name": "  fi\tnd "}, "fi�nd"),
        ("x", {**EXECUTE, "gen_ai.tool.name": 7}, "7"),
        ("x", {**EXECUTE, "gen_ai.tool.name": ""}, "x"),
        ("", EXECUTE, "?"),
    ],
)
def test_name(name: str, attributes: dict[str, Any], expected: str) -> None:
    assert read(span(name, attributes=attributes)).name == expected


# --- agent, session, ticket, version ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("x", {**INVOKE, "gen_ai.agent.name": "desk", "forkmap.agent": "imported"}, "imported"),
        ("chat", {**CHAT, "gen_ai.agent.name": "desk"}, "desk"),
        ("chat", {**CHAT, "gen_ai.agent.name": UUID}, None),
        ("agent run", {"agent_name": "desk"}, "desk"),
        ("agent run", {}, None),
        ("answer-mail", {"langfuse.observation.type": "agent"}, "answer-mail"),
        ("x", {"ai.operationId": "ai.generateText", "ai.telemetry.functionId": "desk"}, "desk"),
        ("x.workflow", {"traceloop.span.kind": "workflow", "traceloop.workflow.name": "mail"}, "mail"),
        (f"run.{UUID}", INVOKE, None),
    ],
)
def test_agent(name: str, attributes: dict[str, Any], expected: str | None) -> None:
    assert read(span(name, attributes=attributes)).agent == expected


@pytest.mark.parametrize(
    "key",
    [
        "forkmap.run.id",
        "session.id",
        "gen_ai.conversation.id",
        "langfuse.session.id",
        "gcp.vertex.agent.session_id",
        "traceloop.association.properties.session_id",
        "ai.telemetry.metadata.sessionId",
        "langsmith.metadata.session_id",
        "langsmith.metadata.thread_id",
        "langsmith.metadata.conversation_id",
        "mlflow.trace.session",
        "workflow.session_id",
        "voltagent.conversation_id",
    ],
)
def test_session(key: str) -> None:
    assert named(span(attributes={key: " s-1 "})) == "s-1"
    assert named(span(attributes={key: "other", "forkmap.run.id": "own"})) == "own"


def test_a_langsmith_project_and_a_process_are_no_sessions() -> None:
    project = span(attributes={"langsmith.trace.session_id": "p"}, resource={"session.id": "process"})
    assert named(project) is None
    assert named(span(resource={"forkmap.run.id": "job-7"})) == "job-7"


def test_ticket_and_version() -> None:
    both = {"task.id": "t-3", "ticket.id": "t-2", "gen_ai.agent.version": "7"}
    reading = read(span(attributes=both, resource={"service.version": "1.0", "service.name": "desk"}))
    assert (reading.ticket, reading.version) == ("t-2", "7")
    assert (reading.service_name, reading.service_version) == ("desk", "1.0")
    assert read(span(attributes={**both, "forkmap.ticket": "t-1"})).ticket == "t-1"


@pytest.mark.parametrize(
    ("attributes", "tokens"),
    [
        ({"gen_ai.usage.prompt_tokens": "3", "gen_ai.usage.completion_tokens": 4}, (3, 4)),
        ({"ai.usage.inputTokens": 3, "ai.usage.outputTokens": 4.0}, (3, 4)),
        ({"llm.usage.prompt_tokens": 3, "llm.usage.completion_tokens": -4}, (3, None)),
        ({"langfuse.observation.usage_details": '{"input": 3, "output": 4}'}, (3, 4)),
        ({"mlflow.chat.tokenUsage": {"input_tokens": 3, "output_tokens": 4}}, (3, 4)),
        ({"gen_ai.usage.input_tokens": "many", "gen_ai.usage.output_tokens": None}, (None, None)),
    ],
)
def test_token_usage(attributes: dict[str, Any], tokens: tuple[int | None, int | None]) -> None:
    reading = read(span(attributes={**CHAT, **attributes}))
    assert (reading.input_tokens, reading.output_tokens) == tokens


# --- status ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.tool.status": "error"},
        {"tool.status": "failed"},
        {"gen_ai.task.status": "failure"},
        {"langfuse.observation.level": "ERROR"},
        {"langsmith.metadata.is_error": "true"},
        {"lk.function_tool.is_error": True},
    ],
)
def test_a_call_may_fail_while_its_span_is_ok(attributes: dict[str, Any]) -> None:
    assert read(span(status=Status.OK, attributes=attributes)).status == Status.ERROR


@pytest.mark.parametrize(
    "attributes", [{"gen_ai.tool.status": "success"}, {"langsmith.metadata.is_error": "false"}]
)
def test_a_call_that_did_not_fail_keeps_its_status(attributes: dict[str, Any]) -> None:
    assert read(span(status=Status.OK, attributes=attributes)).status == Status.OK


def raised(*types: str) -> tuple[Event, ...]:
    return tuple(Event("exception", 1, {"exception.type": name}) for name in types)


@pytest.mark.parametrize(
    ("events", "attributes", "status"),
    [
        (raised("langgraph.errors.GraphInterrupt"), {}, Status.UNSET),
        (raised("langgraph.errors.NodeInterrupt"), {}, Status.UNSET),
        (raised("langgraph.errors.GraphBubbleUp"), {}, Status.UNSET),
        ((), {"error.type": "langgraph.errors.GraphInterrupt"}, Status.UNSET),
        ((), {"exception.type": "langgraph.errors.GraphInterrupt"}, Status.UNSET),
        (raised("ValueError", "langgraph.errors.GraphInterrupt"), {}, Status.UNSET),
        # What was raised last is what ended the span.
        (raised("langgraph.errors.GraphInterrupt", "ValueError"), {}, Status.ERROR),
        # A short name, another module, or a message that merely looks like it.
        (raised("GraphInterrupt"), {}, Status.ERROR),
        (raised("shop.errors.GraphInterrupt"), {}, Status.ERROR),
        ((), {"error.message": "langgraph.errors.GraphInterrupt"}, Status.ERROR),
        ((Event("log", 1, {"exception.type": "langgraph.errors.GraphInterrupt"}),), {}, Status.ERROR),
        ((), {}, Status.ERROR),
    ],
)
def test_a_control_flow_signal_is_not_a_failure(
    events: tuple[Event, ...], attributes: dict[str, Any], status: Status
) -> None:
    assert read(span(status=Status.ERROR, events=events, attributes=attributes)).status == status


@pytest.mark.parametrize(("scope", "status"), [("langsmith", Status.ERROR), ("shop", Status.OK)])
def test_langsmith_closes_the_status_of_a_call_before_it_knows_that_it_failed(
    scope: str, status: Status
) -> None:
    found = read(span(scope=scope, status=Status.OK, events=raised("Exception")))
    assert found.status == status


# --- outcome ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("success", "success"),
        ("Succeeded", "success"),
        ("OK", "success"),
        ("failure", "failure"),
        ("FAILED", "failure"),
        ("error", "failure"),
        ("abandoned", "abandoned"),
        ("cancelled", "abandoned"),
        ('"success"', "success"),
        ("great", None),
        (True, None),
    ],
)
def test_declared_outcome(said: object, outcome: str | None) -> None:
    reading = read(span(attributes={"session.outcome": said}))
    assert (reading.outcome, reading.outcome_ns) == (outcome, 10**9 if outcome else 0)


def test_an_outcome_has_the_time_of_its_event_else_of_the_end_else_of_the_start() -> None:
    def declared(**facts: Any) -> tuple[str | None, int]:
        reading = read(Span("t", "1", "job", 3, **facts))
        return reading.outcome, reading.outcome_ns

    said = {"session.outcome": "success"}
    assert declared(end_ns=9, events=(Event("done", 5, said),)) == ("success", 5)
    assert declared(end_ns=9, events=(Event("done", None, said),)) == ("success", 9)
    assert declared(end_ns=9, attributes=said) == ("success", 9)
    assert declared(attributes=said) == ("success", 3)


def test_the_latest_outcome_of_a_span_wins() -> None:
    events = (Event("a", 5, {"session.outcome": "failure"}), Event("b", 4, {"session.outcome": "success"}))
    reading = read(span(events=events))
    assert (reading.outcome, reading.outcome_ns) == ("failure", 5)


@pytest.mark.parametrize(
    ("score", "outcome"),
    [
        ({"label": "pass"}, "success"),
        ({"label": "Fail", "value": 1.0}, "failure"),
        ({"value": 0.8}, "success"),
        ({"value": "0.79"}, "failure"),
        ({"label": "good", "value": 0.9}, "success"),
        ({"label": "good"}, None),
        ({}, None),
    ],
)
def test_an_evaluation_that_the_settings_name_is_an_outcome(
    score: dict[str, Any], outcome: str | None
) -> None:
    attributes = {f"gen_ai.evaluation.score.{key}": value for key, value in score.items()}
    event = Event("gen_ai.evaluation.result", 5, {"gen_ai.evaluation.name": "solved", **attributes})
    judged = span(events=(event,))
    assert read(judged, Evaluation("solved", 0.8)).outcome == outcome
    assert read(judged, Evaluation("polite", 0.8)).outcome is None
    assert read(judged).outcome is None


def test_a_bad_outcome_is_dropped_with_what_is_allowed() -> None:
    events = (Event("a", 5, {"session.outcome": 1, "b": 2}), Event("c", 6, {"session.outcome": "ok"}))
    kept, reasons = check(span(attributes={"session.outcome": "great", "a": 1}, events=events))
    assert kept == span(attributes={"a": 1}, events=(Event("a", 5, {"b": 2}), events[1]))
    allowed = "allowed are success, failure, abandoned (or succeeded, ok, failed, error, cancelled)"
    assert reasons == (
        f"session.outcome 'great' is left out: {allowed}",
        f"session.outcome '1' is left out: {allowed}",
    )


def test_a_good_span_is_passed_on_as_it_is() -> None:
    good = span(attributes={"session.outcome": "Failed"}, events=(Event("a"),))
    assert check(good) == (good, ())


# --- whatever arrives ------------------------------------------------------------------------------

KEYS = (
    *("forkmap.kind", "forkmap.name", "openinference.span.kind", "gen_ai.operation.name", "operation.name"),
    *("gen_ai.tool.name", "gen_ai.request.model", "llm.invocation_parameters", "gen_ai.agent.name"),
    *("session.id", "session.outcome", "ticket.id", "gen_ai.usage.input_tokens", "gen_ai.tool.status"),
    *("langfuse.observation.usage_details", "exception.type", "gen_ai.evaluation.name"),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(("LLM", '"', '{"')),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
attribute_sets = st.dictionaries(st.sampled_from(KEYS), values)
events = st.builds(
    Event, st.sampled_from(("exception", "gen_ai.evaluation.result")), st.none(), attribute_sets
)


def test_numbers_that_are_too_large_or_none_are_no_text() -> None:
    for value in (10**5000, float("nan"), float("inf")):
        item = span("x", attributes={**EXECUTE, "gen_ai.tool.name": value, "session.id": value})
        assert (read(item).name, named(item)) == ("x", None)


@given(st.text(), attribute_sets, attribute_sets, st.lists(events, max_size=2), st.sampled_from(Status))
def test_reading_never_raises(
    name: str, attributes: dict[str, Any], resource: dict[str, Any], found: list[Event], status: Status
) -> None:
    item = span(name, attributes=attributes, resource=resource, events=tuple(found), status=status)
    reading = read(item, Evaluation("solved", 0.5))
    assert 0 < len(reading.name.encode()) <= 160
    kept, reasons = check(item)
    assert (kept is item) == (reasons == ())
    assert check(kept)[1] == ()
    assert run_key([item])
