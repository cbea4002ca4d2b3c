"""Runs and agents as the API writes them; times are RFC 3339, tokens their text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flask import Response

from dashboard import urls
from dashboard.totals import totals
from engine.paths import fold, path_text
from engine.runs import Declaration, Outcome, Run, Step, is_live
from engine.store import AgentSummary

Document = dict[str, Any]


def json_response(document: Any, status: int = 200) -> Response:
    """An answer in JSON, not to be kept by anybody in between."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return Response(text, status, mimetype="application/json", headers={"Cache-Control": "private, no-cache"})


def rfc3339(time_ns: int) -> str:
    """A time in UTC, to the nanosecond.

    >>> rfc3339(86_400_000_000_000), rfc3339(1_500_000_000)
    ('1970-01-02T00:00:00Z', '1970-01-01T00:00:01.5Z')
    """
    text = urls.write_time(time_ns)
    return text if "T" in text else f"{text}T00:00:00Z"


def declaration_document(said: Declaration) -> Document:
    """An outcome that somebody declared.

    >>> declaration_document(Declaration("r", Outcome.FAILURE, 1_500_000_000, "judge"))
    {'outcome': 'failure', 'time': '1970-01-01T00:00:01.5Z', 'by': 'judge'}
    """
    return {"outcome": said.outcome.name.lower(), "time": rfc3339(said.time_ns), "by": said.by}


def run_document(run: Run, declarations: Sequence[Declaration], now_ns: int) -> Document:
    """One run: its path, how it ended and who says so, and its steps."""
    live = is_live(run.source, run.last_ns, now_ns)
    return {
        "run_id": run.run_id,
        "agent": run.agent,
        "version": run.version,
        "ticket": run.ticket,
        "start": rfc3339(run.start_ns),
        "last_activity": rfc3339(run.last_ns),
        "live": live,
        "outcome": (Outcome.UNKNOWN if live else run.outcome).name.lower(),
        "outcome_source": None if live else run.source.name.lower(),
        "said_by": None if live else run.said_by or None,
        "declarations": [declaration_document(said) for said in declarations],
        "path": path_text(fold(step.signature for step in run.steps)),
        "steps": [_step(step) for step in run.steps],
        "trace_ids": list(run.trace_ids),
    }


def _step(step: Step) -> Document:
    return {
        "signature": step.signature,
        "start": rfc3339(step.start_ns),
        "end": None if step.end_ns is None else rfc3339(step.end_ns),
        "error": step.error,
        "trace_id": step.trace_id,
        "span_id": step.span_id,
        "input_tokens": step.input_tokens,
        "output_tokens": step.output_tokens,
    }


def agent_document(summary: AgentSummary) -> Document:
    """How the runs of one agent ended inside a window."""
    return {"agent": summary.agent, **totals(summary), "latest_run": rfc3339(summary.last_ns)}
