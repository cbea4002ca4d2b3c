"""``GET /api/v1/maps``, ``/forks``, ``/calibration`` and ``/runs/{id}/verdict``: what is read from a map.

A map is built in the background: whoever asks before it is there is told to ask again (202).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import Mapped, Windowed, cohort, window
from dashboard.api.operations import Operation, bind, given, query
from dashboard.api.responses import json_response, packed, tagged_response
from dashboard.api.waiting import not_yet
from dashboard.documents.calibrations import Calibration, scores
from dashboard.documents.forks import Forks, by_chance, findings
from dashboard.documents.maps import Map, behaviour
from dashboard.documents.problem import Problem
from dashboard.documents.verdicts import Verdict, verdict
from dashboard.documents.waiting import Waiting
from dashboard.service import Service
from engine.builder import Answer, Ready
from engine.chance import Chance
from engine.declaring import run_named
from engine.maps import BehaviourMap
from engine.queries import cohort_of, judge_run
from engine.runs import Cohort

T = TypeVar("T")
Pack: TypeAlias = Callable[[Cohort, Ready[T]], bytes]


class Judging(Windowed, frozen=True):
    """By which runs, and with which next step."""

    next_step: Annotated[str, Meta(description="Judge the run as if this came next")] | UnsetType = UNSET


def _of_map(name: str, path: str, summary: str, document: Any) -> Operation:
    answers = {200: document, 202: Waiting, 304: None, 404: Problem}
    return Operation(name, path, "GET", summary, answers, Mapped)


OPERATIONS = (
    _of_map("get_map", urls.API_MAPS, "Reads an agent's behaviour map", Map),
    _of_map(
        "get_forks",
        urls.API_FORKS,
        "Reads the forks, fatal and golden, and the hotspots of an agent's map",
        Forks,
    ),
    _of_map(
        "get_calibration",
        urls.API_CALIBRATION,
        "Reads what the predictions of an agent's map have been worth",
        Calibration,
    ),
    Operation(
        "get_verdict",
        urls.API_VERDICT,
        "GET",
        "Judges a run by its agent's map, or the run followed by a step",
        {200: Verdict, 202: Waiting, 404: Problem},
        Judging,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""
    maps = service.maps

    def of_cohort(name: str, ask: Callable[[Cohort], Answer[T]], pack: Pack[T]) -> Response:
        asked = cohort(query(Mapped), service.tenant)
        answer = ask(asked)
        if not isinstance(answer, Ready):
            return not_yet(service, asked, answer)
        return tagged_response(f"{name} {asked} {answer.built_ns}", lambda: pack(asked, answer))

    def map() -> Response:
        return of_cohort("map", maps.recent, partial(maps.made, make=_packed_map))

    def forks() -> Response:
        asked = cohort(query(Mapped), service.tenant)
        answer = maps.recent(asked)
        if not isinstance(answer, Ready):
            return not_yet(service, asked, answer)
        chance = maps.chance(asked)
        counted = chance if isinstance(chance, Ready) else None
        tag = f"forks {asked} {answer.built_ns} {counted and counted.built_ns}"
        return tagged_response(tag, lambda: _packed_forks(maps.made(asked, answer, findings), counted))

    def calibration() -> Response:
        return of_cohort("calibration", maps.calibration, lambda _, ready: packed(scores(ready.value)))

    def judged(run_id: str) -> Response:
        asked, store, tenant = query(Judging), service.store, service.tenant
        run = store.run(tenant, run_named(store, tenant, run_id) or run_id)
        judging = cohort_of(run, tenant, window(asked))
        answer = maps.recent(judging)
        if not isinstance(answer, Ready):
            return not_yet(service, judging, answer)
        return json_response(verdict(judge_run(answer.value, run, service.now_ns(), given(asked.next_step))))

    bind(server, OPERATIONS, map, forks, calibration, judged)


def _packed_map(map: BehaviourMap) -> bytes:
    """A map for programs, written node by node: one that is large would keep other requests waiting."""
    found = behaviour(map)
    nodes = [msgspec.Raw(msgspec.json.encode(node)) for node in found.nodes]
    return packed(msgspec.structs.replace(found, nodes=nodes))


def _packed_forks(found: Forks, chance: Ready[Chance] | None) -> bytes:
    return packed(msgspec.structs.replace(found, chance=by_chance(chance.value) if chance else None))
