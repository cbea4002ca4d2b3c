"""Agents as people write them, each under one instrumentation: ``python -m tests.instrumented NAME``.

Where spans go is said by OpenTelemetry's environment variables, and where the model is by OpenAI's: no
program knows of Forkmap. Each answers two customers with the tools that the model asks for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.scripted_model import BREAKS, MODEL

AGENT = "refund-desk"
ORDERS = ("A-17", BREAKS)


def search_orders(order: str) -> str:
    """Look an order up."""
    return f"{order}: paid, returned"


def issue_refund(order: str) -> str:
    """Give the money back."""
    return f"{order}: refunded"


TOOLS = {tool.__name__: tool for tool in (search_orders, issue_refund)}
Tools = dict[str, Callable[..., str]]


def question(order: str) -> str:
    return f"Where is my refund for order {order}?"


def conversation(order: str) -> str:
    return f"customer of {order}"


def answer_all(answer: Callable[[str], object]) -> None:
    """Answer every customer; a model that fails ends one conversation, not the program."""
    for order in ORDERS:
        with suppress(Exception):
            answer(order)


@contextmanager
def tracing() -> Iterator[Any]:
    """OpenTelemetry with its OTLP exporter."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    try:
        yield provider.get_tracer("shop")
    finally:
        provider.shutdown()


# --- the OpenAI SDK ---------------------------------------------------------------------------------


def converse(order: str, tools: Tools) -> str:
    """Ask the model and call the tools it wants, until it answers."""
    from openai import OpenAI

    messages: list[Any] = [{"role": "user", "content": question(order)}]
    parameters = {"type": "object", "properties": {"order": {"type": "string"}}}
    offered: list[Any] = [
        {"type": "function", "function": {"name": name, "parameters": parameters}} for name in tools
    ]
    with OpenAI(max_retries=0) as client:
        while True:
            said = client.chat.completions.create(model=MODEL, messages=messages, tools=offered)
            message = said.choices[0].message
            if not message.tool_calls:
                return message.content or ""
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                assert call.type == "function"
                result = tools[call.function.name](**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def openinference_openai() -> None:
    """OpenInference: its own tracer marks the agent and its tools."""
    from openinference.instrumentation import OITracer, TraceConfig, using_session
    from openinference.instrumentation.openai import OpenAIInstrumentor

    with tracing() as plain:
        OpenAIInstrumentor().instrument()
        tracer = OITracer(plain, TraceConfig())
        tools: Tools = {name: tracer.tool(tool) for name, tool in TOOLS.items()}

        def answer(order: str) -> None:
            with using_session(conversation(order)):
                tracer.agent(name=AGENT)(converse)(order, tools)

        answer_all(answer)


def openllmetry_openai() -> None:
    """OpenLLMetry: agent and tools in the words of OpenTelemetry's GenAI, and an outcome declared."""
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    with tracing() as tracer:
        OpenAIInstrumentor().instrument()

        def traced(name: str) -> Callable[..., str]:
            said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
            return lambda **arguments: tracer.start_as_current_span(f"execute_tool {name}", attributes=said)(
                TOOLS[name]
            )(**arguments)

        def answer(order: str) -> None:
            said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": AGENT}
            said["gen_ai.conversation.id"] = conversation(order)
            with tracer.start_as_current_span(f"invoke_agent {AGENT}", attributes=said) as span:
                converse(order, {name: traced(name) for name in TOOLS})
                span.set_attribute("session.outcome", "abandoned")

        answer_all(answer)


# --- LangGraph --------------------------------------------------------------------------------------


def graph(refund: Callable[[str], str] = issue_refund, memory: Any = None) -> Any:
    """An agent as a graph of two nodes, the model and its tools."""
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    tools = [tool(search_orders), tool("issue_refund")(refund)]
    model = ChatOpenAI(model=MODEL, max_retries=0).bind_tools(tools)

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("ask", ask)
    built.add_node("tools", ToolNode(tools))
    built.add_edge(START, "ask")
    built.add_conditional_edges("ask", tools_condition)
    built.add_edge("tools", "ask")
    return built.compile(name=AGENT, checkpointer=memory)


def thread(order: str) -> Any:
    return {"configurable": {"thread_id": conversation(order)}}


def asked(order: str) -> Any:
    return {"messages": [("user", question(order))]}


def openinference_langgraph() -> None:
    from openinference.instrumentation import using_session
    from openinference.instrumentation.langchain import LangChainInstrumentor

    with tracing():
        LangChainInstrumentor().instrument()
        agent = graph()

        def answer(order: str) -> None:
            with using_session(conversation(order)):
                agent.invoke(asked(order))

        answer_all(answer)


def openllmetry_langgraph() -> None:
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    with tracing():
        LangchainInstrumentor().instrument()
        agent = graph()
        answer_all(lambda order: agent.invoke(asked(order), thread(order)))


def paused_langgraph() -> None:
    """OpenLLMetry again, and a tool that waits for a person: the graph goes on in a second trace."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command, interrupt
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    def refund(order: str) -> str:
        """Give the money back, once somebody agrees."""
        return issue_refund(order) if interrupt(f"refund {order}?") else "refused"

    with tracing():
        LangchainInstrumentor().instrument()
        agent = graph(refund, InMemorySaver())
        for order in ORDERS[:1]:
            agent.invoke(asked(order), thread(order))
            agent.invoke(Command(resume=True), thread(order))


def langsmith_langgraph() -> None:
    """LangSmith's own tracing, sent by OpenTelemetry and not to its service."""
    os.environ |= dict.fromkeys(
        ("LANGSMITH_TRACING", "LANGSMITH_OTEL_ENABLED", "LANGSMITH_OTEL_ONLY"), "true"
    )
    from langchain_core.tracers.langchain import wait_for_all_tracers

    with tracing():
        agent = graph()
        answer_all(lambda order: agent.invoke(asked(order), thread(order)))
        wait_for_all_tracers()


# --- Pydantic AI ------------------------------------------------------------------------------------


def refund_desk() -> Callable[[str], object]:
    from pydantic_ai import Agent

    agent = Agent(f"openai-chat:{MODEL}", name=AGENT, tools=[*TOOLS.values()])
    return lambda order: agent.run_sync(question(order), conversation_id=conversation(order))


def pydantic_ai() -> None:
    from pydantic_ai import Agent

    with tracing():
        Agent.instrument_all()
        answer_all(refund_desk())


def logfire() -> None:
    """Logfire, which sends nothing to its own service."""
    import logfire

    logfire.configure(send_to_logfire=False, console=False)
    logfire.instrument_pydantic_ai()
    answer_all(refund_desk())


PROGRAMS = {
    program.__name__: program
    for program in (
        openinference_openai,
        openinference_langgraph,
        openllmetry_openai,
        openllmetry_langgraph,
        paused_langgraph,
        langsmith_langgraph,
        pydantic_ai,
        logfire,
    )
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
