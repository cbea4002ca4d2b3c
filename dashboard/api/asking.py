"""The queries of the API that several modules share: whose runs, of which window, which page."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.service import Service
from engine.errors import InputError, UnknownAgentError
from engine.runs import ALL_TIME, Cohort, Window

AgentName: TypeAlias = Annotated[str, Meta(description="An agent's name, as the list of agents has it")]
Moment: TypeAlias = Annotated[
    str,
    Meta(extra_json_schema={"anyOf": [{"format": "date-time"}, {"format": "date"}]}),
]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=1000, description="How many at most")]


class Windowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Runs by when they began; of the last 30 days if nothing is said."""

    window: (
        Annotated[
            Literal["1d", "7d", "30d", "all"],
            Meta(description="Runs of the last 24 hours, 7 days (30 unless said), or all there are"),
        ]
        | UnsetType
    ) = UNSET
    start: Annotated[Moment, Meta(description="Runs begun since then")] | UnsetType = msgspec.field(
        name="from", default=UNSET
    )
    to: Annotated[Moment, Meta(description="Runs begun before then")] | UnsetType = UNSET


class Mapped(Windowed, frozen=True):
    """One agent's runs, in a view."""

    agent: AgentName
    steps: Annotated[Literal["all", "tools"], Meta(description="tools: leave model calls out")] = "all"


def window(asked: Windowed) -> Window:
    """The window that a query asks for.

    Raises
    ------
    InputError
        A time that cannot be read, with a sentence that names it.

    Examples
    --------
    >>> window(Windowed(window="all")), window(Windowed(to="1970-01-02"))
    (Window(start_ns=0, end_ns=None, days=30), Window(start_ns=0, end_ns=86400000000000, days=30))
    """
    every = {"window": asked.window, "from": asked.start, "to": asked.to}
    said = {name: text for name, text in every.items() if text is not UNSET}
    for name, text in said.items():
        if not text.strip():
            raise InputError(f"{name}: blank.")
    found, complaint = urls.window(said)
    if complaint:
        raise InputError(complaint.partition(";")[0] + ".")
    return found


def expect_agent(service: Service, agent: str) -> None:
    """Raise UnknownAgentError if the caller's tenant has no run of the agent at all."""
    if not service.store.runs(Cohort(service.tenant, agent, ALL_TIME), service.now_ns(), limit=1):
        raise UnknownAgentError(f"No run of the agent {agent!r} is in the store.")


def cohort(asked: Mapped, tenant: str) -> Cohort:
    """The cohort that a query asks for, in the caller's tenant."""
    return Cohort(tenant, asked.agent, window(asked), asked.steps)
