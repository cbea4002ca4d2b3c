"""The conventions as data: which attribute, in which library, says what.

Every tuple is in order of precedence. A key is a pair: the attribute, and the field inside its
JSON text, or "" if the attribute itself is the value. Words that are compared are lower-case.

=====================  ==========================================================
prefix of a key        written by
=====================  ==========================================================
``forkmap.``           whoever instruments for this product
``gen_ai.``            OpenTelemetry GenAI; Pydantic AI, Strands, Agent Framework,
                       Koog, Google ADK, Gemini CLI, Vercel AI SDK
``openinference.`` …   OpenInference (``llm.``, ``tool.``, ``agent.``, ``graph.``)
``traceloop.``         OpenLLMetry (``llm.request.type``, ``llm.usage.``)
``langfuse.``          Langfuse
``ai.``                Vercel AI SDK, legacy
``langsmith.``         LangSmith
``gcp.vertex.agent.``  Google ADK
``mlflow.``            MLflow
``agentops.``          AgentOps
``claude_code.``       Claude Code
``lmnr.`` ``lk.`` …    Laminar, LiveKit, VoltAgent, Genkit
=====================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """What a span is. Only the first three can be steps."""

    LLM = "llm"
    TOOL = "tool"
    AGENT = "agent"
    OTHER = "other"


Keys = tuple[tuple[str, str], ...]


def _keys(*attributes: str) -> Keys:
    return tuple((attribute, "") for attribute in attributes)


def _kinds(**words: str) -> dict[str, Kind]:
    return {word: Kind(kind) for kind, listed in words.items() for word in listed.split()}


# --- kind ----------------------------------------------------------------------------------

_OBSERVED = _kinds(
    llm="generation llm chat_model chat completion",
    tool="tool retriever",
    agent="agent",
    other="span event chain workflow task embedding reranker guardrail evaluator prompt parser"
    " decision memory session operation agent.decision team",
)
_VERCEL = _kinds(
    llm="ai.generatetext.dogenerate ai.streamtext.dostream"
    " ai.generateobject.dogenerate ai.streamobject.dostream",
    tool="ai.toolcall",
    agent="ai.generatetext ai.streamtext ai.generateobject ai.streamobject",
    other="ai.embed ai.embed.doembed ai.embedmany ai.embedmany.doembed ai.rerank ai.rerank.dorerank",
)

KIND_KEYS: tuple[tuple[str, Mapping[str, Kind]], ...] = (
    ("forkmap.kind", _kinds(llm="llm", tool="tool", agent="agent", other="other")),
    ("requestor", _kinds(other="user")),
    ("langfuse.observation.type", _OBSERVED),
    ("openinference.span.kind", _OBSERVED),
    ("traceloop.span.kind", _kinds(other="workflow")),
    (
        "gen_ai.operation.name",
        _kinds(
            llm="chat generate_content text_completion llm_call",
            tool="execute_tool tool_call retrieval retriever",
            agent="invoke_agent create_agent agent_call handoff goto",
            other="chain invoke_workflow invoke_node agent_step execute_event_loop_cycle plan guardrail"
            " embeddings embedding rerank prompt parser user_prompt system_prompt schedule_tool_calls",
        ),
    ),
    (
        "genkit:metadata:subtype",
        _kinds(
            llm="model",
            tool="tool retriever",
            agent="agent",
            other="flow flowstep prompt embedder reranker evaluator",
        ),
    ),
    ("ai.operationId", _VERCEL),
    ("operation.name", _VERCEL),
    ("traceloop.span.kind", _OBSERVED),
    ("llm.request.type", _kinds(llm="chat completion", other="embedding rerank")),
    ("langsmith.span.kind", _OBSERVED),
    ("mlflow.spanType", _OBSERVED),
    ("agentops.span.kind", _OBSERVED),
    (
        "span.type",
        _kinds(
            llm="claude_code.llm_request llm_request llm",
            tool="claude_code.tool tool retriever",
            agent="claude_code.interaction interaction agent",
            other="claude_code.tool.execution tool.execution"
            " claude_code.tool.blocked_on_user tool.blocked_on_user",
        ),
    ),
    ("lmnr.span.type", _kinds(llm="llm", tool="tool", other="executor evaluator evaluation")),
)
"""Keys that state the kind. A word that is not listed says nothing, and the next key is asked.

``requestor: user`` marks the calls of a benchmark's simulated customer, who is not the agent.
OpenLLMetry's workflow wraps the agent's own span and calls itself ``invoke_agent`` too.
"""

TOOL_MARKS = frozenset({"gen_ai.tool.name", "gen_ai.tool.call.id"})
"""Without a kind key: a tool call."""
SPAN_NAMES = _kinds(
    llm="llm_request claude_code.llm_request",
    tool="function_tool execute_tool claude_code.tool",
    agent="agent_session agent_run invoke_agent claude_code.interaction",
    other="invocation invoke_workflow invoke_node execute_event_loop_cycle user_turn agent_turn"
    " stt_node tts_node tts_request tts_request_run",
) | {"agent run": Kind.AGENT, "running tool": Kind.TOOL}
"""Without either: the span's name, or its first word."""
MODEL_MARKS = frozenset(
    {"gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "llm.provider", "model"}
)
"""Without any of these: a model call. All other spans are ``other``."""

PSEUDO_TOOLS = frozenset({"(merged tools)"})
"""Names under which a library sums up several tool calls."""

# --- names ---------------------------------------------------------------------------------

AGENT_KEY = "forkmap.agent"
"""Names the agent of the run, whatever else its spans say."""
AGENT_KEYS = _keys("gen_ai.agent.name", "agent.name", "agent_name", "lk.agent_name")
"""Name of the agent, on a span of any kind."""
WORKFLOW_KEYS = _keys("gen_ai.workflow.name", "traceloop.workflow.name")
"""Names the agent where no other key does."""
NAME_KEY = "forkmap.name"
NAME_KEYS: Mapping[Kind, Keys] = {
    Kind.LLM: (
        *_keys(NAME_KEY, "gen_ai.request.model"),
        ("llm.invocation_parameters", "model"),
        *_keys(
            "ai.model.id",
            "langfuse.observation.model.name",
            "mlflow.llm.model",
            "langsmith.metadata.ls_model_name",
            "llm.model_name",
            "model_name",
            "model",
            "gen_ai.response.model",
            "ai.response.model",
        ),
    ),
    Kind.TOOL: _keys(
        NAME_KEY,
        "gen_ai.tool.name",
        "tool.name",
        "ai.toolCall.name",
        "lk.function_tool.name",
        "tool_name",
        "traceloop.entity.name",
        "agentops.entity.name",
    ),
    Kind.AGENT: (
        *_keys(NAME_KEY),
        *AGENT_KEYS,
        *_keys("ai.telemetry.functionId", "traceloop.entity.name", "agentops.entity.name", "graph.node.id"),
    ),
    Kind.OTHER: _keys(NAME_KEY),
}
"""Where a step's name stands; OpenInference's ``llm.model_name`` may be the response's model."""

PREFIXES: Mapping[Kind, tuple[str, ...]] = {
    Kind.LLM: ("chat ", "generate_content ", "text_completion "),
    Kind.TOOL: ("execute_tool ", "running tool: ", "tool_call "),
    Kind.AGENT: ("invoke_agent ", "create_agent ", "agent_run ", "handoff ", "goto "),
    Kind.OTHER: ("invocation ",),
}
"""What goes before the name in a span's own name."""
NAMELESS_AGENTS = frozenset(
    {
        *(
            "agent",
            "agent run",
            "agent_run",
            "agent_session",
            "create_agent",
            "invoke_agent",
            "handoff",
            "goto",
        ),
        *("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"),
        *("claude_code.interaction", "interaction"),
        *("Crew.kickoff", "Flow.kickoff", "Task._execute_core", "Task.execute_sync", "Task.execute_async"),
    }
)
"""Span names that are the same for every agent of a library: they name nobody."""
ROOT_CHAIN_KEYS: Mapping[str, str] = {
    "openinference.instrumentation.langchain": "openinference.span.kind",
    "langsmith": "langsmith.span.kind",
}
ROOT_CHAIN = "chain"
"""In these scopes a run's agent is a root span of this kind, bearing the agent's name."""
NAMELESS_CHAINS = ("Runnable", "claude.conversation")
"""Beginnings of chain names that name nobody."""

# --- what belongs to the run ---------------------------------------------------------------

SESSION_KEYS = _keys(
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
)
"""Session or conversation; ``langsmith.trace.session_id`` is a project and not among them."""
TICKET_KEYS = _keys("forkmap.ticket", "ticket.id", "task.id")
VERSION_KEYS = _keys("gen_ai.agent.version")
SERVICE_NAME_KEYS = _keys("service.name")
SERVICE_VERSION_KEYS = _keys("service.version")

# --- decisions -----------------------------------------------------------------------------

DECISION_SCOPE = "forkmap.decisions"
"""Scope of spans that were events of a decision trace; :mod:`engine.decisions.recording` makes them."""
EVENT_ID_KEY = "forkmap.event.id"
"""The id an event had, on a span that could not keep it: another event had it before."""
RESULT_OK_KEY = "forkmap.result.ok"
RESULT_BYTES_KEY = "forkmap.result.bytes"
DECISION_PREFIXES = ("forkmap.decision.", "gen_ai.decision.", "decision.")
"""What goes before goal, options, chosen, policy and margin of a decision."""
DECISION_KINDS: Mapping[str, str] = {"openinference.span.kind": "decision"}
"""Key and word that make a span a decision whose keys have the last of the prefixes."""
OPTION_KEYS: Mapping[str, tuple[str, ...]] = {
    "tool": ("tool", "tool.name", "name"),
    "score": ("score",),
    "reason": ("reason",),
}
"""What the parts of an option are called."""
ARGUMENT_KEYS: Keys = _keys(
    "gen_ai.tool.call.arguments",
    "input.value",
    "tool.parameters",
    "tool.parameters",
    "ai.toolCall.args",
    "tool_arguments",
    "traceloop.entity.input",
    "gcp.vertex.agent.tool_call_args",
    "lk.function_tool.arguments",
    "langfuse.observation.input",
    "mlflow.spanInputs",
    "lmnr.span.input",
    "agentops.entity.input",
    "genkit:input",
    "tool_input",
    "gen_ai.prompt",
)
"""What a tool was called with.

``tool.parameters`` may be what the tool takes at all; ``gen_ai.prompt`` is LangSmith's word.
"""
RESULT_KEYS: Keys = _keys(
    "gen_ai.tool.call.result",
    "output.value",
    "ai.toolCall.result",
    "tool_response",
    "tool.result",
    "traceloop.entity.output",
    "gcp.vertex.agent.tool_response",
    "lk.function_tool.output",
    "langfuse.observation.output",
    "mlflow.spanOutputs",
    "lmnr.span.output",
    "agentops.entity.output",
    "genkit:output",
    "gen_ai.completion",
)
"""What a tool gave back."""

# --- status, outcome, tokens ---------------------------------------------------------------

FAILED: Mapping[str, frozenset[str]] = {
    "gen_ai.tool.status": frozenset({"error", "failed", "failure"}),
    "tool.status": frozenset({"error", "failed", "failure"}),
    "gen_ai.task.status": frozenset({"error", "failed", "failure"}),
    "langfuse.observation.level": frozenset({"error"}),
    "langsmith.metadata.is_error": frozenset({"true"}),
    "lk.function_tool.is_error": frozenset({"true"}),
}
"""Attributes that say a call failed while the span's status may stay OK."""
INTERRUPTS = frozenset(
    {
        "langgraph.errors.GraphBubbleUp",
        "langgraph.errors.GraphDrained",
        "langgraph.errors.GraphInterrupt",
        "langgraph.errors.NodeInterrupt",
        "langgraph.errors.ParentCommand",
        "pydantic_ai.exceptions.ApprovalRequired",
        "pydantic_ai.exceptions.CallDeferred",
    }
)
"""Exceptions, by full class name, that steer a run and are no failures."""
FAILED_BY_EXCEPTION = frozenset({"langsmith"})
"""Scopes that record an exception where a call failed, and may have closed its status as OK before."""
EXCEPTION_EVENT = "exception"
EXCEPTION_KEYS = _keys("exception.type", "error.type")
MESSAGE_KEYS = _keys("exception.message", "error.message", "otel.status_description", "status.message")

OUTCOME_KEY = "session.outcome"
EVALUATION_EVENT = "gen_ai.evaluation.result"

INPUT_TOKEN_KEYS: Keys = (
    *_keys("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    *_keys("ai.usage.inputTokens", "ai.usage.promptTokens", "llm.usage.prompt_tokens", "input_tokens"),
    ("langfuse.observation.usage_details", "input"),
    ("mlflow.chat.tokenUsage", "input_tokens"),
)
OUTPUT_TOKEN_KEYS: Keys = (
    *_keys("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    *_keys("ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens"),
    *_keys("output_tokens"),
    ("langfuse.observation.usage_details", "output"),
    ("mlflow.chat.tokenUsage", "output_tokens"),
)
