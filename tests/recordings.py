"""Tiny recordings in every format, invented, as values that tests change before writing them."""

from __future__ import annotations

from typing import Any

OTLP: dict[str, Any] = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "desk"}}]},
            "scopeSpans": [
                {
                    "scope": {"name": "demo.instrumentation"},
                    "spans": [
                        {
                            "traceId": "5b8efff798038103d269b633813fc60c",
                            "spanId": "eee19b7ec3c1b174",
                            "parentSpanId": "eee19b7ec3c1b173",
                            "name": "execute_tool search",
                            "startTimeUnixNano": "1700000000000000001",
                            "endTimeUnixNano": "1700000000500000000",
                            "status": {"code": 2, "message": "timed out"},
                            "attributes": [
                                {"key": "gen_ai.tool.name", "value": {"stringValue": "search"}},
                                {"key": "tries", "value": {"intValue": "2"}},
                                {"key": "ids", "value": {"arrayValue": {"values": [{"intValue": 7}]}}},
                                {
                                    "key": "args",
                                    "value": {
                                        "kvlistValue": {
                                            "values": [{"key": "exact", "value": {"boolValue": True}}]
                                        }
                                    },
                                },
                            ],
                            "events": [
                                {
                                    "name": "exception",
                                    "timeUnixNano": "1700000000400000000",
                                    "attributes": [
                                        {"key": "exception.type", "value": {"stringValue": "Timeout"}}
                                    ],
                                }
                            ],
                        }
                    ],
                }
            ],
        }
    ]
}

FORKMAP_SPAN: dict[str, Any] = {
    "type": "span",
    "trace_id": "job-1",
    "span_id": "1",
    "parent_id": "0",
    "name": "search",
    "start": "2026-01-01T00:00:00Z",
    "end": 1767225601000000000,
    "status": "error",
    "scope": "desk",
    "attributes": {"forkmap.kind": "tool", "sizes": [1, 2.5, None]},
    "resource": {"service.name": "desk"},
    "events": [{"name": "retry", "time": "2026-01-01T00:00:00.5Z", "attributes": {"try": 2}}],
}

FORKMAP_OUTCOME: dict[str, Any] = {
    "type": "outcome",
    "run": "job-1",
    "outcome": "failure",
    "time": "2026-01-01T00:00:02Z",
    "by": "review",
}

TAU: dict[str, Any] = {
    "task_id": 7,
    "reward": 1.0,
    "trial": 0,
    "info": {"task": {"instruction": "never read"}},
    "traj": [
        {"role": "system", "content": "# Retail agent policy\n\nBe kind."},
        {"role": "user", "content": "Where is my order?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_order", "arguments": '{"id": "W1"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "get_order", "content": "Error: order not found"},
        {"role": "assistant", "content": "I cannot find it."},
    ],
}

TAU2_SIMULATION: dict[str, Any] = {
    "id": "s-1",
    "task_id": "12",
    "trial": 0,
    "start_time": "2026-01-01T00:00:00",
    "end_time": "2026-01-01T00:00:09",
    "termination_reason": "user_stop",
    "reward_info": {"reward": 1.0},
    "messages": [
        {
            "role": "assistant",
            "content": "Hello!",
            "tool_calls": None,
            "timestamp": "2026-01-01T00:00:01",
            "usage": None,
        },
        {
            "role": "user",
            "content": None,
            "timestamp": "2026-01-01T00:00:02",
            "tool_calls": [{"id": "u1", "name": "check_bars", "arguments": {}, "requestor": "user"}],
        },
        {
            "role": "tool",
            "id": "u1",
            "content": "no signal",
            "requestor": "user",
            "error": False,
            "timestamp": "2026-01-01T00:00:03",
        },
        {
            "role": "assistant",
            "content": None,
            "timestamp": "2026-01-01T00:00:04",
            "tool_calls": [
                {"id": "c1", "name": "get_line", "arguments": {"id": "L1"}, "requestor": "assistant"},
                {"id": "c1", "name": "reset_line", "arguments": {}, "requestor": "assistant"},
            ],
            "usage": {"prompt_tokens": 40, "completion_tokens": 5},
        },
        {
            "role": "tool",
            "id": "c1",
            "content": "{}",
            "requestor": "assistant",
            "error": False,
            "timestamp": "2026-01-01T00:00:05",
        },
        {
            "role": "tool",
            "id": "c1",
            "content": "Error: busy",
            "requestor": "assistant",
            "error": True,
            "timestamp": "2026-01-01T00:00:05",
        },
    ],
}

TAU2: dict[str, Any] = {
    "timestamp": "2026-01-01T00:00:00",
    "info": {
        "agent_info": {"llm": "model-a", "llm_args": {"api_key": "never-import-this"}},
        "user_info": {"llm": "model-b"},
        "environment_info": {"domain_name": "telecom", "policy": "# Telecom Agent Policy"},
    },
    "tasks": [],
    "simulations": [TAU2_SIMULATION],
}

ATIF: dict[str, Any] = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s",
    "trajectory_id": "t",
    "agent": {"name": "desk", "version": "2", "model_name": "model-a"},
    "steps": [
        {
            "step_id": 1,
            "source": "user",
            "message": "Where is my order?",
            "timestamp": "2026-01-01T00:00:00Z",
        },
        {
            "step_id": 2,
            "source": "agent",
            "message": "I look it up.",
            "timestamp": "2026-01-01T00:00:01Z",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "get_order", "arguments": {"id": "W1"}}],
            "observation": {"results": [{"source_call_id": "c1", "content": "shipped"}]},
            "metrics": {"prompt_tokens": 20, "completion_tokens": 4},
        },
        {"step_id": 3, "source": "agent", "message": "It is shipped.", "timestamp": "2026-01-01T00:00:03Z"},
    ],
}

CHAT: dict[str, Any] = {
    "model": "model-a",
    "messages": [
        {"role": "user", "content": "Where is my order?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_order", "arguments": '{"id": "W1"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
        {"role": "assistant", "content": "It is shipped."},
    ],
}

_CLAUDE = {"sessionId": "s", "version": "2.1.0", "parentUuid": None}
CLAUDE_CODE: list[dict[str, Any]] = [
    {"type": "summary", "summary": "orders", "leafUuid": "u4"},
    {
        **_CLAUDE,
        "type": "user",
        "uuid": "u1",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": "List the files."},
    },
    {
        **_CLAUDE,
        "type": "assistant",
        "uuid": "u2",
        "timestamp": "2026-01-01T00:00:01.000Z",
        "message": {
            "id": "m1",
            "role": "assistant",
            "model": "model-a",
            "content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}],
            "usage": {"input_tokens": 10, "output_tokens": 3},
        },
    },
    {
        **_CLAUDE,
        "type": "user",
        "uuid": "u3",
        "timestamp": "2026-01-01T00:00:02.000Z",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "denied", "is_error": True}],
        },
    },
    {
        **_CLAUDE,
        "type": "assistant",
        "uuid": "u4",
        "timestamp": "2026-01-01T00:00:03.000Z",
        "message": {
            "id": "m2",
            "role": "assistant",
            "model": "model-a",
            "content": [{"type": "text", "text": "I may not."}],
        },
    },
]
