"""``POST /api/v1/check``, asked before a call; ``/api/v1/policies`` and ``GET /api/v1/firings`` around it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Flask, Response
from msgspec import UNSET, Meta, UnsetType

from dashboard import urls
from dashboard.api.asking import Limit
from dashboard.api.operations import Operation, bind, body, given, query, sentence
from dashboard.api.problems import problem
from dashboard.api.responses import json_response
from dashboard.documents.fuses import Check, Firings, Policies, check, firings
from dashboard.documents.problem import Problem
from dashboard.service import Service
from engine.declaring import run_named
from engine.errors import InputError, UnknownRunError
from engine.fuses import Policy, Terms
from engine.store import MAX_NUMBER, Lines, Store

_Text = Annotated[str, Meta(min_length=1)]


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which run asks, and the step it is about to take: ``kind:name``, or a name that one step has."""

    run_id: _Text
    next_step: _Text | None = None


class ListFirings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of the ledger."""

    policy: Annotated[str, Meta(description="Only of the policy of this name")] | UnsetType = UNSET
    run_id: (
        Annotated[_Text, Meta(description="Only of this run, named by its id or that of a trace of it")]
        | UnsetType
    ) = UNSET
    after: Annotated[int, Meta(ge=1, le=MAX_NUMBER, description="What `next` of the page before says")] = (
        MAX_NUMBER
    )
    limit: Limit = 100


OPERATIONS = (
    Operation(
        "check",
        urls.API_CHECK,
        "POST",
        "Asks whether a run may make its next call; what is not known is allowed",
        {200: Check},
        body=Question,
    ),
    Operation("list_policies", urls.API_POLICIES, "GET", "Lists the policies by name", {200: Policies}),
    Operation(
        "put_policies", urls.API_POLICIES, "PUT", "Replaces all policies", {200: Policies}, body=Policies
    ),
    Operation("delete_policies", urls.API_POLICIES, "DELETE", "Removes all policies", {204: None}),
    Operation(
        "get_policy", urls.API_POLICY, "GET", "Reads a policy by its name", {200: Policy, 404: Problem}
    ),
    Operation(
        "put_policy",
        urls.API_POLICY,
        "PUT",
        "Writes a policy under a name, a new one (201) or in place of what was there",
        {200: Policy, 201: Policy},
        body=Terms,
    ),
    Operation("delete_policy", urls.API_POLICY, "DELETE", "Removes a policy", {204: None, 404: Problem}),
    Operation(
        "list_firings",
        urls.API_FIRINGS,
        "GET",
        "Lists when fuses fired, newest first, with how the runs ended, and tells how many of each",
        {200: Firings, 404: Problem},
        ListFirings,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""
    store = service.store

    def ask() -> Response:
        asked = body(Question)
        return json_response(check(service.check(service.tenant, asked.run_id, asked.next_step)))

    def every() -> Response:
        return json_response(Policies([*store.policies(service.tenant)]))

    def put_every() -> Response:
        policies = body(Policies).policies
        names = [policy.name for policy in policies]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"policies: two are called {twice}.")
        store.set_policies(service.tenant, policies)
        return every()

    def delete_every() -> Response:
        store.set_policies(service.tenant, [])
        return Response(status=204)

    def named(name: str) -> Policy | None:
        return next((policy for policy in store.policies(service.tenant) if policy.name == name), None)

    def one(name: str) -> Response:
        found = named(name)
        return json_response(found) if found else _nobody(name)

    def put(name: str) -> Response:
        policy = _named(name, body(Terms))
        return json_response(policy, 201 if store.set_policy(service.tenant, policy) else 200)

    def delete(name: str) -> Response:
        return Response(status=204) if store.remove_policy(service.tenant, name) else _nobody(name)

    def ledger() -> Response:
        asked = query(ListFirings)
        tenant, now_ns, wanted = service.tenant, service.now_ns(), _wanted(asked, store, service.tenant)
        tally = store.tally(tenant, now_ns, wanted)
        if wanted.policy is not None and not tally and not named(wanted.policy):
            return _nobody(wanted.policy)
        lines = store.firings(tenant, now_ns, asked.after, asked.limit + 1, wanted)
        return json_response(firings(lines[: asked.limit], tally, len(lines) > asked.limit))

    bind(server, OPERATIONS, ask, every, put_every, delete_every, one, put, delete, ledger)


def _wanted(asked: ListFirings, store: Store, tenant: str) -> Lines:
    """The lines that are asked for.

    Raises
    ------
    UnknownRunError
        No run has this id.
    """
    if asked.run_id is UNSET:
        return Lines(given(asked.policy))
    run_id = run_named(store, tenant, asked.run_id)
    if run_id is None:
        raise UnknownRunError(f"No run {asked.run_id!r} is in the store.")
    return Lines(given(asked.policy), run_id)


def _named(name: str, terms: Terms) -> Policy:
    try:
        return msgspec.convert({"name": name, **msgspec.structs.asdict(terms)}, Policy)
    except msgspec.ValidationError as error:
        raise InputError(sentence(error, Policy)) from None


def _nobody(name: str) -> Response:
    return problem(404, f"There is no policy {name!r}.")
