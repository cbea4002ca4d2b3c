"""``GET /api/v1/changes``: what changed at a moment, or from one version to another."""

from __future__ import annotations

from typing import Annotated, Literal

from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import Mapped, Moment, cohort
from dashboard.api.operations import Operation, bind, query
from dashboard.api.responses import packed, tagged_response
from dashboard.api.waiting import not_yet
from dashboard.documents.changes import Compared, compared
from dashboard.documents.problem import Problem
from dashboard.documents.waiting import Waiting
from dashboard.service import Service
from engine import changes
from engine.builder import Ready
from engine.changes import Split, Versions
from engine.errors import InputError
from engine.ingest.scalars import iso_ns


class Changing(Mapped, frozen=True):
    """One agent's runs, and what parts those before from those after: ``since``, or ``old`` and ``new``."""

    steps: Annotated[
        Literal["all", "tools"],
        Meta(description="all: keep model calls, which part the tree where a new model has a new name"),
    ] = "tools"
    since: Annotated[Moment, Meta(description="Runs begun before then against those since")] | UnsetType = (
        UNSET
    )
    old: Annotated[str, Meta(description="Runs of this version of the agent ...")] | UnsetType = UNSET
    new: Annotated[str, Meta(description="... against runs of this one")] | UnsetType = UNSET


OPERATIONS = (
    Operation(
        "get_changes",
        urls.API_CHANGES,
        "GET",
        "Reads what changed at a moment, or from one version of an agent to another, way by way",
        {200: Compared, 202: Waiting, 304: None, 404: Problem},
        Changing,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the route to the server."""

    def get() -> Response:
        asked = query(Changing)
        of, split = cohort(asked, service.tenant), split_of(asked)
        answer = service.maps.changes(of, split)
        if not isinstance(answer, Ready):
            return not_yet(service, of, answer)
        build = f"changes {of} {split} {answer.built_ns}"
        return tagged_response(build, lambda: packed(compared(answer.value)))

    bind(server, OPERATIONS, get)


def split_of(asked: Changing) -> Split:
    """What parts the sides.

    Raises
    ------
    InputError
        Neither a moment nor two versions, or both, or a time that is none; with a sentence that says so.

    Examples
    --------
    >>> split_of(Changing(agent="a", since="1970-01-02"))
    Moment(at_ns=86400000000000)
    >>> split_of(Changing(agent="a", old="v1"))
    Traceback (most recent call last):
    engine.errors.InputError: Give since, or old and new: what parts the runs before from those after.
    """
    if asked.since is not UNSET and asked.old is UNSET and asked.new is UNSET:
        try:
            return changes.Moment(iso_ns(asked.since))
        except ValueError:
            raise InputError(f"since: {asked.since[:60]!r} is no RFC 3339 date or time.") from None
    if asked.since is UNSET and asked.old is not UNSET and asked.new is not UNSET:
        if asked.old == asked.new:
            raise InputError(f"old and new: both are {asked.old[:60]!r}.")
        return Versions(asked.old, asked.new)
    raise InputError("Give since, or old and new: what parts the runs before from those after.")
