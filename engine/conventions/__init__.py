"""What a span means: kind, name, agent, session, status, outcome, whoever instrumented it.

Some fifteen instrumentation families write the same three things (a model call, a tool call,
an agent invocation) under different keys. :mod:`~engine.conventions.table` holds the keys as
data, and :func:`read` looks a span up in it; only spans as sent are ever stored.
"""

from engine.conventions.failures import failure
from engine.conventions.outcomes import OUTCOMES, Evaluation, check
from engine.conventions.reading import Reading, kind_of, read, session
from engine.conventions.table import AGENT_KEY, DECISION_SCOPE, Kind

__all__ = [
    "AGENT_KEY",
    "DECISION_SCOPE",
    "OUTCOMES",
    "Evaluation",
    "Kind",
    "Reading",
    "check",
    "failure",
    "kind_of",
    "read",
    "session",
]
