"""The queries of the API that several modules share: whose runs, of which window, which page."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.service import Service
from engine.errors import ExpressionError, InputError, UnknownAgentError
from engine.narrowing import read
from engine.runs import ALL_TIME, Cohort, Window
from engine.sequences import MAX_CHARACTERS

AgentName: TypeAlias = Annotated[str, Meta(description="An agent's name, as the list of agents has it")]
Moment: TypeAlias = Annotated[
    str,
    Meta(extra_json_schema={"anyOf": [{"format": "date-time"}, {"format": "date"}]}),
]
Where: TypeAlias = Annotated[
    str,
    Meta(
        description="Only runs that are as this expression over their steps says, "
        "for example `search_orders x3 .. !issue_refund`",
        extra_json_schema={"maxLength": MAX_CHARACTERS},
    ),
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
    """One agent's runs, in a view, or some of them."""

    agent: AgentName
    steps: Annotated[Literal["all", "tools"], Meta(description="tools: leave model calls out")] = "all"
    where: Where | UnsetType = UNSET


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
    return Cohort(tenant, asked.agent, window(asked), asked.steps, narrowing(asked.where))


def narrowing(where: str | UnsetType) -> str:
    """The expression that a query narrows a cohort by, "" if it does not.

    Raises
    ------
    ExpressionError
        It is blank or cannot be read, with a sentence that says so and the column it is about.
    """
    if where is UNSET:
        return ""
    if not where.strip():
        raise InputError("where: blank.")
    try:
        return read(where)
    except ExpressionError as error:
        raise ExpressionError(f"where: {error.reason}.", error.column) from None
