"""What a question is limited to: a window of starts, and which runs are live at a moment."""

from __future__ import annotations

from engine.runs import LIVE_NS, Window
from engine.store.fitting import bounded

IS_LIVE = "(source <> 0 AND last_ns > :after_ns AND last_ns <= :until_ns)"
"""What :func:`engine.runs.is_live` says of a row, with :func:`scope`."""


def scope(window: Window, now_ns: int) -> dict[str, int]:
    """The parameters of a window and of :data:`IS_LIVE` at a moment."""
    from_ns, to_ns = window.bounds(now_ns)
    return {
        "from_ns": bounded(from_ns),
        "to_ns": bounded(to_ns),
        "after_ns": bounded(now_ns - LIVE_NS),
        "until_ns": bounded(now_ns + LIVE_NS),
    }
