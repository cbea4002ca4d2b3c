"""The demo's agents: the ways their runs take, and how many runs of each way end how."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import NamedTuple

from engine.runs import Outcome


class Way(NamedTuple):
    """Calls that some runs make, in order, and how many of these runs ended how.

    A call is ``kind:name``; one that begins with ``>`` is made inside the one before it.
    """

    calls: tuple[str, ...]
    successes: int
    failures: int
    abandoned: int

    def outcomes(self) -> Iterator[Outcome]:
        """The outcome of each of its runs."""
        return chain(
            repeat(Outcome.SUCCESS, self.successes),
            repeat(Outcome.FAILURE, self.failures),
            repeat(Outcome.ABANDONED, self.abandoned),
        )


class Agent(NamedTuple):
    """One agent: who writes its spans, the ways of its completed runs, its runs in flight."""

    name: str
    prefix: str
    scope: str
    versions: tuple[str, str]
    ways: tuple[Way, ...]
    live: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def openinference(self) -> bool:
        """Whether its spans follow OpenInference; otherwise OpenTelemetry's GenAI conventions."""
        return self.scope.startswith("openinference")


_GPT, _MINI, _EMBED = "llm:gpt-4o", "llm:gpt-4o-mini", "embedding:text-embedding-3-small"
_SEARCH, _REFUND, _LOOKUP = "tool:search_orders", "tool:issue_refund", "tool:lookup_customer"
_PLAN, _CLAUDE = "chain:plan", "llm:claude-sonnet-4"
_READ, _EDIT, _TEST = "tool:read_file", "tool:edit_file", "tool:run_tests"
_WEB, _PAGE = "tool:web_search", "tool:read_page"

_SUPPORT = Agent(
    name="support-agent",
    prefix="support",
    scope="opentelemetry.instrumentation.openai_v2",
    versions=("2.3.1", "2.4.0"),
    ways=(
        Way((_GPT, _SEARCH, _REFUND, _GPT), 54, 5, 1),
        Way((_GPT, _SEARCH, _REFUND, _REFUND, _GPT), 15, 13, 2),
        Way((_GPT, *4 * (_SEARCH,), _GPT), 3, 22, 0),
        Way((_GPT, *3 * (_SEARCH,), "tool:escalate"), 2, 10, 1),
        Way((_GPT, *5 * (_SEARCH,)), 0, 9, 3),
        Way((_GPT, _LOOKUP, _GPT), 24, 14, 2),
    ),
    live=(
        ("live-doomed-0", (_GPT, *4 * (_SEARCH,))),
        ("live-doomed-1", (_GPT, *3 * (_SEARCH,))),
        ("live-healthy-0", (_GPT, _SEARCH, _REFUND)),
        ("live-healthy-1", (_GPT, _SEARCH)),
        ("live-healthy-2", (_GPT, _LOOKUP)),
        ("live-novel-0", (_GPT, "tool:delete_database")),
    ),
)

_CODING = Agent(
    name="coding-agent",
    prefix="coding",
    scope="openinference.instrumentation.openai_agents",
    versions=("0.9.0", "1.0.0"),
    ways=(
        Way((_PLAN, _CLAUDE, _READ, _EDIT, _TEST, _CLAUDE), 7, 1, 0),
        Way((_PLAN, _CLAUDE, _READ, *2 * (_EDIT, _TEST), _CLAUDE), 4, 2, 0),
        Way((_PLAN, _CLAUDE, _READ, *3 * (_EDIT, _TEST), _CLAUDE), 0, 4, 1),
        Way((_PLAN, _CLAUDE, *6 * ("tool:grep",), _CLAUDE), 1, 2, 0),
    ),
)

_RESEARCH = Agent(
    name="research-agent",
    prefix="research",
    scope="opentelemetry.instrumentation.openai_v2",
    versions=("1.1.0", "1.2.0"),
    ways=(
        Way((_EMBED, _GPT, _WEB, *3 * (_PAGE,), "agent:summarizer", f">{_MINI}", _GPT), 7, 1, 0),
        Way((_EMBED, _GPT, _WEB, _WEB, _PAGE, _GPT), 3, 3, 0),
        Way((_GPT, _WEB, _WEB, _PAGE, _GPT), 1, 2, 1),
    ),
)

AGENTS = (_SUPPORT, _CODING, _RESEARCH)
"""Their completed runs are 180, 22 and 18; six runs of the first are in flight."""
